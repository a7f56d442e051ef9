//! The tree of a session, and which of its checkpoints a task without a plan needs.
//!
//! Reads the session and whether a folder is there; writes nothing. Invariant: such a task costs no checkpoint before its
//! first change.

use crate::checkpoint::form::CheckpointKind;
use crate::config::texts;
use crate::model::{call::Effect, event::Event};
use crate::session::fold::Session;
use crate::system::env::Env;
use std::path::{Path, PathBuf};

/// The tree of this session; never a home folder.
pub fn root(env: &Env, session: &Session, event: &Event) -> Option<PathBuf> {
    let root = match session.memory.root.as_str() {
        "" => texts::project(env, Path::new(&event.cwd)),
        root => PathBuf::from(root),
    };
    let too_wide = env.home.starts_with(&root) || root.starts_with(&env.config) || !root.is_absolute();
    (!too_wide && root.is_dir()).then_some(root)
}

/// A task that began without a plan, with one by now or not, is about to make its first change: its start is kept now, not at
/// its prompt.
pub(super) fn begins_work(session: &Session, event: &Event) -> bool {
    let unplanned = session.memory.progress.unplanned;
    if !(unplanned || session.weighs()) || !is_untouched(session) {
        return false;
    }
    let open = event.asked_call().and_then(|call| session.open_call(&call.key));
    open.is_some_and(|open| open.effect.is_some_and(Effect::is_write))
}

/// A task with a plan, where work is weighed, that has changed nothing yet: its commands are measured against this start.
pub(super) fn begins_plan(session: &Session) -> bool {
    session.weighs() && !session.memory.progress.unplanned && is_untouched(session)
}

/// The task has changed nothing yet, and its start is not kept.
fn is_untouched(session: &Session) -> bool {
    let first = session.state.task.as_ref().is_some_and(|task| task.writes == 0);
    first && session.memory.progress.start.is_none()
}

/// Of a task without a plan the start is kept by its first change, and the end only where there was one.
pub(super) fn is_wanted(session: &Session, kind: CheckpointKind) -> bool {
    let progress = &session.memory.progress;
    !progress.unplanned || kind == CheckpointKind::Post && progress.start.is_some()
}
