//! Which session edits which file of a tree: `<config>/aops/leases/<digest of the tree>.json`.
//!
//! Read and written before a call that writes files, and where a turn ends. Best effort: a list that cannot be locked or read
//! refuses no call. Invariants: of two sessions that ask at once one gets the file; a client that has ended holds nothing.

use super::{clients, lock};
use crate::session::memory::ClientProcess;
use crate::system::env::{Env, boot_id};
use crate::system::files::make_all;
use crate::system::folder;
use crate::text::sha256::sha256;
use rustix::fs::CWD;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// A process keeps the list locked only while it reads and writes it.
const PATIENCE: Duration = Duration::from_millis(50);
/// Of a client that cannot be looked at, since it is on another machine or unknown.
const LONGEST_UNSEEN_MS: i64 = 30 * 60_000;
const MOST: usize = 1000;
const LOCK: &str = ".lock";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    boot: String,
    client: Option<ClientProcess>,
    /// Its session's turn is over: it holds nothing, and says who wrote the file.
    #[serde(default)]
    given: bool,
    /// The machine; a home may be shared by several.
    host: String,
    pub path: String,
    pub session_id: String,
    /// When this session last wrote the file.
    pub since_ms: i64,
    /// Sessions that know of it.
    #[serde(default)]
    told: Vec<String>,
}

/// Takes these files of this tree. Returns the ones that the session did not hold before, and another's lease in the way: then
/// nothing was taken. A session that `goes_on` does so in spite of another's lease, and is told of each only once.
pub fn take(
    env: &Env,
    tree: &Path,
    paths: &[String],
    session_id: &str,
    client: Option<&ClientProcess>,
    goes_on: bool,
) -> (Vec<String>, Option<Lease>) {
    let Some((_held, mut file, mut leases)) = open(env, tree, true) else { return Default::default() };
    let (boot, host) = (boot_id(), host());
    let before = leases.clone();
    leases.retain(|lease| lease.stays(&boot, &host, env.now_ms));
    let is_others = |lease: &&mut Lease| paths.contains(&lease.path) && lease.session_id != session_id && !lease.given;
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
        write(&mut file, &leases);
    }
    (taken, held)
}

/// Gives back what this session holds in this tree: these files, or all of them.
pub fn give_back(env: &Env, tree: &Path, session_id: &str, only: Option<&[String]>) {
    let Some((_held, mut file, mut leases)) = open(env, tree, false) else { return };
    let given = |lease: &Lease| only.is_none_or(|paths| paths.contains(&lease.path));
    let before = leases.len();
    // What a refused call took it never wrote.
    let kept = |lease: &Lease| only.is_none() && lease.is_told(env.now_ms);
    leases.retain(|lease| lease.session_id != session_id || !given(lease) || kept(lease));
    for lease in &mut leases {
        lease.given |= lease.session_id == session_id && only.is_none();
        lease.told.retain(|told| told != session_id || only.is_some());
    }
    if leases.is_empty() {
        let _ = std::fs::remove_file(path(env, tree));
    } else if leases.len() < before || only.is_none() {
        write(&mut file, &leases);
    }
}

/// The files of this tree that other sessions wrote since then.
pub fn written_by_others(env: &Env, tree: &Path, session_id: &str, since_ms: i64) -> BTreeSet<String> {
    let Some((_held, _file, leases)) = open(env, tree, false) else { return BTreeSet::new() };
    let theirs = |lease: &Lease| lease.session_id != session_id && lease.since_ms >= since_ms;
    leases.into_iter().filter(theirs).map(|lease| lease.path).collect()
}

/// The oldest that is given back makes room.
fn has_room(leases: &mut Vec<Lease>) -> bool {
    if leases.len() >= MOST
        && let Some(at) = leases.iter().position(|lease| lease.given)
    {
        leases.remove(at);
    }
    leases.len() < MOST
}

impl Lease {
    /// A command of another session may still run that began before this write.
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

fn path(env: &Env, tree: &Path) -> std::path::PathBuf {
    let digest = sha256(&[tree.as_os_str().as_encoded_bytes()]);
    env.config.join("aops/leases").join(format!("{}.json", &digest[..16]))
}

/// The list, locked until both files are dropped.
fn open(env: &Env, tree: &Path, make: bool) -> Option<(File, File, Vec<Lease>)> {
    let (path, make) = (path(env, tree), make && !env.dry_run);
    let at = path.parent()?;
    let dir = folder::enter(CWD, at, false).ok().flatten();
    let dir = dir.or_else(|| (make && make_all(at).is_ok()).then(|| folder::enter(CWD, at, false).ok()?)?)?;
    let held = lock::open(&dir, LOCK, make).ok()??;
    let held = lock::take(held, "leases", PATIENCE).ok()?;
    let mut options = OpenOptions::new();
    let mut file = options.read(true).write(true).create(make).truncate(false).mode(0o600).open(&path).ok()?;
    let mut text = Vec::new();
    file.read_to_end(&mut text).ok()?;
    // A process was killed while it wrote: no session holds anything.
    Some((held, file, serde_json::from_slice(&text).unwrap_or_default()))
}

fn write(file: &mut File, leases: &[Lease]) {
    let text = serde_json::to_vec(leases).unwrap_or_default();
    let _ = file.rewind().and_then(|()| file.set_len(0)).and_then(|()| file.write_all(&text));
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
