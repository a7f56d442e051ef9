//! Reports that an unattended session, or a turn, ended with a refusal and so is not a success: the person
//! reads why.
//!
//! Reads what was observed; writes nothing. Invariant: refuses nothing.

use super::{Context, Found, LastRefusal};
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::verdict::Verdict;
use crate::session::fold::Session;
use crate::text::template::one_line;

pub fn judge(_: &Session, event: &Event, context: &Context) -> Verdict {
    let refused = match &context.found {
        Found::Stop(stop) => &stop.refused,
        Found::SessionEnd(end) => &end.refused,
        _ => return Verdict::pass(),
    };
    let Some(last) = refused else { return Verdict::pass() };
    if event.kind() == EventKind::Stop {
        let words = format!(
            "the last change of this turn was blocked, and nothing was changed after it: {}\n\
             hint: whatever the agent says, it is not done; ask for it again, or begin the prompt with `.`",
            one_line(last.why.lines().next().unwrap_or_default(), 300)
        );
        return Verdict::notice(GateId::Unfinished, words);
    }
    let words = format!(
        "the last call was blocked, and nothing was done after it: {}\n\
         hint: `aops-hook why` says more; {}",
        one_line(&last.why, 300),
        way_out(last)
    );
    Verdict { aloud: true, ..Verdict::notice(GateId::Unfinished, words) }
}

/// How to allow it the next time. A mode switches off only the loop.
fn way_out(last: &LastRefusal) -> String {
    match (last.gate.known(), last.rule.as_deref()) {
        (Some(GateId::Danger), Some(rule)) => format!(
            "run it yourself, start the client at a terminal to be asked, or let it pass with `aops-hook danger off {rule}`"
        ),
        (Some(gate), _) if is_of_loop(gate) => {
            "`AOPS_MODE=guard`, or a prompt that begins with `.`, skips the loop".to_owned()
        }
        _ => {
            format!("`{}` blocks this in every mode, so do it yourself in a terminal of your own", last.gate)
        }
    }
}

fn is_of_loop(gate: GateId) -> bool {
    use GateId::{Audit, Critic, Lease, Owed, Report, Sandbox};
    matches!(gate, Sandbox | Audit | Critic | Owed | Report | Lease)
}
