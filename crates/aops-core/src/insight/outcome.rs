//! What a session came to, in one word.
//!
//! Pure.

use super::document::COMPLETED;
use crate::config::policy::{Level, ModeLevel};
use crate::model::phase::Phase;
use crate::session::fold::Session;

/// What the session came to; `of_run` is what its run came to.
pub(super) fn outcome(session: &Session, of_run: Option<&str>) -> &'static str {
    if let Some(of_run) = of_run {
        return outcome_of_run(of_run);
    }
    match session.state.phase {
        Phase::Halted => "failure",
        _ if session.blocked().is_some() => "failure",
        _ if !has_loop(session) => COMPLETED,
        Phase::Done if session.is_small() => "success",
        Phase::Done if session.memory.progress.verified && session.state.stop.owed.is_empty() => "success",
        _ => "partial",
    }
}

/// A run knows better than its session what it came to; one that waits for a person is not over.
fn outcome_of_run(outcome: &str) -> &'static str {
    match outcome {
        "PASS" => "success",
        "BLOCKED" => "failure",
        _ => "partial",
    }
}

/// Something of the loop is enforced, so there is something to verify.
fn has_loop(session: &Session) -> bool {
    let gates = &session.policy().gates;
    let enforced = [gates.sandbox, gates.qa, gates.reflect, gates.commit()].contains(&Level::Enforce);
    session.policy().mode.level() >= ModeLevel::Loop || enforced || session.memory.run.is_some()
}
