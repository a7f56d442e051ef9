//! Carries out the plan of an undo, whether it has just begun or was interrupted.
//!
//! Writes files folder by folder from `/`, follows no symlink, and starts `git`. Invariants: a file is
//! replaced by a rename, so it is the old one or the new one; a file that is in neither its planned old state
//! nor its new one was changed meanwhile, and stays.

use super::content::fill;
use super::crontab;
use super::form::{Content, Keeping, KeptFile, KeptRepository};
use super::git::Repository;
use super::plan::{Goal, Plan, RefMove};
use super::present::Looker;
use super::survey::linked;
use crate::checkpoint::restore::{Body, Opener, put, set_folder_mode};
use crate::checkpoint::store::{FOLDER, Store};
use crate::checkpoint::tree::{Folder, name};
use crate::model::error::Failure;
use crate::system::env::Env;
use crate::text::sha256::Sum;
use rustix::fs::{AtFlags, CWD, Mode, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::OwnedFd;

/// What was done, and what was not.
#[derive(Debug, Default)]
pub(super) struct Acted {
    /// Number of files in their new state.
    pub files: usize,
    pub problems: Vec<String>,
}

/// Without its folder there is nothing to remove.
const GONE: [Errno; 3] = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP];

/// Absolute paths are opened from `/`.
fn inside(path: &str) -> &str {
    path.trim_start_matches('/')
}

pub(super) fn act(env: &Env, store: &Store, plan: &Plan, present: &Keeping) -> Result<Acted, Failure> {
    let root = rustix::fs::openat(CWD, "/", FOLDER, Mode::empty()).map_err(|e| Failure::storage("/", e))?;
    let mut acting =
        Acting { store, plan, opener: Opener::new(&root), made: Vec::new(), acted: Acted::default() };
    let pairs = || plan.files.iter().zip(&present.files);
    for (goal, before) in pairs().rev().filter(|(goal, _)| goal.content == Content::Absent) {
        acting.file(goal, before);
    }
    acting.folders();
    for (goal, before) in pairs().filter(|(goal, _)| goal.content != Content::Absent) {
        acting.file(goal, before);
    }
    acting.modes();
    acting.sync();
    let mut acted = acting.acted;
    for (goal, before) in plan.repositories.iter().zip(&present.repositories) {
        repository(
            &Repository::at(env, &goal.git, &goal.root),
            store,
            (plan.number, goal, before),
            &mut acted.problems,
        );
    }
    if let (Some(goal), Some(before)) = (plan.crontab, present.crontab) {
        table(env, store, goal, before).unwrap_or_else(|why| acted.problems.push(why));
    }
    Ok(acted)
}

/// Replaces the crontab, if it is still the one from before.
fn table(env: &Env, store: &Store, goal: Sum, before: Sum) -> Result<(), String> {
    let now = Sum::of(&crontab::listed(env).map_err(|why| format!("the table of `crontab`: {why}"))?);
    if now == goal {
        return Ok(());
    }
    if now != before {
        return Err("the table of `crontab` was changed meanwhile and stays".to_owned());
    }
    let mut bytes = Vec::new();
    let put = store.unpack(&goal.0, &mut bytes).and_then(|_| crontab::put(env, &bytes));
    put.map_err(|failure| failure.what)
}

struct Acting<'a> {
    store: &'a Store,
    plan: &'a Plan,
    opener: Opener<'a>,
    made: Vec<File>,
    acted: Acted,
}

/// Up to this many files are synced one by one, more with one call for everything.
const FEW: usize = 64;

