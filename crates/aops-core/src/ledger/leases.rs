//! Which session is editing which file of a tree: `<config>/aops/leases/<digest of the tree>.json`.
//!
//! Read and written before a call that writes files, and at the end of a turn. Invariants: if two sessions
//! ask at once, one gets the file; a client that has ended holds nothing; a list that cannot be read does not
//! count as empty.

use super::{clients, lock};
use crate::model::error::Failure;
use crate::session::memory::ClientProcess;
use crate::system::env::{Env, boot_id};
use crate::system::files::make_all;
use crate::system::folder;
use crate::text::sha256::sha256;
use rustix::fs::{AtFlags, CWD, OFlags};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

/// A process locks the list only while it reads and writes it.
const PATIENCE: Duration = Duration::from_secs(2);
/// For a client that we cannot check, since it runs on another machine or is unknown.
const LONGEST_UNSEEN_MS: i64 = 30 * 60_000;
const MOST: usize = 1000;
const LOCK: &str = ".lock";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    boot: String,
    client: Option<ClientProcess>,
    /// The session's turn is over: the lease holds nothing any more, and only says who wrote the file.
    #[serde(default)]
    given: bool,
    /// The machine, since several may share a home.
    host: String,
    pub path: String,
    pub session_id: String,
    /// When this session last wrote the file.
    pub since_ms: i64,
    /// Sessions that were told about it.
    #[serde(default)]
    told: Vec<String>,
}

/// The result of trying to take files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Files that the session did not hold before.
    pub files: Vec<String>,
    /// Another session's lease on one of the files: in this case nothing was taken, unless the session
    /// continues anyway.
    pub held: Option<Lease>,
}

/// Takes these files of this tree, or says why we cannot find out who holds them. A session that `goes_on`
/// takes them in spite of another's lease, and is told about each lease only once.
pub fn take(
    env: &Env,
    tree: &Path,
    paths: &[String],
    session_id: &str,
    client: Option<&ClientProcess>,
    goes_on: bool,
) -> Result<Taken, Failure> {
    let Some((_held, list, mut leases)) = open(env, tree, true)? else { return Ok(Taken::default()) };
    let boot = boot_id();
    let host = host();
    let before = leases.clone();
    leases.retain(|lease| lease.stays(&boot, &host, env.now_ms));
    let is_others =
        |lease: &&mut Lease| paths.contains(&lease.path) && lease.session_id != session_id && !lease.given;
    let mut held = None;
    for lease in leases.iter_mut().filter(is_others) {
        if !goes_on {
            held = held.or(Some(lease.clone()));
        } else if !lease.told.iter().any(|told| told == session_id) {
            lease.told.push(session_id.to_owned());
            held = held.or(Some(lease.clone()));
        }
    }
    let mut taken = Vec::new();
    for path in paths.iter().filter(|_| held.is_none() || goes_on) {
        if let Some(lease) = leases.iter_mut().find(|lease| lease.path == *path && !lease.given) {
            lease.since_ms = if lease.session_id == session_id { env.now_ms } else { lease.since_ms };
        } else if has_room(&mut leases) {
            taken.push(path.clone());
            leases.retain(|lease| lease.path != *path || lease.session_id != session_id);
            leases.push(Lease {
                boot: boot.clone(),
                client: client.cloned(),
                given: false,
                host: host.clone(),
                path: path.clone(),
                session_id: session_id.to_owned(),
                since_ms: env.now_ms,
                told: Vec::new(),
            });
        }
    }
    if leases != before && !env.dry_run {
        list.write(&leases)?;
    }
    Ok(Taken { files: taken, held })
}

/// Gives back this session's leases in this tree: for these files, or all of them.
pub fn give_back(env: &Env, tree: &Path, session_id: &str, only: Option<&[String]>) {
    let Ok(Some((_held, list, mut leases))) = open(env, tree, false) else { return };
    let given = |lease: &Lease| only.is_none_or(|paths| paths.contains(&lease.path));
    let before = leases.len();
    // Files that a refused call had taken were never written.
    let kept = |lease: &Lease| only.is_none() && lease.is_told(env.now_ms);
    leases.retain(|lease| lease.session_id != session_id || !given(lease) || kept(lease));
    for lease in &mut leases {
        lease.given |= lease.session_id == session_id && only.is_none();
        lease.told.retain(|told| told != session_id || only.is_some());
    }
    if leases.is_empty() {
        let _ = rustix::fs::unlinkat(&list.dir, list.name.as_str(), AtFlags::empty());
    } else if leases.len() < before || only.is_none() {
        let _ = list.write(&leases);
    }
}

