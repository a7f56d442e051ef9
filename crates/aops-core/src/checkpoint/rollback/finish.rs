//! Applies the plan of a rollback, whether it has just begun or was interrupted.
//!
//! The plan is `rollback.json` while it runs, and `rollbacks/<id>.json` afterwards. Its steps follow from the
//! two checkpoints that it names. Invariants: the tree is not touched before the plan is committed; after
//! that, the next command or event finishes it; changes made in between are archived before they are
//! overwritten.

use super::{FilesAndText, LOOP_PHASE, STEP, Wanted, fact, lock_ledgers, used, write};
use crate::checkpoint::capture::{Limits, capture};
use crate::checkpoint::form::describe::RunView;
use crate::checkpoint::form::{Checkpoint, Id, text};
use crate::checkpoint::restore::{self, Applied, Steps};
use crate::checkpoint::store::{PRIVATE, Store, enter, make, names, read_file};
use crate::checkpoint::tree::{Artifacts, Delta, Folder, diff, find, is_below};
use crate::ledger::open::Ledger;
use crate::model::error::{Code, Failure};
use crate::model::phase::{Phase, Sandbox};
use crate::model::trigger::CheckpointTrigger;
use crate::session::memory::{RollbackState, Undone};
use crate::session::{fact::Fact, fold::Session};
use crate::system::env::Env;
use crate::text::stored::canonical;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::thread;

/// For a session whose ledger has an unfinished rollback: finishes it, or records how it ended.
pub fn resume(env: &Env, ledger: &mut Ledger) -> Result<(), Failure> {
    let Some(undoing) = ledger.session().memory.undo.rolling_back.clone() else { return Ok(()) };
    let root = ledger.session().memory.place.root.clone();
    let store = Store::open(env, Path::new(&root))?;
    finish_again(env, &store, &mut [ledger])?;
    // Another process finished it.
    if ledger.session().memory.undo.rolling_back.is_some() {
        let stage = if RollbackPlan::was_done(&store, &undoing.id)? {
            RollbackState::Done
        } else {
            RollbackState::Dropped
        };
        ledger.append(env, vec![Fact::Rollback(Undone { stage, ..*undoing })])?;
    }
    Ok(())
}

/// For a command: finishes the interrupted rollback of this tree. Returns whether there was one.
pub fn finish_pending(env: &Env, root: &Path) -> Result<bool, Failure> {
    let Some(store) = Store::look(root)? else { return Ok(false) };
    if RollbackPlan::read(&store)?.is_none() {
        return Ok(false);
    }
    let mut ledgers = lock_ledgers(env, root, "")?;
    finish_again(env, &Store::open(env, root)?, &mut ledgers.iter_mut().collect::<Vec<_>>())
}

/// The two trees of a plan, read or written under the store's lock.
pub(super) struct Trees {
    /// `None` if only the loop goes back.
    pub(super) archive: Option<Artifacts>,
    pub(super) target: Checkpoint,
    pub(super) text: Vec<u8>,
}

/// Applies the interrupted plan, if there is one: the tree may be in any state.
pub(super) fn finish_again(env: &Env, store: &Store, ledgers: &mut [&mut Ledger]) -> Result<bool, Failure> {
    let Some(plan) = RollbackPlan::read(store)? else { return Ok(false) };
    let (target, text) = RollbackPlan::checkpoint(env, store, &plan.target)?;
    let archive = match plan.archive.as_str() {
        "" => None,
        archive => Some(RollbackPlan::checkpoint(env, store, archive)?.0.artifacts),
    };
    finish(env, store, &plan, ledgers, Trees { archive, target, text }, true)?;
    Ok(true)
}

