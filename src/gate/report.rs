//! Sends an agent of ours on until its report ends with a valid verdict.
//!
//! Reads what its report was read as; writes nothing. Invariant: sent on twice at most, and never in a blocked session:
//! after that the agent may end, nothing was decided, and the user is told. Way out: the refusal shows the exact form.

use super::Scene;
use crate::agent::ours;
use crate::event::Event;
use crate::phrase::{Phrase, one_line};
use crate::session::Session;
use crate::verdict::Verdict;

const GATE: &str = "report";
pub const MOST_TIMES: u64 = 2;

pub fn judge(session: &Session, event: &Event, scene: &Scene) -> Verdict {
    let Some(Err(fault)) = &scene.report else { return Verdict::pass() };
    let (id, kind) =
        (event.agent_id.as_deref().unwrap_or_default(), event.agent_type.as_deref().unwrap_or_default());
    let (Some(agent), Some(started)) = (ours(kind), session.awaited(id, kind)) else {
        return Verdict::pass();
    };
    let (name, fault) = (("agent", agent.name.to_owned()), ("fault", one_line(fault, 600)));
    if started.sent_on < MOST_TIMES && session.blocked().is_none() {
        let values = vec![name, fault, ("form", agent.form.to_owned())];
        return Verdict::refuse(GATE, Phrase::new("refusals/verdict-form.md", values));
    }
    let values = vec![name, fault, ("times", started.sent_on.saturating_add(1).to_string())];
    let phrase = Some(Phrase::new("refusals/verdict-given-up.md", values));
    Verdict { gate: GATE, phrase, ..Verdict::pass() }
}
