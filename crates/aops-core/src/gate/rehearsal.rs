//! Mode `observe`: judges an event as the mode that is rehearsed would.
//!
//! Reads the session, changes a copy. Invariants: only what the mode in force lets pass is judged again; the
//! refusal is for the record, and the answer does not change.

use super::{Context, judge};
use crate::config::policy::{Level, ModeLevel, Policy};
use crate::config::workflow::Gate;
use crate::model::call::Effect;
use crate::model::event::{Event, EventKind};
use crate::model::phase::{Phase, Sandbox};
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fold::Session;

/// The session as it would stand in the mode that is rehearsed; nothing where that mode could not refuse this
/// event.
pub fn session(session: &Session, event: &Event, context: &Context) -> Option<Session> {
    let policy = session.policy();
    let may_refuse = match event.kind() {
        EventKind::PreToolUse => {
            let dangerous = context.call().is_some_and(|call| !call.danger.dangers.is_empty());
            context.effect() != Some(Effect::Read) || dangerous || !policy.rules.is_empty()
        }
        EventKind::Stop | EventKind::SubagentStop => true,
        _ => false,
    };
    if !may_refuse || session.blocked().is_some() || context.stage.is_some() {
        return None;
    }
    Some(stand(session, policy.rehearsal()?))
}

/// A mode that wants a plan at every prompt would have none, as no agent was asked for one. In mode `loop`
/// the task has grown by what was measured so far.
pub fn stand(session: &Session, policy: Policy) -> Session {
    let mut session = session.clone();
    session.state.audit.due |= session.memory.progress.audit.rehearsed;
    let plans_first = policy.mode.level() == ModeLevel::Strict && policy.gates.sandbox != Level::Off;
    session.memory.configured.policy = Some(Box::new(policy));
    let waived = session.state.task.as_ref().is_some_and(|task| task.waiver.is_some());
    if waived || session.is_planned() {
        return session;
    }
    if plans_first {
        session.state.state.hydration_pending = true;
        session.state.phase = Phase::Hydrate;
        session.state.sandbox = Sandbox::Shut;
        session.memory.progress.plan.gates = vec![Gate::Qa.into()];
    } else if session.memory.progress.weight.outgrown.is_none() {
        let words = session.weigh(&session.memory.progress.weight.grown);
        session.memory.progress.weight.outgrown = words;
    }
    session
}

/// What that session would say, where it is stricter than what was said.
pub fn verdict(session: &Session, event: &Event, context: &Context, said: &Verdict) -> Option<Verdict> {
    let would = judge(session, event, context);
    (would.ruling > Ruling::Pass && would.ruling > said.ruling).then_some(would)
}
