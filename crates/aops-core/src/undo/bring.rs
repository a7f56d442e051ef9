//! Restores a keeping: keeps the present state, writes the plan, carries it out, and tells the sessions of
//! the tree.
//!
//! Joins survey, store, disk, git and ledgers. Lock order: ledgers first, then the store. Invariants: what
//! will be overwritten is kept first; nothing is touched before the plan is committed; after that, the next
//! undo or session start finishes it.

use super::act::{Acted, act};
use super::form::{Content, Keeping, KeptFile, KeptFolder, Left, SCHEMA};
use super::git::{Repository, path_of};
use super::plan::{self, Plan};
use super::present::{Looker, Present};
use super::shelf::{self, Undone, pin_name};
use super::survey::{Fate, Item, Source, Survey, linked, survey};
use crate::checkpoint::rollback::lock_ledgers;
use crate::checkpoint::store::Store;
use crate::checkpoint::tree::name;
use crate::ledger::open::Ledger;
use crate::model::error::{Code, Failure};
use crate::session::fact::Fact;
use crate::session::memory::BroughtBack;
use crate::system::env::Env;
use crate::system::files::{self, Scratch};
use crate::text::sha256::Sum;
use crate::text::time::timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

#[derive(Debug)]
pub struct Brought {
    pub number: u64,
    /// The keeping of the state before the undo.
    pub present: u64,
    pub files: usize,
    /// What could not be done, each with the reason.
    pub problems: Vec<String>,
}

/// Restores it; `seen` can still refuse before anything is written. `None`: there is nothing to do.
pub fn bring_back(
    env: &Env,
    root: &Path,
    number: u64,
    force: bool,
    seen: &mut dyn FnMut(&Survey) -> Result<(), Failure>,
) -> Result<Option<Brought>, Failure> {
    let mut ledgers = lock_ledgers(env, root, "")?;
    let store = Store::open(env, root)?;
    finish_again(env, &store, &mut ledgers.iter_mut().collect::<Vec<_>>())?;
    let survey = survey(env, &store, number, force)?;
    seen(&survey)?;
    if survey.is_empty() {
        if !survey.has_conflicts() {
            note(env, &store, number, 0)?;
        }
        return Ok(None);
    }
    free_of_locks(&survey)?;
    let (plan, present) = prepare(env, &store, survey)?;
    shelf::commit(env, &store, &plan)?;
    carry_out(env, &store, &plan, &present, &mut ledgers.iter_mut().collect::<Vec<_>>()).map(Some)
}

/// Refuses if git is at work there, or was killed and left its locks: the undo would be done by half.
fn free_of_locks(survey: &Survey) -> Result<(), Failure> {
    const ALWAYS: [&str; 4] = ["HEAD", "config", "index", "packed-refs"];
    for (kept, decided) in survey.keeping.repositories.iter().zip(&survey.repositories) {
        if decided.as_ref().is_none_or(|decided| decided.goal.is_empty()) {
            continue;
        }
        let refs = kept.refs.iter().map(|(name, _)| name.as_str()).chain(kept.head_ref.as_deref());
        let locks = ALWAYS.into_iter().chain(refs).map(|name| path_of(&format!("{}/{name}.lock", kept.git)));
        if let Some(lock) = locks.into_iter().find(|lock| lock.symlink_metadata().is_ok()) {
            let words = format!(
                "`{}` is in the way: git is running there, or was killed; nothing was changed",
                lock.display()
            );
            return Err(Failure::new(Code::InTheWay, words));
        }
    }
    Ok(())
}

/// Finishes an interrupted undo of this tree. `own`: the ledger of the calling hook; otherwise all sessions
/// are told.
pub fn finish_pending(env: &Env, root: &Path, own: Option<&mut Ledger>) -> Result<Option<Brought>, Failure> {
    if !Store::look(root)?.is_some_and(|store| shelf::is_undoing(&store)) {
        return Ok(None);
    }
    if let Some(own) = own {
        return finish_again(env, &Store::open(env, root)?, &mut [own]);
    }
    let mut ledgers = lock_ledgers(env, root, "")?;
    finish_again(env, &Store::open(env, root)?, &mut ledgers.iter_mut().collect::<Vec<_>>())
}

