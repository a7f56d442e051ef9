//! What closes a task's work: its issues in the tracker, formatting, tests, a push that the remote rejected.
//!
//! Changes a session and nothing else. Invariants: only a command that succeeded counts, and none by our own
//! agents; an issue belongs to the task until it is closed or handed back, and moves to another task only if
//! its prompt took it.

use crate::model::call::{CallState, Effect};
use crate::session::fact::Step;
use crate::session::fold::Session;
use crate::session::memory::{IssueInHand, OpenCall};
use crate::tool::tracking::How;

/// At most this many issues per task; the oldest is dropped first.
const MOST_ISSUES: usize = 8;

impl Session {
    /// `main_agent.current_task`: the issue that was taken last, or the intent.
    pub(super) fn name_task(&mut self) {
        let issue = self.memory.progress.closing.issues.last().map(|issue| issue.id.clone());
        let intent = self.state.task.as_ref().and_then(|task| task.intent.clone());
        self.state.main_agent.current_task = issue.or(intent);
    }

    pub(super) fn take_issue(&mut self, id: &str) {
        let prompt_count = self.memory.progress.prompts.count;
        let issues = &mut self.memory.progress.closing.issues;
        issues.retain(|issue| issue.id != id);
        issues.drain(..(issues.len() + 1).saturating_sub(MOST_ISSUES));
        issues.push(IssueInHand { id: id.to_owned(), prompt_count });
        self.name_task();
    }

    /// A command for the tracker has ended.
    pub(super) fn apply_tracking(&mut self, open: &OpenCall, step: &Step) {
        if step.to != CallState::Completed || step.is_by_ours() {
            return;
        }
        for tracks in &open.means.tracks {
            match tracks.how {
                How::Claims => tracks.ids.iter().for_each(|id| self.take_issue(id)),
                How::Leaves => {
                    self.memory.progress.closing.issues.retain(|issue| !tracks.ids.contains(&issue.id));
                }
                How::Changes | How::Comments | How::Syncs => {}
            }
            let unsynced = &mut self.memory.progress.closing.unsynced;
            if tracks.how == How::Syncs {
                *unsynced = None;
            } else if tracks.has_sync() {
                *unsynced = Some(tracks.by.clone());
            }
        }
    }

    /// A call that may have changed something has ended, and its writes are counted. Tests do not change
    /// formatted files.
    pub(super) fn apply_closing(&mut self, open: &OpenCall, step: &Step, changed: bool) {
        let progress = &mut self.memory.progress;
        let succeeded = step.to == CallState::Completed && !step.ended().unended;
        let ours = step.is_by_ours();
        let spoils = changed && open.means.effect == Some(Effect::Write) && !open.means.tests && !ours;
        progress.proven.tested |= open.means.tests && succeeded;
        progress.proven.formatted =
            open.means.formats && succeeded && !ours || progress.proven.formatted && !spoils;
        let moved = succeeded && open.means.effect.is_some_and(Effect::is_write);
        progress.closing.rejected = step.ended().rejected || progress.closing.rejected && !moved;
    }
}
