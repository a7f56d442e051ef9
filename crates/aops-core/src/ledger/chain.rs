//! The session as the fold of its chain. Turns failures of `aops-ledger`, which contains the chain itself,
//! into this program's own.

pub use aops_ledger::chain::{Damage, end_of_last_batch, is_tear};

use crate::ledger::entry::Line;
use crate::model::error::{Code, Failure};
use crate::session::fact::Fact;
use crate::session::fold::Session;
use crate::text::stored::write_canonical;
use aops_ledger::chain::{self, Fold};
use aops_ledger::failure::{self, Kind};
use aops_ledger::page::Page;

pub type Walk = chain::Walk<Session>;

impl Fold for Session {
    type Fact = Fact;

    fn read(kind: &str, with: &str) -> Option<Fact> {
        Fact::read(kind, with)
    }

    fn tip(&self) -> (u64, &str) {
        (self.seq, &self.head)
    }

    fn apply(&mut self, trace: &str, line: &Line, fact: &Fact) -> Result<(), Kind> {
        let applied = Session::apply(self, trace, line.ts, fact);
        applied.map_err(|code| match code {
            Code::ChecksumMismatch => Kind::ChecksumMismatch,
            _ => Kind::InvalidTransition,
        })?;
        line.digest.clone_into(&mut self.head);
        Ok(())
    }

    /// Most steps of a call change only what the gates remember.
    fn take_touched(&mut self) -> bool {
        self.state.take_touched()
    }

    fn write_state(&self, to: &mut Page) {
        write_canonical(&self.state, to);
    }

    fn write_memory(&self, to: &mut Page) {
        write_canonical(&self.memory, to);
    }
}

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
        Self::new(damage.kind.into(), format!("entry {} {}", damage.seq, damage.what))
    }
}
