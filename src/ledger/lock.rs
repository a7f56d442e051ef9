//! One writer per session: an exclusive lock on `.lock`.
//!
//! Holds an open file; the lock dies with the process.

use crate::model::error::Failure;
use crate::system::folder;
use crate::system::lock;
use rustix::fs::OFlags;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::Duration;

const NAME: &str = ".lock";
const PATIENCE: Duration = Duration::from_secs(6);

/// Ours until the file is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    pub fn acquire(dir: &OwnedFd) -> Result<Self, Failure> {
        let (file, _) = folder::open_or_make(dir, NAME, OFlags::RDWR)?;
        Ok(Self { _file: lock::take(file, NAME, PATIENCE)? })
    }

    /// For somebody who only reads: waits like everybody, makes nothing, and goes on without where there is no lock.
    pub fn of_reader(dir: &OwnedFd) -> Result<Option<Self>, Failure> {
        let Some((file, _)) = folder::open(dir, NAME, OFlags::RDONLY)? else { return Ok(None) };
        Ok(lock::take(file, NAME, PATIENCE).ok().map(|file| Self { _file: file }))
    }
}
