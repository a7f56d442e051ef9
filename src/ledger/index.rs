//! `calls.index`: where in the ledger each call ended, so that an id that comes again is known in constant time.
//!
//! Reads and writes the one file; a hint, never the truth. Invariants: a hit is proven by reading the entry it names; a
//! miss counts only because what the table does not cover is read as it is; whatever is odd about the file, it is made
//! anew from the ledger, and so it is after another boot, since a power loss can keep its header and lose its slots.

use super::recover::LEDGER_FILE;
use crate::ledger::entry::Line;
use crate::model::call::CallKey;
use crate::model::error::Failure;
use crate::session::fact::{Fact, Step};
use crate::system::folder;
use crate::text::sha256::short;
use rustix::fs::{AtFlags, OFlags};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

const INDEX_FILE: &str = "calls.index";
const MAGIC: u64 = 0x61_6f_70_73_69_64_78_32; // "aopsidx2"
const HEADER_LONG: usize = 40;
const HEADER: u64 = HEADER_LONG as u64;
const SLOT: u64 = 16;
const SMALLEST: u64 = 1024;
/// Slots read at once while probing.
const PROBE: u64 = 64;
/// Longest entry that can end a call: its payload is bounded.
const LONGEST_LINE: usize = 64 << 10;

/// So much of the ledger's end may be missing in the table: reading it is cheaper than writing the table each time.
const TAIL: u64 = 8 << 10;

/// What the table is made from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub dir: &'a OwnedFd,
    pub ledger: &'a File,
    /// Bytes of the ledger that count.
    pub long: u64,
    /// The boot the session was last opened in.
    pub boot: &'a str,
}

impl Source<'_> {
    /// How a call of this key ended last. Where the disk refuses a table, the ledger itself is read.
    pub fn last_end(&self, key: &CallKey) -> Result<Option<Step>, Failure> {
        if self.long <= TAIL {
            return self.in_tail(0, key);
        }
        for anew in [false, true] {
            if let Some(Ok(found)) = Index::open(*self, anew).map(|index| index.find(key)) {
                return Ok(found);
            }
        }
        let mut last = None;
        self.ends(0, |_, step| {
            if step.call == *key {
                last = Some(step);
            }
            Some(())
        })?;
        Ok(last)
    }

    /// How this call ended after `from`, in a part short enough to be read at once.
    fn in_tail(&self, from: u64, key: &CallKey) -> Result<Option<Step>, Failure> {
        let bytes = folder::read_at(self.ledger, LEDGER_FILE, from, self.long - from)?;
        // An id without anything to escape stands in its entries as it is: most often that settles it.
        let plain = key.id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if plain && memchr::memmem::find(&bytes, key.id.as_bytes()).is_none() {
            return Ok(None);
        }
        let mut lines = bytes.split_inclusive(|b| *b == b'\n').rev();
        Ok(lines.find_map(|line| terminal(line).filter(|step| step.call == *key)))
    }

    /// Shows every call that ended after `from`, with its offset, until `take` gives up; where it came to.
    fn ends(&self, from: u64, mut take: impl FnMut(u64, Step) -> Option<()>) -> Result<Option<u64>, Failure> {
        const CHUNK: u64 = 1 << 20;
        let (mut from, mut window) = (from, CHUNK);
        while from < self.long {
            let want = (self.long - from).min(window);
            let bytes = folder::read_at(self.ledger, LEDGER_FILE, from, want)?;
            let Some(end) = memchr::memrchr(b'\n', &bytes).map(|end| end + 1) else {
                if want < window {
                    return Ok(None);
                }
                window *= 2; // a line longer than the window
                continue;
            };
            let mut at = from;
            for line in bytes[..end].split_inclusive(|b| *b == b'\n') {
                if terminal(line).is_some_and(|step| take(at, step).is_none()) {
                    return Ok(None);
                }
                at += line.len() as u64;
            }
            from += end as u64;
        }
        Ok(Some(from))
    }
}

/// A table of (hash, offset of the terminal entry), open addressing, at most half full.
struct Index<'a> {
    file: File,
    source: Source<'a>,
    slots: u64,
    used: u64,
    /// The ledger is indexed up to here.
    covered: u64,
}

impl<'a> Index<'a> {
    /// The index, brought close to the ledger's end. `None` where the disk refuses, or the table has no free slot.
    fn open(source: Source<'a>, anew: bool) -> Option<Self> {
        let make = || match folder::open_unseen(source.dir, INDEX_FILE, OFlags::RDWR)? {
            Some(file) => Ok(file),
            None => folder::open_or_make(source.dir, INDEX_FILE, OFlags::RDWR).map(|(file, _)| file),
        };
        let opened = make().or_else(|failure| {
            // What is no plain file is nothing of ours.
            rustix::fs::unlinkat(source.dir, INDEX_FILE, AtFlags::empty()).map_err(|_| failure)?;
            make()
        });
        let mut index = Self { file: opened.ok()?, source, slots: 0, used: 0, covered: 0 };
        if anew || !index.read_header() {
            index.reset(SMALLEST)?;
        }
        index.catch_up()?;
        Some(index)
    }

    /// The last terminal step of this call; a failure where the table cannot be searched.
    fn find(&self, key: &CallKey) -> Result<Option<Step>, Failure> {
        if let Some(last) = self.source.in_tail(self.covered, key)? {
            return Ok(Some(last));
        }
        let mut newest = None;
        let searched = self.probe(hash(key), |_, offset| {
            newest =
                newest.max(Some(offset).filter(|at| self.step_at(*at).is_some_and(|step| step.call == *key)));
            true
        });
        searched.ok_or_else(|| Failure::storage(INDEX_FILE, "has no free slot"))?;
        Ok(newest.and_then(|at| self.step_at(at)))
    }