/// Applies a plan. `again`: it was begun before.
pub(super) fn finish(
    env: &Env,
    store: &Store,
    plan: &RollbackPlan,
    ledgers: &mut [&mut Ledger],
    Trees { archive, mut target, text }: Trees,
    again: bool,
) -> Result<(Checkpoint, Applied), Failure> {
    let mut applied = Applied::default();
    let own = ledgers.iter().position(|ledger| ledger.session().state.session_id == plan.session_id);
    let mut kept = Vec::new();
    if let Some(archive) = &archive {
        let delta = steps(archive, &target.artifacts, &plan.alone, &plan.leave);
        if again {
            let session = own.map(|at| ledgers[at].session());
            kept.extend(archive_later_changes(env, store, (session, &plan.archive), &delta, &target)?);
            restore::check_contents(store, &delta)?;
        }
        let folders = folders_on_the_way(plan, &delta, &target.artifacts, again);
        applied = restore::apply(store, &store.tree, &Steps { delta, folders, fresh: !again })?;
    }
    // The tree now equals the target, unless folders were left alone or it was changed after an interruption.
    let left_out = std::mem::take(&mut target.artifacts).left_out;
    let files = match &archive {
        Some(_) if plan.alone.is_empty() && !again => (Artifacts::default(), text::files(&text)),
        Some(_) => (capture(env, store, &Limits::none(), &[], &left_out)?, None),
        None => (capture(env, store, &Limits::none(), &[], &[])?, None),
    };
    // Both must end before the plan is closed; they run in parallel.
    let result = thread::scope(|scope| {
        let synced = scope.spawn(|| applied.sync(store));
        let session = own.map(|at| &*ledgers[at]);
        let result = result(env, store, plan, session, &target, files, again);
        let lost = |_| Failure::storage("the tree", "the sync failed");
        synced.join().map_err(lost)?.and(result)
    })?;
    plan.close(store)?;
    for (at, ledger) in ledgers.iter_mut().enumerate() {
        let known =
            ledger.session().memory.undo.rolling_back.as_ref().is_some_and(|undoing| undoing.id == plan.id);
        let mine = own == Some(at);
        let mut facts: Vec<Fact> =
            if mine { kept.iter().chain([&result]).map(fact).collect() } else { Vec::new() };
        if known || mine {
            facts.push(Fact::Rollback(plan.fact(
                &target,
                &result.identity.checkpoint_id,
                mine,
                RollbackState::Done,
            )));
        }
        ledger.append(env, facts)?;
    }
    Ok((result, applied))
}

/// The checkpoint of the restored tree. `again`: it may have been written before the interruption.
fn result(
    env: &Env,
    store: &Store,
    plan: &RollbackPlan,
    own: Option<&Ledger>,
    target: &Checkpoint,
    files: FilesAndText,
    again: bool,
) -> Result<Checkpoint, Failure> {
    if let Some(result) = if again { find_result(store, &plan.id)? } else { None } {
        return Ok(result);
    }
    let mut about = vec![
        ("archive", plan.archive.clone()),
        ("by", plan.by.clone()),
        ("rollback", plan.id.clone()),
        ("rollback_from", plan.archive.clone()),
    ];
    let of_step =
        [STEP, LOOP_PHASE].into_iter().filter_map(|key| Some((key, target.metadata.get(key)?.clone())));
    about.extend(of_step);
    let used = own.map(used).unwrap_or_default();
    let parent = Some(plan.target.clone());
    let new = Wanted::new(&target.identity.run_id, target.kind, &target.phase, CheckpointTrigger::Rollback);
    let view = target.metadata.contains_key(STEP).then(|| view_of(target));
    let wanted = Wanted { about, used, view, parent, ..new };
    write(env, store, own.map(Ledger::session), &wanted, files)
}

/// The run in its state at a checkpoint.
fn view_of(target: &Checkpoint) -> RunView {
    RunView {
        completed: target.orchestrator.completed.clone(),
        current_phase: target.orchestrator.current_phase.clone(),
        incomplete: target.orchestrator.incomplete.clone(),
        intake: target.orchestrator.intake_summary.clone(),
        gates: target.governance.gates.clone(),
        waived: Vec::new(),
        kind: target.kind,
    }
}

/// The folders whose mode is checked: parents of changed paths; all folders if the plan was begun before.
fn folders_on_the_way<'a>(
    plan: &RollbackPlan,
    delta: &Delta,
    target: &'a Artifacts,
    again: bool,
) -> Vec<&'a Folder> {
    let mut on_the_way = BTreeSet::new();
    for mut path in delta.paths() {
        while on_the_way.insert(path) {
            path = path.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }
    let wanted = |folder: &&Folder| again || on_the_way.contains(folder.path.as_str());
    target.folders.iter().filter(|folder| wanted(folder) && !is_in(&folder.path, &plan.alone)).collect()
}

/// The result that this rollback had already written before it was interrupted.
fn find_result(store: &Store, id: &str) -> Result<Option<Checkpoint>, Failure> {
    let rows = store.rows()?;
    let row = rows.iter().rev().take(2).find(|row| row.trigger == CheckpointTrigger::Rollback);
    let result = row.and_then(|row| store.read(&Id::read(&row.id)?).ok());
    Ok(result.filter(|result| result.metadata.get("rollback").map(String::as_str) == Some(id)))
}

/// Archives the tree if some path is neither in its old nor in its new state, since it was changed after the
/// interruption.
fn archive_later_changes(
    env: &Env,
    store: &Store,
    (session, first): (Option<&Session>, &str),
    delta: &Delta,
    target: &Checkpoint,
) -> Result<Option<Checkpoint>, Failure> {
    let paths: Vec<String> = delta.touched().map(|file| file.path.clone()).collect();
    let present = capture(env, store, &Limits::none(), &paths, &target.artifacts.left_out)?;
    if !has_later_changes(delta, &present) {
        return Ok(None);
    }
    // Named like the archive of the first attempt.
    let first = Id::read(first);
    let at = first.as_ref().map(|id| (id.kind, id.phase.as_str()));
    let wanted = Wanted::archive(target, session, at, CheckpointTrigger::Interrupted);
    write(env, store, session, &wanted, (present, None)).map(Some)
}

