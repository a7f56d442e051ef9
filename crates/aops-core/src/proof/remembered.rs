//! What heads and ledgers remember of logs that were signed: such a log cannot just be gone.
//!
//! Reads heads and ledgers, writes nothing.

use crate::ledger::heads::{self, Signed};
use crate::ledger::sessions;
use crate::system::env::Env;
use std::collections::BTreeMap;

/// For each log the most that was signed of it, and which session says so.
pub type Logs = BTreeMap<String, (u64, String)>;

fn add(logs: &mut Logs, session_id: &str, signed: Signed) {
    let known = logs.entry(signed.origin).or_default();
    if known.0 <= signed.size {
        *known = (signed.size, session_id.to_owned());
    }
}

/// By the exported heads.
pub fn by_heads(env: &Env) -> Logs {
    let mut logs = Logs::new();
    for (id, head) in heads::at(env).every().unwrap_or_default() {
        if let Some(signed) = head.log {
            add(&mut logs, &id, signed);
        }
    }
    logs
}

/// By the heads and by every ledger.
pub fn by_all(env: &Env) -> Logs {
    let mut logs = by_heads(env);
    for found in sessions::all(env) {
        let signed = sessions::check(env, &found).ok().and_then(|checked| checked.session.memory.proof.log);
        if let Some(signed) = signed {
            add(&mut logs, &found.session_id, signed);
        }
    }
    logs
}
