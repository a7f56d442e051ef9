//! Refuses further changes when a drawn audit has not begun.
//!
//! Invariant: the draw itself refuses nothing, and the policy's `grace` allows a number of changes before the
//! audit is required. Way out: start `custodiet`; changes pass while it is at work, and are refused again if
//! it is stopped before it reports.

use super::{Context, is_waived, profile, sandbox};
use crate::model::agent::AgentId;
use crate::model::call::Effect;
use crate::model::event::Event;
use crate::model::gate_id::GateId;
use crate::model::profile::Profile;
use crate::model::verdict::Verdict;
use crate::session::fold::Session;
use crate::text::template::Phrase;

const GATE: GateId = GateId::Audit;

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let Some(call) = event.asked_call() else { return Verdict::pass() };
    let audit = &session.state.audit;
    let grace = session.policy().audit.grace;
    let overdue = audit.due && !session.is_audited_by(&context.client) && audit.writes_since >= grace;
    if event.by_our_agent().is_some()
        || !overdue
        || !context.effect().is_some_and(Effect::is_write)
        || is_waived(session, context, GATE)
        || context.call().is_some_and(|seen| seen.does.scratch)
        // In a throwaway layer the command changes nothing.
        || profile::of_call(session, event, context) == Some(Profile::Trial)
    {
        return Verdict::pass();
    }
    let values = vec![
        ("writes", audit.writes_since.to_string()),
        ("call", sandbox::shown(call)),
        ("agent", context.agent(AgentId::Custodiet)),
    ];
    Verdict::refuse(GATE, Phrase::new("refusals/audit-due.md", values))
}
