//! What can go wrong with a ledger: a kind that programs match on, and a sentence for people.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An entry is missing, repeated or moved.
    SequenceGap,
    /// A line does not match its digest, or commits to another state.
    ChecksumMismatch,
    /// An entry must not follow the ones before it.
    InvalidTransition,
    /// The ledger is not the one for which a witness vouches.
    RecoveryFailed,
    LockAcquireFailed,
    StorageFailed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: Kind,
    pub what: String,
}

impl Failure {
    pub fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into() }
    }

    /// The file's name, then the error of the operating system.
    pub fn storage(file: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self::new(Kind::StorageFailed, format!("`{file}`: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Failure {}
