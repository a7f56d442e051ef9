//! `sessions gc`: removes old sessions, with the checkpoints that only they used.
//!
//! Removes session folders and checkpoints; writes heads. Invariants: nothing that is blocked, paused, alive,
//! damaged or unresolved is removed; the head first records that a person removed the session, so its absence
//! is never taken for tampering; a checkpoint taken by hand stays, and so does one that a kept one refers to.

use super::changed_ms;
use crate::cli::gc::{self, Wish};
use crate::cli::{Command, Io};
use crate::run::artifacts::RunArtifacts;
use anyhow::Context;
use aops_core::checkpoint::form::BY_HAND;
use aops_core::checkpoint::store::Store;
use aops_core::checkpoint::store::index::IndexRow;
use aops_core::checkpoint::store::sweep::Swept;
use aops_core::ledger::clients;
use aops_core::ledger::heads::{self, Head};
use aops_core::ledger::lock::Lock;
use aops_core::ledger::session_folder::{self, guard};
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::model::call::CallState;
use aops_core::model::error::Failure;
use aops_core::model::phase::Phase;
use aops_core::proof::append;
use aops_core::proof::check::{self, Trust};
use aops_core::proof::record::Record;
use aops_core::proof::store::Store as LogStore;
use aops_core::proof::tier;
use aops_core::session::fold::Session;
use aops_core::system::env::Env;
use aops_core::text::sha256::NO_DIGEST;
use aops_core::text::time::timestamp;
use aops_core::undo::shelf;
use clap::ArgMatches;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

pub(super) const GC: Command = Command {
    name: "gc",
    about: "Remove old sessions that wait for no answer (needs a person at a terminal)",
    examples: &[
        ("aops-hook sessions gc --older-than 90d --dry-run", "show what it would remove"),
        ("aops-hook sessions gc --older-than 90d", "remove their ledgers and checkpoints; insights stay"),
    ],
    arguments: |row| gc::arguments(row, "Only sessions idle for at least this long: 12h, 90d"),
    run: collect,
};

/// The suffix of a folder that is being removed.
const ASIDE: &str = ".removed";

fn collect(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let wish = Wish::read("sessions gc", given, io)?;
    if !wish.dry {
        finish(io.env);
    }
    let all = sessions::all(io.env);
    let mut gone = Vec::new();
    let mut trees = BTreeMap::<PathBuf, BTreeSet<String>>::new();
    for found in all.iter().filter(|found| wish.covers(changed_ms(found))) {
        match held(io.env, found, false) {
            Err(why) if !io.json => writeln!(io.out, "kept {}: {why}", found.session_id)?,
            Err(_) => {}
            Ok(session) => {
                let root = PathBuf::from(&session.memory.place.root);
                if wish.dry || remove(io.env, found)? {
                    gone.push(found.session_id.clone());
                    trees.entry(root).or_default().insert(found.session_id.clone());
                }
            }
        }
    }
    let mut checkpoints = 0;
    let mut contents = 0;
    for (root, of) in trees {
        let (rows, swept) = sweep(io.env, &root, &of, wish.dry)?;
        checkpoints += rows;
        contents += swept.contents as u64;
    }
    wish.report(io, "session", (&gone, all.len()), &[("checkpoint", checkpoints), ("content", contents)])
}

/// The session, or why it stays. `locked`: the caller holds its lock.
fn held(env: &Env, found: &SessionOnDisk, locked: bool) -> Result<Session, String> {
    let checked = sessions::check_locked(env, found, locked).map_err(|failure| failure.to_string())?;
    if let Some(failure) = checked.failure {
        return Err(format!("damaged: {failure}"));
    }
    let session = checked.session;
    let head = sessions::exported(env, &found.session_id);
    if session.blocked().is_some() || head.is_some_and(|head| head.blocked) {
        return Err("blocked".to_owned());
    }
    if session.memory.client.process.as_ref().is_some_and(clients::is_alive) {
        return Err("its client is alive".to_owned());
    }
    match unresolved(&session) {
        Some(what) => Err(what.to_owned()),
        None => waits_in_run(&session).map_or(Ok(session), Err),
    }
}

/// The part of it that waits for an answer.
fn unresolved(session: &Session) -> Option<&'static str> {
    let state = &session.state;
    let memory = &session.memory;
    let phase = memory.progress.before.map_or(state.phase, |(phase, _)| phase);
    let worked = state.task.as_ref().is_some_and(|task| task.writes > 0);
    if state.phase == Phase::Halted {
        Some("halted")
    } else if memory.undo.rolling_back.is_some() {
        Some("a rollback is not finished")
    } else if memory.calls.iter().any(|open| open.state == CallState::Pending) {
        Some("a call waits for a decision")
    } else if worked && !matches!(phase, Phase::Idle | Phase::Done) {
        Some("its task is not done")
    } else {
        None
    }
}

