//! The tree of a session, and which of its checkpoints a task without a plan needs.
//!
//! Reads the session and whether a folder exists; writes nothing. Invariant: such a task costs no checkpoint
//! before its first change.

use crate::checkpoint::form::CheckpointKind;
use crate::config::policy::{Interactive, ModeLevel};
use crate::config::texts;
use crate::model::phase::{Phase, Sandbox};
use crate::model::trigger::CheckpointTrigger;
use crate::model::{call::Effect, event::Event};
use crate::session::fold::Session;
use crate::system::env::Env;
use std::path::{Path, PathBuf};

/// The tree of this session; never a home folder.
pub fn root(env: &Env, session: &Session, event: &Event) -> Option<PathBuf> {
    let root = match session.memory.place.root.as_str() {
        "" => texts::project(env, Path::new(&event.cwd)),
        root => PathBuf::from(root),
    };
    let too_wide = env.home.starts_with(&root) || root.starts_with(&env.config) || !root.is_absolute();
    (!too_wide && root.is_dir()).then_some(root)
}

/// A task that began without a plan, even if it has one now, is about to make its first change: its start is
/// captured now, not at its prompt.
pub(super) fn begins_work(session: &Session, event: &Event) -> bool {
    let unplanned = session.memory.progress.weight.unplanned;
    (unplanned || session.weighs()) && is_untouched(session) && may_write(session, event)
}

/// This call is being asked about or allowed, and may change files.
pub(super) fn may_write(session: &Session, event: &Event) -> bool {
    let open = event.asked_call().and_then(|call| session.open_call(&call.key));
    open.is_some_and(|open| open.means.effect.is_some_and(Effect::is_write))
}

/// A task with a plan has changed nothing yet, and commands are measured: they will be compared with this
/// start.
pub(super) fn begins_plan(session: &Session) -> bool {
    let measured = session.weighs() || session.mode() == ModeLevel::Strict;
    measured && !session.memory.progress.weight.unplanned && is_untouched(session)
}

/// The task has changed nothing yet, and its start is not captured.
fn is_untouched(session: &Session) -> bool {
    let first = session.state.task.as_ref().is_some_and(|task| task.writes == 0);
    first && session.memory.progress.weight.start.is_none()
}

/// For a task without a plan, the start is captured at its first change, and the end only if there was a
/// change.
pub(super) fn is_wanted(session: &Session, kind: CheckpointKind) -> bool {
    let progress = &session.memory.progress;
    !progress.weight.unplanned || kind == CheckpointKind::Post && progress.weight.start.is_some()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    pub(super) moved: u64,
    phase: Phase,
    sandbox: Sandbox,
    task: u64,
    /// How often the verifier found issues in this task, and whether it verified.
    rounds: u64,
    verified: bool,
}

impl Before {
    pub fn of(session: &Session) -> Self {
        let task = session.state.task.as_ref().map_or(0, |task| task.n);
        let progress = &session.memory.progress;
        let moved = progress.weight.moved;
        let rounds = progress.proven.rounds;
        let verified = progress.proven.verified;
        Self { moved, phase: session.state.phase, sandbox: session.state.sandbox, task, rounds, verified }
    }
}

pub(super) fn walked(phase: Phase) -> bool {
    !matches!(phase, Phase::Idle | Phase::Done | Phase::Halted)
}

/// Kind, phase and why.
pub(super) type Due = (CheckpointKind, Phase, CheckpointTrigger);

