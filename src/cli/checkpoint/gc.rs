//! Takes old checkpoints away, and the contents nobody refers to any more: a person's verb.
//!
//! Invariants: what a kept checkpoint holds stays; the last way back of a running session stays; one that cannot be read
//! keeps every content, since nobody knows which are its.

use super::{Command, Io, Who, refused, root, size};
use crate::checkpoint;
use crate::checkpoint::form::{Id, Kind};
use crate::checkpoint::store::Store;
use crate::checkpoint::store::index::Row;
use crate::cli::waive::duration;
use crate::config::in_force;
use crate::text::time;
use clap::{Arg, ArgAction, ArgMatches};
use serde_json::json;
use std::collections::BTreeSet;

pub(super) const VERB: Command = Command {
    name: "gc",
    about: "Take old checkpoints away (a person's verb)",
    examples: &[
        ("aops-hook checkpoint gc", "keep the newest, as many as `checkpoint.keep` says"),
        (
            "aops-hook checkpoint gc --keep 5 --older-than 7d",
            "of those beyond five, the ones older than a week",
        ),
        ("aops-hook checkpoint gc --dry-run", "what would go"),
    ],
    who: Who::OutsideClient,
    arguments: |row| {
        let keep = Arg::new("keep").long("keep").value_name("N").value_parser(clap::value_parser!(u64));
        let age = Arg::new("older-than").long("older-than").value_name("TIME");
        let dry = Arg::new("dry-run").long("dry-run").action(ArgAction::SetTrue);
        row.arg(keep.help("How many of the newest stay; else `checkpoint.keep`"))
            .arg(age.help("Only those that are older: 12h, 7d"))
            .arg(dry.help("Show what would go, and do nothing"))
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
    let vault = Store::open(env, &root)?;
    let rows = vault.rows()?;
    let held: Vec<String> =
        checkpoint::rollback::running(env, &root, "").into_iter().map(|shelved| shelved.session_id).collect();
    let old = |row: &Row| time::parse(&row.created_at).is_none_or(|at| env.now_ms - at >= age);
    let beyond = rows.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    let goes = |at: usize, row: &Row| at < beyond && old(row) && !is_way_back(&rows, at, &held);
    let (gone, kept): (Vec<_>, Vec<_>) = rows.iter().enumerate().partition(|(at, row)| goes(*at, row));
    let (gone, kept): (Vec<Row>, Vec<Row>) = (
        gone.into_iter().map(|(_, row)| row.clone()).collect(),
        kept.into_iter().map(|(_, row)| row.clone()).collect(),
    );
    let live = live(&vault, &kept);
    let dead: Vec<[u8; 32]> = match &live {
        Ok(live) => vault.blobs()?.into_iter().filter(|blob| !live.contains(blob)).collect(),
        Err(_) => Vec::new(),
    };
    let mut freed = 0;
    if !dry {
        // First nobody refers to them, then they go: killed in between, they are only in nobody's way.
        let ids: Vec<String> = kept.iter().map(|row| row.id.clone()).collect();
        vault.witness_only(env, &ids)?;
        vault.set_rows(kept.clone())?;
        for row in &gone {
            Id::read(&row.id).map_or(Ok(()), |id| vault.remove(&id))?;
        }
        if let Ok(live) = &live {
            vault.forget(live)?;
        }
        for blob in &dead {
            freed += vault.drop_blob(blob)?;
        }
    }
    if io.json {
        let ids: Vec<&str> = gone.iter().map(|row| row.id.as_str()).collect();
        let said =
            json!({"removed": ids, "kept": kept.len(), "blobs": dead.len(), "bytes": freed, "dry_run": dry});
        writeln!(io.out, "{said}")?;
        return Ok(0);
    }
    for row in &gone {
        writeln!(io.out, "{} {}", if dry { "would go:" } else { "gone:" }, row.id)?;
    }
    if let Err(why) = &live {
        writeln!(io.out, "contents stay, since one checkpoint cannot be read: {why}")?;
    }
    let what = format!("{} of {} checkpoints, {} contents", gone.len(), rows.len(), dead.len());
    Ok(if dry {
        writeln!(io.out, "would free {what}")
    } else {
        writeln!(io.out, "freed {what}, {}", size(freed))
    }
    .map(|()| 0)?)
}

/// The newest beginning of work of a session that still runs.
fn is_way_back(rows: &[Row], at: usize, running: &[String]) -> bool {
    let row = &rows[at];
    let same = |other: &Row| other.run() == row.run() && other.kind == Kind::Pre && other.phase == row.phase;
    let newest = row.kind == Kind::Pre && !rows[at + 1..].iter().any(same);
    newest && running.contains(&row.session_id)
}

/// Every content that one of these holds.
fn live(vault: &Store, kept: &[Row]) -> Result<BTreeSet<[u8; 32]>, String> {
    let mut live = BTreeSet::new();
    for row in kept {
        let id = Id::read(&row.id).ok_or_else(|| row.id.clone())?;
        let one = vault.read(&id).map_err(|failure| failure.to_string())?;
        live.extend(one.artifacts.files.iter().map(|file| file.sha256.0));
    }
    Ok(live)
}
