//! How long keepings stay: the oldest are removed first, with their contents and refs; none that is younger
//! than a day is removed.
//!
//! Removes from the store and, through `git`, from repositories that still exist. Invariants: what an undo in
//! progress needs stays; a keeping that cannot be read stays, for a person to look at.

use super::form::Keeping;
use super::git::Repository;
use super::shelf::{self, Sizes, pins_of};
use crate::checkpoint::store::Store;
use crate::config::policy::Policy;
use crate::model::error::Failure;
use crate::system::env::Env;
use crate::text::time;

const DAY_MS: i64 = 86_400_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// Number of removed keepings.
    pub removed: usize,
    pub bytes: u64,
}

/// More is kept than permitted, and all of it is younger than a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    pub keepings: usize,
    pub kept_mb: u64,
    pub most_mb: u64,
}

fn age(env: &Env, at: &str) -> i64 {
    time::parse(at).map_or(0, |at| env.now_ms - at)
}

/// All keepings that can be read, oldest first.
fn all(store: &Store) -> Result<Vec<Keeping>, Failure> {
    let numbers = shelf::numbers(store)?;
    Ok(numbers.into_iter().filter_map(|number| shelf::look(store, number).ok().flatten()).collect())
}

/// Removes keepings older than `undo.keep_days`, and the oldest while more than `undo.keep_mb` is kept.
pub fn retain(env: &Env, store: &Store, policy: &Policy) -> Result<Retained, Failure> {
    let most = policy.undo.keep_mb << 20;
    let days = i64::try_from(policy.undo.keep_days).unwrap_or(i64::MAX / DAY_MS);
    if shelf::is_undoing(store) {
        return Ok(Retained::default());
    }
    let keepings = all(store)?;
    let mut total: u64 = keepings.iter().map(Keeping::bytes).sum();
    let mut gone = Retained::default();
    for keeping in &keepings {
        let age = age(env, &keeping.at);
        if age < DAY_MS || age < days.saturating_mul(DAY_MS) && total <= most {
            continue;
        }
        remove(env, store, keeping)?;
        total -= keeping.bytes();
        gone = Retained { removed: gone.removed + 1, bytes: gone.bytes + keeping.bytes() };
    }
    if gone.removed > 0 {
        store.sweep(env, &store.rows()?, &[], shelf::live(store), false)?;
    }
    Ok(gone)
}

/// First removes the file that lists it, since a keeping without its refs could not be restored completely.
fn remove(env: &Env, store: &Store, keeping: &Keeping) -> Result<(), Failure> {
    shelf::remove(store, keeping.number)?;
    for kept in keeping.repositories.iter().filter(|kept| !kept.pins.is_empty()) {
        if let Some(repository) = Repository::of(env, kept) {
            // Continue even if git cannot read a repository.
            let _ = repository.unpin(&pins_of(keeping.number));
        }
    }
    Ok(())
}

/// Whether this much more may not be kept, so that a person must be asked instead.
pub fn is_full(env: &Env, store: &Store, policy: &Policy, more: u64) -> Result<Option<Full>, Failure> {
    let numbers = shelf::numbers(store)?.into_iter();
    let sizes = numbers.filter_map(|number| shelf::sizes(store, number).ok().flatten());
    let young: Vec<Sizes> = sizes.filter(|sizes| age(env, &sizes.at) < DAY_MS).collect();
    let kept: u64 = young.iter().map(Sizes::bytes).sum();
    let most_mb = policy.undo.keep_mb;
    let full = Full { keepings: young.len(), kept_mb: kept.div_ceil(1 << 20), most_mb };
    Ok((kept + more > most_mb << 20).then_some(full))
}
