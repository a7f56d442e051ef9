//! `.claude/checkpoints/kept/<number>/`: each keeping in a folder of its own, in which `kept.json` is written
//! last.
//!
//! Reads and writes that folder, and the witness of the checkpoints' digests. Invariants: a number is used
//! once; a folder without `kept.json` was left by an interruption, and is removed; contents that a keeping
//! names are not swept.

use super::form::{Content, Keeping, Left, SCHEMA};
use super::plan::{self, Plan};
use crate::checkpoint::store::{PRIVATE, Store, enter, make, names, read_file};
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use crate::text::sha256::{Sum, sha256};
use crate::text::stored::{canonical, digest_of};
use rustix::fs::{AtFlags, unlinkat};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::Write;
use std::os::fd::OwnedFd;

/// Next to the checkpoints.
pub const FOLDER: &str = "kept";
const KEPT: &str = "kept.json";
const LEFT: &str = "left.json";
const UNDONE: &str = "undone.json";
/// The plan of an undo that has begun.
const PLAN: &str = "undo.json";
/// The last number that was used.
const LAST: &str = "last";

/// The record that a person restored a keeping.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    pub at: String,
    /// The keeping of the state before the undo.
    pub present: u64,
}

/// A keeping that is being made.
#[derive(Debug)]
pub struct Draft {
    pub number: u64,
    /// Receives the hard links and the pack.
    pub folder: OwnedFd,
}

/// The name of a keeping in the list of witnessed digests.
fn id(name: impl std::fmt::Display) -> String {
    format!("{FOLDER}/{name}")
}

/// All keepings that can be restored, oldest first.
pub fn numbers(store: &Store) -> Result<Vec<u64>, Failure> {
    let Some(shelf) = enter(&store.dir, FOLDER)? else { return Ok(Vec::new()) };
    let mut all = folders(&shelf)?;
    all.retain(|number| has(&shelf, *number));
    Ok(all)
}

fn folders(shelf: &OwnedFd) -> Result<Vec<u64>, Failure> {
    let mut all: Vec<u64> = names(shelf)?.iter().filter_map(|name| name.parse().ok()).collect();
    all.sort_unstable();
    Ok(all)
}

