//! A client that cannot start agents is not sent to one: what only an agent could open stays refused, and the person is told.
//!
//! Reads what the session's start found out about the client; writes nothing. Invariant: nothing passes that would not pass
//! otherwise, except that an audit, which no one could begin, is not waited for.

use super::{Context, audit, sandbox};
use crate::model::event::Event;
use crate::model::phase::Phase;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fold::Session;
use crate::text::template::Phrase;

/// The sandbox, with a way out that this client has.
pub fn judge_sandbox(session: &Session, event: &Event, context: &Context) -> Verdict {
    let said = sandbox::judge(session, event, context);
    let (Some(why), Some(call)) = (&session.memory.agentless, &event.call) else { return said };
    let halted = session.state.phase == Phase::Halted;
    if said.ruling != Ruling::Deny || halted || event.by_our_agent().is_some() || context.stage.is_some() {
        return said;
    }
    let shown = sandbox::shown(call);
    let grown = context.call.as_ref().and_then(|seen| sandbox::outgrown(session, seen));
    let cause = match grown {
        Some(figures) => format!("this task has outgrown a small edit ({figures}) and needs a plan"),
        None => "changes need a plan".to_owned(),
    };
    let told = format!(
        "refused: `{shown}`, since {cause}, and this client cannot start the agent that makes one ({why})\n\
         hint: plan mode, a prompt that begins with `.`, or a start with `AOPS_MODE=guard` lets it work"
    );
    let phrase = Phrase::new("refusals/agentless.md", vec![("call", shown), ("cause", cause), ("why", why.clone())]);
    Verdict { notice: told, aloud: true, ..Verdict::refuse("sandbox", phrase) }
}

/// The audit, unless its agent cannot be started.
pub fn judge_audit(session: &Session, event: &Event, context: &Context) -> Verdict {
    if session.memory.agentless.is_some() { Verdict::pass() } else { audit::judge(session, event, context) }
}
