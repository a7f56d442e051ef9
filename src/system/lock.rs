//! An exclusive lock on an open file, waited for, but not for ever.
//!
//! Blocks the caller for at most the patience it brings. Invariant: the wait ends well before the host's time-out, since
//! the host lets a call pass whose hook hangs.

use crate::model::error::{Code, Failure};
use std::fs::{File, TryLockError};
use std::sync::mpsc;
use std::time::Duration;

/// The file, locked until it is dropped. `name` is for people.
pub fn take(file: File, name: &str, patience: Duration) -> Result<File, Failure> {
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => wait(file, name, patience),
        Err(TryLockError::Error(error)) => Err(refused(name, error)),
    }
}

/// Blocks in a thread of its own: a try-and-sleep loop is unfair, and a blocking call has no time-out.
fn wait(file: File, name: &str, patience: Duration) -> Result<File, Failure> {
    let (done, locked) = mpsc::channel();
    std::thread::spawn(move || done.send(file.lock().map(|()| file)));
    match locked.recv_timeout(patience) {
        Ok(locked) => locked.map_err(|error| refused(name, error)),
        Err(_) => Err(refused(name, format_args!("another process held it for {} s", patience.as_secs()))),
    }
}

fn refused(name: &str, why: impl std::fmt::Display) -> Failure {
    Failure::new(Code::LockAcquireFailed, format!("`{name}`: {why}"))
}