fn finish_again(env: &Env, store: &Store, ledgers: &mut [&mut Ledger]) -> Result<Option<Brought>, Failure> {
    let Some(plan) = shelf::plan(env, store)? else { return Ok(None) };
    let gone = || {
        Failure::new(Code::ChecksumMismatch, format!("what was kept as {} no longer exists", plan.present))
    };
    let present = shelf::read(env, store, plan.present)?.ok_or_else(gone)?;
    carry_out(env, store, &plan, &present, ledgers).map(Some)
}

fn carry_out(
    env: &Env,
    store: &Store,
    plan: &Plan,
    present: &Keeping,
    ledgers: &mut [&mut Ledger],
) -> Result<Brought, Failure> {
    let Acted { files, problems } = act(env, store, plan, present)?;
    shelf::note_left(store, plan.present, &left_of(env, store, plan, present))?;
    if problems.is_empty() && plan.whole {
        note(env, store, plan.number, plan.present)?;
    }
    for ledger in ledgers.iter_mut() {
        let fact = BroughtBack { files: files as u64, number: plan.number, told: false };
        ledger.append(env, vec![Fact::Undo(fact)])?;
    }
    shelf::close(store)?;
    Ok(Brought { number: plan.number, present: plan.present, files, problems })
}

/// Records that it was restored. If that reverted an earlier undo, that one no longer counts as done.
fn note(env: &Env, store: &Store, number: u64, present: u64) -> Result<(), Failure> {
    for other in shelf::numbers(store)? {
        if shelf::undone(store, other)?.is_some_and(|undone| undone.present == number) {
            shelf::forget_undone(store, other)?;
        }
    }
    shelf::note_undone(store, number, &Undone { at: timestamp(env.now_ms), present })
}

/// The state that this undo leaves, so that the undo itself can be reverted without a question.
fn left_of(env: &Env, store: &Store, plan: &Plan, present: &Keeping) -> Left {
    let sum = |goal: &KeptFile| match &goal.content {
        Content::Symlink(target) => Some(Sum::of(&name::bytes(target))),
        Content::Link(_) => linked(store, plan.number, goal).ok().flatten(),
        other => other.sum(),
    };
    let mut left = Left { files: plan.files.iter().map(sum).collect(), schema: SCHEMA, ..Left::default() };
    for kept in &present.repositories {
        let found = Repository::of(env, kept);
        left.heads.push(found.as_ref().and_then(|found| found.head().0));
        let refs = |found: &Repository| {
            kept.refs.iter().map(|(name, _)| (name.clone(), found.value(name))).collect()
        };
        left.refs.push(found.as_ref().map(refs).unwrap_or_default());
        let all = found.filter(|_| kept.stashes.is_some()).and_then(|found| found.stashes().ok());
        left.stashes.push(all.unwrap_or_default().into_iter().map(|(id, _)| id).collect());
    }
    left
}

