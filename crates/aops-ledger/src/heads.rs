//! The newest digest of every ledger, stored separately: a hash chain does not show that its end was cut off,
//! but a head does.
//!
//! Reads and appends `heads.jsonl` in one folder; `heads.index` finds the newest head of a ledger in it, and
//! the process that renews either holds `heads.lock`. Invariants: a head is one `write` that waits for no
//! lock, since a process that may only read could hold the lock forever; a line that is not a head is
//! skipped; the file contains at most about twice the newest heads.

use crate::failure::Failure;
use crate::folder::{self, each_line};
use crate::index::{Indexed, Keys};
use crate::lock;
use crate::sha256::short;
use crate::stored::canonical;
use rustix::fs::{AtFlags, CWD, OFlags};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

pub const FILE: &str = "heads.jsonl";
const LOCK: &str = "heads.lock";
const SPARE: &str = "heads.new";
/// Below this the file is never compacted.
const COMPACT_AT: u64 = 1 << 20;

// A line that is not a head is skipped.
static KEYS: Keys = Keys { file: "heads.index", hash, same, intact: |_| true, lag: 4 << 10, synced: true };

/// The last entry of a ledger at some time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub blocked: bool,
    /// The boot during which it was written without being flushed to the disk: after a power loss it can
    /// exist without its entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    pub digest: String,
    /// The log that had signed entries of this or other ledgers by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Signed>,
    /// The name of the folder that contains the ledger.
    pub project: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(rename = "sequence_number")]
    pub seq: u64,
    pub session_id: String,
    pub ts: String,
}

/// How far a log over all ledgers was signed: a ledger that remembers this shows it if the log disappears.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    pub origin: String,
    pub size: u64,
}

fn read(line: &[u8]) -> Option<Head> {
    serde_json::from_slice(line).ok()
}

/// Adds the next head of a ledger. If it is not newer than those before, the ledger was started again.
fn follow(found: &mut Vec<Head>, head: Head) {
    found.retain(|older| older.seq < head.seq);
    found.push(head);
}

fn hash(line: &[u8]) -> Option<u64> {
    Some(hash_of(&read(line)?.session_id))
}

fn hash_of(id: &str) -> u64 {
    short(&[id.as_bytes()])
}

fn same(one: &[u8], other: &[u8]) -> bool {
    read(one).zip(read(other)).is_some_and(|(one, other)| one.session_id == other.session_id)
}

#[derive(Debug)]
pub struct Heads {
    path: PathBuf,
    /// Do not build an index.
    read_only: bool,
}

impl Heads {
    pub fn at(path: &Path, read_only: bool) -> Self {
        Self { path: path.to_owned(), read_only }
    }

    pub fn newest(&self, id: &str) -> Result<Option<Head>, Failure> {
        let Some((dir, file, long)) = self.open()? else { return Ok(None) };
        let heads = Indexed { keys: &KEYS, dir: &dir, lines: &file, long, tag: 0 };
        let is = |line: &[u8]| read(line).is_some_and(|head| head.session_id == id);
        let peek = || heads.peek(hash_of(id), &is);
        let found = peek().or_else(|unusable| self.build(&heads).ok_or(unusable).and_then(|()| peek()));
        let found = found.or_else(|_| heads.scan(&is))?;
        Ok(found.as_deref().and_then(read))
    }

    /// Every remaining head of this ledger, oldest first, since it was last started again.
    pub fn all(&self, id: &str) -> Result<Vec<Head>, Failure> {
        let Some((_, lines, long)) = self.open()? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        let finder = memchr::memmem::Finder::new(id);
        each_line(&lines, 0, long, |_, line| {
            // Only lines that may belong to it are parsed: those with the literal ID, or with an escape.
            let maybe = finder.find(line).is_some() || memchr::memchr(b'\\', line).is_some();
            let head = if maybe { read(line) } else { None };
            if let Some(head) = head.filter(|head| head.session_id == id) {
                follow(&mut found, head);
            }
            Some(())
        })?;
        Ok(found)
    }

    /// The same for every ledger, by its ID: reads the file once for many questions.
    pub fn all_by_id(&self) -> Result<BTreeMap<String, Vec<Head>>, Failure> {
        let Some((_, lines, long)) = self.open()? else { return Ok(BTreeMap::new()) };
        let mut found = BTreeMap::new();
        each_line(&lines, 0, long, |_, line| {
            if let Some(head) = read(line) {
                follow(found.entry(head.session_id.clone()).or_default(), head);
            }
            Some(())
        })?;
        Ok(found)
    }

    /// The newest head of every ledger, by its ID.
    pub fn every(&self) -> Result<BTreeMap<String, Head>, Failure> {
        let Some((_, lines, long)) = self.open()? else { return Ok(BTreeMap::new()) };
        let mut newest = BTreeMap::new();
        each_line(&lines, 0, long, |_, line| {
            newest.extend(read(line).map(|head| (head.session_id.clone(), head)));
            Some(())
        })?;
        Ok(newest)
    }

    /// Fails if the heads exist but cannot be read.
    pub fn look(&self) -> Result<(), Failure> {
        self.open().map(|_| ())
    }

    /// The files next to the heads exist, but the heads do not.
    pub fn are_gone(&self) -> bool {
        let there = |name: &str| {
            self.path.join(name).symlink_metadata().is_ok_and(|meta| meta.len() > 0 || name == LOCK)
        };
        !there(FILE) && [KEYS.file, LOCK].into_iter().any(there)
    }

