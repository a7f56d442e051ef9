//! Heads of ledgers, kept apart from them in `<config>/aops/heads.jsonl`. The file itself is `aops_ledger::heads`.

pub use aops_ledger::heads::Head;

use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::files::make_all;
use aops_ledger::heads::Heads;

fn heads(env: &Env) -> Heads {
    Heads::at(&env.config.join("aops"), env.dry_run)
}

pub fn of(env: &Env, trace: &str) -> Result<Option<Head>, Failure> {
    Ok(heads(env).newest(trace)?)
}

pub fn blocked(env: &Env) -> Result<Vec<Head>, Failure> {
    Ok(heads(env).blocked()?)
}

pub fn export(env: &Env, head: &Head) -> Result<(), Failure> {
    make_all(&env.config.join("aops"))?;
    Ok(heads(env).export(head)?)
}
