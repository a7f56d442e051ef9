//! Says what was kept before a command ran.
//!
//! Reads what the end of the command found; writes nothing. Invariants: model and person read the same words;
//! they promise no more than what was kept.

use super::Context;
use crate::model::event::Event;
use crate::model::gate_id::GateId;
use crate::model::verdict::Verdict;
use crate::session::fold::Session;

const GATE: GateId = GateId::Danger;

pub fn judge(_session: &Session, _event: &Event, context: &Context) -> Verdict {
    let Some(kept) = context.recorded().and_then(|recorded| recorded.under.kept.as_ref()) else {
        return Verdict::pass();
    };
    let number = kept.number;
    let what = &kept.what;
    let words = |who: &str| {
        format!(
            "kept as {number}: {what}; {who} can bring {} back with `aops-hook undo {number}`",
            kept.them()
        )
    };
    Verdict::context(GATE, words("the user")).join(Verdict::notice(GATE, words("you")))
}
