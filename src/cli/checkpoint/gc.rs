//! Deletes old checkpoints, and the contents that no checkpoint refers to; needs a person at a terminal.
//!
//! Invariants: the contents of a kept checkpoint stay; so does the newest start of work of a running session; if one
//! checkpoint cannot be read, all contents stay.

use super::{Command, Io, Who, refused, root, size};
use crate::checkpoint;
use crate::checkpoint::form::{CheckpointKind, Id};
use crate::checkpoint::store::Store;
use crate::checkpoint::store::index::IndexRow;
use crate::cli::waive::duration;
use crate::config::in_force;
use crate::text::time;
use clap::{Arg, ArgAction, ArgMatches};
use serde_json::json;
use std::collections::BTreeSet;

pub(super) const VERB: Command = Command {
    name: "gc",
    about: "Delete old checkpoints (needs a person at a terminal)",
    examples: &[
        ("aops-hook checkpoint gc", "keep the newest `checkpoint.keep`"),
        ("aops-hook checkpoint gc --keep 5 --older-than 7d", "keep the newest five, and all of the last week"),
        ("aops-hook checkpoint gc --dry-run", "show what it would delete"),
    ],
    who: Who::OutsideClient,
    arguments: |row| {
        let keep = Arg::new("keep").long("keep").value_name("N").value_parser(clap::value_parser!(u64));
        let age = Arg::new("older-than").long("older-than").value_name("TIME");
        let dry = Arg::new("dry-run").long("dry-run").action(ArgAction::SetTrue);
        row.arg(keep.help("How many of the newest to keep; default: `checkpoint.keep`"))
            .arg(age.help("Delete only those that are older: 12h, 7d"))
            .arg(dry.help("Show what it would delete, and do nothing"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let (env, root, dry) = (io.env, root(io), given.get_flag("dry-run"));
    if !dry {
        super::allowed("checkpoint gc", Who::AtTerminal, io)?;
    }
    let keep = match given.get_one::<u64>("keep") {
        Some(keep) => *keep,
        None => in_force::load(env, &root)?.policy.checkpoint.keep,
    };
    let age = match given.get_one::<String>("older-than") {
        Some(text) => duration(text).or_else(refused)?,
        None => 0,
    };
    let store = Store::open(env, &root)?;
    let rows = store.rows()?;
    let held: Vec<String> =
        checkpoint::rollback::sessions_in(env, &root, "").into_iter().map(|on_disk| on_disk.session_id).collect();
    let old = |row: &IndexRow| time::parse(&row.created_at).is_none_or(|at| env.now_ms - at >= age);
    let beyond = rows.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    let goes = |at: usize, row: &IndexRow| at < beyond && old(row) && !is_way_back(&rows, at, &held);
    let (gone, kept): (Vec<_>, Vec<_>) = rows.iter().enumerate().partition(|(at, row)| goes(*at, row));
    let (gone, kept): (Vec<IndexRow>, Vec<IndexRow>) = (
        gone.into_iter().map(|(_, row)| row.clone()).collect(),
        kept.into_iter().map(|(_, row)| row.clone()).collect(),
    );
    let live = live(&store, &kept);
    let dead: Vec<[u8; 32]> = match &live {
        Ok(live) => store.blobs()?.into_iter().filter(|blob| !live.contains(blob)).collect(),
        Err(_) => Vec::new(),
    };
    let mut freed = 0;
    if !dry {
        // First the references, then the contents: killed in between, some unused contents are left.
        let ids: Vec<String> = kept.iter().map(|row| row.id.clone()).collect();
        store.witness_only(env, &ids)?;
        store.set_rows(kept.clone())?;
        for row in &gone {
            Id::read(&row.id).map_or(Ok(()), |id| store.remove(&id))?;
        }
        if let Ok(live) = &live {
            store.forget(live)?;
        }
        for blob in &dead {
            freed += store.drop_blob(blob)?;
        }
    }
    if io.json {
        let ids: Vec<&str> = gone.iter().map(|row| row.id.as_str()).collect();
        let said = json!({"removed": ids, "kept": kept.len(), "blobs": dead.len(), "bytes": freed, "dry_run": dry});
        writeln!(io.out, "{said}")?;
        return Ok(0);
    }
    for row in &gone {
        writeln!(io.out, "{} {}", if dry { "would delete" } else { "deleted" }, row.id)?;
    }
    if let Err(why) = &live {
        writeln!(io.out, "all contents stay, because a checkpoint cannot be read: {why}")?;
    }
    let what = format!("{} of {} checkpoints, {} contents", gone.len(), rows.len(), dead.len());
    Ok(if dry { writeln!(io.out, "would delete {what}") } else { writeln!(io.out, "deleted {what}, {}", size(freed)) }
        .map(|()| 0)?)
}

/// The newest start of work of a running session.
fn is_way_back(rows: &[IndexRow], at: usize, running: &[String]) -> bool {
    let row = &rows[at];
    let same =
        |other: &IndexRow| other.run() == row.run() && other.kind == CheckpointKind::Pre && other.phase == row.phase;
    let newest = row.kind == CheckpointKind::Pre && !rows[at + 1..].iter().any(same);
    newest && running.contains(&row.session_id)
}

/// The contents of these checkpoints.
fn live(store: &Store, kept: &[IndexRow]) -> Result<BTreeSet<[u8; 32]>, String> {
    let mut live = BTreeSet::new();
    for row in kept {
        let id = Id::read(&row.id).ok_or_else(|| row.id.clone())?;
        let one = store.read(&id).map_err(|failure| failure.to_string())?;
        live.extend(one.artifacts.files.iter().map(|file| file.sha256.0));
    }
    Ok(live)
}
