//! A ledger for a dry run: events are judged as usual, and nothing is written.
//!
//! Reads the session folder; makes no folder, file, index or lock. Invariant: facts are folded in memory only, so the
//! answer is the one that the hook would give.

use super::lock::Lock;
use super::open::{Ledger, load};
use super::recover::LEDGER_FILE;
use crate::ledger::session_folder::{self, SessionFolder, SessionKey};
use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::folder;
use crate::text::sha256::{sha256, trace_id};
use crate::text::time::day;
use rustix::fs::{CWD, Mode, OFlags};
use std::fs::File;
use std::path::Path;

impl Ledger {
    /// The ledger that `lock` would find or make.
    pub(super) fn open_dry(env: &Env, key: SessionKey, thorough: bool) -> Result<Self, Failure> {
        let mut width = 8;
        for tried in [8, 16] {
            if let Some(place) = session_folder::find(env, key, tried)? {
                match Self::look_at(env, key, place, thorough)? {
                    Some(ledger) => return Ok(ledger),
                    None => width = 16,
                }
            }
        }
        let hash = &sha256(&[key.session_id.as_bytes()])[..width];
        let path = key.projects(env).swap_remove(0).join(format!("{}-{hash}", day(env.now_ms)));
        // In place of a folder that does not exist yet: one that always does. Nothing in it is read.
        let dir = rustix::fs::openat(CWD, "/", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let dir = dir.map_err(|e| Failure::storage("/", e))?;
        let made = Self::look_at(env, key, SessionFolder { dir, path }, thorough)?;
        made.ok_or_else(|| Failure::storage("/", "holds a session's state"))
    }

    fn look_at(env: &Env, key: SessionKey, place: SessionFolder, thorough: bool) -> Result<Option<Self>, Failure> {
        let lock = Lock::of_reader(&place.dir)?;
        let (file, long) = match folder::open(&place.dir, LEDGER_FILE, OFlags::RDONLY)? {
            Some(found) => found,
            None => (nothing()?, 0),
        };
        let trace = trace_id(key.session_id);
        let Some(loaded) = load(env, &place, &file, &trace, long, thorough)? else { return Ok(None) };
        let mut ledger = Self { dry_run: true, ..Self::new(place, file, lock, trace, loaded) };
        if !ledger.session().is_new() {
            ledger.append(env, Vec::new())?;
        }
        Ok(Some(ledger))
    }
}

fn nothing() -> Result<File, Failure> {
    let path = Path::new("/dev/null");
    File::open(path).map_err(|e| Failure::storage(path.display(), e))
}
