//! Heads of ledgers, stored separately in `<config>/aops/heads.jsonl`. The file itself is handled by
//! `aops_ledger::heads`.

pub use aops_ledger::heads::{Head, Signed};

use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::files::make_all;
use aops_ledger::heads::Heads;

pub fn at(env: &Env) -> Heads {
    Heads::at(&env.config.join("aops"), env.dry_run)
}

/// The newest head that proves its entry; and the number of a newer one that does not, because it was not
/// flushed to the disk and the machine was restarted since.
pub fn proving(env: &Env, trace: &str, boot: &str) -> Result<(Option<Head>, u64), Failure> {
    let newest = at(env).newest(trace)?;
    match newest.as_ref().filter(|head| lapsed(head, boot)) {
        Some(_) => Ok(proving_among(&at(env).all(trace)?, boot)),
        None => Ok((newest, 0)),
    }
}

/// The same, from all heads of the session.
pub fn proving_among(heads: &[Head], boot: &str) -> (Option<Head>, u64) {
    let newest = heads.last().filter(|head| lapsed(head, boot)).map_or(0, |head| head.seq);
    (heads.iter().rfind(|head| !lapsed(head, boot)).cloned(), newest)
}

fn lapsed(head: &Head, boot: &str) -> bool {
    head.boot.as_ref().is_some_and(|then| !boot.is_empty() && then != boot)
}

pub fn export(env: &Env, head: &Head) -> Result<(), Failure> {
    match at(env).export(head) {
        // Usually the folder exists.
        Err(_) => {
            make_all(&env.config.join("aops"))?;
            Ok(at(env).export(head)?)
        }
        done => Ok(done?),
    }
}
