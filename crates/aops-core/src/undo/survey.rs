//! What an undo would do: compares every kept file with the present one.
//!
//! Reads store, disk and git; changes nothing. Invariants: everything that will be restored was read
//! completely before; a path that is neither as the command left it nor as it was kept is a conflict.

use super::content::{open_link, packed};
use super::crontab;
use super::form::{Content, Keeping, KeptFile, Left};
use super::git::{Clean, Repository, path_of};
use super::goal::{self, Decided};
use super::present::{Looker, Present, hash};
use super::shelf;
use crate::checkpoint::store::Store;
use crate::checkpoint::tree::name;
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use crate::system::files::{self, Scratch};
use crate::text::sha256::Sum;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

/// What will happen to one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It already equals what was kept.
    Same,
    /// Nothing is there now.
    Comes,
    Changes,
    /// Nothing was there before.
    Goes,
    /// It stays, for this reason.
    Conflict(String),
}

/// Where the content of a path comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The file with this index in the keeping.
    Kept(usize),
    /// A commit of the repository with this index: the path in it, or `None` if the commit does not contain
    /// it.
    Commit(usize, Option<String>),
}

#[derive(Clone, Debug)]
pub struct Item {
    /// Absolute.
    pub path: String,
    pub fate: Fate,
    pub(super) source: Source,
    pub(super) now: Present,
}

#[derive(Debug)]
pub struct Survey {
    pub keeping: Keeping,
    /// Sorted by path.
    pub items: Vec<Item>,
    /// In the order of the keeping's repositories; `None` if one is gone.
    pub repositories: Vec<Option<Decided>>,
    /// The present crontab, if another one will be restored.
    pub crontab: Option<Vec<u8>>,
    /// What cannot be restored, apart from single paths.
    pub conflicts: Vec<String>,
}

impl Item {
    /// Its kept content can be read.
    pub(super) fn is_whole(&self) -> bool {
        !matches!(&self.fate, Fate::Conflict(why) if why == SPOILED)
    }
}

impl Survey {
    pub fn is_empty(&self) -> bool {
        let nothing = |decided: &Decided| decided.goal.is_empty();
        let still = |item: &Item| matches!(item.fate, Fate::Same | Fate::Conflict(_));
        self.crontab.is_none()
            && self.items.iter().all(still)
            && self.repositories.iter().flatten().all(nothing)
            && !self
                .keeping
                .folders
                .iter()
                .any(|folder| Looker::default().look(&folder.path) == Present::Absent)
            && !self.keeping.gone_folders.iter().any(|path| Looker::default().folder_mode(path).is_some())
    }

    pub fn has_conflicts(&self) -> bool {
        let of_git = self.repositories.iter().flatten().any(|decided| !decided.conflicts.is_empty());
        of_git
            || !self.conflicts.is_empty()
            || self.items.iter().any(|item| matches!(item.fate, Fate::Conflict(_)))
    }
}

/// Reads a keeping and everything that it needs from the store, so that nothing is begun that cannot be
/// finished.
pub fn read_whole(env: &Env, store: &Store, number: u64) -> Result<Keeping, Failure> {
    let none = || Failure::new(Code::InputInvalid, format!("nothing is kept as {number}"));
    let keeping = shelf::read(env, store, number)?.ok_or_else(none)?;
    for sum in shelf::contents(&keeping) {
        store.unpack(&sum.0, &mut std::io::sink())?;
    }
    let mut whole = 0;
    let mut wrong = None;
    for file in &keeping.files {
        packed(store, number, file)?;
        match open_link(store, number, file) {
            Err(failure) if failure.code == Code::ChecksumMismatch => wrong = wrong.or(Some(failure)),
            opened => {
                opened?;
                whole += 1;
            }
        }
    }
    match wrong.filter(|_| whole == 0 && keeping.repositories.is_empty()) {
        Some(failure) => Err(failure),
        None => Ok(keeping),
    }
}

/// Why a linked file's content is not what was kept: somebody wrote to it through another name. Only this
/// file is not restored; the others are intact.
fn spoiled(store: &Store, number: u64, kept: &KeptFile) -> Result<Option<String>, Failure> {
    match open_link(store, number, kept) {
        Err(failure) if failure.code == Code::ChecksumMismatch => Ok(Some(SPOILED.to_owned())),
        opened => opened.map(|_| None),
    }
}

const SPOILED: &str = "its kept content was changed after it was kept";

