//! Applies the plan of a rollback: of the one that runs, or of one that was interrupted.
//!
//! Writes the tree, the store and ledgers. Invariants: before the plan is committed the tree is not touched; after it, the
//! next command or event finishes; changes that were made in between are archived before they are overwritten.

use super::plan::{Plan, is_below};
use super::{Files, Wanted, fact, ledgers, tokens, write};
use crate::checkpoint::capture::capture;
use crate::checkpoint::form::{Checkpoint, text};
use crate::checkpoint::restore::{self, Applied, Steps};
use crate::checkpoint::store::Store;
use crate::checkpoint::tree::delta::Delta;
use crate::checkpoint::tree::{Artifacts, Folder, find};
use crate::ledger::open::Ledger;
use crate::model::error::Failure;
use crate::session::fact::Fact;
use crate::session::fold::Session;
use crate::session::state::{RollbackState, Undone};
use crate::system::env::Env;
use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::Instant;

/// For a session whose ledger has an unfinished rollback: finishes it, or records how it ended.
pub fn resume(env: &Env, ledger: &mut Ledger) -> Result<(), Failure> {
    let Some(undoing) = ledger.session().memory.undoing.clone() else { return Ok(()) };
    let root = ledger.session().memory.root.clone();
    let store = Store::open(env, Path::new(&root))?;
    if let Some(plan) = Plan::read(&store)? {
        finish_again(env, &store, &plan, &mut [ledger])?;
    }
    // Another process finished it.
    if ledger.session().memory.undoing.is_some() {
        let stage = if Plan::was_done(&store, &undoing.id)? { RollbackState::Done } else { RollbackState::Dropped };
        ledger.append(env, vec![Fact::Rollback(Undone { stage, ..*undoing })])?;
    }
    Ok(())
}

/// For a command: finishes the interrupted rollback of this tree. Returns whether there was one.
pub fn finish_pending(env: &Env, root: &Path) -> Result<bool, Failure> {
    let Some(store) = Store::look(root)? else { return Ok(false) };
    if Plan::read(&store)?.is_none() {
        return Ok(false);
    }
    let mut ledgers = ledgers::open(env, &ledgers::running(env, root, ""))?;
    let store = Store::open(env, root)?;
    let Some(plan) = Plan::read(&store)? else { return Ok(false) };
    finish_again(env, &store, &plan, &mut ledgers.iter_mut().collect::<Vec<_>>())?;
    Ok(true)
}

/// The result of a plan.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) result: Checkpoint,
    pub(super) applied: Applied,
}

/// The two trees of a plan, read or written under the store's lock.
pub(super) struct Trees {
    /// `None` where only the loop goes back.
    pub(super) archive: Option<Artifacts>,
    pub(super) target: Checkpoint,
    pub(super) text: Vec<u8>,
}

/// Applies a plan that was interrupted: the tree may be in any state.
pub(super) fn finish_again(
    env: &Env,
    store: &Store,
    plan: &Plan,
    ledgers: &mut [&mut Ledger],
) -> Result<Finished, Failure> {
    let (target, text) = Plan::checkpoint(env, store, &plan.target)?;
    let archive = match plan.archive.as_str() {
        "" => None,
        archive => Some(Plan::checkpoint(env, store, archive)?.0.artifacts),
    };
    finish(env, store, plan, ledgers, Trees { archive, target, text }, true)
}

/// Applies a plan. `again`: it was begun before.
pub(super) fn finish(
    env: &Env,
    store: &Store,
    plan: &Plan,
    ledgers: &mut [&mut Ledger],
    Trees { archive, mut target, text }: Trees,
    again: bool,
) -> Result<Finished, Failure> {
    let mut applied = Applied::default();
    let own = ledgers.iter().position(|ledger| ledger.session().state.session_id == plan.session_id);
    let mut kept = Vec::new();
    if let Some(archive) = &archive {
        let delta = plan.steps(archive, &target.artifacts);
        if again {
            let session = own.map(|at| ledgers[at].session());
            kept.extend(archive_later_changes(env, store, session, &delta, &target)?);
            restore::check_contents(store, &delta)?;
        }
        let folders = folders_on_the_way(plan, &delta, &target.artifacts, again);
        applied = restore::apply(store, &store.tree, &Steps { delta, folders, fresh: !again })?;
    }
    // The tree is the target's now, unless folders were left alone, or it was changed after an interruption.
    let left_out = std::mem::take(&mut target.artifacts).left_out;
    let files = match &archive {
        Some(_) if plan.alone.is_empty() && !again => {
            Files { artifacts: Artifacts::default(), text: text::files(&text) }
        }
        Some(_) => capture(env, store, &Plan::limits(), &[], &left_out)?.into(),
        None => capture(env, store, &Plan::limits(), &[], &[])?.into(),
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
        let known = ledger.session().memory.undoing.as_ref().is_some_and(|undoing| undoing.id == plan.id);
        let mine = own == Some(at);
        let mut facts: Vec<Fact> = if mine { kept.iter().chain([&result]).map(fact).collect() } else { Vec::new() };
        if known || mine {
            facts.push(Fact::Rollback(plan.told(&target, &result.identity.checkpoint_id, mine, RollbackState::Done)));
        }
        ledger.append(env, facts)?;
    }
    Ok(Finished { result, applied })
}

