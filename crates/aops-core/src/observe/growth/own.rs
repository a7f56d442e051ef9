//! Finds the task's own changes in a tree: those of its edits, and those that were made while one of its
//! commands ran.
//!
//! Reads the tree, the log of `HEAD` and the list of leases; starts `git` only after a command that moved
//! `HEAD`. Invariants: what changed between calls, what another session wrote, a package manager's lock file
//! and what git took out of commits does not belong to the task; a change that was once the task's own stays
//! so, also in commits and in a stash.

use super::light::{Light, Weight};
use super::{acts_elsewhere, count, root, stays_here, stored};
use crate::checkpoint::capture::{Change, Limits, changed_at, changed_since};
use crate::checkpoint::form::Id;
use crate::checkpoint::store::Store;
use crate::checkpoint::tree::{Artifacts, find};
use crate::ledger::leases;
use crate::model::call::ToolResult;
use crate::model::event::Event;
use crate::session::fold::Session;
use crate::session::growth::{ChangedFile, Growth};
use crate::session::memory::OpenCall;
use crate::system::env::Env;
use crate::system::git::{self, Moved};
use crate::text::json;
use crate::text::sha256::{Sum, hex};
use crate::text::time;
use aops_shell::generated::is_lock_file;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// A tree that takes longer to read is not measured this time.
const LONGEST: Duration = Duration::from_millis(1500);
/// File times are only as precise as one clock tick.
const TICK_MS: i64 = 20;

/// What changed since the task's start, and from when on it may be the task's own.
pub(super) struct Own {
    store: Store,
    then: Artifacts,
    /// When the checkpoint of the task's start was taken.
    start_ms: i64,
    changes: Vec<Change>,
    /// When its commands began to run; if unknown, every change counts.
    since_ms: Option<i64>,
    limits: Limits,
}

impl Own {
    pub(super) fn find(env: &Env, session: &Session, event: &Event, open: &OpenCall) -> Option<Self> {
        let progress = &session.memory.progress;
        // We measure the tree in which the session began. It does not show what is done in a worktree.
        let is_elsewhere =
            || git::worktree_at(Path::new(&session.memory.place.root), Path::new(&event.cwd)).is_some();
        let acts_elsewhere = || acts_elsewhere(env, session, event);
        if !progress.weight.unplanned && !stays_here(env, event) || is_elsewhere() || acts_elsewhere() {
            return None;
        }
        let id = progress
            .weight
            .start
            .as_deref()
            .filter(|_| session.measures_commands() && event.by_our_agent().is_none())?;
        let store = Store::look(&root(env, session, event)?).ok()??;
        let start = store.read(&Id::read(id)?).ok()?;
        let limits =
            Limits { sync: false, until: Some(Instant::now() + env.at_most(LONGEST)), ..Limits::none() };
        let changes = changed_since(env, &store, &start.artifacts, &limits).ok()?;
        // With files that are only counted, we do not know whose they are.
        let since_ms = open.means.since_ms.filter(|_| progress.weight.grown.is_whole());
        let since_ms = since_ms.map(|since| since.min(progress.weight.unmeasured_ms.unwrap_or(since)));
        let start_ms = time::parse(&start.timing.created_at).unwrap_or(0);
        Some(Self { store, then: start.artifacts, start_ms, changes, since_ms, limits })
    }

    /// Everything that the task has changed so far, and whether git brought foreign changes with this
    /// command.
    pub(super) fn measure(&self, env: &Env, session: &Session, event: &Event) -> (Growth, bool) {
        let before = &session.memory.progress.weight.grown;
        let light = Light::find(env, &self.store, &self.changes, event, self.limits.until);
        let Some(since) = self.since_ms else {
            let outside = before.files.iter().filter(|file| file.path.starts_with('/')).cloned();
            let inside = self.changes.iter().map(|one| self.count(one, None, &light));
            return (Growth::of(outside.chain(inside).collect()), false);
        };
        let git = Moved::since(&self.store.root, since);
        let stash = stash(event);
        let new = self.new_here(env, event, before, since);
        let brought = match &git {
            Some(git) if !new.is_empty() => {
                git.brought(env, &self.store.root, stash.as_deref().map(|name| (name, self.start_ms)))
            }
            _ => BTreeSet::new(),
        };
        let moved = new.iter().any(|one| brought.contains(&one.path));
        // Changes that git removed are not undone: they are in a commit or a stash.
        let kept = stash.is_some() || git.is_some_and(|git| git.is_head());
        let known = self.known(before, since, kept, &light);
        let own = new
            .into_iter()
            .filter(|one| !brought.contains(&one.path))
            .map(|one| self.count(one, None, &light));
        (own.fold(known, |growth, file| growth.with(file)), moved)
    }

