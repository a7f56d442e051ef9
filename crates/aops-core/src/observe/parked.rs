//! What interrupted tasks left in the working tree.
//!
//! Reads the tree if a task is parked or about to be; writes nothing. Invariants: only a task's own files
//! count; committed or unchanged files do not; without git no task is known to be over.

use super::{authority, real_paths};
use crate::gate::{Context, Found};
use crate::model::event::{Event, EventKind};
use crate::session::fact::TaskMove;
use crate::session::fold::Session;
use crate::session::memory::Parked;
use crate::session::prompt::Prompt;
use crate::system::env::Env;
use crate::system::git::{self, Status};
use std::path::{Path, PathBuf};

/// At most this many paths of a task are listed; the others are only counted.
const MOST: usize = 32;

/// When a person prompts while tasks are parked, finds out which of them are over; and which task their slash
/// command chooses.
pub(super) fn look(env: &Env, session: &Session, event: &Event, context: &mut Context) {
    let prompts = event.kind() == EventKind::UserPromptSubmit && context.prompt() != Prompt::Machine;
    let Found::Prompt(prompt) = &mut context.found else { return };
    if prompts && !session.memory.parked.is_empty() && context.stage.is_none() {
        let living = living(env, Some(Path::new(&event.cwd)), session);
        let over = |at: &u64| !living.iter().any(|(living, _)| *living as u64 == *at);
        prompt.over = (0..session.memory.parked.len() as u64).filter(over).collect();
    }
    if prompt.meant == Prompt::Ours && prompts && context.stage.is_none() && session.blocked().is_none() {
        let asked = TaskMove::asked_by(event.prompt());
        prompt.task = asked.filter(|_| authority::doubt(env, session, event).is_none());
    }
}

/// The parked tasks that left something: their positions, and how many files.
pub fn living(env: &Env, cwd: Option<&Path>, session: &Session) -> Vec<(usize, u64)> {
    let parked = &session.memory.parked;
    let status = cwd.filter(|_| !parked.is_empty()).and_then(|cwd| git::status(env, cwd));
    let tree = status.as_ref().map(|status| Tree::of(status, session));
    let left = |task: &Parked| tree.as_ref().map_or(task.files, |tree| tree.left(task));
    let all = parked.iter().map(left).enumerate();
    all.filter(|(_, files)| tree.is_none() || *files > 0).collect()
}

/// The same when a question replaces the task; `None` if everything is committed. Without git the number is
/// unknown.
pub(super) fn left_by_question(
    env: &Env,
    session: &Session,
    event: &Event,
    context: &Context,
) -> Option<(Vec<String>, u64)> {
    let left = left_of_task(env, session, event, context);
    (left.1 > 0 || git::status(env, Path::new(&event.cwd)).is_none()).then_some(left)
}

/// The uncommitted files of the current task: a list of limited length, and how many there are in all.
pub(super) fn left_of_task(
    env: &Env,
    session: &Session,
    event: &Event,
    context: &Context,
) -> (Vec<String>, u64) {
    let grown = &session.memory.progress.weight.grown;
    let Some(status) = git::status(env, Path::new(&event.cwd)) else {
        return (grown.files.iter().map(|file| file.path.clone()).collect(), grown.count().0);
    };
    let tree = Tree::of(&status, session);
    if !grown.files.is_empty() {
        let paths: Vec<String> =
            grown.files.iter().map(|file| &file.path).filter(|path| tree.is_left(path)).cloned().collect();
        let files = paths.len() as u64 + grown.more_files + grown.more_light;
        return (paths, files);
    }
    // Changes are not measured here, so take what is uncommitted now and was not when the task began.
    let all = &context.tree.uncommitted;
    (all.iter().take(MOST).map(|path| tree.tell(path)).collect(), all.len() as u64)
}

/// The working tree that contains a project and may be larger than it.
struct Tree<'a> {
    project: PathBuf,
    status: &'a Status,
}

impl<'a> Tree<'a> {
    fn of(status: &'a Status, session: &Session) -> Self {
        let root = Path::new(&session.memory.place.root);
        Self { project: real_paths::real(root).unwrap_or_else(|| root.to_owned()), status }
    }

    fn left(&self, task: &Parked) -> u64 {
        let measured = task.progress.weight.grown.files.iter().map(|file| &file.path);
        let paths: Vec<&String> =
            if task.paths.is_empty() { measured.collect() } else { task.paths.iter().collect() };
        if self.status.dirty.is_empty() || task.files == 0 {
            return paths.into_iter().filter(|path| self.is_outside(path) && task.files > 0).count() as u64;
        }
        let unlisted = if paths.len() >= MOST { task.files.saturating_sub(paths.len() as u64) } else { 0 };
        if paths.is_empty() {
            return task.files;
        }
        paths.into_iter().filter(|path| self.is_left(path)).count() as u64 + unlisted
    }

    /// The path lies outside of git's working tree.
    fn is_outside(&self, path: &str) -> bool {
        !self.project.join(path).starts_with(&self.status.root)
    }

    fn is_left(&self, path: &str) -> bool {
        let place = self.project.join(path);
        match place.strip_prefix(&self.status.root) {
            Ok(inside) => self.status.dirty.iter().any(|dirty| Path::new(dirty) == inside),
            Err(_) => true,
        }
    }

    /// A path from git, relative to the project.
    fn tell(&self, path: &str) -> String {
        let place = Path::new(&self.status.root).join(path);
        place.strip_prefix(&self.project).unwrap_or(&place).to_string_lossy().into_owned()
    }
}