/// Keeps the present state and makes the plan.
fn prepare(env: &Env, store: &Store, survey: Survey) -> Result<(Plan, Keeping), Failure> {
    let whole = !survey.has_conflicts();
    let Survey { keeping, items, repositories, crontab, .. } = survey;
    let items: Vec<Item> = items
        .into_iter()
        .filter(|item| matches!(item.fate, Fate::Comes | Fate::Changes | Fate::Goes))
        .collect();
    let goals = goals(env, store, &keeping, &items)?;
    let mut looker = Looker::default();
    let draft = shelf::begin(store)?;
    let mut present = Keeping {
        at: timestamp(env.now_ms),
        cwd: keeping.cwd.clone(),
        line: format!("undo {}", keeping.number),
        number: draft.number,
        schema: SCHEMA,
        session_id: keeping.session_id.clone(),
        ..Keeping::default()
    };
    present.crontab = crontab.map(|now| keep_bytes(store, &now)).transpose()?;
    for item in &items {
        present.files.push(looker.keep(store, &item.path, &item.now)?);
    }
    let folders = Folders::of(&keeping, &goals, &mut looker);
    present.gone_folders = folders.come.iter().map(|folder| folder.path.clone()).collect();
    present.folders = folders.go.iter().filter_map(|path| with_mode(path, &mut looker)).collect();
    let mut all = folders.come;
    all.extend(folders.restricted);
    all.sort_by(|a, b| a.path.cmp(&b.path));
    let mut plan = Plan {
        crontab: keeping.crontab.filter(|_| present.crontab.is_some()),
        files: goals,
        folders: all,
        gone_folders: folders.go,
        number: keeping.number,
        present: draft.number,
        schema: plan::SCHEMA,
        whole,
        ..Plan::default()
    };
    for decided in repositories.into_iter().flatten().filter(|decided| !decided.goal.is_empty()) {
        let mut before = decided.before;
        let repository = Repository::at(env, &before.git, &before.root);
        if decided.goal.index.is_some() {
            (before.index, before.indexed) = keep_index(store, &repository)?;
        }
        // Two working trees share the refs of their repository.
        let known: usize = present.repositories.iter().map(|other| other.pins.len()).sum();
        let pin = |(k, id): (usize, &String)| (pin_name(draft.number, known + k), id.clone());
        repository.pin(&before.pins.iter().enumerate().map(pin).collect::<Vec<_>>())?;
        present.repositories.push(before);
        plan.repositories.push(decided.goal);
    }
    store.sync();
    shelf::finish(env, store, &draft, &present)?;
    Ok((plan, present))
}

type KeptIndex = (Option<Sum>, Vec<(String, Sum)>);

fn keep_index(store: &Store, repository: &Repository) -> Result<KeptIndex, Failure> {
    let bytes = files::read(repository.index_file()).unwrap_or_default();
    let index = keep_bytes(store, &bytes)?;
    let mut indexed = Vec::new();
    for (id, bytes) in repository.only_in_index()? {
        indexed.push((id, keep_bytes(store, &bytes)?));
    }
    Ok((Some(index), indexed))
}

fn keep_bytes(store: &Store, bytes: &[u8]) -> Result<Sum, Failure> {
    store.keep_bytes(bytes).map(Sum).map_err(|e| Failure::storage("blobs", e))
}

/// The new state of each path. git writes out files of a commit, which are then kept, so that the rest needs
/// no git.
pub(super) fn goals(
    env: &Env,
    store: &Store,
    keeping: &Keeping,
    items: &[Item],
) -> Result<Vec<KeptFile>, Failure> {
    let mut written: BTreeMap<String, KeptFile> = BTreeMap::new();
    for (at, kept) in keeping.repositories.iter().enumerate() {
        let of_commit = |item: &Item| match &item.source {
            Source::Commit(of, path) if *of == at => path.clone(),
            _ => None,
        };
        let paths: Vec<String> = items.iter().filter_map(of_commit).collect();
        let (Some(repository), Some(head)) = (Repository::of(env, kept), &kept.head) else { continue };
        // Limits the size of the temporary folder.
        for part in paths.chunks(256) {
            for (path, file) in write_out(store, &repository, head, part)? {
                let whole = format!("{}/{path}", kept.root);
                written.insert(whole.clone(), KeptFile { path: whole, ..file });
            }
        }
    }
    let goal = |item: &Item| match &item.source {
        Source::Kept(at) => Ok(keeping.files[*at].clone()),
        Source::Commit(_, None) => {
            Ok(KeptFile { content: Content::Absent, mode: 0, path: item.path.clone(), size: 0 })
        }
        Source::Commit(..) => {
            let none = || Failure::storage(name::shown(&item.path), "git did not write it out");
            written.remove(&item.path).ok_or_else(none)
        }
    };
    items.iter().map(goal).collect()
}