    /// The files that already belong to the task, with their present content.
    fn known(&self, before: &Growth, since: i64, kept: bool, light: &Light) -> Growth {
        before.files.iter().filter(|file| !file.path.starts_with('/')).fold(before.clone(), |growth, file| {
            let at = self.changes.binary_search_by(|one| one.path.as_str().cmp(&file.path)).ok();
            match at.map(|at| &self.changes[at]) {
                Some(one) if text(one.is) == file.is && light.agrees(file) => growth,
                Some(one) => growth.with(self.count(one, Some(file), light)),
                None => {
                    let is = text(find(&self.then.files, &file.path).map(|start| start.sha256));
                    let touched = || is_since(changed_at(&self.store.root, &file.path), since);
                    // A rule of the task itself can hide it from the changes.
                    let hides =
                        || is.is_empty() && self.store.root.join(&file.path).symlink_metadata().is_ok();
                    let back = is == file.was && !kept && touched() && !hides();
                    if back { growth.with(ChangedFile { is, ..file.clone() }) } else { growth }
                }
            }
        })
    }

    /// What changed while a command of the task ran, did not belong to the task before, and was not written
    /// by another session.
    fn new_here(&self, env: &Env, event: &Event, before: &Growth, since: i64) -> Vec<&Change> {
        let mut new = self.new_since(before, since);
        new.retain(|one| !is_lock_written_for(event, &one.path));
        if !new.is_empty() {
            let others = leases::written_by_others(env, &self.store.root, &event.session_id, since);
            new.retain(|one| !others.contains(&*self.store.root.join(&one.path).to_string_lossy()));
        }
        new
    }

    /// Files whose time changed, and those in a folder that was moved: they keep their time.
    fn new_since(&self, before: &Growth, since: i64) -> Vec<&Change> {
        let unknown = || self.changes.iter().filter(|one| before.file(&one.path).is_none());
        let gone = unknown().filter(|one| one.is.is_none() && is_since(one.at, since));
        let gone: BTreeSet<[u8; 32]> = gone.filter_map(|one| Some(one.was?.0)).collect();
        let came = |one: &Change| one.was.is_none() && one.is.is_some_and(|is| gone.contains(&is.0));
        unknown().filter(|one| is_since(one.at, since) || came(one)).collect()
    }

    /// Counts the lines against the file as it was before the task first changed it, under whatever name. If
    /// the time is up, the file counts without lines.
    fn count(&self, change: &Change, known: Option<&ChangedFile>, light: &Light) -> ChangedFile {
        let in_time = self.limits.until.is_none_or(|until| Instant::now() < until);
        let start = text(change.was);
        let was = known.map_or(&start, |known| &known.was);
        let old = || stored(&self.store, was).or_else(|| stored(&self.store, &start)).unwrap_or_default();
        let weight = light.weight(&change.path);
        let lines = match &weight {
            Weight::Against(content) if in_time => count(content, &change.content),
            Weight::Whole if in_time => count(&old(), &change.content),
            _ => 0,
        };
        ChangedFile {
            is: text(change.is),
            light: !matches!(weight, Weight::Whole),
            lines,
            path: change.path.clone(),
            was: was.clone(),
        }
    }
}

/// A package manager wrote this lock file as a side effect: the command does not name it.
fn is_lock_written_for(event: &Event, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    is_lock_file(path) && event.call().is_some_and(|call| !call.input.contains(name))
}

/// Compares a time in nanoseconds with one in milliseconds.
fn is_since(at: i64, since_ms: i64) -> bool {
    at / 1_000_000 + TICK_MS >= since_ms
}

fn text(sum: Option<Sum>) -> String {
    sum.map_or_else(String::new, |sum| hex(&sum.0))
}

/// The stash that this command applied: the one that it says it dropped, or else the newest.
fn stash(event: &Event) -> Option<String> {
    let call = event.call()?;
    json::read(&call.input).ok()?.text_of("command").filter(|line| line.contains("stash"))?;
    let said = call.result.as_ref().map(ToolResult::lines).unwrap_or_default();
    let dropped = said.split("Dropped ").nth(1).and_then(|rest| rest.split_once('(')?.1.split_once(')'));
    let is_commit = |name: &&str| name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some(dropped.map(|(name, _)| name).filter(is_commit).unwrap_or("refs/stash").to_owned())
}
