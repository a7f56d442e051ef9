//! Refuses further changes when a drawn audit has not begun.
//!
//! Reads the audit's counters; writes nothing. Invariant: the draw itself refuses nothing, and a few changes are free
//! before it binds. Way out: start `custodiet`; its start alone opens the gate.

use super::{Context, is_waived, sandbox};
use crate::model::agent::ours;
use crate::model::event::Event;
use crate::model::verdict::Verdict;
use crate::session::fold::Session;
use crate::text::template::Phrase;

const GATE: &str = "audit";

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let Some(call) = event.call.as_ref().filter(|_| event.name == "PreToolUse") else {
        return Verdict::pass();
    };
    let by_ours =
        event.agent_id.as_ref().and(event.agent_type.as_deref()).is_some_and(|name| ours(name).is_some());
    let audit = &session.state.audit;
    let overdue = audit.due && !session.memory.progress.auditing && audit.writes_since >= context.grace;
    if by_ours
        || !overdue
        || !context.effect.is_some_and(crate::model::call::Effect::is_write)
        || is_waived(session, context, GATE)
    {
        return Verdict::pass();
    }
    let values = vec![
        ("writes", audit.writes_since.to_string()),
        ("call", sandbox::shown(call)),
        ("agent", context.agent("custodiet")),
    ];
    Verdict::refuse(GATE, Phrase::new("refusals/audit-due.md", values))
}
