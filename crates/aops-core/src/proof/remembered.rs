//! What heads and ledgers remember about signed logs: such a log cannot simply disappear.
//!
//! Reads heads and ledgers, writes nothing.

use crate::ledger::heads::{self, Signed};
use crate::ledger::sessions;
use crate::system::env::Env;
use std::collections::BTreeMap;

/// For each log the largest signed size, and which session remembers it.
pub type Logs = BTreeMap<String, (u64, String)>;

fn add(logs: &mut Logs, session_id: &str, signed: Signed) {
    let known = logs.entry(signed.origin).or_default();
    if known.0 <= signed.size {
        *known = (signed.size, session_id.to_owned());
    }
}

/// According to the exported heads.
pub fn by_heads(env: &Env) -> Logs {
    let mut logs = Logs::new();
    for (id, head) in heads::at(env).every().unwrap_or_default() {
        if let Some(signed) = head.log {
            add(&mut logs, &id, signed);
        }
    }
    logs
}

/// According to the heads and every ledger.
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
