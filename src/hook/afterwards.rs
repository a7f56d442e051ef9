//! What follows an event once it is recorded.
//!
//! Writes the halt report, reflections for the tracker, insights and checkpoints; starts the tracker's refresh. Invariant:
//! all of it ends within the time that the event may keep the session locked.

use super::turn::Turn;
use crate::briefing::agent::halt_report;
use crate::briefing::{reflections, refresh};
use crate::checkpoint;
use crate::config::texts;
use crate::insight::collect;
use crate::model::error::Failure;
use crate::model::event::EventKind;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fact::{Fact, Reported};
use std::mem::ManuallyDrop;
use std::path::Path;

/// In the place of the tracker's program: there is no tracker.
const NO_TRACKER: &str = "none";

/// When it applies, and what is done then. The event is recorded, so a failure is only a notice in the answer.
type Follows = (fn(&Turn) -> bool, fn(&mut Turn) -> Verdict);

/// The first rows also follow an event that is recorded late.
const LATE: usize = 2;

static FOLLOWS: &[Follows] = &[
    (is_blocked, write_halt_report),
    (may_reflect, queue_reflection),
    (ends_turn, conclude),
    (changes_tracker, refresh_tracker),
    // A run takes checkpoints around its steps itself.
    (|turn| turn.context.stage.is_none(), keep_checkpoint),
];

impl Turn<'_> {
    /// Does what follows, in the order of the table, and returns the answer. A head that could not be exported is an error.
    pub(super) fn afterwards(mut self) -> Result<Verdict, Failure> {
        // The head of the event itself; below, that of the insights.
        self.ledger.exported()?;
        for (applies, follow) in FOLLOWS {
            if applies(&self) {
                let more = follow(&mut self);
                self.add(more);
            }
        }
        self.ledger.exported()?;
        Ok(self.verdict)
    }

    /// The end of an event that was recorded late: the next one takes the lock.
    pub(super) fn close(mut self) -> Result<Verdict, Failure> {
        for (applies, follow) in &FOLLOWS[..LATE] {
            if applies(&self) {
                follow(&mut self);
            }
        }
        let exported = self.ledger.exported();
        drop(ManuallyDrop::into_inner(self.ledger));
        exported.map(|()| self.verdict)
    }

    fn tracker(&self) -> Option<&str> {
        Some(self.session().policy().tracker.command.as_str()).filter(|command| *command != NO_TRACKER)
    }
}

fn is_blocked(turn: &Turn) -> bool {
    turn.recorded.iter().any(|fact| matches!(fact, Fact::Block(_)))
}

fn write_halt_report(turn: &mut Turn) -> Verdict {
    let Err(failure) = halt_report(turn.env, &turn.ledger, turn.event) else { return Verdict::pass() };
    let words = format!("the halt report was not written: {failure}\nhint: {}", failure.code.way_out());
    Verdict::notice("block", words)
}

/// A reflection that came too early does not count.
fn may_reflect(turn: &Turn) -> bool {
    !turn.env.dry_run && turn.session().memory.progress.reflected && turn.tracker().is_some()
}

/// Not that of an agent that was sent on. It is in the ledger already; a full queue is reported by the next context.
fn queue_reflection(turn: &mut Turn) -> Verdict {
    let project = texts::project(turn.env, Path::new(&turn.event.cwd));
    for fact in &turn.recorded {
        if let Fact::Verdict(Reported { finding: Some(finding), sent_on: false, .. }) = fact
            && !finding.reflection.is_empty()
        {
            let _ = reflections::queue_reflection(turn.env, &project, &turn.session().state.session_id, finding);
        }
    }
    Verdict::pass()
}

fn ends_turn(turn: &Turn) -> bool {
    let over = matches!(turn.event.kind, EventKind::Stop | EventKind::StopFailure | EventKind::SessionEnd);
    over && turn.verdict.ruling != Ruling::Deny && !turn.env.dry_run
}

/// Makes the session's insights in half of the time; a checkpoint may follow. Without them the turn ends all the same.
fn conclude(turn: &mut Turn) -> Verdict {
    let transcript = Path::new(&turn.event.transcript_path);
    let until = turn.locked + turn.event.kind.time_locked() / 2;
    match collect::conclude(turn.env, &mut turn.ledger, transcript, Some(until)) {
        Ok(_) => Verdict::pass(),
        Err(failure) => Verdict::notice(
            "insights",
            format!(
                "the insights were not written: {failure}\nhint: once that is mended, `aops-hook insights` writes them"
            ),
        ),
    }
}

/// The tracker may say something else now: a session began, a turn ended, or a call talked to it.
fn changes_tracker(turn: &Turn) -> bool {
    let at = matches!(turn.event.kind, EventKind::SessionStart | EventKind::Stop);
    (at || turn.context.ended.tracked) && !turn.env.dry_run
}

/// In a process of its own. A tracker that cannot be asked is one line in the next context.
fn refresh_tracker(turn: &mut Turn) -> Verdict {
    if let Some(command) = turn.tracker() {
        let _ = refresh::spawn(turn.env, &texts::project(turn.env, Path::new(&turn.event.cwd)), command);
    }
    Verdict::pass()
}

fn keep_checkpoint(turn: &mut Turn) -> Verdict {
    let (before, until) = (turn.before, turn.locked + turn.event.kind.time_locked());
    checkpoint::rollback::at_phase_change(turn.env, &mut turn.ledger, turn.event, before, until)
}