/// The checkpoints that a change of phase requires.
pub(super) fn due(when: Interactive, before: Before, now: Before) -> Vec<Due> {
    let was = before.phase;
    let is = now.phase;
    let another_task = now.task != before.task && is == Phase::Execute;
    let issues = now.task == before.task && now.rounds > before.rounds;
    let verified = now.verified && !before.verified && is == Phase::Reflect;
    let judged = issues || verified;
    if when == Interactive::Off || was == is && !another_task && !judged {
        return Vec::new();
    }
    let mut due = Vec::new();
    let of_work = |phase: Phase, sandbox| phase == Phase::Execute && sandbox == Sandbox::Open;
    let failed = is == Phase::Halted || is == Phase::Intervene && !judged;
    let of_verdict = judged && was == Phase::Verify;
    if walked(was) && !of_verdict && (failed || when == Interactive::All || of_work(was, before.sandbox)) {
        due.push((
            CheckpointKind::Post,
            was,
            if failed { CheckpointTrigger::Failure } else { CheckpointTrigger::Phase },
        ));
    }
    // The tree that the verifier looked at, whatever its verdict.
    if judged {
        due.push((
            CheckpointKind::Post,
            Phase::Verify,
            if issues { CheckpointTrigger::Failure } else { CheckpointTrigger::Phase },
        ));
    }
    if walked(is) && (was != is || another_task) && (when == Interactive::All || of_work(is, now.sandbox)) {
        let approved = was == Phase::Review && is == Phase::Execute;
        due.push((
            CheckpointKind::Pre,
            is,
            if approved { CheckpointTrigger::Approval } else { CheckpointTrigger::Phase },
        ));
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(phase: Phase, sandbox: Sandbox, task: u64) -> Before {
        Before { moved: 0, phase, sandbox, task, rounds: 0, verified: false }
    }

    #[test]
    fn checkpoints_are_due_at_phase_changes_only() {
        use Interactive::{All, Execute, Off};
        let open = Sandbox::Open;
        let shut = Sandbox::Shut;
        let work = at(Phase::Execute, open, 1);
        let plan = at(Phase::Hydrate, shut, 1);
        for when in [Off, Execute, All] {
            assert_eq!(due(when, work, work), []);
            assert_eq!(due(when, plan, plan), []);
        }
        assert_eq!(
            due(Execute, plan, work),
            [(CheckpointKind::Pre, Phase::Execute, CheckpointTrigger::Phase)]
        );
        assert_eq!(
            due(Execute, at(Phase::Review, shut, 1), work),
            [(CheckpointKind::Pre, Phase::Execute, CheckpointTrigger::Approval)]
        );
        assert_eq!(
            due(Execute, work, at(Phase::Verify, open, 1)),
            [(CheckpointKind::Post, Phase::Execute, CheckpointTrigger::Phase)]
        );
        let issues = Before { rounds: 1, ..at(Phase::Intervene, open, 1) };
        let verified = Before { verified: true, ..at(Phase::Reflect, open, 1) };
        let verify = (CheckpointKind::Post, Phase::Verify, CheckpointTrigger::Phase);
        let failed = (CheckpointKind::Post, Phase::Verify, CheckpointTrigger::Failure);
        let worked = (CheckpointKind::Post, Phase::Execute, CheckpointTrigger::Phase);
        assert_eq!(due(Execute, at(Phase::Verify, open, 1), issues), [failed]);
        assert_eq!(due(Execute, at(Phase::Verify, open, 1), verified), [verify]);
        assert_eq!(due(Execute, work, issues), [worked, failed], "without a stop before");
        assert_eq!(due(Execute, work, verified), [worked, verify]);
        assert_eq!(due(Execute, issues, Before { rounds: 2, ..issues }), [failed], "again");
        assert_eq!(due(Execute, issues, Before { rounds: 1, ..verified }), [verify]);
        assert_eq!(due(Off, work, verified), []);
        assert_eq!(due(Execute, plan, at(Phase::Execute, shut, 1)), [], "a question changes nothing");
        assert_eq!(
            due(Execute, work, at(Phase::Execute, open, 2)),
            [
                (CheckpointKind::Post, Phase::Execute, CheckpointTrigger::Phase),
                (CheckpointKind::Pre, Phase::Execute, CheckpointTrigger::Phase)
            ]
        );
        assert_eq!(
            due(All, at(Phase::Idle, shut, 0), plan),
            [(CheckpointKind::Pre, Phase::Hydrate, CheckpointTrigger::Phase)]
        );
        assert_eq!(due(Off, plan, work), []);
    }
}
