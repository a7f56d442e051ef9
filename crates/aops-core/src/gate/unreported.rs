//! Handles agents of ours that ended without the report that they owe: no `SubagentStop` came, or somebody
//! stopped them.
//!
//! Reads session, event and context; writes nothing. Invariants: such an agent has not reported, so its start
//! permits nothing and it can be started again; its call's result can only forbid, never allow.

use super::Context;
use crate::model::agent::{Agent, ours};
use crate::model::event::{AgentEnd, AgentEndKind, Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::outcome::AgentVerdict;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::agent_report::{AgentReport, read_refusal};
use crate::session::fact::{Blocked, Fact, Reported, Violation, ViolationKind};
use crate::session::fold::Session;
use crate::session::memory::{AtWork, Started};
use crate::session::prompt::Prompt;
use crate::text::json::{self, Json};

const GATE: GateId = GateId::Report;

/// An agent that ended without reporting.
struct Unreported {
    agent: &'static Agent,
    /// `None` if its start was not reported either.
    agent_id: Option<String>,
    why: Why,
    /// What the call's result forbids.
    finding: Option<AgentReport>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    /// It ended by itself, but the event for that did not arrive.
    Lost,
    /// It was stopped or interrupted, or its client is gone.
    Stopped,
}

/// Tells the person and the model about an end that did not arrive.
pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let lost = find(session, event, context).into_iter().filter(|one| one.why == Why::Lost);
    let say = |one: Unreported| {
        let name = one.agent.name;
        let Some(verdict) = one.finding.as_ref().and_then(|finding| finding.verdict.as_ref()) else {
            let words = format!(
                "`{name}` ended, but its report did not arrive: the `SubagentStop` hook was killed or did not run. Its verdict does not count.\nhint: start `{}` again",
                context.agent(one.agent.id)
            );
            let told =
                if event.kind().row().context { Verdict::context(GATE, &words) } else { Verdict::pass() };
            return Verdict::notice(GATE, words).join(told);
        };
        let words = format!(
            "`{name}` ended with {verdict}, but its `SubagentStop` did not arrive: the hook was killed or did not run. Its {verdict} was read from the call's result and counts.\nhint: find out what killed the hook; `aops-hook log` has the rest"
        );
        Verdict::notice(GATE, words)
    };
    lost.map(say).fold(Verdict::pass(), Verdict::join)
}

/// Records it: a violation if an end was lost, that the agent reported nothing, and findings that count even
/// so.
pub fn facts(session: &Session, event: &Event, verdict: &Verdict, context: &Context) -> Vec<Fact> {
    if verdict.ruling == Ruling::Deny && event.kind() == EventKind::PreToolUse {
        return Vec::new();
    }
    find(session, event, context).into_iter().flat_map(|one| record(session, event, one)).collect()
}

fn record(session: &Session, event: &Event, one: Unreported) -> Vec<Fact> {
    let name = one.agent.name;
    let lost = (one.why == Why::Lost).then(|| {
        let violation =
            format!("`{name}` ended without its SubagentStop: the hook was killed or did not run");
        let violation = Violation::of(event, ViolationKind::AgentLost, violation);
        Fact::Violation(Violation { agent_id: one.agent_id.clone(), ..violation })
    });
    let blocks = one.finding.as_ref().filter(|finding| finding.says(AgentVerdict::Block));
    let blocks = blocks.filter(|_| session.blocked().is_none());
    let block = blocks.map(|finding| Blocked { by: name.to_owned(), reason: finding.problems.join("; ") });
    let problem = match one.why {
        Why::Lost => "it ended without its SubagentStop",
        Why::Stopped => "it was stopped before it reported",
    };
    let reported = one.agent_id.map(|agent_id| {
        // A finding about another task changes nothing; a BLOCK is a fact of its own.
        let finding = one.finding.filter(|_| session.awaited(&agent_id, name).is_some());
        Fact::Verdict(Reported {
            agent: one.agent.id.into(),
            agent_id,
            finding,
            parked_paths: Vec::new(),
            parks: None,
            problem: Some(problem.to_owned()),
            replans: false,
            sent_on: false,
            takes_up: None,
            todos: None,
            tree: None,
        })
    });
    lost.into_iter().chain(reported).chain(block.map(Fact::Block)).collect()
}

