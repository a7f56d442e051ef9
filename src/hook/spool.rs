//! Ends of turns and agents that came while another process held the session's lock. They are kept apart, and the next event
//! of the session records them first.
//!
//! Writes `<config>/aops/spool/<session>/`, one file an event, redacted. Invariants: a file is removed only when its event is
//! recorded, under the session's lock, so that none is lost and none counts twice; without such files an event makes one
//! system call more.

use super::turn::Turn;
use crate::host;
use crate::host::claude::wire::read;
use crate::model::error::{Code, Failure};
use crate::model::event::{Event, EventKind};
use crate::model::verdict::Ruling;
use crate::system::env::Env;
use crate::system::files::{make_all, replace_private};
use crate::text::sha256::sha256;
use std::fs;
use std::path::{Path, PathBuf};

/// Renamed to this where it cannot be read: a person may look at it.
const UNREADABLE: &str = "unreadable";

fn folder(env: &Env, session_id: &str) -> PathBuf {
    env.config.join("aops/spool").join(&sha256(&[session_id.as_bytes()])[..16])
}

/// This event would be lost with its lock, and is not asked again.
pub(super) fn keeps(kind: EventKind, failure: &Failure) -> bool {
    matches!(kind, EventKind::Stop | EventKind::SubagentStop) && failure.code == Code::LockAcquireFailed
}

/// Keeps an event for the next one; what to say about it.
pub(super) fn keep(env: &Env, name: &str, input: &[u8], failure: Failure) -> Failure {
    match write(env, name, input) {
        Ok(()) => Failure::new(failure.code, failure.what + "; it is kept, and the next event records it first"),
        Err(more) => Failure::new(failure.code, format!("{}; it could not be kept either: {more}", failure.what)),
    }
}

fn write(env: &Env, name: &str, input: &[u8]) -> Result<(), Failure> {
    let event = host::read(env.host, name, input)?;
    let text = read::redacted(input).unwrap_or_default();
    let folder = folder(env, &event.session_id);
    make_all(&folder)?;
    let path = folder.join(format!("{:015}-{}-{name}.json", env.now_ms, std::process::id()));
    replace_private(&path, text.as_bytes()).map_err(|e| Failure::storage(path.display(), e))
}

/// Records what waits for this session. Returns what a turn that ended meanwhile still owes.
pub(super) fn fold_in(env: &Env, now: &Event) -> Result<Option<String>, Failure> {
    let folder = folder(env, &now.session_id);
    let Ok(items) = fs::read_dir(&folder) else { return Ok(None) };
    let mut waiting: Vec<PathBuf> = items.flatten().map(|item| item.path()).collect();
    waiting.retain(|path| path.extension().is_some_and(|kind| kind == "json"));
    waiting.sort();
    let mut owed = None;
    for path in waiting {
        match read_kept(env, &path, &now.session_id) {
            Some(event) => owed = record(env, &path, &event)?.or(owed),
            None => drop(fs::rename(&path, path.with_extension(UNREADABLE))),
        }
    }
    let _ = fs::remove_dir(&folder); // where it is empty
    Ok(owed)
}

fn read_kept(env: &Env, path: &Path, session_id: &str) -> Option<Event> {
    let bytes = fs::read(path).ok()?;
    // Not every client names the event in what it sends.
    let name = read::name(&bytes).or_else(|| Some(path.file_stem()?.to_str()?.rsplit_once('-')?.1.to_owned()))?;
    let event = host::read(env.host, &name, &bytes).ok()?;
    let ends = matches!(event.kind, EventKind::Stop | EventKind::SubagentStop);
    (ends && event.session_id == session_id).then_some(event)
}

fn record(env: &Env, path: &Path, event: &Event) -> Result<Option<String>, Failure> {
    let mut turn = Turn::open(env, event)?;
    // Another event may have recorded it while this one waited for the lock.
    if path.exists() {
        turn = turn.judge_late()?.record()?;
        fs::remove_file(path).map_err(|e| Failure::storage(path.display(), e))?;
    }
    let verdict = turn.close()?;
    let asks = event.kind == EventKind::Stop && verdict.ruling == Ruling::Deny;
    Ok(asks.then_some(verdict.reason))
}