fn has(shelf: &OwnedFd, number: u64) -> bool {
    rustix::fs::statat(shelf, format!("{number}/{KEPT}"), AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Begins the next keeping. The store is locked, so unfinished keepings of other processes can be removed.
pub fn begin(store: &Store) -> Result<Draft, Failure> {
    let shelf = make(&store.dir, FOLDER, PRIVATE)?;
    let all = folders(&shelf)?;
    clear_unfinished(&shelf, &all)?;
    let said =
        read_file(&shelf, LAST)?.and_then(|bytes| String::from_utf8(bytes).ok()?.trim().parse::<u64>().ok());
    let number = said.max(all.last().copied()).unwrap_or(0) + 1;
    store.put(&shelf, LAST, |file| writeln!(file, "{number}").map(|()| true))?;
    Ok(Draft { number, folder: make(&shelf, &number.to_string(), PRIVATE)? })
}

/// Removes what a killed process left. The store is locked, so nobody is still writing it.
pub fn sweep(store: &Store) -> Result<(), Failure> {
    let Some(shelf) = enter(&store.dir, FOLDER)? else { return Ok(()) };
    clear_unfinished(&shelf, &folders(&shelf)?)
}

fn clear_unfinished(shelf: &OwnedFd, all: &[u64]) -> Result<(), Failure> {
    all.iter().filter(|number| !has(shelf, **number)).try_for_each(|number| clear(shelf, *number))
}

/// From here on it can be restored.
pub fn finish(env: &Env, store: &Store, draft: &Draft, keeping: &Keeping) -> Result<(), Failure> {
    let text = canonical(keeping);
    if let Some(witness) = store.witness_line(env, id(keeping.number), sha256(&[text.as_bytes()]))? {
        witness.sync_data().map_err(|e| Failure::storage("the witness", e))?;
    }
    store.put(&draft.folder, KEPT, |file| {
        file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).map(|()| true)
    })?;
    rustix::fs::fsync(&draft.folder).map_err(|e| Failure::storage(KEPT, e))
}

/// The folder of this keeping.
pub fn folder(store: &Store, number: u64) -> Result<Option<OwnedFd>, Failure> {
    match enter(&store.dir, FOLDER)? {
        Some(shelf) => enter(&shelf, &number.to_string()),
        None => Ok(None),
    }
}

fn stored<T: DeserializeOwned>(store: &Store, number: u64, name: &str) -> Result<Option<T>, Failure> {
    let Some(folder) = folder(store, number)? else { return Ok(None) };
    let Some(bytes) = read_file(&folder, name)? else { return Ok(None) };
    let broken = |e| Failure::new(Code::ChecksumMismatch, format!("`{FOLDER}/{number}/{name}`: {e}"));
    serde_json::from_slice(&bytes).map(Some).map_err(broken)
}

/// Reads a keeping without checking it; `None` if there is none with this number.
pub fn look(store: &Store, number: u64) -> Result<Option<Keeping>, Failure> {
    let Some(keeping) = stored::<Keeping>(store, number, KEPT)? else { return Ok(None) };
    let wrong = |why| Failure::new(Code::ChecksumMismatch, format!("what was kept as {number}: {why}"));
    match keeping.problem() {
        None if keeping.number == number => Ok(Some(keeping)),
        None => Err(wrong("it has another number".to_owned())),
        Some(why) => Err(wrong(why)),
    }
}

/// When a keeping was made, and the size of each of its files; nothing else of it is read.
#[derive(Debug, Deserialize)]
pub struct Sizes {
    pub at: String,
    files: Vec<Size>,
}

#[derive(Debug, Deserialize)]
struct Size {
    size: u64,
}

impl Sizes {
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// The sizes of a keeping that was not checked; `None` if there is none with this number.
pub fn sizes(store: &Store, number: u64) -> Result<Option<Sizes>, Failure> {
    stored(store, number, KEPT)
}

/// Reads a keeping and checks it against its witnessed digest.
pub fn read(env: &Env, store: &Store, number: u64) -> Result<Option<Keeping>, Failure> {
    let Some(keeping) = look(store, number)? else { return Ok(None) };
    let wrong = |why: &str| Failure::new(Code::ChecksumMismatch, format!("what was kept as {number}: {why}"));
    match store.witnessed(env)?.get(&id(number)) {
        None => Err(wrong("it was not kept in this folder: a copy, or a forgery")),
        Some(digest) if *digest == digest_of(&keeping) => Ok(Some(keeping)),
        Some(_) => Err(wrong("it was edited after it was kept")),
    }
}

/// What the command left, if we saw its end.
pub fn left(store: &Store, number: u64) -> Result<Option<Left>, Failure> {
    Ok(stored::<Left>(store, number, LEFT)?.filter(|left| left.schema == SCHEMA))
}

pub fn note_left(store: &Store, number: u64, left: &Left) -> Result<(), Failure> {
    note(store, number, LEFT, left)
}

pub fn undone(store: &Store, number: u64) -> Result<Option<Undone>, Failure> {
    stored(store, number, UNDONE)
}

pub fn note_undone(store: &Store, number: u64, undone: &Undone) -> Result<(), Failure> {
    note(store, number, UNDONE, undone)
}

pub fn forget_undone(store: &Store, number: u64) -> Result<(), Failure> {
    let Some(folder) = folder(store, number)? else { return Ok(()) };
    unlinkat(&folder, UNDONE, AtFlags::empty()).map_err(|e| Failure::storage(UNDONE, e))
}

fn note<T: Serialize>(store: &Store, number: u64, name: &str, what: &T) -> Result<(), Failure> {
    let Some(folder) = folder(store, number)? else { return Ok(()) };
    store.put(&folder, name, |file| {
        file.write_all(canonical(what).as_bytes()).and_then(|()| file.sync_data()).map(|()| true)
    })
}

fn look_at_plan(store: &Store) -> Result<Option<Plan>, Failure> {
    let Some(shelf) = enter(&store.dir, FOLDER)? else { return Ok(None) };
    let Some(bytes) = read_file(&shelf, PLAN)? else { return Ok(None) };
    let broken = |why: String| Failure::new(Code::ChecksumMismatch, format!("`{FOLDER}/{PLAN}`: {why}"));
    let plan: Plan = serde_json::from_slice(&bytes).map_err(|e| broken(e.to_string()))?;
    if plan.schema == plan::SCHEMA { Ok(Some(plan)) } else { Err(broken("has another schema".to_owned())) }
}

pub fn is_undoing(store: &Store) -> bool {
    rustix::fs::statat(&store.dir, format!("{FOLDER}/{PLAN}"), AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// The plan of an interrupted undo, checked against its witnessed digest.
pub fn plan(env: &Env, store: &Store) -> Result<Option<Plan>, Failure> {
    let Some(plan) = look_at_plan(store)? else { return Ok(None) };
    let vouched = store.witnessed(env)?.get(&id(PLAN)).is_some_and(|digest| *digest == digest_of(&plan));
    let forged =
        || Failure::new(Code::ChecksumMismatch, format!("`{FOLDER}/{PLAN}` is not the plan that was made"));
    if vouched { Ok(Some(plan)) } else { Err(forged()) }
}

/// From here on the undo will be finished, even if this process is killed.
pub fn commit(env: &Env, store: &Store, plan: &Plan) -> Result<(), Failure> {
    if let Some(witness) = store.witness_line(env, id(PLAN), digest_of(plan))? {
        witness.sync_data().map_err(|e| Failure::storage("the witness", e))?;
    }
    let shelf = make(&store.dir, FOLDER, PRIVATE)?;
    store.put(&shelf, PLAN, |file| {
        file.write_all(canonical(plan).as_bytes()).and_then(|()| file.sync_data()).map(|()| true)
    })?;
    rustix::fs::fsync(&shelf).map_err(|e| Failure::storage(PLAN, e))
}

pub fn close(store: &Store) -> Result<(), Failure> {
    let Some(shelf) = enter(&store.dir, FOLDER)? else { return Ok(()) };
    let closed = unlinkat(&shelf, PLAN, AtFlags::empty()).and_then(|()| rustix::fs::fsync(&shelf));
    closed.map_err(|e| Failure::storage(PLAN, e))
}

/// The stored contents that this keeping needs.
pub fn contents(keeping: &Keeping) -> impl Iterator<Item = Sum> {
    let of_file = |content: &Content| match content {
        Content::Blob(sum) => Some(*sum),
        _ => None,
    };
    let files = keeping.files.iter().filter_map(move |file| of_file(&file.content));
    let of_git = |one: &super::form::KeptRepository| {
        one.index.into_iter().chain(one.indexed.iter().map(|(_, sum)| *sum)).collect::<Vec<_>>()
    };
    files.chain(keeping.repositories.iter().flat_map(of_git)).chain(keeping.crontab)
}

/// The stored contents that all keepings need, and an undo that has begun.
pub fn live(store: &Store) -> Result<BTreeSet<[u8; 32]>, Failure> {
    let plan = look_at_plan(store)?;
    let mut live: BTreeSet<[u8; 32]> = plan.iter().flat_map(Plan::contents).map(|sum| sum.0).collect();
    for number in numbers(store)? {
        live.extend(look(store, number)?.iter().flat_map(contents).map(|sum| sum.0));
    }
    Ok(live)
}

/// Removes a keeping, beginning with the file that lists it; the caller removes its refs.
pub fn remove(store: &Store, number: u64) -> Result<(), Failure> {
    match enter(&store.dir, FOLDER)? {
        Some(shelf) => clear(&shelf, number),
        None => Ok(()),
    }
}

fn clear(shelf: &OwnedFd, number: u64) -> Result<(), Failure> {
    let name = number.to_string();
    let Some(folder) = enter(shelf, &name)? else { return Ok(()) };
    let failed = |e| Failure::storage(id(number), e);
    let _ = unlinkat(&folder, KEPT, AtFlags::empty());
    for file in names(&folder)? {
        unlinkat(&folder, file, AtFlags::empty()).map_err(failed)?;
    }
    unlinkat(shelf, name, AtFlags::REMOVEDIR).map_err(failed)
}

/// The ref of the commit with number `k` that a keeping needs.
pub fn pin_name(number: u64, k: usize) -> String {
    format!("{}/{k}", pins_of(number))
}

pub fn pins_of(number: u64) -> String {
    format!("refs/aops/kept/{number}")
}
