//! The ledgers of the sessions that work in a tree.
//!
//! Reads session folders, locks ledgers. Invariant: always in the same order, so that two rollbacks wait for each other
//! and not for ever.

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

/// Sessions that have not ended and whose tree this is, and the one named `also`, ended or not.
pub fn running(env: &Env, root: &Path, also: &str) -> Vec<SessionOnDisk> {
    let here = |shelved: &SessionOnDisk| {
        sessions::session(shelved).is_some_and(|session| {
            Path::new(&session.memory.root) == root
                && (session.state.ended_at.is_none() || !also.is_empty() && session.state.session_id == also)
        })
    };
    let mut found: Vec<SessionOnDisk> = sessions::all(env).into_iter().filter(here).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Their ledgers, locked. One that is damaged is its own business and not in the way.
pub(super) fn open(env: &Env, sessions: &[SessionOnDisk]) -> Result<Vec<Ledger>, Failure> {
    let mut ledgers = Vec::new();
    for shelved in sessions {
        match Ledger::at(env, &shelved.path, &shelved.session_id) {
            Ok(ledger) => ledgers.push(ledger),
            Err(failure) if failure.code.is_integrity() || failure.code == Code::StorageFailed => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(ledgers)
}

/// What the ledger of a checkpoint's session says of it: nothing, or whether it is the one that was taken. A ledger that
/// is damaged says no.
pub fn said_in_ledger(
    env: &Env,
    session_id: &str,
    id: &Id,
    digest: Option<&String>,
) -> Result<Option<bool>, Failure> {
    if session_id.is_empty() {
        return Ok(None);
    }
    let Some(shelved) = sessions::all(env).into_iter().find(|shelved| shelved.session_id == session_id)
    else {
        return Ok(None);
    };
    if sessions::check(env, &shelved)?.failure.is_some() {
        return Ok(Some(false));
    }
    let Some(place) = session_folder::open(shelved.path)? else { return Ok(None) };
    let Some((file, long)) = folder::open(&place.dir, LEDGER_FILE, OFlags::RDONLY)? else { return Ok(None) };
    let bytes = folder::read_at(&file, LEDGER_FILE, 0, long)?;
    let lines = bytes
        .split(|b| *b == b'\n')
        .filter(|line| memchr::memmem::find(line, b"\"type\":\"checkpoint\"").is_some());
    let mut said = None;
    for line in lines.filter_map(Line::read).filter(|line| line.kind == "checkpoint") {
        if let Some(Fact::Checkpoint(taken)) = Fact::read(line.kind, line.with)
            && taken.id == id.to_string()
        {
            // The last word counts: a name is used again where the first of it was never acknowledged.
            said = Some(digest == Some(&taken.digest));
        }
    }
    Ok(said)
}
