//! Whether changes are really blocked, and whom the loop waits for, as every view of a session shows it.
//!
//! Reads a session, writes nothing.

use aops_core::config::policy::Level;
use aops_core::model::gate_id::GateId;
use aops_core::model::phase::{Phase, Sandbox};
use aops_core::session::fold::Session;

/// Shut only if changes are really blocked now.
pub fn sandbox(session: &Session, now_ms: i64) -> Sandbox {
    let waived = session.is_waived_by_person(GateId::Sandbox, now_ms);
    let enforced = session.policy().gates.sandbox == Level::Enforce && !waived;
    let held = enforced && session.is_shut() || session.blocked().is_some();
    if held || session.memory.run.is_some() { session.state.sandbox } else { Sandbox::Open }
}

/// Whom the loop waits for.
pub fn waits_for(session: &Session, now_ms: i64) -> &'static str {
    match session.state.phase {
        _ if session.blocked().is_some() => "a person",
        _ if sandbox(session, now_ms) == Sandbox::Open => "",
        _ if session.state.state.hydration_pending => "`prompt-hydrator`",
        Phase::Review => "`critic`",
        _ => "",
    }
}

/// Whether changes are blocked until there is a plan.
pub(super) fn is_shut(session: &Session, now_ms: i64) -> bool {
    let enforced = session.policy().gates.sandbox == Level::Enforce;
    enforced && session.blocked().is_none() && sandbox(session, now_ms) == Sandbox::Shut
}
