//! Mode `observe`: judges an event as the rehearsed mode would.
//!
//! Reads the session, changes a copy. Invariants: an event is judged again only if the mode in force lets it
//! pass; the refusal is only recorded, and the answer does not change.

use super::{Context, judge};
use crate::config::policy::{Level, ModeLevel, Policy};
use crate::config::workflow::Gate;
use crate::model::call::Effect;
use crate::model::event::{Event, EventKind};
use crate::model::phase::{Phase, Sandbox};
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fold::Session;

/// The session as it would be in the rehearsed mode; `None` if that mode could not refuse this event.
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

/// No agent was asked for a plan here, so a mode that requires one at every prompt would never have one. In
/// mode `loop` the task has grown by what was measured so far.
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

/// What the rehearsed mode would say, if it is stricter than the real verdict.
pub fn verdict(session: &Session, event: &Event, context: &Context, said: &Verdict) -> Option<Verdict> {
    let would = judge(session, event, context);
    (would.ruling > Ruling::Pass && would.ruling > said.ruling).then_some(would)
}