fn write_out(
    store: &Store,
    repository: &Repository,
    head: &str,
    paths: &[String],
) -> Result<Vec<(String, KeptFile)>, Failure> {
    let failed = |e| Failure::storage("a temporary folder", e);
    let scratch = Scratch::new("undo").map_err(failed)?;
    let real = files::real(&scratch.0).map_err(failed)?;
    repository.write_out(head, &paths.iter().map(String::as_str).collect::<Vec<_>>(), &real)?;
    let root = name::text(real.as_os_str().as_bytes());
    let mut looker = Looker::default();
    let mut all = Vec::new();
    for path in paths {
        let whole = format!("{root}/{path}");
        let seen = looker.look(&whole);
        // A submodule is an empty folder here, and not restored by us.
        if matches!(seen, Present::File { .. } | Present::Link(_)) {
            all.push((path.clone(), looker.keep(store, &whole, &seen)?));
        }
    }
    Ok(all)
}

/// Git does not track empty folders: those above a file that is removed, up to the root of its working tree,
/// except for folders that existed before.
fn emptied(keeping: &Keeping, path: &str) -> Vec<String> {
    let was_there = |above: &str| keeping.folders.iter().any(|folder| folder.path == above);
    let is_inside = |above: &str| {
        let mut roots =
            keeping.repositories.iter().filter(|kept| !above.starts_with(&format!("{}/", kept.git)));
        roots.any(|kept| above.starts_with(&format!("{}/", kept.root)))
    };
    let above = path.match_indices('/').map(|(at, _)| &path[..at]);
    above.filter(|above| is_inside(above) && !was_there(above)).map(str::to_owned).collect()
}

/// Folders above the changed files.
struct Folders {
    come: Vec<KeptFolder>,
    go: Vec<String>,
    /// They exist, but their owner must not change them: their modes are restored at the end.
    restricted: Vec<KeptFolder>,
}

fn with_mode(path: &str, looker: &mut Looker) -> Option<KeptFolder> {
    looker.folder_mode(path).map(|mode| KeptFolder { mode, path: path.to_owned() })
}

impl Folders {
    fn of(keeping: &Keeping, goals: &[KeptFile], looker: &mut Looker) -> Self {
        let mut come: BTreeMap<String, u32> = BTreeMap::new();
        let mut restricted = Vec::new();
        let mut seen = BTreeSet::new();
        let coming =
            goals.iter().filter(|goal| goal.content != Content::Absent).map(|goal| goal.path.as_str());
        for path in goals
            .iter()
            .map(|goal| goal.path.as_str())
            .chain(keeping.folders.iter().map(|one| one.path.as_str()))
        {
            let above = path.rsplit_once('/').map_or("", |(above, _)| above);
            if let Some(folder) = with_mode(above, looker).filter(|_| seen.insert(above.to_owned())) {
                restricted.extend((folder.mode & 0o700 != 0o700).then_some(folder));
            }
        }
        for folder in &keeping.folders {
            come.insert(folder.path.clone(), folder.mode);
        }
        for mut path in coming.chain(keeping.folders.iter().map(|one| one.path.as_str())) {
            while let Some((above, _)) = path.rsplit_once('/').filter(|(above, _)| !above.is_empty()) {
                come.entry(above.to_owned()).or_insert(0o755);
                path = above;
            }
        }
        come.retain(|path, _| Looker::default().look(path) == Present::Absent);
        let come = come.into_iter().map(|(path, mode)| KeptFolder { mode, path }).collect();
        let mut go: BTreeSet<String> = keeping.gone_folders.iter().cloned().collect();
        for goal in goals.iter().filter(|goal| goal.content == Content::Absent) {
            go.extend(emptied(keeping, &goal.path));
        }
        go.retain(|path| looker.folder_mode(path).is_some());
        Self { come, go: go.into_iter().collect(), restricted }
    }
}
