//! Builds a session's insights from its ledger and its transcript, and stores them in the data folder.
//!
//! Reads ledgers, transcripts, the user's prices; writes `sessions/insights/` below the data folder.
//! Invariants: a file appears completely or not at all; the findings of an analysis are never lost in a later
//! write; if a session's transcript is too long for the available time, its last known token counts stay.

use crate::host::claude::transcript::scan::{Lens, Scan, phase_at};
use crate::host::claude::usage::{Prices, Tokens};
use crate::host::{scan, table::adapter};
use crate::insight::document::{Insights, NO_SUMMARY};
use crate::insight::{tally::Tally, week};
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::ledger::{entry::Line, open::Ledger, recover::LEDGER_FILE, session_folder::dashed};
use crate::model::client::Client;
use crate::model::error::{Code, Failure};
use crate::model::outcome::SessionOutcome;
use crate::session::fact::{Concluded, Fact};
use crate::system::env::Env;
use crate::system::files;
use crate::text::{json, sha256::file_name};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// A session that was idle for this long will not write its own insights.
const QUIET: Duration = Duration::from_mins(2);
const LARGEST: u64 = 16 << 20;
const MOST_SWEPT: usize = 50;

/// Relative to the data folder.
const FOLDER: [&str; 2] = ["sessions", "insights"];

pub fn folder(env: &Env) -> PathBuf {
    env.data.join(FOLDER.join("/"))
}

pub fn file(env: &Env, date: &str, session_id: &str) -> PathBuf {
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    // An ID of more than 128 characters is recorded as its digest, which begins with its hash.
    let is_digest = session_id.len() == 64 && session_id.bytes().all(hex);
    let id = if is_digest { json::cut(session_id, 16).to_owned() } else { file_name(session_id) };
    folder(env).join(format!("{}-{id}.json", json::cut(date, 10)))
}

/// The prices in force: the user's, then the shipped ones.
pub fn prices(env: &Env) -> Result<Prices, Failure> {
    let path = env.user_config.join("prices.json");
    let bad = |words: String| Failure::new(Code::ConfigInvalid, format!("`{}`: {words}", path.display()));
    let own = files::find(&path).map_err(|e| bad(e.to_string()))?.bytes;
    let own = own.map(String::from_utf8).transpose().map_err(|e| bad(e.to_string()))?;
    Prices::read(own.as_deref()).map_err(bad)
}

/// Every entry of a ledger, oldest first. Ends at a line that is not an entry: `verify` says more about that.
pub fn entries(ledger: &Path, mut visit: impl FnMut(&Line, &Fact)) -> io::Result<()> {
    let file = files::open_itself(ledger, File::options().read(true))?;
    let mut reader = BufReader::with_capacity(256 << 10, file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let Some(entry) = line.strip_suffix(b"\n").and_then(Line::read) else { break };
        // These are derived from the other entries, and large.
        if !matches!(entry.kind, "snapshot" | "insights") {
            let Some(fact) = Fact::read(entry.kind, entry.with) else { break };
            visit(&entry, &fact);
        }
        line.clear();
    }
    Ok(())
}

pub fn tally(folder: &Path, trace: &str) -> Result<Tally, Failure> {
    let mut tally = Tally::new();
    let read = entries(&folder.join(LEDGER_FILE), |line, fact| tally.add(trace, line, fact));
    read.map(|()| tally).map_err(|e| Failure::storage(folder.display(), e))
}

pub fn transcript_of(env: &Env, shelved: &SessionOnDisk) -> PathBuf {
    transcript_at(env, &shelved.path, &shelved.session_id)
}

/// The client's transcript of a session that we recorded in this folder.
pub fn transcript_at(env: &Env, folder: &Path, session_id: &str) -> PathBuf {
    let is = |client: &Client| folder.starts_with(env.data.join("sessions").join(client.name()));
    let client = Client::ALL.into_iter().find(is);
    if let Some(found) = client.and_then(|client| adapter(client).transcript(env, session_id)) {
        return found;
    }
    folder.parent().unwrap_or(Path::new("/")).join(format!("{session_id}.jsonl"))
}

/// The client of a session, by where the client or we store it.
pub fn client_of(env: &Env, place: &Path) -> Client {
    let ours = env.data.join("sessions");
    let is = |client: &Client| {
        place.starts_with(ours.join(client.name())) || place.starts_with(env.folder_of(*client))
    };
    if env.host.is_registered_by_name() {
        return env.host;
    }
    env.host.others_by_name().find(is).unwrap_or_default()
}