    /// At most this many heads that were written after this place in the file, in their order, and the place
    /// after the last of them. If the file is shorter now, it is a different one, and is read from its
    /// beginning.
    pub fn after(&self, place: u64, most: usize) -> Result<(Vec<Head>, u64), Failure> {
        let Some((_, lines, long)) = self.open()? else { return Ok((Vec::new(), 0)) };
        let mut found = Vec::new();
        let mut end = if place > long { 0 } else { place };
        each_line(&lines, end, long, |at, line| {
            found.extend(read(line));
            end = at + line.len() as u64;
            (found.len() < most).then_some(())
        })?;
        Ok((found, end))
    }

    pub fn blocked(&self) -> Result<Vec<Head>, Failure> {
        let Some((_, lines, long)) = self.open()? else { return Ok(Vec::new()) };
        let mut found: Vec<Head> = Vec::new();
        each_line(&lines, 0, long, |_, line| {
            let marked = memchr::memmem::find(line, b"\"blocked\":true").map(|_| line);
            if let Some(head) = marked.and_then(read) {
                found.retain(|old| old.session_id != head.session_id);
                found.push(head);
            }
            Some(())
        })?;
        let newest = found.into_iter().map(|head| self.newest(&head.session_id));
        let newest = newest.collect::<Result<Vec<_>, _>>()?;
        Ok(newest.into_iter().flatten().filter(|head| head.blocked).collect())
    }

    /// Makes `head` the newest of its ledger. The folder must exist. A head that names its boot was not
    /// flushed to the disk, so the index is renewed only at the next one that was.
    pub fn export(&self, head: &Head) -> Result<(), Failure> {
        let dir = self.folder()?.ok_or_else(|| Failure::storage(self.path.display(), "no longer exists"))?;
        let (file, long) = append(&dir, &(canonical(head) + "\n"))?;
        if head.boot.is_none() {
            file.sync_data().map_err(|e| Failure::storage(FILE, e))?;
            renew(&dir, long);
        }
        Ok(())
    }

    fn folder(&self) -> Result<Option<OwnedFd>, Failure> {
        folder::enter(CWD, &self.path, true)
    }

    fn open(&self) -> Result<Option<(OwnedFd, File, u64)>, Failure> {
        let Some(dir) = self.folder()? else { return Ok(None) };
        let found = folder::open(&dir, FILE, OFlags::RDONLY)?;
        Ok(found.map(|(file, long)| (dir, file, long)))
    }

    /// Builds the index if it is missing, unless another process is writing.
    fn build(&self, heads: &Indexed) -> Option<()> {
        let lock = if self.read_only { None } else { lock::open_or_make(heads.dir, LOCK).ok() };
        let lock = lock?;
        lock.try_lock().ok()?;
        heads.rebuild().map(|_| ())
    }
}

/// Appends to the file that has the name, even if it is replaced meanwhile.
fn append(dir: &OwnedFd, line: &str) -> Result<(File, u64), Failure> {
    loop {
        let (file, long) = folder::append_line(dir, FILE, line.to_owned())?;
        let named = rustix::fs::statat(dir, FILE, AtFlags::SYMLINK_NOFOLLOW);
        if folder::is_same(named, rustix::fs::fstat(&file)) {
            return Ok((file, long));
        }
    }
}

/// Updates the index and removes old heads. If another process holds the lock for that, nothing is done: the
/// head is exported already, and a later export makes up for it.
fn renew(dir: &OwnedFd, long: u64) {
    if long <= KEYS.lag {
        return;
    }
    let Ok(lock) = lock::open_or_make(dir, LOCK) else { return };
    if lock.try_lock().is_err() {
        return;
    }
    // Opened while the lock is held, so no other process can replace it.
    let Ok(Some((file, long))) = folder::open(dir, FILE, OFlags::RDWR) else { return };
    let heads = Indexed { keys: &KEYS, dir, lines: &file, long, tag: 0 };
    let table = heads.up_to_date().or_else(|| heads.rebuild());
    if table.is_some_and(|table| long > COMPACT_AT && table.live * 2 < table.covered) {
        let _ = compact(&heads); // a larger file does no harm
    }
}

/// Rewrites the file with only the newest heads, once in as many exports as there are ledgers. A head that
/// another process meanwhile appended to the old file is carried over; a later writer notices that the file
/// was replaced.
fn compact(heads: &Indexed) -> Result<(), Failure> {
    let storage = |e: std::io::Error| Failure::storage(FILE, e);
    let mut newest = HashMap::new();
    let mut n = 0_u64;
    each_line(heads.lines, 0, heads.long, |_, line| {
        if let Some(head) = read(line) {
            n += 1;
            newest.insert(head.session_id, (n, line.to_vec()));
        }
        Some(())
    })?;
    let mut lines: Vec<(u64, Vec<u8>)> = newest.into_values().collect();
    lines.sort_unstable();
    let text = lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>().concat();
    let _ = rustix::fs::unlinkat(heads.dir, SPARE, AtFlags::empty());
    let (mut file, _) = folder::open_or_make(heads.dir, SPARE, OFlags::RDWR)?;
    file.write_all(&text).and_then(|()| file.sync_data()).map_err(storage)?;
    rustix::fs::renameat(heads.dir, SPARE, heads.dir, FILE).map_err(|e| storage(e.into()))?;
    let now = heads.lines.metadata().map_err(storage)?.len();
    let late = folder::read_at(heads.lines, FILE, heads.long, now.saturating_sub(heads.long))?;
    if !late.is_empty() {
        folder::append_line(heads.dir, FILE, String::from_utf8_lossy(&late).into_owned())?;
    }
    let _ = Indexed { lines: &file, long: text.len() as u64, ..*heads }.rebuild();
    Ok(())
}

#[cfg(test)]
mod tests;
