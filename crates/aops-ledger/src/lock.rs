//! `flock` with a timeout.
//!
//! Blocks the caller for at most the patience it brings. The lock ends with the open file, so a killed process holds none.

use crate::failure::{Failure, Kind};
use crate::folder;
use rustix::fs::OFlags;
use std::fs::{File, TryLockError};
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::time::Duration;

const NAME: &str = ".lock";
const PATIENCE: Duration = Duration::from_secs(6);

/// The file, locked until it is dropped. `name` is for the message.
pub fn take(file: File, name: &str, patience: Duration) -> Result<File, Failure> {
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => wait(file, name, patience),
        Err(TryLockError::Error(error)) => Err(refused(name, error)),
    }
}

/// Blocks in a thread of its own: a try-and-sleep loop is unfair, and a blocking call has no timeout.
fn wait(file: File, name: &str, patience: Duration) -> Result<File, Failure> {
    let (done, locked) = mpsc::channel();
    std::thread::spawn(move || done.send(file.lock().map(|()| file)));
    match locked.recv_timeout(patience) {
        Ok(locked) => locked.map_err(|error| refused(name, error)),
        Err(_) => Err(refused(name, format_args!("another process held it for {} s", patience.as_secs()))),
    }
}

fn refused(name: &str, why: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::LockAcquireFailed, format!("`{name}`: {why}"))
}

/// The exclusive lock of a ledger: the file `.lock` in its folder.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    pub fn acquire(dir: &OwnedFd) -> Result<Self, Failure> {
        let (file, _) = folder::open_or_make(dir, NAME, OFlags::RDWR)?;
        Ok(Self { _file: take(file, NAME, PATIENCE)? })
    }

    /// For a reader: waits as long as a writer, creates no file, and continues without the lock where it cannot get it.
    pub fn of_reader(dir: &OwnedFd) -> Result<Option<Self>, Failure> {
        let Some((file, _)) = folder::open(dir, NAME, OFlags::RDONLY)? else { return Ok(None) };
        Ok(take(file, NAME, PATIENCE).ok().map(|file| Self { _file: file }))
    }
}