    fn read_header(&mut self) -> bool {
        let mut bytes = [0; HEADER_LONG];
        if self.file.read_exact_at(&mut bytes, 0).is_err() {
            return false;
        }
        let word = |n: usize| bytes[n * 8..n * 8 + 8].iter().fold(0, |sum, b| sum << 8 | u64::from(*b));
        (self.slots, self.used, self.covered) = (word(1), word(2), word(3));
        let sound = self.slots >= SMALLEST && self.used < self.slots;
        word(0) == MAGIC && sound && self.covered <= self.source.long && word(4) == self.boot()
    }

    fn write_header(&self) -> Option<()> {
        let words = [MAGIC, self.slots, self.used, self.covered, self.boot()];
        self.file.write_all_at(&words.map(u64::to_be_bytes).concat(), 0).ok()
    }

    fn boot(&self) -> u64 {
        short(&[self.source.boot.as_bytes()])
    }

    fn reset(&mut self, slots: u64) -> Option<()> {
        self.file.set_len(0).ok()?;
        self.file.set_len(HEADER + slots * SLOT).ok()?;
        (self.slots, self.used, self.covered) = (slots, 0, 0);
        Some(())
    }

    /// Takes in the calls that ended since. The header goes last: after a kill the same lines are taken in again.
    fn catch_up(&mut self) -> Option<()> {
        let source = self.source;
        if source.long - self.covered <= TAIL {
            return Some(());
        }
        // What was cut off must not become free slots by writing behind it.
        let whole = self.slots.checked_mul(SLOT)?.checked_add(HEADER)?;
        if self.file.metadata().ok()?.len() != whole {
            return None;
        }
        let came = source.ends(self.covered, |at, step| self.insert(hash(&step.call), at));
        self.covered = came.ok().flatten()?;
        self.write_header()
    }

    fn insert(&mut self, hash: u64, offset: u64) -> Option<()> {
        if (self.used + 1) * 2 > self.slots {
            self.grow()?;
        }
        let mut known = false;
        let free = self.probe(hash, |_, at| {
            known |= at == offset;
            !known
        })?;
        if known {
            return Some(());
        }
        self.used += 1;
        self.file.write_all_at(&[hash, offset + 1].map(u64::to_be_bytes).concat(), HEADER + free * SLOT).ok()
    }

    fn grow(&mut self) -> Option<()> {
        let mut old = vec![0; usize::try_from(self.slots * SLOT).ok()?];
        self.file.read_exact_at(&mut old, HEADER).ok()?;
        let covered = self.covered;
        self.reset(self.slots * 4)?;
        for (hash, offset) in old.chunks_exact(16).map(slot).filter(|(_, offset)| *offset > 0) {
            self.insert(hash, offset - 1)?;
        }
        self.covered = covered;
        Some(())
    }

    /// Shows each slot of this hash until `go_on` says no; the slot it ended at.
    fn probe(&self, hash: u64, mut go_on: impl FnMut(u64, u64) -> bool) -> Option<u64> {
        let mut at = hash % self.slots;
        for _ in 0..=self.slots / PROBE + 1 {
            let many = PROBE.min(self.slots - at);
            let mut bytes = vec![0; usize::try_from(many * SLOT).ok()?];
            self.file.read_exact_at(&mut bytes, HEADER + at * SLOT).ok()?;
            for (n, (found, offset)) in (at..).zip(bytes.chunks_exact(16).map(slot)) {
                if offset == 0 || (found == hash && !go_on(n, offset - 1)) {
                    return Some(n);
                }
            }
            at = (at + many) % self.slots;
        }
        None
    }

    fn step_at(&self, offset: u64) -> Option<Step> {
        let mut bytes = vec![0; 4096];
        loop {
            let got = self.source.ledger.read_at(&mut bytes, offset).ok()?;
            if let Some(end) = memchr::memchr(b'\n', &bytes[..got]) {
                return terminal(&bytes[..=end]);
            }
            if bytes.len() >= LONGEST_LINE {
                return None;
            }
            bytes.resize(LONGEST_LINE, 0);
        }
    }
}

fn slot(bytes: &[u8]) -> (u64, u64) {
    let word = |bytes: &[u8]| bytes.iter().fold(0, |sum, b| sum << 8 | u64::from(*b));
    (word(&bytes[..8]), word(&bytes[8..]))
}

fn hash(key: &CallKey) -> u64 {
    short(&[key.server.as_bytes(), b"\0", key.tool.as_bytes(), b"\0", key.id.as_bytes()])
}

/// The step in this line if it ends a call and the line holds.
fn terminal(line: &[u8]) -> Option<Step> {
    // Most lines end nothing: look before parsing.
    memchr::memmem::find(line, b",\"type\":\"call\",")?;
    let line = Line::read(line.strip_suffix(b"\n")?).filter(|line| line.kind == "call")?;
    let Some(Fact::Call(step)) = Fact::read(line.kind, line.with) else { return None };
    (step.to.is_terminal() && line.holds()).then_some(step)
}

/// How a call of this key ended, found without the index: that would have to be brought up to date first.
pub(super) fn past_call(file: &File, long: u64, key: &CallKey) -> Result<Option<Step>, Failure> {
    let bytes = folder::read_at(file, LEDGER_FILE, 0, long)?;
    let ended = |line: &[u8]| {
        let line = Line::read(line).filter(|line| line.kind == "call")?;
        let Some(Fact::Call(step)) = Fact::read(line.kind, line.with) else { return None };
        (step.call == *key && step.to.is_terminal()).then_some(step)
    };
    Ok(bytes.rsplit(|b| *b == b'\n').find_map(ended))
}
