//! Makes our agents end with a valid verdict. Refuses messages to them, agents that use their names, and a
//! second one while the first is at work.
//!
//! Invariant: an agent is sent back at most twice, and never in a blocked session; after that it may end
//! without a decision, and the user is told. Way out: the refusal shows the exact form.

use super::{Context, unreported};
use crate::model::agent::{AgentId, meant, ours};
use crate::model::call::ToolCall;
use crate::model::event::{Event, What};
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::verdict::Verdict;
use crate::session::fold::Session;
use crate::session::memory::AtWork;
use crate::text::json;
use crate::text::template::{Phrase, one_line};

const GATE: GateId = GateId::Report;
pub const MOST_TIMES: u64 = 2;

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    if let Some(name) = posing(event) {
        return Verdict::deny(
            GATE,
            format!(
                "only our own agent may be called `{name}`: reports of another one could pass for a verdict\n\
                 hint: give it another name, or start the agent `{}` itself",
                context.agent(name)
            ),
        );
    }
    if let Some(name) = spoken_to(session, event) {
        return Verdict::deny(
            GATE,
            format!(
                "`{name}` is briefed only by aops-hook: messages do not reach it\n\
                 hint: start the agent `{}` again; aops-hook tells it what it needs to know",
                context.agent(name.clone())
            ),
        );
    }
    let again = |call: &ToolCall| wait_for(session, context, started(call)?, &call.key.id);
    if let Some(phrase) = event.asked_call().and_then(again) {
        return Verdict::refuse(GATE, phrase);
    }
    let report = context.agent_stop().and_then(|stop| stop.report.as_ref());
    let Some(Err(fault)) = report else { return judge_absence(session, event, context) };
    let id = event.agent_id.as_deref().unwrap_or_default();
    let kind = event.agent_type.as_deref().unwrap_or_default();
    let awaited = session.awaited(id, kind).filter(|_| context.unproven.is_none());
    let (Some(agent), Some(started)) = (ours(kind), awaited) else {
        return Verdict::pass();
    };
    let name = ("agent", agent.name.to_owned());
    let fault = ("fault", one_line(fault, 600));
    if started.sent_on < MOST_TIMES && session.blocked().is_none() {
        let values = vec![name, fault, ("form", agent.form.to_owned())];
        return Verdict::refuse(GATE, Phrase::new("refusals/verdict-form.md", values));
    }
    let values = vec![name, fault, ("times", started.sent_on.saturating_add(1).to_string())];
    let phrase = Some(Phrase::new("refusals/verdict-given-up.md", values));
    Verdict { gate: Some(GATE), phrase, ..Verdict::pass() }
}

/// This event brought no report, although we wait for one or one was due.
fn judge_absence(session: &Session, event: &Event, context: &Context) -> Verdict {
    if let Some(agent) = awaited_in_background(session, event, context) {
        let words = format!(
            "`{}` is still working; the client continues by itself with its report",
            context.agent(agent.name.clone())
        );
        return Verdict { halt: true, ..Verdict::notice(GATE, words) };
    }
    unreported::judge(session, event, context)
}

/// The agent of ours that this batch started in the background, and that the task waits for. The client
/// resumes the model with its report, so another request would only tell it to wait. Work continues during an
/// audit.
pub fn awaited_in_background<'s>(
    session: &'s Session,
    event: &Event,
    context: &Context,
) -> Option<&'s AtWork> {
    let What::Batched(batch) = &event.what else { return None };
    let by_main = event.agent_id.is_none() && context.stage.is_none();
    let here = |agent: &&AtWork| agent.client == context.client && agent.name != AgentId::Custodiet;
    let mut at_work = session.memory.agents.at_work.iter().filter(|_| by_main && context.interactive);
    at_work.find(|agent| here(agent) && batch.launched.contains(&agent.call))
}

/// Says that this agent is already at work, for how long, and what to do.
pub fn wait_for(session: &Session, context: &Context, agent: AgentId, call: &str) -> Option<Phrase> {
    let age = context.at_work(session, agent, call)?;
    Some(Phrase::new("refusals/agent-at-work.md", vec![("agent", context.agent(agent)), ("age", age)]))
}

/// The agent of ours that a call starts.
pub fn started(call: &ToolCall) -> Option<AgentId> {
    let agent = matches!(call.key.tool.as_str(), "Agent" | "Task");
    let input = json::read(&call.input).ok().filter(|_| agent)?;
    ours(&meant(&input.text_of("subagent_type")?)?).map(|agent| agent.id)
}

/// Our agent's name, if another agent would get it: events of a teammate carry the name it was given.
fn posing(event: &Event) -> Option<AgentId> {
    let call = event.asked_call()?;
    if call.key.tool == "Workflow" {
        return named_in(&call.input);
    }
    let input =
        json::read(&call.input).ok().filter(|_| matches!(call.key.tool.as_str(), "Agent" | "Task"))?;
    let starts_ours = input.text_of("subagent_type").is_some_and(|kind| meant(&kind).is_some());
    let name = meant(&input.text_of("name").filter(|_| !starts_ours)?)?;
    ours(&name).map(|agent| agent.id)
}

/// One of our agents that a script names in quotes, as it would to start it.
fn named_in(script: &str) -> Option<AgentId> {
    let quoted = script.split(['\'', '"', '`', '\\']).find_map(|word| ours(&meant(word)?));
    quoted.map(|agent| agent.id)
}

/// The agent of ours that gets a message, by its name or its ID.
fn spoken_to(session: &Session, event: &Event) -> Option<Stored<AgentId>> {
    let call = event.asked_call().filter(|call| call.key.tool == "SendMessage")?;
    let input = json::read(&call.input).ok()?;
    let started = &session.memory.progress.agents;
    let mut named =
        ["to", "recipient", "agent_id", "target"].into_iter().filter_map(|field| input.text_of(field));
    named.find_map(|to| {
        let by_id = started.iter().find(|agent| agent.agent_id == to).map(|agent| agent.name.clone());
        by_id.or_else(|| ours(&meant(&to)?).map(|agent| agent.id.into()))
    })
}