/// The agents that have ended according to this event.
fn find(session: &Session, event: &Event, context: &Context) -> Vec<Unreported> {
    match event.kind() {
        // A repeated end of a call says nothing new.
        EventKind::PostToolUse | EventKind::PostToolUseFailure if context.earlier.past.is_some() => {
            Vec::new()
        }
        EventKind::PostToolUse | EventKind::PostToolUseFailure | EventKind::PostToolBatch => {
            told(session, event, context)
        }
        EventKind::UserPromptSubmit if context.prompt() == Prompt::Machine => told(session, event, context),
        // The person interrupted the turn, or it broke: an agent whose call has not ended is not at work any
        // more. A prompt alone proves nothing: it may come while the agent works.
        EventKind::UserPromptSubmit
            if !context.earlier.unstopped.as_ref().is_some_and(|turn| turn.interrupted) =>
        {
            Vec::new()
        }
        EventKind::UserPromptSubmit | EventKind::StopFailure => {
            stopped(session, |started| calls(session, started).any(|at| has_open_call(session, at)))
        }
        EventKind::PreToolUse => {
            let ids = stopped_ids(event);
            stopped(session, |started| ids.contains(&started.agent_id))
        }
        EventKind::Stop => gone(session, event, context),
        EventKind::SessionStart if !context.start().is_some_and(|start| start.beside) => {
            stopped(session, |started| event.source() != "compact" || !is_of(started, &context.client))
        }
        EventKind::SessionEnd => stopped(session, |_| true),
        _ => Vec::new(),
    }
}

/// The agents whose call, or background task, has ended according to the client. From a batch we take only
/// calls whose own end is missing.
fn told(session: &Session, event: &Event, context: &Context) -> Vec<Unreported> {
    let open = |end: &&AgentEnd| session.memory.calls.iter().any(|open| open.call.id == end.call);
    let told = event.ends().iter().filter(|end| event.kind() != EventKind::PostToolBatch || open(end));
    told.filter_map(|end| lost(session, end, context)).collect()
}

fn lost(session: &Session, end: &AgentEnd, context: &Context) -> Option<Unreported> {
    let at_work = session.memory.agents.at_work.iter().find(|at| at.call == end.call);
    let agent_id = end.agent_id.as_ref().or_else(|| at_work?.agent_id.as_ref());
    let known = agent_id.and_then(|id| started(session, id));
    let agent = match (known, at_work) {
        (Some(started), _) if started.done => return None,
        (Some(started), _) => ours(started.name.name())?,
        // Its start did not arrive either. If it did arrive but is unknown, a foreign file uses our agent's
        // name.
        (None, Some(at)) if at.agent_id.is_none() && end.how == AgentEndKind::Completed => {
            ours(at.name.name())?
        }
        _ => return None,
    };
    if known.is_none() && context.agents.renamed.iter().any(|name| name == agent.name) {
        return None;
    }
    let why = if end.how == AgentEndKind::Stopped { Why::Stopped } else { Why::Lost };
    let agent_id = known.map(|started| started.agent_id.clone());
    Some(Unreported { agent, agent_id, why, finding: read_refusal(agent, &end.report) })
}

/// Agents that have ended, because the client does not list them as running at the end of a turn.
fn gone(session: &Session, event: &Event, context: &Context) -> Vec<Unreported> {
    let running = event.stopped().and_then(|stop| stop.running.as_ref());
    let over = |started: &Started| match running {
        Some(running) => is_of(started, &context.client) && !running.contains(&started.agent_id),
        None => calls(session, started).any(|at| has_open_call(session, at)),
    };
    let mut all = stopped(session, over);
    for one in &mut all {
        let at_work = session.memory.agents.at_work.iter().any(|at| at.agent_id == one.agent_id);
        one.why = if at_work { Why::Lost } else { Why::Stopped };
    }
    all
}

fn stopped(session: &Session, over: impl Fn(&Started) -> bool) -> Vec<Unreported> {
    let open = session.memory.progress.agents.iter().filter(|started| !started.done && over(started));
    let one = |started: &Started| {
        let agent = ours(started.name.name())?;
        let agent_id = Some(started.agent_id.clone());
        Some(Unreported { agent, agent_id, why: Why::Stopped, finding: None })
    };
    open.filter_map(one).collect()
}

fn started<'a>(session: &'a Session, id: &str) -> Option<&'a Started> {
    session.memory.progress.agents.iter().find(|started| started.agent_id == id)
}

/// The calls that started this agent and are not known to have ended.
fn calls<'a>(session: &'a Session, started: &'a Started) -> impl Iterator<Item = &'a AtWork> {
    session.memory.agents.at_work.iter().filter(|at| at.agent_id.as_ref() == Some(&started.agent_id))
}

fn has_open_call(session: &Session, at: &AtWork) -> bool {
    session.memory.calls.iter().any(|open| open.call.id == at.call)
}

fn is_of(started: &Started, client: &str) -> bool {
    started.client == client
}

/// The tasks that a call stops: every text in its input, since tools use different field names.
fn stopped_ids(event: &Event) -> Vec<String> {
    let Some(call) = event.asked_call() else { return Vec::new() };
    let tool = call.key.tool.to_lowercase();
    if !["stop", "kill", "close_agent", "cancel", "interrupt"].iter().any(|word| tool.contains(word)) {
        return Vec::new();
    }
    let Ok(Json::Object(members)) = json::read(&call.input) else { return Vec::new() };
    let texts = members.iter().flat_map(|(_, value)| match value {
        Json::List(items) => items.iter().filter_map(|item| Some(item.text()?.into_owned())).collect(),
        value => value.text().map(|text| vec![text.into_owned()]).unwrap_or_default(),
    });
    texts.collect()
}
