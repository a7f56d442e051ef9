//! Mode `observe`: judges an event as the mode that is rehearsed would.
//!
//! Reads the session, changes a copy. Invariants: only what the mode in force lets pass is judged again; the refusal is for
//! the record, and the answer does not change.

use super::{Context, judge};
use crate::config::policy::{ModeLevel, Policy};
use crate::model::call::Effect;
use crate::model::event::{Event, EventKind};
use crate::model::phase::Phase;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fold::Session;
use crate::session::state::Sandbox;

/// The session as it would stand in the mode that is rehearsed; nothing where that mode could not refuse this event.
pub fn session(session: &Session, event: &Event, context: &Context) -> Option<Session> {
    let policy = session.policy();
    let may_refuse = match event.kind {
        EventKind::PreToolUse => context.effect() != Some(Effect::Read) || !policy.rules.is_empty(),
        EventKind::Stop | EventKind::SubagentStop => true,
        _ => false,
    };
    if !may_refuse || session.blocked().is_some() || context.stage.is_some() {
        return None;
    }
    Some(stand(session, policy.rehearsal()?))
}

/// No agent was asked for a plan, so a mode that wants one at every prompt would have none.
fn stand(session: &Session, policy: Policy) -> Session {
    let mut session = session.clone();
    let pending = session.state.state.hydration_pending;
    let waived = session.state.task.as_ref().is_some_and(|task| task.waiver.is_some()) && !pending;
    let planned = session.state.hydration.hydrated_intent.is_some();
    let plans_first = policy.mode.level() == ModeLevel::Strict;
    if !waived && !planned {
        session.state.state.hydration_pending = plans_first;
        (session.state.phase, session.state.sandbox) =
            if plans_first { (Phase::Hydrate, Sandbox::Shut) } else { (Phase::Execute, Sandbox::Open) };
        session.memory.progress.gates = if plans_first { vec!["qa".to_owned()] } else { Vec::new() };
    }
    session.memory.policy = Some(Box::new(policy));
    session
}

/// What that session would say, where it is stricter than what was said.
pub fn verdict(session: &Session, event: &Event, context: &Context, said: &Verdict) -> Option<Verdict> {
    let would = judge(session, event, context);
    (would.ruling > Ruling::Pass && would.ruling > said.ruling).then_some(would)
}