/// The insights of this session. `until`: when reading the transcript must end.
pub fn finish(
    env: &Env,
    mut tally: Tally,
    transcript: &Path,
    until: Option<Instant>,
) -> Result<Insights, Failure> {
    let requests = std::mem::take(&mut tally.requests);
    let (mut insights, phases, agents) = tally.conclude();
    let old = kept(&file(env, &insights.date, &insights.session_id));
    let lens = Lens { prices: prices(env)?, phases: &phases, agents, until, ..Lens::default() };
    let mut found = scan(transcript, &lens).map_err(|e| Failure::storage(transcript.display(), e))?;
    if found.records == 0 {
        for (at, agent, model, usage) in &requests {
            let cost = lens.prices.cost(model, usage, "", false);
            found.tokens.add([model, agent, phase_at(&phases, *at)], usage, cost);
        }
    }
    let known =
        old.as_ref().and_then(|old| serde_json::from_value::<Tokens>(old.get("tokens")?.clone()).ok());
    if found.cut_short {
        insights.tokens = known.unwrap_or_default();
        insights.cost_usd = old.as_ref().and_then(|old| old.get("cost_usd")?.as_f64());
    } else {
        insights.cost_usd = found.tokens.cost();
        insights.tokens = found.tokens;
    }
    client_of(env, transcript).name().clone_into(&mut insights.client);
    // The person who looks at it later need not be the one who worked.
    let worked = old.as_ref().and_then(|old| old.get("person")?.as_str()).map(str::to_owned);
    insights.person = worked.or_else(|| env.user.person.clone());
    if let Some(old) = old {
        insights.keep_rich(&old);
    }
    Ok(insights)
}

/// What the client's own file says about a part of a session.
#[derive(Debug, Default)]
pub struct Used {
    pub tokens: Tokens,
    /// The client's version.
    pub version: Option<String>,
    /// The model that wrote most for each agent, by the agent's ID.
    pub models: BTreeMap<String, String>,
}

/// What was used between these times. `None` if the file is too long for the available time, since a part
/// would be reported as the whole.
pub fn used_between(
    folder: &Path,
    trace: &str,
    transcript: &Path,
    span: (i64, i64),
    until: Instant,
) -> Result<Used, Failure> {
    let tally = tally(folder, trace)?;
    let lens = Lens { agents: tally.agents, until: Some(until), span: Some(span), ..Lens::default() };
    let mut found = scan(transcript, &lens).map_err(|e| Failure::storage(transcript.display(), e))?;
    if found.cut_short {
        return Ok(Used::default());
    }
    let of_span = tally.requests.iter().filter(|(at, ..)| found.records == 0 && lens.covers(Some(*at)));
    for (_, agent, model, usage) in of_span {
        found.tokens.add([model, agent, ""], usage, None);
    }
    let most = |wrote: BTreeMap<String, u64>| {
        wrote.into_iter().max_by_key(|(_, output)| *output).map(|(model, _)| model)
    };
    let models = found.wrote.into_iter().filter_map(|(agent, wrote)| Some((agent, most(wrote)?))).collect();
    Ok(Used { tokens: found.tokens, version: found.version, models })
}

/// A session that only has a transcript.
pub fn of_transcript(env: &Env, transcript: &Path, session_id: &str) -> Result<Insights, Failure> {
    let lens = Lens { prices: prices(env)?, deep: true, ..Lens::default() };
    let found = scan(transcript, &lens).map_err(|e| Failure::storage(transcript.display(), e))?;
    let mut insights = Insights::new();
    let Scan { tokens, began, ended, cwd, told, .. } = found;
    insights.cost_usd = tokens.cost();
    insights.tokens = tokens;
    session_id.clone_into(&mut insights.session_id);
    client_of(env, transcript).name().clone_into(&mut insights.client);
    insights.person.clone_from(&env.user.person);
    began.as_deref().map_or("1970-01-01", |at| json::cut(at, 10)).clone_into(&mut insights.date);
    insights.started_at = began;
    insights.ended_at = ended;
    cwd.rsplit('/').next().unwrap_or_default().clone_into(&mut insights.project);
    insights.outcome = SessionOutcome::Completed.into();
    let last = told.prompts.last().map(|prompt| crate::text::template::one_line(prompt, 300));
    insights.summary = Some(last.unwrap_or_else(|| NO_SUMMARY.to_owned()));
    insights.user_prompts = told.prompts;
    insights.tool_calls.completed = told.completed;
    insights.tool_calls.failed = told.failed;
    let relative = |path: String| path.strip_prefix(&format!("{cwd}/")).map(str::to_owned).unwrap_or(path);
    insights.files_changed = told
        .files
        .into_iter()
        .map(|path| crate::text::redact::redact(&path).into_owned())
        .map(relative)
        .collect();
    insights.subagents_invoked = told.subagents;
    insights.subagent_count = told.subagent_count;
    if let Some(old) = kept(&file(env, &insights.date, session_id)) {
        insights.keep_rich(&old);
    }
    Ok(insights)
}