/// The checkpoint of the restored tree. `again`: it may have been written before the interruption.
fn result(
    env: &Env,
    store: &Store,
    plan: &Plan,
    own: Option<&Ledger>,
    target: &Checkpoint,
    files: Files,
    again: bool,
) -> Result<Checkpoint, Failure> {
    if let Some(result) = if again { find_result(store, &plan.id)? } else { None } {
        return Ok(result);
    }
    let wanted = Wanted {
        run: &target.identity.run_id,
        kind: target.kind,
        phase: target.phase,
        trigger: "rollback",
        about: vec![("archive", plan.archive.clone()), ("by", plan.by.clone()), ("rollback", plan.id.clone())],
        tokens: own.map(tokens).unwrap_or_default(),
        parent: Some(plan.target.clone()),
        began: Instant::now(),
    };
    write(env, store, own.map(Ledger::session), &wanted, files)
}

/// The folders whose mode is checked: parents of changed paths; in a plan that was begun before, all.
fn folders_on_the_way<'a>(plan: &Plan, delta: &Delta, target: &'a Artifacts, again: bool) -> Vec<&'a Folder> {
    let mut on_the_way = BTreeSet::new();
    for mut path in delta.paths() {
        while on_the_way.insert(path) {
            path = path.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }
    let wanted = |folder: &&Folder| again || on_the_way.contains(folder.path.as_str());
    target.folders.iter().filter(|folder| wanted(folder) && !is_below(&folder.path, &plan.alone)).collect()
}

/// The result that this rollback had written before it was interrupted.
fn find_result(store: &Store, id: &str) -> Result<Option<Checkpoint>, Failure> {
    let rows = store.rows()?;
    let Some(row) = rows.iter().rev().take(2).find(|row| row.trigger == "rollback") else { return Ok(None) };
    let Some(result) = crate::checkpoint::form::Id::read(&row.id).and_then(|id| store.read(&id).ok()) else {
        return Ok(None);
    };
    Ok((result.metadata.get("rollback").map(String::as_str) == Some(id)).then_some(result))
}

/// Archives the tree if a path is neither in its old nor in its new state: it was changed after the interruption.
fn archive_later_changes(
    env: &Env,
    store: &Store,
    session: Option<&Session>,
    delta: &Delta,
    target: &Checkpoint,
) -> Result<Option<Checkpoint>, Failure> {
    let changed = delta.changed.iter().map(|(old, _)| *old);
    let touched = delta.added.iter().chain(&delta.removed).copied().chain(changed);
    let paths: Vec<String> = touched.map(|file| file.path.clone()).collect();
    let present = capture(env, store, &Plan::limits(), &paths, &target.artifacts.left_out)?;
    if !has_later_changes(delta, &present) {
        return Ok(None);
    }
    let wanted = Wanted::archive(target, session, "changed while a rollback was interrupted");
    write(env, store, session, &wanted, present.into()).map(Some)
}

fn has_later_changes(delta: &Delta, present: &Artifacts) -> bool {
    let is = |path: &str| find(&present.files, path);
    let added = delta.added.iter().any(|new| is(&new.path).is_some_and(|now| now != *new));
    let removed = delta.removed.iter().any(|old| is(&old.path).is_some_and(|now| now != *old));
    let changed = delta.changed.iter().any(|(old, new)| is(&old.path).is_some_and(|now| now != *old && now != *new));
    added || removed || changed
}
