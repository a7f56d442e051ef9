//! Removes what runs of the engine leave behind: clones on this machine, and refs at the runs' remotes.
//!
//! Started by the worker once a day; starts `git`.
//! Invariants: a clone of a run that ended stays 30 days, a ref until its branch is merged or gone, and both
//! at most 90 days after they changed last; what cannot be looked up now is looked up tomorrow.

use super::place;
use crate::remote::carried::{self, Branch};
use crate::remote::left::{self, Left};
use aops_core::ledger::clients;
use aops_core::system::env::Env;
use std::collections::BTreeMap;

/// An internal verb.
const VERB: &str = "__retain";
const DAY_MS: i64 = 86_400_000;
const CLONES_MS: i64 = 30 * DAY_MS;
const REFS_MS: i64 = 90 * DAY_MS;

pub fn is_verb(word: &str) -> bool {
    word == VERB
}

/// Prints nothing. Only a worker starts it.
pub fn run(env: &Env) -> u8 {
    let own = std::process::id().try_into().unwrap_or_default();
    if env.client.is_around || clients::session_around(env, own).is_some() {
        return 2;
    }
    let env = &env.driving();
    for run in place::trees(env) {
        if place::is_over(env, &run, CLONES_MS) || place::is_unchanged(env, &run, REFS_MS) {
            let _ = place::remove(env, &run);
        }
    }
    remove_refs(env);
    0
}

fn remove_refs(env: &Env) {
    let mut of: BTreeMap<String, Vec<Left>> = BTreeMap::new();
    for left in left::all(env) {
        of.entry(left.repository.clone()).or_default().push(left);
    }
    for (repository, notes) in of {
        let branches: Vec<&Branch> = notes.iter().filter_map(|left| left.branch.as_ref()).collect();
        let merged = carried::merged(env, &repository, &branches).unwrap_or_default();
        for left in &notes {
            let is_old = env.now_ms - left.at_ms > REFS_MS;
            let is_merged = left.branch.as_ref().is_some_and(|branch| merged.contains(&branch.name));
            if (is_old || is_merged) && carried::remove(env, &repository, &left.run).is_ok() {
                left.forget(env);
            }
        }
    }
}