/// The digest of a hard-linked content.
pub(super) fn linked(store: &Store, number: u64, kept: &KeptFile) -> Result<Option<Sum>, Failure> {
    let Some(file) = open_link(store, number, kept)? else { return Ok(None) };
    hash(&file).map(|(sum, _)| Some(sum)).map_err(|e| Failure::storage(name::shown(&kept.path), e))
}

pub fn survey(env: &Env, store: &Store, number: u64, force: bool) -> Result<Survey, Failure> {
    let keeping = read_whole(env, store, number)?;
    let left = shelf::left(store, number)?.filter(|left| left.files.len() == keeping.files.len());
    let mut work = Work { env, store, force, left, cleans: Vec::new(), looker: Looker::default() };
    let mut items = Vec::new();
    let mut repositories = Vec::new();
    let mut conflicts = Vec::new();
    for (at, kept) in keeping.repositories.iter().enumerate() {
        let Some(repository) = Repository::of(env, kept) else {
            work.cleans.push(None);
            repositories.push(None);
            let words = format!(
                "the repository `{}` no longer exists, so its branches, stashes and index cannot come back",
                name::shown(&kept.git)
            );
            conflicts.push(words);
            continue;
        };
        work.cleans.push(if repository.is_whole(kept) { repository.clean().ok() } else { None });
        let left = work.left.as_ref().map(|left| left.repository(at));
        let decided = goal::survey(&repository, kept, left, force);
        repositories.push(decided.map_err(|failure| conflicts.push(failure.what)).ok());
    }
    for (at, kept) in keeping.files.iter().enumerate() {
        items.push(work.item(&keeping, at, kept)?);
    }
    let known: BTreeSet<&str> = keeping.files.iter().map(|file| file.path.as_str()).collect();
    for (at, decided) in repositories.iter().enumerate() {
        if let Some(decided) = decided {
            items.extend(work.of_commits(&keeping, at, decided, &known, &mut conflicts)?);
        }
    }
    items.sort_by(|a, b| a.path.cmp(&b.path));
    let crontab = keeping.crontab.and_then(|kept| table_before(env, kept, &mut conflicts));
    Ok(Survey { keeping, items, repositories, crontab, conflicts })
}

/// The present crontab, if it differs from the kept one.
fn table_before(env: &Env, kept: Sum, conflicts: &mut Vec<String>) -> Option<Vec<u8>> {
    match crontab::listed(env) {
        Ok(now) => Some(now).filter(|now| Sum::of(now) != kept),
        Err(why) => {
            conflicts.push(format!("the table of `crontab` cannot come back: {why}"));
            None
        }
    }
}

struct Work<'a> {
    env: &'a Env,
    store: &'a Store,
    force: bool,
    left: Option<Left>,
    /// One for each repository.
    cleans: Vec<Option<Clean>>,
    looker: Looker,
}

