//! `session-state.json`: intact or not to be trusted.
//!
//! Reads the one file. Invariant: a state that does not match its digest proves nothing, with one exception that only
//! tightens: a block in it counts.

use crate::model::error::Failure;
use crate::session::fold::Session;
use crate::session::state::{SCHEMA, State, Witness};
use crate::system::folder;
use crate::text::json;
use crate::text::stored::digest_of;
use rustix::fs::OFlags;
use std::mem;
use std::os::fd::OwnedFd;

pub const STATE_FILE: &str = "session-state.json";
const MOST: u64 = 4 << 20;

#[derive(Debug)]
pub enum StateFile {
    Missing,
    /// It matches its digest.
    Whole(Box<Session>, Box<Witness>),
    /// Torn, edited or of another program.
    Untrusted(Vec<u8>),
}

impl StateFile {
    pub fn read(dir: &OwnedFd) -> Result<Self, Failure> {
        let (file, long) = match folder::open(dir, STATE_FILE, OFlags::RDONLY) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(StateFile::Missing),
            Err(_) => return Ok(StateFile::Untrusted(Vec::new())), // replaced at the next write, never followed
        };
        // Under the lock the length cannot change.
        Ok(Self::parse(folder::read_at(&file, STATE_FILE, 0, long.min(MOST))?))
    }

    fn parse(bytes: Vec<u8>) -> Self {
        let Ok(mut state) = serde_json::from_slice::<State>(&bytes) else {
            return StateFile::Untrusted(bytes);
        };
        let digest = state.digest.take();
        if state.schema != SCHEMA || digest.is_none_or(|digest| digest_of(&state) != digest) {
            return StateFile::Untrusted(bytes);
        }
        let Some(mut witness) = state.ledger.take() else { return StateFile::Untrusted(bytes) };
        let (memory, head) = (mem::take(&mut witness.memory), witness.head.clone());
        StateFile::Whole(Box::new(Session { state, memory, seq: witness.seq, head }), Box::new(witness))
    }

    /// The reason of a block that was edited into the file.
    pub fn edited_block(&self) -> Option<String> {
        let StateFile::Untrusted(bytes) = self else { return None };
        let json = json::read(std::str::from_utf8(bytes).ok()?).ok()?;
        let flags = json.get("state")?;
        let json::Json::Bool(true) = flags.get("custodiet_blocked")? else { return None };
        let reason = flags.text_of("custodiet_block_reason").filter(|r| !r.is_empty());
        Some(reason.unwrap_or_else(|| "set by hand in session-state.json".to_owned()))
    }
}
