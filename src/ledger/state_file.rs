//! `session-state.json` as it is found: whole, or not to be trusted.
//!
//! Reads the one file. Invariant: a state whose own digest does not hold proves nothing, with one asymmetry that only
//! tightens: a block somebody wrote into it counts.

use crate::model::error::Failure;
use crate::session::fold::Session;
use crate::session::state::{SCHEMA, State, Witness};
use crate::system::folder;
use crate::text::json;
use crate::text::stored::digest_of;
use rustix::fs::OFlags;
use std::os::fd::OwnedFd;

pub const STATE_FILE: &str = "session-state.json";
const MOST: u64 = 4 << 20;

/// What the state file says.
#[derive(Debug)]
pub enum StateFile {
    Missing,
    /// Its digest holds.
    Whole(Box<State>, Box<Witness>),
    /// Torn, edited or not ours; the bytes, for the asymmetry.
    Untrusted(Vec<u8>),
}

impl StateFile {
    pub fn read(dir: &OwnedFd) -> Result<Self, Failure> {
        let (file, long) = match folder::open(dir, STATE_FILE, OFlags::RDONLY) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(StateFile::Missing),
            Err(_) => return Ok(StateFile::Untrusted(Vec::new())), // replaced at the next write, never followed
        };
        // Nobody else writes while we hold the lock, so the length is the length.
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
        match state.ledger.take() {
            Some(witness) => StateFile::Whole(Box::new(state), Box::new(witness)),
            None => StateFile::Untrusted(bytes),
        }
    }

    /// The block reason in a state that was edited to say so.
    pub fn edited_block(&self) -> Option<String> {
        let StateFile::Untrusted(bytes) = self else { return None };
        let json = json::read(std::str::from_utf8(bytes).ok()?).ok()?;
        let flags = json.get("state")?;
        let json::Json::Bool(true) = flags.get("custodiet_blocked")? else { return None };
        let reason = flags.text_of("custodiet_block_reason").filter(|r| !r.is_empty());
        Some(reason.unwrap_or_else(|| "set by hand in session-state.json".to_owned()))
    }
}

/// The session that a whole state and its witness stand for.
pub fn session(state: State, witness: &Witness) -> Session {
    Session { state, memory: witness.memory.clone(), seq: witness.seq, head: witness.head.clone() }
}