/// The files of this tree that other sessions have written since then.
pub fn written_by_others(env: &Env, tree: &Path, session_id: &str, since_ms: i64) -> BTreeSet<String> {
    let others = of_others(env, tree, session_id).into_iter();
    others.filter(|(_, at)| *at >= since_ms).map(|(path, _)| path).collect()
}

/// The files of this tree that other sessions wrote, and when they last did.
pub fn of_others(env: &Env, tree: &Path, session_id: &str) -> BTreeMap<String, i64> {
    // If the list cannot be read, all changes count as the task's own.
    let Ok(Some((_held, _list, leases))) = open(env, tree, false) else { return BTreeMap::new() };
    let mut others = BTreeMap::new();
    for lease in leases.into_iter().filter(|lease| lease.session_id != session_id) {
        let at = others.entry(lease.path).or_insert(lease.since_ms);
        *at = lease.since_ms.max(*at);
    }
    others
}

/// Makes room by removing the oldest lease that was given back.
fn has_room(leases: &mut Vec<Lease>) -> bool {
    if leases.len() >= MOST
        && let Some(at) = leases.iter().position(|lease| lease.given)
    {
        leases.remove(at);
    }
    leases.len() < MOST
}

impl Lease {
    /// A command of another session that began before this write may still be running.
    fn is_told(&self, now_ms: i64) -> bool {
        now_ms - self.since_ms < LONGEST_UNSEEN_MS
    }

    fn stays(&self, boot: &str, host: &str, now_ms: i64) -> bool {
        if self.given { self.is_told(now_ms) } else { self.holds(boot, host, now_ms) }
    }

    fn holds(&self, boot: &str, host: &str, now_ms: i64) -> bool {
        match &self.client {
            Some(client) if self.host == host => self.boot == boot && clients::is_alive(client),
            _ => now_ms - self.since_ms < LONGEST_UNSEEN_MS,
        }
    }
}

/// The list of a tree.
struct List {
    dir: OwnedFd,
    name: String,
}

impl List {
    /// Written completely or not at all: part of a list would name nobody.
    fn write(&self, leases: &[Lease]) -> Result<(), Failure> {
        let text = serde_json::to_vec(leases).unwrap_or_default();
        Ok(folder::replace(&self.dir, &self.name, &format!(".{}.new", self.name), &text)?)
    }
}

/// The list, locked until the file is dropped; `None` if there is none and `make` is false.
fn open(env: &Env, tree: &Path, make: bool) -> Result<Option<(File, List, Vec<Lease>)>, Failure> {
    let at = env.config.join("aops/leases");
    let make = make && !env.dry_run;
    if make {
        make_all(&at)?;
    }
    let Some(dir) = folder::enter(CWD, &at, false)? else { return Ok(None) };
    let Some(held) = lock::open(&dir, LOCK, make)? else { return Ok(None) };
    let held = lock::take(held, "leases", PATIENCE)?;
    let digest = sha256(&[tree.as_os_str().as_encoded_bytes()]);
    let list = List { name: format!("{}.json", &digest[..16]), dir };
    let Some((file, long)) =
        folder::open(&list.dir, &list.name, OFlags::RDONLY)?.filter(|(_, long)| *long > 0)
    else {
        return Ok(make.then_some((held, list, Vec::new())));
    };
    let text = folder::read_at(&file, &list.name, 0, long)?;
    if let Ok(leases) = serde_json::from_slice(&text) {
        return Ok(Some((held, list, leases)));
    }
    // A damaged list is reported once: the next call begins a new one.
    if make {
        list.write(&[])?;
    }
    Err(Failure::storage(&list.name, "is no list of leases"))
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