impl Work<'_> {
    fn item(&mut self, keeping: &Keeping, at: usize, kept: &KeptFile) -> Result<Item, Failure> {
        let now = self.looker.look(&kept.path);
        if let Some(why) = spoiled(self.store, keeping.number, kept)? {
            return Ok(Item {
                path: kept.path.clone(),
                fate: Fate::Conflict(why),
                source: Source::Kept(at),
                now,
            });
        }
        let linked = match now {
            Present::File { .. } => linked(self.store, keeping.number, kept)?,
            _ => None,
        };
        let is_expected = now == Present::Absent
            || match &self.left {
                Some(left) => left.files[at].is_some() && left.files[at] == now.sum(),
                None => self.is_clean(keeping, &kept.path, &now),
            };
        let fate = if now.is(kept, linked) {
            Fate::Same
        } else {
            self.fate(&now, kept.content != Content::Absent, is_expected)
        };
        Ok(Item { path: kept.path.clone(), fate, source: Source::Kept(at), now })
    }

    /// The fate of a path that is not as it was.
    fn fate(&self, now: &Present, has_content: bool, is_expected: bool) -> Fate {
        match now {
            Present::Blocked(why) => Fate::Conflict(why.clone()),
            Present::Folder => Fate::Conflict("a folder is in its place".to_owned()),
            Present::Absent => Fate::Comes,
            _ if !is_expected && !self.force => Fate::Conflict("it was changed since".to_owned()),
            _ if has_content => Fate::Changes,
            _ => Fate::Goes,
        }
    }

    /// Git tracks it, and the index contains the same.
    fn is_clean(&self, keeping: &Keeping, path: &str, now: &Present) -> bool {
        let is_empty = matches!(now, Present::File { size: 0, .. });
        let mut all = keeping.repositories.iter().zip(&self.cleans);
        all.any(|(kept, clean)| {
            let inside = path.strip_prefix(&kept.root).and_then(|rest| rest.strip_prefix('/'));
            inside.zip(clean.as_ref()).is_some_and(|(inside, clean)| clean.is_clean(inside, is_empty))
        })
    }

    /// Files in a commit: those that the command removed, and those that change when the working tree returns
    /// to a commit.
    fn of_commits(
        &mut self,
        keeping: &Keeping,
        at: usize,
        decided: &Decided,
        known: &BTreeSet<&str>,
        conflicts: &mut Vec<String>,
    ) -> Result<Vec<Item>, Failure> {
        let kept = &keeping.repositories[at];
        let Some(repository) = Repository::of(self.env, kept) else { return Ok(Vec::new()) };
        let Some(head) =
            kept.head.as_deref().filter(|_| decided.tree.is_some() || !kept.committed.is_empty())
        else {
            return Ok(Vec::new());
        };
        if !repository.has_commit(head) {
            conflicts.push(format!(
                "{} committed files cannot come back: their commit no longer exists",
                kept.committed.len()
            ));
            return Ok(Vec::new());
        }
        let there = repository.files(head)?;
        let mut items = Vec::new();
        for path in self.changed_by_head(&repository, kept, decided)? {
            let whole = format!("{}/{path}", kept.root);
            if known.contains(whole.as_str()) {
                continue;
            }
            let now = self.looker.look(&whole);
            let has = there.contains(&path);
            let is_expected = self.cleans[at].as_ref().is_some_and(|clean| clean.is_clean(&path, false));
            let fate =
                if now == Present::Absent && !has { Fate::Same } else { self.fate(&now, has, is_expected) };
            items.push(Item { path: whole, fate, source: Source::Commit(at, has.then_some(path)), now });
        }
        let done: BTreeSet<String> = items.iter().map(|item| item.path.clone()).collect();
        let mut removed = Vec::new();
        for path in kept.committed.iter().filter(|path| there.contains(*path)) {
            let whole = format!("{}/{path}", kept.root);
            if !known.contains(whole.as_str()) && !done.contains(&whole) {
                removed.push((path, self.looker.look(&whole), whole));
            }
        }
        let back: Vec<&str> = removed
            .iter()
            .filter(|(_, now, _)| now.sum().is_some())
            .map(|(path, ..)| path.as_str())
            .collect();
        let sums = if back.is_empty() { BTreeMap::new() } else { in_commit(&repository, head, &back)? };
        for (path, now, whole) in removed {
            let is_same = now.sum().is_some() && sums.get(path.as_str()) == now.sum().as_ref();
            let fate = if is_same { Fate::Same } else { self.fate(&now, true, false) };
            items.push(Item { path: whole, fate, source: Source::Commit(at, Some(path.clone())), now });
        }
        Ok(items)
    }

    /// Relative to the root, without those that the kept index excludes from the working tree.
    fn changed_by_head(
        &self,
        repository: &Repository,
        kept: &super::form::KeptRepository,
        decided: &Decided,
    ) -> Result<Vec<String>, Failure> {
        let Some(moved) = &decided.goal.head else { return Ok(Vec::new()) };
        let mut paths = repository.between(&moved.old, &moved.new)?;
        if let Some(index) = kept.index {
            let failed = |e| Failure::storage("a temporary folder", e);
            let scratch = Scratch::new("kept-index").map_err(failed)?;
            let file = scratch.0.join("index");
            self.store.unpack(&index.0, &mut File::create_new(&file).map_err(failed)?)?;
            let left_out = repository.sparse(&file)?;
            paths.retain(|path| !left_out.contains(path));
        }
        Ok(paths)
    }
}

/// If something is where files of this commit were: the digests of what a checkout would write there.
fn in_commit(repository: &Repository, head: &str, paths: &[&str]) -> Result<BTreeMap<String, Sum>, Failure> {
    let failed = |e| Failure::storage("a temporary folder", e);
    let scratch = Scratch::new("undo").map_err(failed)?;
    repository.write_out(head, paths, &scratch.0)?;
    let real = files::real(&scratch.0).map_err(failed)?;
    let root = name::text(real.as_os_str().as_bytes()).into_owned();
    let mut looker = Looker::default();
    let sum = |path: &&str| Some(((*path).to_owned(), looker.look(&format!("{root}/{path}")).sum()?));
    Ok(paths.iter().filter_map(sum).collect())
}

/// The place of this path below a folder: relative to the project's root, or by its full path.
pub fn below(root: &str, path: &str) -> std::path::PathBuf {
    let inside = path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'));
    path_of(inside.unwrap_or_else(|| path.trim_start_matches('/')))
}
