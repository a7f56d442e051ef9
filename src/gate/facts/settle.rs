//! Calls whose end was never reported: interrupted, refused by the client, or pushed out by too many others.
//!
//! Reads the open calls and the event; writes nothing. Invariant: every call that was asked is settled by some later event.

use crate::model::call::CallState::{self, Authorized, Denied, Executing, Failed, Pending};
use crate::model::event::{Event, EventKind};
use crate::session::fact::{Fact, NO_EFFECT, Step};
use crate::session::fold::Session;
use crate::session::prompt::Prompt;
use crate::session::state::OpenCall;

/// Calls that can get no further event, because their thread moves on. Background agents keep theirs.
pub(super) fn settled(session: &Session, event: &Event) -> Vec<Fact> {
    let of_main = |open: &&OpenCall| open.agent_id.is_none();
    let same_thread = |open: &&OpenCall| open.agent_id == event.agent_id;
    let calls = in_flight(session);
    let by_person = Prompt::of(&event.prompt) != Prompt::Machine;
    let over: Vec<&OpenCall> = match event.kind {
        EventKind::SessionEnd => calls.collect(),
        EventKind::PostToolBatch | EventKind::SubagentStop => calls.filter(same_thread).collect(),
        EventKind::UserPromptSubmit if by_person => calls.filter(of_main).collect(),
        EventKind::Stop | EventKind::StopFailure => calls.filter(of_main).collect(),
        _ => Vec::new(),
    };
    over.into_iter().flat_map(settle).collect()
}

/// Calls of a client that has ended: no event will report them. The one that a run paused for stays open.
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

pub(super) fn settle(open: &OpenCall) -> Vec<Fact> {
    let step = |from, to: CallState| {
        Fact::Call(Step {
            agent_id: open.agent_id.clone(),
            call: open.call.clone(),
            from: Some(from),
            input_sha256: open.input_sha256.clone(),
            prompt_id: open.prompt_id.clone(),
            reason: to.is_terminal().then(|| NO_EFFECT.to_owned()),
            to,
            ..Step::default()
        })
    };
    match open.state {
        Pending => vec![step(Pending, Denied)],
        Authorized => vec![step(Authorized, Executing), step(Executing, Failed)],
        _ => vec![step(Executing, Failed)],
    }
}
