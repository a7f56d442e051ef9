//! Events that could not be recorded when they came, and that the client does not send again: another process
//! held the session's lock, the disk was full, or a limit of the process was reached. They are stored
//! separately, and the next event of the session records them first, in their original order.
//!
//! Writes `<config>/aops/spool/<session>/`, or `<data>/sessions/spool/<session>/` if that is impossible, one
//! file per event, redacted. Invariants: a file is removed only when its event is recorded, under the
//! session's lock, so that none is lost and none counts twice; keeping an event needs neither an open file
//! nor a byte in one, and for a full disk there is room set aside; if there are no such files, an event makes
//! only three more system calls.

pub(super) mod reserve;

use super::turn::Turn;
use crate::config::texts::Reading;
use crate::host;
use crate::host::claude::wire::read;
use crate::host::table::adapter;
use crate::model::error::{Code, Failure};
use crate::model::event::{Event, EventKind};
use crate::model::verdict::Ruling;
use crate::system::env::Env;
use crate::system::files::{self, make_all, replace_private};
use crate::system::limits;
use crate::text::sha256::sha256;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A file that cannot be read is renamed to this, so that a person can look at it.
const UNREADABLE: &str = "unreadable";

fn folders(env: &Env, session_id: &str) -> [PathBuf; 2] {
    let name = &sha256(&[session_id.as_bytes()])[..16];
    [env.config.join("aops/spool").join(name), env.data.join("sessions/spool").join(name)]
}

/// Events that change the session's state and come only once: the ends of calls, turns, agents and the
/// session, the start of an agent, a prompt. A call that is asked about can be refused, and is asked about
/// again.
fn comes_once(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::PostToolUse
            | EventKind::PostToolUseFailure
            | EventKind::SessionEnd
            | EventKind::Stop
            | EventKind::SubagentStart
            | EventKind::SubagentStop
            | EventKind::UserPromptSubmit
    )
}

/// This event would be lost. One that cannot be parsed could not be recorded later, either.
pub(super) fn keeps(kind: EventKind, failure: &Failure) -> bool {
    comes_once(kind) && !matches!(failure.code, Code::InputInvalid | Code::Panic)
}

/// Spools an event for the next one. Returns what to say about it.
pub(super) fn keep(env: &Env, name: &str, input: &[u8], failure: Failure) -> Failure {
    let kept = if EventKind::of(name).row().guarding {
        "; that it came is kept, and the next event records it first"
    } else {
        "; it is kept, and the next event records it first"
    };
    match write(env, name, input) {
        Ok(()) => Failure::new(failure.code, failure.what + kept),
        Err(more) => {
            Failure::new(failure.code, format!("{}; it could not be kept either: {more}", failure.what))
        }
    }
}

fn write(env: &Env, name: &str, input: &[u8]) -> Result<(), Failure> {
    let event = host::read(env.host, name, input)?;
    // If another process lowered our limit, there may be room up to the hard limit.
    limits::raise();
    // They are recorded in the order of their names.
    let file = format!("{:015}-{:010}-{name}.json", env.now_ms, std::process::id());
    let text = read::redacted(input).unwrap_or_default();
    let places = folders(env, &event.session_id).map(|folder| (make_all(&folder), folder.join(&file)));
    let mut kept = Err(Failure::storage("spool", "no folder to keep it in"));
    for (made, path) in &places {
        let whole =
            || replace_private(path, text.as_bytes()).map_err(|e| Failure::storage(path.display(), e));
        kept = kept.or_else(|_| made.clone().and_then(|()| whole()));
    }
    // A symlink needs neither an open file nor a byte in one.
    let short = adapter(env.host).shortened(input, LONGEST_SHORT);
    for (_, path) in &places {
        let link = |short: &String| symlink(short, path).is_ok();
        kept = kept.or_else(|failure| if short.as_ref().is_some_and(link) { Ok(()) } else { Err(failure) });
    }
    let reserved = |short: &String| reserve::add(env, &places[0].1, short).is_ok();
    kept.or_else(|failure| if short.as_ref().is_some_and(reserved) { Ok(()) } else { Err(failure) })
}

/// The longest text that a symlink can hold.
const LONGEST_SHORT: usize = 4000;

/// Records the events that wait for this session. Returns what a turn that ended meanwhile still owes.
pub(super) fn fold_in(env: &Env, now: &Event) -> Result<Option<String>, Failure> {
    // If there is no room yet, another event tries again.
    let _ = reserve::give_out(env);
    let mut waiting: Vec<PathBuf> = Vec::new();
    for folder in folders(env, &now.session_id) {
        let items = fs::read_dir(&folder).into_iter().flatten().flatten().map(|item| item.path());
        waiting.extend(items.filter(|path| path.extension().is_some_and(|kind| kind == "json")));
    }
    if waiting.is_empty() {
        return Ok(None);
    }
    waiting.sort_by(|one, other| one.file_name().cmp(&other.file_name()));
    let mut owed = None;
    for path in waiting {
        match read_kept(env, &path, &now.session_id) {
            Some(event) => owed = record(env, &path, &event)?.or(owed),
            None => set_aside(&path),
        }
    }
    for folder in folders(env, &now.session_id) {
        let _ = fs::remove_dir(&folder); // succeeds if it is empty
    }
    Ok(owed)
}

fn set_aside(path: &Path) {
    let _ = fs::rename(path, path.with_extension(UNREADABLE));
}

fn read_kept(env: &Env, path: &Path, session_id: &str) -> Option<Event> {
    let link = fs::read_link(path).ok().map(|text| text.into_os_string().into_vec());
    let bytes = link.or_else(|| files::read(path).ok())?;
    // Not every client includes the event's name in what it sends.
    let name =
        read::name(&bytes).or_else(|| Some(path.file_stem()?.to_str()?.rsplit_once('-')?.1.to_owned()))?;
    let event = host::read(env.host, &name, &bytes).ok()?;
    (comes_once(event.kind()) && event.session_id == session_id).then_some(event)
}

#[inline(never)] // almost never called, and a turn needs a large frame
fn record(env: &Env, path: &Path, event: &Event) -> Result<Option<String>, Failure> {
    let reading = Reading::new(env, Path::new(&event.cwd));
    let mut turn = Turn::open(&reading, event)?;
    // Another event may have recorded it while this one waited for the lock.
    if path.symlink_metadata().is_ok() {
        turn = match turn.judge_late().and_then(Turn::record) {
            Ok(turn) => turn,
            // It would fail again at every later event.
            Err(failure) if matches!(failure.code, Code::InvalidTransition | Code::ConfigInvalid) => {
                set_aside(path);
                return Ok(None);
            }
            Err(failure) => return Err(failure),
        };
        fs::remove_file(path).map_err(|e| Failure::storage(path.display(), e))?;
    }
    let verdict = turn.close()?;
    let asks = event.kind() == EventKind::Stop && verdict.ruling == Ruling::Deny;
    Ok(asks.then_some(verdict.reason))
}
