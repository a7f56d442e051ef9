//! Settles calls for which no event will report an end.
//!
//! Reads session, event and context; writes nothing. Invariant: what such a call did to its file counts as if
//! its end had been reported.

use crate::gate::{Context, questions};
use crate::model::call::CallState::{self, Authorized, Completed, Denied, Executing, Failed, Pending};
use crate::model::call::Effect;
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::session::fact::{Fact, NO_EFFECT, Step, UNREPORTED};
use crate::session::fold::Session;
use crate::session::memory::OpenCall;
use crate::session::prompt::Prompt;

/// Calls that can get no further event because their thread moves on. Calls of background agents stay open.
pub(super) fn settled(session: &Session, event: &Event, context: &Context) -> Vec<Fact> {
    let of_main = |open: &&OpenCall| open.agent_id.is_none();
    let same_thread = |open: &&OpenCall| open.agent_id == event.agent_id;
    let calls = in_flight(session);
    let by_person = context.prompt() != Prompt::Machine;
    let over: Vec<&OpenCall> = match event.kind() {
        EventKind::SessionEnd => calls.collect(),
        EventKind::PostToolBatch | EventKind::SubagentStop => calls.filter(same_thread).collect(),
        // When a session continues, the client forgets a deferred call; in a run it continues only with it.
        EventKind::UserPromptSubmit if by_person && context.stage.is_none() => {
            session.memory.calls.iter().filter(of_main).collect()
        }
        EventKind::UserPromptSubmit if by_person => calls.filter(of_main).collect(),
        EventKind::Stop | EventKind::StopFailure => calls.filter(of_main).collect(),
        EventKind::PermissionDenied => calls.filter(|open| questions::is_rejected(event, open)).collect(),
        _ => Vec::new(),
    };
    let made = |open: &OpenCall| open.means.grows.is_none() || context.earlier.made.contains(&open.call.id);
    let drawn = over.iter().find(|open| has_begun(open, event, context) && made(open));
    let drawn = drawn.map(|open| &open.call).filter(|_| context.earlier.drawn.is_some());
    let mut facts: Vec<Fact> = over.iter().flat_map(|open| settle_as(open, event, context)).collect();
    for fact in &mut facts {
        if let Fact::Call(step) = fact
            && step.to.is_terminal()
            && Some(&step.call) == drawn
        {
            step.end.get_or_insert_default().drawn = context.earlier.drawn;
        }
    }
    facts
}

/// A call that changes something and was being made: nobody had to approve it, or the client's record says
/// that it was approved.
pub fn has_begun(open: &OpenCall, event: &Event, context: &Context) -> bool {
    let is_approved = || questions::settled(open, event, context).is_some_and(|answered| answered.allowed);
    open.means.effect.is_some_and(Effect::is_write) && (open.state == Executing || is_approved())
}

/// Ends a call whose end no event reported: its effect on the file says whether it was made.
fn settle_as(open: &OpenCall, event: &Event, context: &Context) -> Vec<Fact> {
    let mut facts = settle_answered(open, event, context);
    if let Some(Fact::Call(last)) = facts.last_mut().filter(|_| context.earlier.made.contains(&open.call.id))
    {
        last.to = Completed;
        last.reason = Some(UNREPORTED.to_owned());
    }
    facts
}

/// The same, including the answer to its question. A call that somebody approved was made.
pub(super) fn settle_answered(open: &OpenCall, event: &Event, context: &Context) -> Vec<Fact> {
    let Some(answered) = questions::settled(open, event, context) else { return settle(open) };
    let begun = answered.allowed.then(|| step(open, Pending, Authorized));
    let state = if answered.allowed { Authorized } else { open.state };
    let settled = settle(&OpenCall { state, ..open.clone() });
    questions::told(event, answered).into_iter().chain(begun).chain(settled).collect()
}

/// Calls of a client that has ended, so no event will report them. The one for which a run paused stays open.
pub fn abandoned(session: &Session) -> Vec<Fact> {
    in_flight(session).flat_map(settle).collect()
}

pub(super) fn in_flight(session: &Session) -> impl Iterator<Item = &OpenCall> {
    session.memory.calls.iter().filter(|open| !open.means.deferred || open.state != Pending)
}

/// A person rejected the call for which a run paused.
pub fn rejected(open: &OpenCall, reason: String) -> Vec<Fact> {
    let mut facts = if open.state == Pending { settle(open) } else { Vec::new() };
    if let Some(Fact::Call(step)) = facts.last_mut() {
        step.gate = Some(GateId::Run.into());
        step.reason = Some(reason);
    }
    facts
}

pub(super) fn settle(open: &OpenCall) -> Vec<Fact> {
    match open.state {
        Pending => vec![step(open, Pending, Denied)],
        Authorized => vec![step(open, Authorized, Executing), step(open, Executing, Failed)],
        _ => vec![step(open, Executing, Failed)],
    }
}

fn step(open: &OpenCall, from: CallState, to: CallState) -> Fact {
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
}
