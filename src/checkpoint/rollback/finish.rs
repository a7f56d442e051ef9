//! Finishes what a rollback began: its own steps as well as those of one that was interrupted.
//!
//! Writes the tree, the vault and ledgers. Invariants: before the plan is committed nothing of the tree is touched; after
//! it, whoever comes finishes; what somebody changed in between is archived before it is overwritten.

use super::plan::{Plan, is_below};
use super::{Files, Wanted, fact, ledgers, tokens, write};
use crate::checkpoint::capture::capture;
use crate::checkpoint::form::{Checkpoint, Kind, text};
use crate::checkpoint::restore::{self, Applied, Steps};
use crate::checkpoint::store::Store;
use crate::checkpoint::tree::delta::Delta;
use crate::checkpoint::tree::{Artifacts, Folder, find};
use crate::ledger::open::Ledger;
use crate::model::error::Failure;
use crate::session::fact::Fact;
use crate::session::state::{RollbackState, Undone};
use crate::system::env::Env;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread;
use std::time::Instant;

/// For a session that knows of a rollback which has not ended: finishes it, or learns what became of it.
pub fn resume(env: &Env, ledger: &mut Ledger) -> Result<(), Failure> {
    let Some(undoing) = ledger.session().memory.undoing.clone() else { return Ok(()) };
    let root = ledger.session().memory.root.clone();
    let vault = Store::open(env, Path::new(&root))?;
    if let Some(plan) = Plan::read(&vault)? {
        finish_again(env, &vault, &plan, &mut [ledger])?;
    }
    // Somebody else's end of it is ours too.
    if ledger.session().memory.undoing.is_some() {
        let stage =
            if Plan::was_done(&vault, &undoing.id)? { RollbackState::Done } else { RollbackState::Dropped };
        ledger.append(env, vec![Fact::Rollback(Undone { stage, ..*undoing })])?;
    }
    Ok(())
}

/// For a command: finishes what is pending in this tree. Says whether something was.
pub fn finish_pending(env: &Env, root: &Path) -> Result<bool, Failure> {
    let Some(vault) = Store::look(root)? else { return Ok(false) };
    if Plan::read(&vault)?.is_none() {
        return Ok(false);
    }
    let mut ledgers = ledgers::open(env, &ledgers::running(env, root, ""))?;
    let vault = Store::open(env, root)?;
    let Some(plan) = Plan::read(&vault)? else { return Ok(false) };
    finish_again(env, &vault, &plan, &mut ledgers.iter_mut().collect::<Vec<_>>())?;
    Ok(true)
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) result: Checkpoint,
    pub(super) applied: Applied,
}

/// The trees a plan is about, as they were read or written under the vault's lock.
pub(super) struct Trees {
    /// Nothing where only the state goes back.
    pub(super) archive: Option<Artifacts>,
    pub(super) target: Checkpoint,
    pub(super) text: Vec<u8>,
}

/// Takes the steps of a plan that was interrupted: the tree may be anything by now.
pub(super) fn finish_again(
    env: &Env,
    vault: &Store,
    plan: &Plan,
    ledgers: &mut [&mut Ledger],
) -> Result<Finished, Failure> {
    let (target, text) = Plan::checkpoint(env, vault, &plan.target)?;
    let archive = match plan.archive.as_str() {
        "" => None,
        archive => Some(Plan::checkpoint(env, vault, archive)?.0.artifacts),
    };
    finish(env, vault, plan, ledgers, Trees { archive, target, text }, true)
}

/// Takes the plan's steps. `again`: they were begun before.
pub(super) fn finish(
    env: &Env,
    vault: &Store,
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
            kept.extend(keep_strangers(env, vault, session, &delta, &target)?);
            restore::open_dry(vault, &delta)?;
        }
        let folders = shaped(plan, &delta, &target.artifacts, again);
        applied = restore::apply(vault, &vault.tree, &Steps { delta, folders, fresh: !again })?;
    }
    // The tree is the target's now, unless some of it was left as it was, or somebody went on working meanwhile.
    let left_out = std::mem::take(&mut target.artifacts).left_out;
    let files = match &archive {
        Some(_) if plan.alone.is_empty() && !again => {
            Files { artifacts: Artifacts::default(), text: text::files(&text) }
        }
        Some(_) => capture(env, vault, &Plan::limits(), &[], &left_out)?.into(),
        None => capture(env, vault, &Plan::limits(), &[], &[])?.into(),
    };
    // Both before the plan is closed, and neither before the other.
    let result = thread::scope(|scope| {
        let settled = scope.spawn(|| applied.settle(vault));
        let session = own.map(|at| &*ledgers[at]);
        let result = result(env, vault, plan, session, &target, files, again);
        let lost = |_| Failure::storage("the tree", "nobody forced it to the disk");
        settled.join().map_err(lost)?.and(result)
    })?;
    plan.close(vault)?;
    for (at, ledger) in ledgers.iter_mut().enumerate() {
        let known = ledger.session().memory.undoing.as_ref().is_some_and(|undoing| undoing.id == plan.id);
        let mine = own == Some(at);
        let mut facts: Vec<Fact> =
            if mine { kept.iter().chain([&result]).map(fact).collect() } else { Vec::new() };
        if known || mine {
            facts.push(Fact::Rollback(plan.told(
                &target,
                &result.identity.checkpoint_id,
                mine,
                RollbackState::Done,
            )));
        }
        ledger.append(env, facts)?;
    }
    Ok(Finished { result, applied })
}

