//! Reads a rollout file of Codex: the tokens that a session used, by model, agent and phase.
//!
//! Reads the session's file and those of its subagents, which are in the same folder and name the session.
//! Invariants: each answer of the model counts once; a line that cannot be read is counted as unknown.

use crate::host::claude::transcript::entry::Lines;
use crate::host::claude::transcript::scan::{Lens, MAIN, Scan, phase_at};
use crate::host::claude::usage::Usage;
use crate::text::json::{self, Json};
use crate::text::time;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// At most this many files of one folder are looked at.
const MOST: usize = 500;

/// This is a file of Codex.
pub fn is_rollout(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rollout-"))
}

/// Scans the whole session. A missing file gives an empty scan.
pub fn scan(transcript: &Path, lens: &Lens) -> io::Result<Scan> {
    let mut scan = Scan::default();
    match add(&mut scan, transcript, None, lens) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(scan),
        done => done?,
    }
    let session = id_in(transcript);
    for other in beside(transcript) {
        if scan.cut_short {
            break;
        }
        add(&mut scan, &other, Some(&session), lens)?;
    }
    Ok(scan)
}

/// `rollout-2026-01-13T10-00-00-<id>.jsonl`
fn id_in(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    stem.get("rollout-2026-01-13T10-00-00-".len()..).unwrap_or_default().to_owned()
}

fn beside(transcript: &Path) -> Vec<PathBuf> {
    let items =
        transcript.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let others = items.map(|item| item.path()).filter(|path| is_rollout(path) && path != transcript);
    let mut others: Vec<PathBuf> = others.take(MOST).collect();
    others.sort();
    others
}

/// The rollout file of this session, in the folder of whichever day.
pub fn find(sessions: &Path, session_id: &str) -> Option<PathBuf> {
    let below =
        |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path());
    let days = below(sessions.to_owned()).flat_map(below).flat_map(below);
    days.flat_map(below).find(|path| is_rollout(path) && id_in(path) == session_id)
}

/// Adds one file; with `of`, only if it belongs to a subagent of this session.
fn add(scan: &mut Scan, path: &Path, of: Option<&str>, lens: &Lens) -> io::Result<()> {
    let mut lines = Lines::open(path)?;
    lines.until = lens.until;
    let mut agent = MAIN.to_owned();
    let mut model = String::new();
    while let Some(line) = lines.next_line()? {
        let Some(record) = std::str::from_utf8(line).ok().and_then(|text| json::read(text).ok()) else {
            scan.unknown += 1;
            continue;
        };
        let (Some(kind), Some(payload)) = (record.text_of("type"), record.get("payload")) else { continue };
        match (kind.as_str(), of) {
            ("session_meta", Some(session)) => {
                if payload.text_of("session_id").as_deref() != Some(session)
                    || payload.text_of("id").as_deref() == of
                {
                    return Ok(());
                }
                agent = payload.text_of("agent_role").unwrap_or_else(|| "agent".to_owned());
            }
            ("session_meta", None) => {
                scan.cwd = payload.text_of("cwd").unwrap_or_default();
                scan.began = record.text_of("timestamp");
                scan.version = payload.text_of("cli_version");
            }
            ("turn_context", _) => model = payload.text_of("model").unwrap_or(model),
            ("token_usage_record", _) => {
                let at = record.text_of("timestamp").and_then(|at| time::parse(&at));
                let usage = payload.get("usage").map(usage).unwrap_or_default();
                let cost = lens.prices.cost(&model, &usage, "", false);
                if lens.covers(at) {
                    let phase = phase_at(lens.phases, at.unwrap_or_default());
                    scan.tokens.add([&model, &agent, phase], &usage, cost);
                }
            }
            _ => {}
        }
        scan.records += 1;
        if of.is_none() {
            scan.ended = record.text_of("timestamp").or(scan.ended.take());
        }
    }
    scan.bytes += lines.bytes;
    scan.cut_short |= lines.gave_up;
    Ok(())
}

/// The model and tokens of one request, from an event with these fields.
pub fn request(event: &str, about: &str) -> Option<(String, Usage)> {
    let about = json::read(about).ok().filter(|_| event == "PostModelRequest")?;
    Some((about.text_of("model")?, usage(about.get("token_usage")?)))
}

fn usage(json: &Json) -> Usage {
    let of = |name: &str| json.number_of(name).unwrap_or(0);
    let cache = ["cached_input_tokens", "cache_write_input_tokens"].map(of);
    Usage::of_whole_input(of("input_tokens"), of("output_tokens"), cache)
}
