//! One worker per machine and user, by a lock that its holders inherit.
//!
//! Opens a file. Invariant: while a holder of an earlier worker is alive, no other worker serves.

use rustix::io::{FdFlags, fcntl_setfd};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The lock, held while this worker or one of its holders is alive.
#[derive(Debug)]
pub struct Alone {
    file: File,
}

impl Alone {
    /// `None`: another worker has the lock, or a holder that an earlier worker left.
    pub fn take(folder: &Path) -> io::Result<Option<Self>> {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(folder.join("worker.lock"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The worker's child processes inherit it; a holder does not pass it on to its step.
        fcntl_setfd(&file, FdFlags::empty())?;
        Ok(Some(Self { file }))
    }

    /// The file descriptor under which holders find it.
    pub fn number(&self) -> i32 {
        self.file.as_raw_fd()
    }
}
