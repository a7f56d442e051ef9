//! `flock` with a timeout.
//!
//! Blocks the caller for at most the given time. The lock ends with the open file, so a killed process holds
//! none. Anybody who can open a file, even only for reading, can hold its lock: the jail must keep commands
//! from that.

use crate::failure::{Failure, Kind};
use crate::folder;
use rustix::fs::OFlags;
use std::fs::{File, TryLockError};
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::time::Duration;

const NAME: &str = ".lock";
const PATIENCE: Duration = Duration::from_secs(6);

/// The file of a lock in this folder; `None` if there is none and `make` is false.
pub fn open(dir: &OwnedFd, name: &str, make: bool) -> Result<Option<File>, Failure> {
    if make {
        open_or_make(dir, name).map(Some)
    } else {
        Ok(folder::open(dir, name, OFlags::WRONLY)?.map(|(file, _)| file))
    }
}

/// The same, created if it is missing.
pub fn open_or_make(dir: &OwnedFd, name: &str) -> Result<File, Failure> {
    folder::open_or_make(dir, name, OFlags::WRONLY).map(|(file, _)| file)
}

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
        Ok(Self { _file: take(open_or_make(dir, NAME)?, NAME, PATIENCE)? })
    }

    /// For a reader: waits as long as a writer, creates no file, and continues without the lock if it is not
    /// free.
    pub fn of_reader(dir: &OwnedFd) -> Option<Self> {
        let file = open(dir, NAME, false).ok()??;
        take(file, NAME, PATIENCE).ok().map(|file| Self { _file: file })
    }
}
