//! Failures of `aops-ledger` as this program's own.

use crate::model::error::{Code, Failure};
use aops_ledger::chain::Damage;
use aops_ledger::failure::{self, Kind};

impl From<Kind> for Code {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::SequenceGap => Code::SequenceGap,
            Kind::ChecksumMismatch => Code::ChecksumMismatch,
            Kind::InvalidTransition => Code::InvalidTransition,
            Kind::RecoveryFailed => Code::RecoveryFailed,
            Kind::LockAcquireFailed => Code::LockAcquireFailed,
            Kind::StorageFailed => Code::StorageFailed,
        }
    }
}

impl From<failure::Failure> for Failure {
    fn from(failure: failure::Failure) -> Self {
        Self::new(failure.kind.into(), failure.what)
    }
}

impl From<Damage> for Failure {
    fn from(damage: Damage) -> Self {
        failure::Failure::from(&damage).into()
    }
}
