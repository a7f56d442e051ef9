//! Chooses the sessions of a command: all, those since a time, or one; with a ledger or only a transcript.
//!
//! Reads the sessions on disk, writes nothing. Invariant: a session that has both is listed once, by its
//! ledger.

use super::control::duration;
use super::{Io, option, refused, text};
use aops_core::insight::collect::{self, transcript_of};
use aops_core::insight::document::Insights;
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::model::error::Failure;
use aops_core::system::env::Env;
use aops_core::text::time;
use clap::{Arg, ArgMatches};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A session with a ledger, a transcript, or both.
#[derive(Clone, Debug)]
pub struct FoundSession {
    pub session_id: String,
    /// `None` for a session without a ledger.
    pub shelved: Option<SessionOnDisk>,
    pub transcript: PathBuf,
    changed: SystemTime,
}

impl FoundSession {
    fn of(env: &Env, shelved: SessionOnDisk) -> Self {
        let session_id = shelved.session_id.clone();
        let transcript = transcript_of(env, &shelved);
        Self { session_id, transcript, changed: shelved.changed, shelved: Some(shelved) }
    }

    /// The insights if they are known already, without reading the ledger again.
    pub fn known_insights(&self, env: &Env) -> Result<Insights, Failure> {
        let shelved = self.shelved.as_ref();
        let known = shelved.and_then(|shelved| {
            let head = collect::concluded_head(&shelved.path)?;
            let state = sessions::state(shelved)?;
            let kept = collect::kept(&collect::file(env, &state.date, &state.session_id))?;
            let kept = serde_json::from_value::<Insights>(kept).ok()?;
            (kept.ledger_head.as_ref() == Some(&head)).then_some(kept)
        });
        known.map_or_else(|| self.insights(env), Ok)
    }

    /// The insights so far.
    pub fn insights(&self, env: &Env) -> Result<Insights, Failure> {
        match &self.shelved {
            Some(shelved) => {
                let tally = collect::tally(&shelved.path, &self.session_id)?;
                collect::finish(env, tally, &self.transcript, None)
            }
            None => collect::of_transcript(env, &self.transcript, &self.session_id),
        }
    }
}

/// The option `--since` of the commands about many sessions.
pub fn since_option() -> Arg {
    let help =
        "Only sessions that were active after this: a length of time (30m, 12h, 7d) or a day (2026-01-13)";
    option("since", "WHEN", help)
}

/// The time given by that option, in milliseconds.
pub fn since(given: &ArgMatches, io: &Io) -> anyhow::Result<Option<i64>> {
    let Some(when) = text(given, "since") else { return Ok(None) };
    let day = time::parse(&format!("{when}T00:00:00Z")).or_else(|| time::parse(when));
    match (day, duration(when)) {
        (Some(ms), _) => Ok(Some(ms)),
        (None, Ok(long)) => Ok(Some(io.env.now_ms.saturating_sub(long))),
        _ => {
            refused(format!("`{when}` is not a time\nhint: write 30m, 12h, 7d, or a day such as 2026-01-13"))
        }
    }
}

/// The named session; otherwise every session with a ledger, and those that only have a transcript, oldest
/// first.
pub fn choose(given: &ArgMatches, io: &Io) -> anyhow::Result<Vec<FoundSession>> {
    let since = since(given, io)?;
    match text(given, "session") {
        Some(name) => Ok(vec![pick(io.env, Some(name))?]),
        None => Ok(all(io.env, since)),
    }
}

pub fn all(env: &Env, since: Option<i64>) -> Vec<FoundSession> {
    let after = since.map(|ms| SystemTime::UNIX_EPOCH + Duration::from_millis(ms.max(0).cast_unsigned()));
    let with_id = sessions::all(env).into_iter().filter(|shelved| !shelved.session_id.is_empty());
    let mut found: Vec<FoundSession> = with_id.map(|shelved| FoundSession::of(env, shelved)).collect();
    let known: BTreeSet<PathBuf> = found.iter().map(|found| found.transcript.clone()).collect();
    found.extend(transcripts(env).into_iter().filter(|other| !known.contains(&other.transcript)));
    found.retain(|found| after.is_none_or(|after| found.changed >= after));
    found.sort_by(|a, b| (a.changed, &a.session_id).cmp(&(b.changed, &b.session_id)));
    found
}

/// The session a person means; it may have only a transcript.
pub fn pick(env: &Env, given: Option<&str>) -> anyhow::Result<FoundSession> {
    let missing = match sessions::pick(env, given) {
        Ok(shelved) => return Ok(FoundSession::of(env, shelved)),
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

fn transcripts(env: &Env) -> Vec<FoundSession> {
    let below = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = below(&env.projects()).flat_map(|project| below(&project.path()));
    files
        .filter_map(|item| {
            let session_id = item.file_name().to_str()?.strip_suffix(".jsonl")?.to_owned();
            let meta = item.metadata().ok().filter(std::fs::Metadata::is_file)?;
            let changed = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            Some(FoundSession { session_id, shelved: None, transcript: item.path(), changed })
        })
        .collect()
}