/// The checkpoint of the restored tree. `again`: an interrupted end of this rollback may have written it already.
fn result(
    env: &Env,
    vault: &Store,
    plan: &Plan,
    own: Option<&Ledger>,
    target: &Checkpoint,
    files: Files,
    again: bool,
) -> Result<Checkpoint, Failure> {
    if let Some(result) = if again { already(vault, &plan.id)? } else { None } {
        return Ok(result);
    }
    let wanted = Wanted {
        run: &target.identity.run_id,
        kind: target.kind,
        phase: target.phase,
        trigger: "rollback",
        about: vec![
            ("archive", plan.archive.clone()),
            ("by", plan.by.clone()),
            ("rollback", plan.id.clone()),
        ],
        tokens: own.map(tokens).unwrap_or_default(),
        parent: Some(plan.target.clone()),
        began: Instant::now(),
    };
    write(env, vault, own.map(Ledger::session), &wanted, files)
}

/// The folders that need a look for their mode: those on the way to a step; of a plan that was begun before, all.
fn shaped<'a>(plan: &Plan, delta: &Delta, target: &'a Artifacts, again: bool) -> Vec<&'a Folder> {
    let mut on_the_way = BTreeSet::new();
    for mut path in delta.paths() {
        while on_the_way.insert(path) {
            path = path.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }
    let wanted = |folder: &&Folder| again || on_the_way.contains(folder.path.as_str());
    target.folders.iter().filter(|folder| wanted(folder) && !is_below(&folder.path, &plan.alone)).collect()
}

/// The result that an interrupted end of this rollback had already written.
fn already(vault: &Store, id: &str) -> Result<Option<Checkpoint>, Failure> {
    let rows = vault.rows()?;
    let Some(row) = rows.iter().rev().take(2).find(|row| row.trigger == "rollback") else { return Ok(None) };
    let Some(result) = crate::checkpoint::form::Id::read(&row.id).and_then(|id| vault.read(&id).ok()) else {
        return Ok(None);
    };
    Ok((result.metadata.get("rollback").map(String::as_str) == Some(id)).then_some(result))
}

/// A path that is neither as it was nor as it will be was changed by somebody since the rollback was interrupted.
fn keep_strangers(
    env: &Env,
    vault: &Store,
    session: Option<&crate::session::fold::Session>,
    delta: &Delta,
    target: &Checkpoint,
) -> Result<Option<Checkpoint>, Failure> {
    let changed = delta.changed.iter().map(|(old, _)| *old);
    let touched = delta.added.iter().chain(&delta.removed).copied().chain(changed);
    let paths: Vec<String> = touched.map(|file| file.path.clone()).collect();
    let present = capture(env, vault, &Plan::limits(), &paths, &target.artifacts.left_out)?;
    if !is_strange(delta, &present) {
        return Ok(None);
    }
    let wanted = Wanted {
        run: &target.identity.run_id,
        kind: Kind::Pre,
        phase: session.map_or(target.phase, |session| session.state.phase),
        trigger: "changed while a rollback was interrupted",
        about: Vec::new(),
        tokens: BTreeMap::new(),
        parent: None,
        began: Instant::now(),
    };
    write(env, vault, session, &wanted, present.into()).map(Some)
}

fn is_strange(delta: &Delta, present: &Artifacts) -> bool {
    let is = |path: &str| find(&present.files, path);
    let added = delta.added.iter().any(|new| is(&new.path).is_some_and(|now| now != *new));
    let removed = delta.removed.iter().any(|old| is(&old.path).is_some_and(|now| now != *old));
    let changed =
        delta.changed.iter().any(|(old, new)| is(&old.path).is_some_and(|now| now != *old && now != *new));
    added || removed || changed
}
