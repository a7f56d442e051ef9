//! Records and reports an event that could not be recorded when it came.

use crate::model::event::Event;
use crate::model::gate_id::GateId;
use crate::model::verdict::Verdict;
use crate::session::fact::{Fact, Violation, ViolationKind};

pub(super) fn late_violation(event: &Event) -> Fact {
    violation_of(
        event,
        ViolationKind::Late,
        "it could not be recorded when it came (lock or storage); it is recorded late".to_owned(),
    )
}

pub(super) fn violation_of(event: &Event, kind: ViolationKind, violation: String) -> Fact {
    Fact::Violation(Violation::of(event, kind, violation))
}

/// Tells the model if this event accepts text for it, otherwise the user.
pub(super) fn tell_late(event: &Event, owed: &str) -> Verdict {
    let words = format!(
        "aops-hook could not write this session's record when the last turn ended, so it did not ask for this then. {owed}"
    );
    if event.kind().row().context {
        Verdict::context(GateId::Owed, words)
    } else {
        Verdict::notice(GateId::Owed, words)
    }
}
