//! The ledgers of the sessions that work in a tree.
//!
//! Reads session folders, locks ledgers. Invariant: always in the same order, so that two rollbacks cannot deadlock.

use crate::checkpoint::form::Id;
use crate::ledger::entry::Line;
use crate::ledger::open::Ledger;
use crate::ledger::recover::LEDGER_FILE;
use crate::ledger::session_folder;
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::model::error::{Code, Failure};
use crate::session::fact::Fact;
use crate::system::env::Env;
use crate::system::folder;
use rustix::fs::OFlags;
use std::path::Path;

/// Sessions of this tree that have not ended, and the one named `also` even if it has ended.
pub fn running(env: &Env, root: &Path, also: &str) -> Vec<SessionOnDisk> {
    let here = |on_disk: &SessionOnDisk| {
        sessions::session(on_disk).is_some_and(|session| {
            Path::new(&session.memory.root) == root
                && (session.state.ended_at.is_none() || !also.is_empty() && session.state.session_id == also)
        })
    };
    let mut found: Vec<SessionOnDisk> = sessions::all(env).into_iter().filter(here).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Locks their ledgers. A damaged one is skipped.
pub(super) fn open(env: &Env, sessions: &[SessionOnDisk]) -> Result<Vec<Ledger>, Failure> {
    let mut ledgers = Vec::new();
    for on_disk in sessions {
        match Ledger::at(env, &on_disk.path, &on_disk.session_id) {
            Ok(ledger) => ledgers.push(ledger),
            Err(failure) if failure.code.is_integrity() || failure.code == Code::StorageFailed => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(ledgers)
}

/// Whether the ledger of a checkpoint's session has this digest for it; `None` where it has no entry. `Some(false)` where
/// the ledger is damaged.
pub fn said_in_ledger(env: &Env, session_id: &str, id: &Id, digest: Option<&String>) -> Result<Option<bool>, Failure> {
    if session_id.is_empty() {
        return Ok(None);
    }
    let Some(on_disk) = sessions::all(env).into_iter().find(|on_disk| on_disk.session_id == session_id) else {
        return Ok(None);
    };
    if sessions::check(env, &on_disk)?.failure.is_some() {
        return Ok(Some(false));
    }
    let Some(place) = session_folder::open(on_disk.path)? else { return Ok(None) };
    let Some((file, long)) = folder::open(&place.dir, LEDGER_FILE, OFlags::RDONLY)? else { return Ok(None) };
    let bytes = folder::read_at(&file, LEDGER_FILE, 0, long)?;
    let lines =
        bytes.split(|b| *b == b'\n').filter(|line| memchr::memmem::find(line, b"\"type\":\"checkpoint\"").is_some());
    let mut said = None;
    for line in lines.filter_map(Line::read).filter(|line| line.kind == "checkpoint") {
        if let Some(Fact::Checkpoint(taken)) = Fact::read(line.kind, line.with)
            && taken.id == id.to_string()
        {
            // The last entry counts: an id is used again if its first checkpoint was never acknowledged.
            said = Some(digest == Some(&taken.digest));
        }
    }
    Ok(said)
}
