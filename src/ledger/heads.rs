//! Heads of ledgers, kept apart from them in `<config>/aops/heads.jsonl`. The file itself is `aops_ledger::heads`.

pub use aops_ledger::heads::Head;

use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::files::make_all;
use aops_ledger::heads::Heads;
use std::collections::BTreeMap;

fn heads(env: &Env) -> Heads {
    Heads::at(&env.config.join("aops"), env.dry_run)
}

pub fn of(env: &Env, trace: &str) -> Result<Option<Head>, Failure> {
    Ok(heads(env).newest(trace)?)
}

/// The newest head that proves its entry; and the number of a newer one that does not: it was not forced to the disk, and the
/// machine was off since.
pub fn proving(env: &Env, trace: &str, boot: &str) -> Result<(Option<Head>, u64), Failure> {
    let newest = of(env, trace)?;
    match newest.as_ref().filter(|head| lapsed(head, boot)) {
        Some(_) => Ok(proving_among(&all(env, trace)?, boot)),
        None => Ok((newest, 0)),
    }
}

/// The same among all heads of the session.
pub fn proving_among(heads: &[Head], boot: &str) -> (Option<Head>, u64) {
    let newest = heads.last().filter(|head| lapsed(head, boot)).map_or(0, |head| head.seq);
    (heads.iter().rfind(|head| !lapsed(head, boot)).cloned(), newest)
}

fn lapsed(head: &Head, boot: &str) -> bool {
    head.boot.as_ref().is_some_and(|then| !boot.is_empty() && then != boot)
}

/// Every head of a session that is left, oldest first.
pub fn all(env: &Env, trace: &str) -> Result<Vec<Head>, Failure> {
    Ok(heads(env).all(trace)?)
}

/// The same of every session, by its id: read once, where many are asked for.
pub fn all_by_id(env: &Env) -> Result<BTreeMap<String, Vec<Head>>, Failure> {
    Ok(heads(env).all_by_id()?)
}

/// The newest head of every session, by its id.
pub fn every(env: &Env) -> Result<BTreeMap<String, Head>, Failure> {
    Ok(heads(env).every()?)
}

/// At most so many heads after this place in the file, in their order, and the place after them.
pub fn after(env: &Env, place: u64, most: usize) -> Result<(Vec<Head>, u64), Failure> {
    Ok(heads(env).after(place, most)?)
}

pub fn blocked(env: &Env) -> Result<Vec<Head>, Failure> {
    Ok(heads(env).blocked()?)
}

pub fn export(env: &Env, head: &Head) -> Result<(), Failure> {
    match heads(env).export(head) {
        // Mostly the folder is there.
        Err(_) => {
            make_all(&env.config.join("aops"))?;
            Ok(heads(env).export(head)?)
        }
        done => Ok(done?),
    }
}
