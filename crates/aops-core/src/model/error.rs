//! A failure of aops-hook itself: a stable code, what happened, and what a person can do. Never a ruling.
//!
//! Reads nothing, writes nothing. Invariant: every code has a way out.

use crate::model::named::named;
use std::fmt;

named! {
    /// Other programs match on these names.
    pub enum Code {
        SequenceGap = "STATE_SEQUENCE_GAP",
        ChecksumMismatch = "STATE_CHECKSUM_MISMATCH",
        InvalidTransition = "STATE_INVALID_TRANSITION",
        ConcurrentExecution = "STATE_CONCURRENT_EXECUTION",
        LockAcquireFailed = "STATE_LOCK_ACQUIRE_FAILED",
        RecoveryFailed = "STATE_RECOVERY_FAILED",
        WrittenByNewer = "STATE_WRITTEN_BY_NEWER",
        WrittenByOlder = "STATE_WRITTEN_BY_OLDER",
        InputInvalid = "INPUT_INVALID",
        ConfigInvalid = "CONFIG_INVALID",
        StorageFailed = "STORAGE_FAILED",
        TimedOut = "TIMED_OUT",
        InTheWay = "IN_THE_WAY",
        Panic = "INTERNAL_PANIC",
    }
}

impl Code {
    /// What a person can do about it.
    pub fn way_out(self) -> &'static str {
        match self {
            Code::SequenceGap | Code::ChecksumMismatch | Code::InvalidTransition | Code::RecoveryFailed => {
                "a person can look with `aops-hook verify`, then set the damaged ledger aside with `aops-hook verify --quarantine`"
            }
            Code::WrittenByNewer => {
                "a person can install that version again, or begin a new session with this one; the record is kept as it is"
            }
            Code::WrittenByOlder => {
                "a person can begin a new session with this version, or continue this one with the version that recorded it; the record is kept as it is"
            }
            Code::ConcurrentExecution => "make the call again under an id of its own",
            Code::LockAcquireFailed => {
                "try again; if that does not help, a person can see with `fuser` who holds `.lock` in the session folder"
            }
            Code::InputInvalid => {
                "a person can run `aops-hook doctor`: the client and the hook must agree on the event"
            }
            Code::ConfigInvalid => {
                "a person can correct the file; `aops-hook policy show` names every problem"
            }
            Code::StorageFailed => {
                "a person can make the folder writable or free some space, then run `aops-hook doctor`; a client inside a tool call, such as `claude -p`, can keep no record: start it in a terminal of your own, or give its work to the tool `Agent`"
            }
            Code::TimedOut => "a person can run `aops-hook checkpoint create` once; later ones are quick",
            Code::InTheWay => "move it out of the tree, then try again",
            Code::Panic => {
                "a person can run `aops-hook doctor`, or remove the hooks with `aops-hook uninstall`"
            }
        }
    }

    /// Nothing is wrong with the ledger: another version wrote it.
    pub fn is_of_another_version(self) -> bool {
        matches!(self, Code::WrittenByNewer | Code::WrittenByOlder)
    }

    /// The ledger itself is damaged.
    pub fn is_integrity(self) -> bool {
        matches!(
            self,
            Code::SequenceGap | Code::ChecksumMismatch | Code::InvalidTransition | Code::RecoveryFailed
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub code: Code,
    pub what: String,
}

impl Failure {
    pub fn new(code: Code, what: impl Into<String>) -> Self {
        Self { code, what: what.into() }
    }

    /// A storage error: the file's name, followed by the system's message.
    pub fn storage(file: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self::new(Code::StorageFailed, format!("`{file}`: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.what)
    }
}

impl std::error::Error for Failure {}