fn has_later_changes(delta: &Delta, present: &Artifacts) -> bool {
    let one = delta.added.iter().chain(&delta.removed).map(|file| (file, file));
    let mut all = one.chain(delta.changed.iter().map(|(old, new)| (old, new)));
    all.any(|(old, new)| find(&present.files, &old.path).is_some_and(|now| now != *old && now != *new))
}

const FILE: &str = "rollback.json";
const DONE: &str = "rollbacks";

/// The steps from one tree to another, without the folders `alone` and the files `leave`.
pub(super) fn steps<'a>(
    start: &'a Artifacts,
    end: &'a Artifacts,
    alone: &[String],
    leave: &[String],
) -> Delta<'a> {
    let left = |path: &str| leave.binary_search_by(|known| known.as_str().cmp(path)).is_ok();
    let mut delta = diff(start, end).without(|path| is_in(path, alone));
    delta.removed.retain(|file| !left(&file.path));
    delta
}

fn is_in(path: &str, folders: &[String]) -> bool {
    folders.iter().any(|folder| is_below(path, folder))
}

fn phase_of_loop(target: &Checkpoint) -> Phase {
    let name = target.metadata.get(LOOP_PHASE).unwrap_or(&target.phase);
    Phase::of(name).unwrap_or_default()
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RollbackPlan {
    /// Folders that are not touched.
    pub alone: Vec<String>,
    /// Checkpoint of the present; empty if only the loop goes back.
    pub archive: String,
    pub by: String,
    pub id: String,
    /// Files of the archive that stay because the restored tree ignores them.
    pub leave: Vec<String>,
    pub schema: u32,
    pub session_id: String,
    pub target: String,
}

impl RollbackPlan {
    /// The unfinished plan, if any.
    pub(super) fn read(store: &Store) -> Result<Option<Self>, Failure> {
        let Some(bytes) = read_file(&store.dir, FILE)? else { return Ok(None) };
        let broken =
            |why: &dyn std::fmt::Display| Failure::new(Code::ChecksumMismatch, format!("`{FILE}`: {why}"));
        let plan: Self = serde_json::from_slice(&bytes).map_err(|e| broken(&e))?;
        if plan.schema == 1 { Ok(Some(plan)) } else { Err(broken(&"has another schema")) }
    }

    /// From here on the rollback will be finished, even if this process is killed.
    pub(super) fn commit(&self, store: &Store) -> Result<(), Failure> {
        store.put(&store.dir, FILE, |file| {
            file.write_all(canonical(self).as_bytes()).and_then(|()| file.sync_data()).map(|()| true)
        })?;
        rustix::fs::fsync(&store.dir).map_err(|e| Failure::storage(FILE, e))
    }

    pub(super) fn close(&self, store: &Store) -> Result<(), Failure> {
        let storage = |e: Errno| Failure::storage(DONE, e);
        let done = make(&store.dir, DONE, PRIVATE)?;
        rustix::fs::renameat(&store.dir, FILE, &done, format!("{}.json", self.id)).map_err(storage)?;
        rustix::fs::fsync(&store.dir).map_err(storage)
    }

    pub(super) fn was_done(store: &Store, id: &str) -> Result<bool, Failure> {
        let Some(done) = enter(&store.dir, DONE)? else { return Ok(false) };
        Ok(names(&done)?.contains(&format!("{id}.json")))
    }

    pub(super) fn checkpoint(env: &Env, store: &Store, id: &str) -> Result<(Checkpoint, Vec<u8>), Failure> {
        let odd = || Failure::new(Code::ChecksumMismatch, format!("`{FILE}`: `{id}` is not an id"));
        store.vouched_by(env, &Id::read(id).ok_or_else(odd)?, text::unseal)
    }

    pub(super) fn fact(&self, target: &Checkpoint, result: &str, own: bool, stage: RollbackState) -> Undone {
        let is_run = target.metadata.contains_key(STEP);
        Undone {
            archive: self.archive.clone(),
            by: self.by.clone(),
            id: self.id.clone(),
            own,
            phase: phase_of_loop(target),
            result: result.to_owned(),
            // Between two steps of a run the plan gate is closed.
            sandbox: if is_run { Sandbox::Shut } else { target.orchestrator.sandbox },
            stage,
            state_only: self.archive.is_empty(),
            target: self.target.clone(),
            task: target.orchestrator.task_number,
        }
    }
}
