//! Handles clients that cannot start agents, and agents whose names a repository has taken: the session is
//! not sent to an agent that cannot start. What only an agent could unlock stays refused, with the remaining
//! way out, and the person is told.
//!
//! Reads what the session's start found out about the client; writes nothing. Invariant: nothing passes that
//! would not pass otherwise, except that nobody waits for an audit that cannot begin.

use super::{Context, audit, sandbox};
use crate::model::agent::AgentId;
use crate::model::event::Event;
use crate::model::gate_id::GateId;
use crate::model::phase::Phase;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fold::Session;
use crate::text::template::{Phrase, one_line};

/// The plan gate, with a way out that exists in this client.
pub fn judge_sandbox(session: &Session, event: &Event, context: &Context) -> Verdict {
    let said = sandbox::judge(session, event, context);
    let awaited = if session.state.phase == Phase::Review { AgentId::Critic } else { AgentId::Hydrator };
    let why = session.memory.client.agentless.clone().or_else(|| taken(session, context, awaited));
    let (Some(why), Some(call)) = (why, event.call()) else { return said };
    let halted = session.state.phase == Phase::Halted;
    if said.ruling != Ruling::Deny || halted || event.by_our_agent().is_some() || context.stage.is_some() {
        return said;
    }
    let shown = sandbox::shown(call);
    let grown = context.call().and_then(|seen| sandbox::outgrown(session, seen));
    let cause = match grown {
        Some(figures) => format!("this task has outgrown a small edit ({figures}) and needs a plan"),
        None if awaited == AgentId::Critic => "the plan needs a review".to_owned(),
        None => "changes need a plan".to_owned(),
    };
    if session.memory.client.agentless.is_none() {
        return refuse_missing(GateId::Sandbox, shown, cause, why, awaited);
    }
    let told = format!(
        "Blocked: `{shown}`, because {cause}, and this client cannot start the agent that makes one ({why})\n\
         hint: plan mode, a prompt that begins with `.`, or a start with `AOPS_MODE=guard` lets it continue"
    );
    let phrase = Phrase::new("refusals/agentless.md", vec![("call", shown), ("cause", cause), ("why", why)]);
    Verdict { notice: told, aloud: true, ..Verdict::refuse(GateId::Sandbox, phrase) }
}

/// Why this agent cannot be started here under any name.
fn taken(session: &Session, context: &Context, agent: AgentId) -> Option<String> {
    let taken = session.memory.client.names_taken.as_ref();
    let taken = taken.filter(|_| context.agents.missing.iter().any(|missing| missing == agent.name()))?;
    let file = one_line(&taken.path, 300);
    Some(format!("`{file}` uses the name of one of our agents, and ours is not installed under another name"))
}

fn refuse_missing(gate: GateId, shown: String, cause: String, why: String, agent: AgentId) -> Verdict {
    let by_plan = gate == GateId::Sandbox;
    let told = format!(
        "blocked: `{shown}`, since {cause}, and the agent that does it cannot be started here: {why}\n\
         hint: run `aops-hook install` in this folder, {}or start a prompt with `.`",
        if by_plan { "approve a plan in plan mode, " } else { "" }
    );
    let first =
        if by_plan { "enter plan mode and let the user approve your plan, then try again; or " } else { "" };
    let first = ("first", first.to_owned());
    let values = vec![("call", shown), ("cause", cause), ("why", why), first, ("agent", agent.to_string())];
    Verdict {
        notice: told,
        aloud: true,
        ..Verdict::refuse(gate, Phrase::new("refusals/agent-missing.md", values))
    }
}

/// The audit gate, unless this client cannot start agents. If only the auditor's name is taken, the audit is
/// still required.
pub fn judge_audit(session: &Session, event: &Event, context: &Context) -> Verdict {
    if session.memory.client.agentless.is_some() {
        return Verdict::pass();
    }
    let said = audit::judge(session, event, context);
    match (taken(session, context, AgentId::Custodiet), event.call()) {
        (Some(why), Some(call)) if said.ruling == Ruling::Deny => {
            let cause = "an audit was drawn and has not begun".to_owned();
            refuse_missing(GateId::Audit, sandbox::shown(call), cause, why, AgentId::Custodiet)
        }
        _ => said,
    }
}
