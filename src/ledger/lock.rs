//! One writer per session: an exclusive lock on `.lock`, waited for, but not for ever.
//!
//! Holds an open file; the lock dies with the process. Invariant: the wait ends well before the host's time-out, since
//! the host lets a call pass whose hook hangs.

use super::folder;
use crate::failure::{Code, Failure};
use rustix::fs::OFlags;
use std::fs::{File, TryLockError};
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(4);

/// Ours until the file is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    pub fn acquire(dir: &OwnedFd) -> Result<Self, Failure> {
        let (file, _) = folder::open_or_make(dir, ".lock", OFlags::RDWR)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => wait(file),
            Err(TryLockError::Error(error)) => {
                Err(Failure::new(Code::LockAcquireFailed, format!("`.lock`: {error}")))
            }
        }
    }

    /// For somebody who only reads: waits like everybody, makes nothing, and goes on without where there is no lock.
    pub fn of_reader(dir: &OwnedFd) -> Result<Option<Self>, Failure> {
        let Some((file, _)) = folder::open(dir, ".lock", OFlags::RDONLY)? else { return Ok(None) };
        Ok(wait(file).ok())
    }
}

/// Blocks in a thread of its own: a try-and-sleep loop is unfair, and a blocking call has no time-out.
fn wait(file: File) -> Result<Lock, Failure> {
    let (done, locked) = mpsc::channel();
    std::thread::spawn(move || done.send(file.lock().map(|()| file)));
    match locked.recv_timeout(PATIENCE) {
        Ok(Ok(file)) => Ok(Lock { _file: file }),
        Ok(Err(error)) => Err(Failure::new(Code::LockAcquireFailed, format!("`.lock`: {error}"))),
        Err(_) => {
            let what = format!("another process held the session for {} s", PATIENCE.as_secs());
            Err(Failure::new(Code::LockAcquireFailed, what))
        }
    }
}
