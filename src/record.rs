//! What goes into the ledger for one judged event.
//!
//! Reads session, event and verdict; writes nothing. Invariants: every event leaves a fact; every call that is asked is
//! settled by some later event; what was answered stands beside what was asked.

use crate::agent::ours;
use crate::call::CallState::{Authorized, Completed, Denied, Executing, Failed, Pending};
use crate::call::{CallState, Effect, ToolCall};
use crate::event::Event;
use crate::fact::{Blocked, Checked, Fact, NO_EFFECT, Reported, Said, Seen, Step, Violation};
use crate::gate::Scene;
use crate::gate::owed::{debts, without_git};
use crate::json::{cut, quoted};
use crate::prompt::Prompt;
use crate::redact::redact;
use crate::session::Session;
use crate::state::OpenCall;
use crate::verdict::{Ruling, Verdict};
use serde_json::value::RawValue;

/// Calls in flight; one more settles the oldest.
const MOST_OPEN: usize = 256;

/// The facts of this event.
pub fn facts(session: &Session, event: &Event, verdict: &Verdict, scene: &Scene) -> Vec<Fact> {
    let run = scene.checks.iter().filter(|run| run.ending != Checked::NOT_CONCERNED);
    let checks = run.cloned().map(Fact::Check);
    checks.chain(of_event(session, event, verdict, scene)).collect()
}

fn of_event(session: &Session, event: &Event, verdict: &Verdict, scene: &Scene) -> Vec<Fact> {
    match (event.name.as_str(), &event.call) {
        ("PreToolUse", Some(call)) => asked(session, event, call, verdict, scene),
        ("PostToolUse", Some(call)) => ended(session, event, call, Completed, scene),
        ("PostToolUseFailure", Some(call)) => ended(session, event, call, Failed, scene),
        _ => {
            let mut facts = settled(session, event);
            let mut seen = seen(event, scene, said(verdict));
            if event.name == "Stop" && !scene.busy {
                seen.owed = Some(debts(session, scene).iter().map(|debt| debt.name.to_owned()).collect());
                seen.no_git = without_git(session, scene);
            }
            facts.push(Fact::Event(seen));
            facts.extend(reported(session, event, verdict, scene));
            facts
        }
    }
}

/// The verdict of one of our agents, or that its report held none. A BLOCK is a block at once, in the same batch.
fn reported(session: &Session, event: &Event, verdict: &Verdict, scene: &Scene) -> Vec<Fact> {
    let (Some(report), Some(id)) = (&scene.report, event.agent_id.as_deref()) else { return Vec::new() };
    let Some(agent) = event.agent_type.as_deref().and_then(ours) else { return Vec::new() };
    if session.awaited(id, agent.name).is_none() {
        return Vec::new();
    }
    let (finding, problem) = match report {
        Ok(finding) => (Some(finding.clone()), None),
        Err(problem) => (None, Some(cut(problem, 600).to_owned())),
    };
    let blocks = finding.as_ref().filter(|finding| finding.verdict.as_deref() == Some("BLOCK"));
    let block = blocks.map(|finding| {
        Fact::Block(Blocked { by: agent.name.to_owned(), reason: finding.problems.join("; ") })
    });
    let sent_on = verdict.ruling == Ruling::Deny;
    let fact = Reported { agent: agent.name.to_owned(), agent_id: id.to_owned(), finding, problem, sent_on };
    [Fact::Verdict(fact)].into_iter().chain(block).collect()
}

