//! The steps of a call: asked, decided, ended, or settled when its end was never reported.
//!
//! Reads session, event and verdict; writes nothing. Invariant: every call that is asked is settled by some later event.

use super::settle::settle;
use super::{raw, said, seen};
use crate::gate::Context;
use crate::model::call::CallState::{Authorized, Completed, Denied, Executing, Pending};
use crate::model::call::{CallState, Effect, ToolCall};
use crate::model::event::Event;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fact::{Blocked, Fact, Seen, Step, Violation};
use crate::session::fold::Session;
use crate::text::json::{cut, quoted};
use crate::text::redact::redact;

/// Most calls in flight; one more settles the oldest.
const MOST_OPEN: usize = 256;

pub(super) fn asked(
    session: &Session,
    event: &Event,
    call: &ToolCall,
    verdict: &Verdict,
    context: &Context,
) -> Vec<Fact> {
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
    first.effect = context.effect().filter(|effect| *effect != Effect::Read);
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

/// The call that a run paused for comes up again with its answer.
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

pub(super) fn ended(session: &Session, event: &Event, call: &ToolCall, end: CallState, context: &Context) -> Vec<Fact> {
    let Some(open) = session.open_call(&call.key) else {
        let repeated = context.past.is_some();
        return vec![if repeated { again(event, call, context) } else { unasked(event, call) }];
    };
    let mut facts = Vec::new();
    // A person was asked and said yes: the client reports it only now.
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
    last.drawn = context.ended.drawn;
    last.marks = context.ended.marks.clone().filter(|marks| *marks != session.memory.marks);
    facts.push(Fact::Call(last));
    let disarmed = context.ended.disarmed.clone();
    facts.extend(disarmed.map(|reason| Fact::Block(Blocked { by: "guard".to_owned(), reason })));
    facts
}

/// A call that ended before ends again: recorded, but counted once.
fn again(event: &Event, call: &ToolCall, context: &Context) -> Fact {
    let id = quoted(&call.key.id);
    let about = format!("{{\"repeated\":true,\"tool_name\":{},\"tool_use_id\":{id}}}", quoted(&call.key.tool));
    Fact::Event(Seen { about: raw(&about).unwrap_or_default(), ..seen(event, context, None) })
}

/// The client ran a call that was never authorized: the hook was killed, and the client failed open.
fn unasked(event: &Event, call: &ToolCall) -> Fact {
    Fact::Violation(Violation {
        agent_id: event.agent_id.clone(),
        call: Some(call.key.clone()),
        event: event.name.clone(),
        said: None,
        violation: "a call ended that was never authorized: its hook did not run, or was killed".to_owned(),
    })
}

fn step(event: &Event, call: &ToolCall, from: Option<CallState>, to: CallState) -> Step {
    Step {
        agent_id: event.agent_id.clone(),
        agent_type: event.agent_type.clone(),
        call: call.key.clone(),
        from,
        input_sha256: call.input_sha256.clone(),
        prompt_id: event.prompt_id.clone(),
        to,
        ..Step::default()
    }
}