/// The file's present content, if there is such a file.
pub fn kept(path: &Path) -> Option<Value> {
    let plain = fs::symlink_metadata(path).ok().filter(|meta| meta.is_file() && meta.len() < LARGEST);
    serde_json::from_slice(&plain.and_then(|_| files::read(path).ok())?).ok()
}

/// Replaces the file with the insights, redacted and in canonical order.
pub fn write(env: &Env, insights: &Insights) -> Result<PathBuf, Failure> {
    let path = file(env, &insights.date, &insights.session_id);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let text = serde_json::to_string_pretty(insights).unwrap_or_default() + "\n";
    files::replace_private_in(&files::open_own(&env.data, &FOLDER)?, &name, text.as_bytes())?;
    Ok(path)
}

/// Writes the file, and records the part for the state in the ledger.
pub fn conclude(
    env: &Env,
    ledger: &mut Ledger,
    transcript: &Path,
    until: Option<Instant>,
) -> Result<Insights, Failure> {
    let trace = ledger.session().state.session_id.clone();
    let insights = finish(env, tally(&ledger.place().path, &trace)?, transcript, until)?;
    write(env, &insights)?;
    record(env, ledger, &insights)?;
    Ok(insights)
}

/// Records the part for the state, and adds what is new since the last time to the person's weekly summary.
pub fn record(env: &Env, ledger: &mut Ledger, insights: &Insights) -> Result<(), Failure> {
    let before = ledger.session().state.insights.as_ref();
    let before =
        before.and_then(|before| serde_json::from_str::<Insights>(before.get()).ok()).unwrap_or_default();
    // The summary is shown to a person and proves nothing: if it fails, the turn ends anyway.
    let _ = week::add(env, insights.worth().since(before.worth()));
    let short = RawValue::from_string(insights.short().text());
    let insights = short.map_err(|e| Failure::new(Code::InputInvalid, format!("insights: {e}")))?;
    ledger.append(env, vec![Fact::Insights(Concluded { insights })])
}

/// The head from which this ledger's insights were made, if no entry followed.
pub fn concluded_head(folder: &Path) -> Option<String> {
    let mut file = files::open(folder.join(LEDGER_FILE)).ok()?;
    let long = file.metadata().ok()?.len();
    let from = long.saturating_sub(64 << 10);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from)).ok()?;
    file.take(64 << 10).read_to_end(&mut bytes).ok()?;
    let mut lines = bytes.strip_suffix(b"\n")?.rsplit(|b| *b == b'\n');
    let mut last = Line::read(lines.next()?)?;
    if last.kind == "snapshot" {
        last = Line::read(lines.next()?)?;
    }
    (last.kind == "insights").then(|| last.prev.to_owned())
}

/// Writes the insights of this project's sessions that ended without an event because the client or the
/// machine was killed.
pub fn sweep(env: &Env, project: &str) {
    let mut sessions = sessions::in_project(env.projects().join(dashed(project)));
    sessions.sort_by_key(|shelved| std::cmp::Reverse(shelved.changed));
    let quiet = |shelved: &&SessionOnDisk| {
        SystemTime::UNIX_EPOCH + Duration::from_millis(env.now_ms.cast_unsigned()) > shelved.changed + QUIET
    };
    for shelved in sessions.iter().filter(quiet).take(MOST_SWEPT) {
        if concluded_head(&shelved.path).is_some() || shelved.session_id.is_empty() {
            continue;
        }
        let Ok(tally) = tally(&shelved.path, &shelved.session_id) else { continue };
        let state = &tally.session.state;
        let known = kept(&file(env, &state.date, &state.session_id));
        let head = known.as_ref().and_then(|known| known.get("ledger_head")?.as_str());
        if tally.session.is_new() || head == Some(tally.session.head.as_str()) {
            continue;
        }
        let _ =
            finish(env, tally, &transcript_of(env, shelved), None).and_then(|insights| write(env, &insights));
    }
}