fn asked(session: &Session, event: &Event, call: &ToolCall, verdict: &Verdict, scene: &Scene) -> Vec<Fact> {
    let refused = verdict.ruling == Ruling::Deny;
    let open = session.open_call(&call.key);
    if open.is_some_and(|open| open.deferred && open.input_sha256 == call.input_sha256) {
        return decided(event, call, verdict);
    }
    if open.is_some() {
        return vec![Fact::Violation(Violation {
            agent_id: event.agent_id.clone(),
            call: Some(call.key.clone()),
            event: event.name.clone(),
            said: said(verdict),
            violation: "an id was used for a second call while the first was running".to_owned(),
        })];
    }
    let mut facts = Vec::new();
    if session.memory.calls.len() >= MOST_OPEN {
        facts.extend(session.memory.calls.first().into_iter().flat_map(settle));
    }
    let (gate, reason) = spoken(verdict);
    let mut first = step(event, call, None, Pending);
    first.input = raw(&call.clipped);
    first.effect = scene.effect.filter(|effect| *effect != Effect::Read);
    first.mode.clone_from(&event.permission_mode);
    if matches!(verdict.ruling, Ruling::Ask | Ruling::Defer) {
        first.deferred = (verdict.ruling == Ruling::Defer).then_some(true);
        (first.gate, first.reason) = (gate, reason);
        facts.push(Fact::Call(first));
        return facts;
    }
    facts.push(Fact::Call(first));
    if refused {
        let denied = Step { gate, reason, ..step(event, call, Some(Pending), Denied) };
        facts.push(Fact::Call(denied));
    } else {
        facts.push(Fact::Call(step(event, call, Some(Pending), Authorized)));
        facts.push(Fact::Call(step(event, call, Some(Authorized), Executing)));
    }
    facts
}

fn spoken(verdict: &Verdict) -> (Option<String>, Option<String>) {
    let said = !verdict.reason.is_empty();
    let reason = said.then(|| cut(&redact(&verdict.reason), 2048).to_owned());
    (said.then(|| verdict.gate.to_owned()), reason)
}

/// The call a run paused for comes up again, and is no longer a question.
fn decided(event: &Event, call: &ToolCall, verdict: &Verdict) -> Vec<Fact> {
    let (gate, reason) = spoken(verdict);
    match verdict.ruling {
        Ruling::Ask | Ruling::Defer => Vec::new(),
        Ruling::Deny => {
            vec![Fact::Call(Step { gate, reason, ..step(event, call, Some(Pending), Denied) })]
        }
        _ => vec![
            Fact::Call(step(event, call, Some(Pending), Authorized)),
            Fact::Call(step(event, call, Some(Authorized), Executing)),
        ],
    }
}

fn ended(session: &Session, event: &Event, call: &ToolCall, end: CallState, scene: &Scene) -> Vec<Fact> {
    let Some(open) = session.open_call(&call.key) else {
        let repeated = scene.past.is_some();
        return vec![if repeated { again(event, call, scene) } else { unasked(event, call) }];
    };
    let mut facts = Vec::new();
    // A person was asked and said yes: the host tells us only now.
    if open.state == Pending {
        facts.push(Fact::Call(step(event, call, Some(Pending), Authorized)));
    }
    if open.state != Executing {
        facts.push(Fact::Call(step(event, call, Some(Authorized), Executing)));
    }
    let mut last = step(event, call, Some(Executing), end);
    last.input_sha256.clone_from(&open.input_sha256);
    last.prompt_id.clone_from(&open.prompt_id);
    last.duration_ms = call.duration_ms;
    last.reason = (!call.error.is_empty()).then(|| call.error.clone());
    last.todos = call.todos.filter(|_| end == Completed);
    last.drawn = scene.drawn;
    last.marks = scene.marks.clone().filter(|marks| *marks != session.memory.marks);
    facts.push(Fact::Call(last));
    facts.extend(
        scene
            .disarmed
            .as_ref()
            .map(|why| Fact::Block(Blocked { by: "guard".to_owned(), reason: why.clone() })),
    );
    facts
}

/// A call that ended before ends again: known, and counted once.
fn again(event: &Event, call: &ToolCall, scene: &Scene) -> Fact {
    let id = quoted(&call.key.id);
    let about =
        format!("{{\"repeated\":true,\"tool_name\":{},\"tool_use_id\":{id}}}", quoted(&call.key.tool));
    Fact::Event(Seen { about: raw(&about).unwrap_or_default(), ..seen(event, scene, None) })
}

/// The host ran a call we never authorized: our hook was killed, and the host failed open.
fn unasked(event: &Event, call: &ToolCall) -> Fact {
    Fact::Violation(Violation {
        agent_id: event.agent_id.clone(),
        call: Some(call.key.clone()),
        event: event.name.clone(),
        said: None,
        violation: "a call ended that was never authorized: its hook did not run, or was killed".to_owned(),
    })
}

