//! Records what our own verbs write into the files that guard a session, so that an open session recognises
//! the change: `<config>/aops/own-changes.json`, where no tool call may write.
//!
//! Written before a verb that only a person may run changes such a file, and only while a session is open.
//! Read when such a file turns out to have changed. Invariant: for each file only the last change is known,
//! with the digest of its text.

use crate::ledger::clients;
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::system::env::{Env, boot_id};
use crate::system::files::{self, make_all, replace_private};
use crate::text::sha256::sha256;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How many files are remembered.
const MOST: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnChange {
    pub at_ms: i64,
    /// Digest of the new text, as in a mark; `None` if the file is removed.
    digest: Option<String>,
}

fn place(env: &Env) -> PathBuf {
    env.config.join("aops/own-changes.json")
}

/// How many sessions have a running client.
pub fn open_sessions(env: &Env) -> u64 {
    let boot = boot_id();
    let live = |found: &&SessionOnDisk| {
        sessions::session(found).is_some_and(|session| clients::is_live(&session, &boot))
    };
    sessions::all(env).iter().filter(live).count() as u64
}

/// Announces that a verb is about to write this text, or to remove the file. Best effort: if it fails,
/// sessions report the change.
pub fn announce(env: &Env, path: &Path, text: Option<&[u8]>) {
    if env.dry_run || open_sessions(env) == 0 || make_all(&env.config.join("aops")).is_err() {
        return;
    }
    let mut known = read(env);
    while known.len() >= MOST {
        let oldest = known.iter().min_by_key(|(_, change)| change.at_ms).map(|(path, _)| path.clone());
        known.remove(&oldest.unwrap_or_default());
    }
    let change = OwnChange { at_ms: env.now_ms, digest: text.map(|text| sha256(&[text])[..16].to_owned()) };
    known.insert(path.to_string_lossy().into_owned(), change);
    if let Ok(text) = serde_json::to_vec(&known) {
        let _ = replace_private(&place(env), &text);
    }
}

pub(super) fn read(env: &Env) -> BTreeMap<String, OwnChange> {
    files::read(place(env)).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

impl OwnChange {
    /// A file with this mark is as the verb left it.
    pub(super) fn made(&self, mark: &str) -> bool {
        let is = mark.split(':').nth(5);
        is == self.digest.as_deref()
    }
}
