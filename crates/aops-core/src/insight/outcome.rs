//! The outcome of a session in one word.
//!
//! Pure.

use crate::config::policy::{Level, ModeLevel};
use crate::model::named::Stored;
use crate::model::outcome::{RunOutcome, SessionOutcome};
use crate::model::phase::Phase;
use crate::session::fold::Session;

/// The session's outcome; `of_run` is its run's outcome.
pub(super) fn outcome(session: &Session, of_run: Option<&Stored<RunOutcome>>) -> SessionOutcome {
    if let Some(of_run) = of_run {
        return outcome_of_run(of_run);
    }
    match session.state.phase {
        Phase::Halted => SessionOutcome::Failure,
        _ if session.blocked().is_some() => SessionOutcome::Failure,
        _ if !has_loop(session) => SessionOutcome::Completed,
        Phase::Done if session.memory.progress.let_go => SessionOutcome::Partial,
        Phase::Done if session.is_small() || session.memory.progress.proven.verified => {
            SessionOutcome::Success
        }
        _ => SessionOutcome::Partial,
    }
}

/// A run knows its outcome better than its session; a run that waits for a person is not over.
fn outcome_of_run(outcome: &Stored<RunOutcome>) -> SessionOutcome {
    match outcome.known() {
        Some(RunOutcome::Pass) => SessionOutcome::Success,
        Some(RunOutcome::Blocked) => SessionOutcome::Failure,
        _ => SessionOutcome::Partial,
    }
}

/// Some part of the loop is enforced, so there is something to verify.
fn has_loop(session: &Session) -> bool {
    let gates = &session.policy().gates;
    let enforced = [gates.sandbox, gates.qa, gates.reflect, gates.commit()].contains(&Level::Enforce);
    session.policy().mode.level() >= ModeLevel::Loop || enforced || session.memory.run.is_some()
}
