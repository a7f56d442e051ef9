//! Picks the sessions of a command: all, those since a time, or one; with a ledger or only a transcript.
//!
//! Reads the sessions on disk, writes nothing. Invariant: a session that has both is listed once, by its ledger.

use super::waive::duration;
use super::{Io, refused};
use crate::insight::collect::transcript_of;
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::system::env::Env;
use crate::text::time;
use clap::{Arg, ArgMatches};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A session on disk.
#[derive(Clone, Debug)]
pub struct Found {
    pub session_id: String,
    /// Nothing for a session without a ledger.
    pub shelved: Option<SessionOnDisk>,
    pub transcript: PathBuf,
    pub changed: SystemTime,
}

/// `--since` of the commands about many sessions.
pub fn since_argument(command: clap::Command) -> clap::Command {
    let help = "Only sessions that went on after this: a length of time (30m, 12h, 7d) or a day (2026-01-13)";
    command.arg(Arg::new("since").long("since").value_name("WHEN").help(help))
}

/// The time that argument means, in milliseconds.
pub fn since(given: &ArgMatches, io: &Io) -> anyhow::Result<Option<i64>> {
    let Some(when) = given.get_one::<String>("since") else { return Ok(None) };
    let day = || time::parse(&format!("{when}T00:00:00Z")).or_else(|| time::parse(when));
    if let Some(ms) = day() {
        return Ok(Some(ms));
    }
    match duration(when) {
        Ok(long) => Ok(Some(io.env.now_ms.saturating_sub(long))),
        Err(_) => refused(format!("`{when}` is not a time\nhint: write 30m, 12h, 7d, or a day such as 2026-01-13")),
    }
}

/// Every session with a ledger, and those that only have a transcript, oldest first.
pub fn all(env: &Env, since: Option<i64>) -> Vec<Found> {
    let after = since.map(|ms| SystemTime::UNIX_EPOCH + Duration::from_millis(ms.max(0).cast_unsigned()));
    let of_ledger = |shelved: SessionOnDisk| Found {
        session_id: shelved.session_id.clone(),
        transcript: transcript_of(&shelved),
        changed: shelved.changed,
        shelved: Some(shelved),
    };
    let mut found: Vec<Found> =
        sessions::all(env).into_iter().filter(|shelved| !shelved.session_id.is_empty()).map(of_ledger).collect();
    let known: BTreeSet<PathBuf> = found.iter().map(|found| found.transcript.clone()).collect();
    found.extend(transcripts(env).into_iter().filter(|other| !known.contains(&other.transcript)));
    found.retain(|found| after.is_none_or(|after| found.changed >= after));
    found.sort_by(|a, b| (a.changed, &a.session_id).cmp(&(b.changed, &b.session_id)));
    found
}

/// The session a person means, also one that only has a transcript.
pub fn pick(env: &Env, given: Option<&str>) -> anyhow::Result<Found> {
    let missing = match sessions::pick(env, given) {
        Ok(shelved) => {
            let (session_id, transcript) = (shelved.session_id.clone(), transcript_of(&shelved));
            return Ok(Found { session_id, transcript, changed: shelved.changed, shelved: Some(shelved) });
        }
        Err(words) => words,
    };
    let Some(given) = given.filter(|given| !given.is_empty()) else { return refused(missing) };
    let mut found = transcripts(env);
    found.retain(|found| found.session_id.starts_with(given));
    match found.len() {
        1 => Ok(found.remove(0)),
        _ => refused(missing),
    }
}

fn transcripts(env: &Env) -> Vec<Found> {
    let projects = std::fs::read_dir(env.projects()).into_iter().flatten().flatten();
    projects.flat_map(|project| in_project(&project.path())).collect()
}

fn in_project(project: &Path) -> Vec<Found> {
    let names = std::fs::read_dir(project).into_iter().flatten().flatten();
    names
        .filter_map(|item| {
            let session_id = item.file_name().to_str()?.strip_suffix(".jsonl")?.to_owned();
            let meta = item.metadata().ok().filter(std::fs::Metadata::is_file)?;
            let changed = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            Some(Found { session_id, shelved: None, transcript: item.path(), changed })
        })
        .collect()
}