/// Whether it belongs to a run that can still be continued.
fn waits_in_run(session: &Session) -> Option<String> {
    let root = Path::new(&session.memory.place.root);
    if !root.is_absolute() {
        return None;
    }
    match RunArtifacts::of(root).runs() {
        Ok(runs) => {
            let of_it =
                runs.iter().find(|run| run.init.session_id == session.state.session_id && !run.is_settled());
            of_it.map(|run| format!("run {} is not settled", run.run_id))
        }
        Err(failure) => Some(format!("its runs cannot be read: {failure}")),
    }
}

/// Removes the files that a killed `gc` left.
fn finish(env: &Env) {
    let folders = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten().map(|item| item.path());
    let of_session = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(ASIDE));
        name.is_some_and(session_folder::is_session_folder)
    };
    for path in env.all_projects().into_iter().flat_map(folders).filter(of_session) {
        let _ = fs::remove_dir_all(path);
    }
}

/// Holds the locks of all folders and of the session. `false` if an event arrived meanwhile.
fn remove(env: &Env, found: &SessionOnDisk) -> anyhow::Result<bool> {
    let project = found.path.parent().unwrap_or(Path::new("/"));
    let _folders = guard(env)?;
    let folder = session_folder::existing(&found.path)?;
    let _lock = Lock::acquire(&folder.dir)?;
    let Ok(session) = held(env, found, true) else { return Ok(false) };
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    heads::export(env, &farewell(env, &session, name(project)))?;
    explain(env, found, &session)?;
    // Removed from the list immediately; if we are killed now, only the files are left.
    let aside = PathBuf::from(format!("{}{ASIDE}", found.path.display()));
    fs::rename(&found.path, &aside).with_context(|| format!("`{}`", found.path.display()))?;
    fs::remove_dir_all(&aside).with_context(|| format!("`{}`", aside.display()))?;
    Ok(true)
}

/// The log keeps the leaves of a removed session, and says that a person removed it.
fn explain(env: &Env, found: &SessionOnDisk, session: &Session) -> Result<(), Failure> {
    let Some(log) = check::examine(env, &Trust::default()) else { return Ok(()) };
    let Some(record) = LogStore::look(env)?.map(|store| Record::of(&store, &found.session_id)) else {
        return Ok(());
    };
    let spans = tier::spans(&log, &record, &tier::digests(&found.path)?);
    let words =
        json!({"session": found.session_id, "spans": spans, "entries": session.seq, "head": session.head});
    append::say(env, "removed", &words)
}

/// The head of a session that a person removed: it no longer proves anything, and says why.
fn farewell(env: &Env, session: &Session, project: String) -> Head {
    let reason =
        format!("removed by a person with `sessions gc`; entry {} was {}", session.seq, session.head);
    Head {
        blocked: false,
        boot: None,
        digest: NO_DIGEST.to_owned(),
        log: session.memory.proof.log.clone(),
        project,
        reason: Some(reason),
        seq: 0,
        session_id: session.state.session_id.clone(),
        ts: timestamp(env.now_ms),
    }
}

/// Deletes the checkpoints that only these sessions used.
fn sweep(env: &Env, root: &Path, of: &BTreeSet<String>, dry: bool) -> Result<(u64, Swept), Failure> {
    let Some(seen) = Some(root).filter(|root| root.is_absolute()).map(Store::look).transpose()?.flatten()
    else {
        return Ok((0, Swept::default()));
    };
    let store = if dry { seen } else { Store::open(env, root)? };
    let rows = store.rows()?;
    let theirs = |row: &IndexRow| of.contains(&row.session_id) && row.run() != BY_HAND;
    let parents: BTreeSet<&str> =
        rows.iter().filter(|row| !theirs(row)).filter_map(|row| row.parent.as_deref()).collect();
    let goes = |row: &IndexRow| theirs(row) && !parents.contains(row.id.as_str());
    let (gone, kept): (Vec<IndexRow>, Vec<IndexRow>) = rows.iter().cloned().partition(goes);
    let swept = if gone.is_empty() {
        Swept::default()
    } else {
        store.sweep(env, &kept, &gone, shelf::live(&store), dry)?
    };
    Ok((gone.len() as u64, swept))
}