impl Acting<'_> {
    fn problem(&mut self, path: &str, why: impl std::fmt::Display) {
        self.acted.problems.push(format!("`{}`: {why}", name::shown(path)));
    }

    fn file(&mut self, goal: &KeptFile, before: &KeptFile) {
        let now = Looker::default().look(&goal.path);
        let linked = linked(self.store, self.plan.number, goal).ok().flatten();
        if now.is(goal, linked) {
            self.acted.files += 1;
        } else if !now.is(before, None) {
            self.problem(&goal.path, "it was changed meanwhile and stays");
        } else {
            match self.write(goal) {
                Ok(made) => {
                    self.acted.files += 1;
                    self.made.extend(made);
                    self.made.truncate(FEW + 1);
                }
                Err(failure) => self.problem(&goal.path, failure.what),
            }
        }
    }

    fn write(&mut self, goal: &KeptFile) -> Result<Option<File>, Failure> {
        let store = self.store;
        let path = inside(&goal.path);
        match &goal.content {
            Content::Absent => {
                let remove = |dir: &OwnedFd, name: &[u8]| unlinkat(dir, name, AtFlags::empty());
                self.opener.try_at(path, &GONE, remove).map(|_| None)
            }
            Content::Symlink(target) => put(store, &mut self.opener, path, &Body::Target(target)),
            Content::Blob(_) | Content::Packed(_) | Content::Link(_) => {
                let fill = |file: &mut File| fill(store, self.plan.number, goal, file);
                put(store, &mut self.opener, path, &Body::Bytes(&fill))
            }
        }
    }

    /// Removes folders first, then creates the others.
    fn folders(&mut self) {
        const FULL: [Errno; 2] = [Errno::NOTEMPTY, Errno::EXIST];
        let plan = self.plan;
        for path in plan.gone_folders.iter().rev() {
            let remove = |dir: &OwnedFd, name: &[u8]| unlinkat(dir, name, AtFlags::REMOVEDIR);
            if let Err(failure) = self.opener.try_at(inside(path), &[&GONE[..], &FULL].concat(), remove) {
                self.problem(path, failure.what);
            }
            self.opener.forget();
        }
        for folder in &plan.folders {
            let make = |dir: &OwnedFd, name: &[u8]| rustix::fs::mkdirat(dir, name, Mode::RWXU);
            if let Err(failure) = self.opener.try_at(inside(&folder.path), &[Errno::EXIST], make) {
                self.problem(&folder.path, failure.what);
            }
        }
    }

    fn modes(&mut self) {
        for folder in self.plan.folders.iter().rev() {
            let wanted = Folder { path: inside(&folder.path).to_owned(), mode: folder.mode };
            if let Err(failure) = set_folder_mode(&mut self.opener, &wanted) {
                self.problem(&folder.path, failure.what);
            }
        }
    }

    /// The plan is closed only when everything is on the disk.
    fn sync(&mut self) {
        if self.made.len() > FEW {
            rustix::fs::sync();
        } else if let Some(error) = self.made.iter().find_map(|file| file.sync_data().err()) {
            self.acted.problems.push(format!("a file could not be forced to the disk: {error}"));
        }
    }
}

fn repository(
    repository: &Repository,
    store: &Store,
    (number, goal, before): (u64, &Goal, &KeptRepository),
    problems: &mut Vec<String>,
) {
    let note = format!("aops-hook undo {number}");
    let mut tried = |done: Result<(), Failure>| {
        let is_done = done.is_ok();
        problems.extend(done.err().map(|failure| failure.what));
        is_done
    };
    let (new, moved): (Vec<&RefMove>, Vec<&RefMove>) = goal.refs.iter().partition(|one| one.old.is_empty());
    for one in new {
        tried(repository.move_ref(one, &note));
    }
    if let Some(switched) = &goal.switched {
        tried(switch(repository, switched, &note));
    }
    for one in moved {
        tried(repository.move_ref(one, &note));
    }
    for (branch, wanted) in &goal.config {
        tried(repository.set_settings(branch, wanted));
    }
    if let Some(wanted) = &goal.stashes {
        tried(repository.set_stashes(wanted, before.stashes.as_deref().unwrap_or_default()));
    }
    let is_back = goal.head.as_ref().is_none_or(|head| tried(repository.move_ref(head, &note)));
    if is_back {
        tried(index(store, repository, goal));
    }
}

fn switch(repository: &Repository, switched: &RefMove, note: &str) -> Result<(), Failure> {
    match repository.head().1 {
        Some(now) if now == switched.old => repository.switch_to(&switched.new, note),
        Some(now) if now == switched.new => Ok(()),
        _ => Err(Failure::storage("HEAD", "was moved meanwhile and stays")),
    }
}

fn index(store: &Store, repository: &Repository, goal: &Goal) -> Result<(), Failure> {
    for (_, sum) in &goal.indexed {
        let mut bytes = Vec::new();
        store.unpack(&sum.0, &mut bytes)?;
        repository.write_object(&bytes)?;
    }
    let Some(wanted) = goal.index else { return Ok(()) };
    let mut bytes = Vec::new();
    store.unpack(&wanted.0, &mut bytes)?;
    repository.set_index(&bytes)
}