/// Calls that can get no further event: those of the thread that now moves on. Background agents keep theirs.
fn settled(session: &Session, event: &Event) -> Vec<Fact> {
    let of_main = |open: &&OpenCall| open.agent_id.is_none();
    let same_thread = |open: &&OpenCall| open.agent_id == event.agent_id;
    let calls = in_flight(session);
    let over: Vec<&OpenCall> = match event.name.as_str() {
        "SessionEnd" => calls.collect(),
        "PostToolBatch" | "SubagentStop" => calls.filter(same_thread).collect(),
        "UserPromptSubmit" if Prompt::of(&event.prompt) != Prompt::Machine => calls.filter(of_main).collect(),
        "Stop" | "StopFailure" => calls.filter(of_main).collect(),
        _ => Vec::new(),
    };
    over.into_iter().flat_map(settle).collect()
}

/// Calls of a client that has ended: nobody will hear of them. The one a run paused for waits on.
pub fn abandoned(session: &Session) -> Vec<Fact> {
    in_flight(session).flat_map(settle).collect()
}

fn in_flight(session: &Session) -> impl Iterator<Item = &OpenCall> {
    session.memory.calls.iter().filter(|open| !open.deferred || open.state != Pending)
}

/// A person does not want the call that a run paused for.
pub fn rejected(open: &OpenCall, reason: String) -> Vec<Fact> {
    let mut facts = if open.state == Pending { settle(open) } else { Vec::new() };
    if let Some(Fact::Call(step)) = facts.last_mut() {
        (step.gate, step.reason) = (Some("run".to_owned()), Some(reason));
    }
    facts
}

fn settle(open: &OpenCall) -> Vec<Fact> {
    let step = |from, to: CallState| {
        Fact::Call(Step {
            agent_id: open.agent_id.clone(),
            agent_type: None,
            call: open.call.clone(),
            deferred: None,
            drawn: None,
            duration_ms: None,
            effect: None,
            from: Some(from),
            gate: None,
            input: None,
            input_sha256: open.input_sha256.clone(),
            marks: None,
            mode: None,
            prompt_id: open.prompt_id.clone(),
            reason: to.is_terminal().then(|| NO_EFFECT.to_owned()),
            to,
            todos: None,
        })
    };
    match open.state {
        Pending => vec![step(Pending, Denied)],
        Authorized => vec![step(Authorized, Executing), step(Executing, Failed)],
        _ => vec![step(Executing, Failed)],
    }
}

fn step(event: &Event, call: &ToolCall, from: Option<CallState>, to: CallState) -> Step {
    Step {
        agent_id: event.agent_id.clone(),
        agent_type: event.agent_type.clone(),
        call: call.key.clone(),
        deferred: None,
        drawn: None,
        duration_ms: None,
        effect: None,
        from,
        gate: None,
        input: None,
        input_sha256: call.input_sha256.clone(),
        marks: None,
        mode: None,
        prompt_id: event.prompt_id.clone(),
        reason: None,
        to,
        todos: None,
    }
}

fn seen(event: &Event, scene: &Scene, said: Option<Said>) -> Seen {
    Seen {
        about: raw(&event.about).unwrap_or_default(),
        agent_id: event.agent_id.clone(),
        agent_type: event.agent_type.clone(),
        baseline: None,
        boot: None,
        event: cut(&event.name, 64).to_owned(),
        folders: None,
        foreign: scene.shadowed.clone(),
        held: None,
        linked: None,
        marks: None,
        mode: event.permission_mode.clone(),
        no_git: false,
        owed: None,
        policy: None,
        policy_hash: None,
        prompt_id: event.prompt_id.clone(),
        root: None,
        run: scene.stage.as_ref().map(|stage| stage.run_id.clone()),
        said,
    }
}

fn said(verdict: &Verdict) -> Option<Said> {
    let silent = verdict.ruling == Ruling::Pass && verdict.notice.is_empty() && verdict.context.is_empty();
    (!silent).then(|| Said {
        gate: verdict.gate.to_owned(),
        reason: cut(&redact(&verdict.reason), 2048).to_owned(),
        ruling: verdict.ruling.name().to_owned(),
    })
}

fn raw(canonical: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(canonical.to_owned()).ok()
}
