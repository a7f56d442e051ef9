//! `calls.index`: where in the ledger each call ended, so that an id that comes again is known in constant time.
//!
//! Reads and writes the one file; a hint, never the truth. Invariants: a hit is proven by reading the entry it names; a
//! miss counts only because the table is first brought up to the ledger's end; whatever is odd about the file, it is
//! made anew from the ledger.

use super::folder;
use super::recover::LEDGER_FILE;
use crate::call::CallKey;
use crate::digest::short;
use crate::entry::Line;
use crate::fact::{Fact, Step};
use rustix::fs::OFlags;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

const INDEX_FILE: &str = "calls.index";
const MAGIC: u64 = 0x61_6f_70_73_69_64_78_31; // "aopsidx1"
const HEADER_LONG: usize = 32;
const HEADER: u64 = HEADER_LONG as u64;
const SLOT: u64 = 16;
const SMALLEST: u64 = 1024;
/// Slots read at once while probing.
const PROBE: u64 = 64;
/// Longest entry that can end a call: its payload is bounded.
const LONGEST_LINE: usize = 64 << 10;

/// A table of (hash, offset of the terminal entry), open addressing, at most half full.
pub struct Index<'a> {
    file: File,
    ledger: &'a File,
    slots: u64,
    used: u64,
    /// The ledger is indexed up to here.
    covered: u64,
}

impl<'a> Index<'a> {
    /// The index, brought up to `long` bytes of the ledger. `None` only where the disk refuses.
    pub fn open(dir: &OwnedFd, ledger: &'a File, long: u64) -> Option<Self> {
        let (file, size) = folder::open_or_make(dir, INDEX_FILE, OFlags::RDWR).ok()?;
        let mut index = Self { file, ledger, slots: 0, used: 0, covered: 0 };
        if !index.read_header(size, long) {
            index.reset(SMALLEST)?;
        }
        index.catch_up(long)?;
        Some(index)
    }

    /// The last terminal step of this call.
    pub fn find(&self, key: &CallKey) -> Option<Step> {
        let mut newest = None;
        self.probe(hash(key), |_, offset| {
            newest =
                newest.max(Some(offset).filter(|at| self.step_at(*at).is_some_and(|step| step.call == *key)));
            true
        })?;
        self.step_at(newest?)
    }

    fn read_header(&mut self, size: u64, long: u64) -> bool {
        let mut bytes = [0; HEADER_LONG];
        if self.file.read_exact_at(&mut bytes, 0).is_err() {
            return false;
        }
        let word = |n: usize| bytes[n * 8..n * 8 + 8].iter().fold(0, |sum, b| sum << 8 | u64::from(*b));
        (self.slots, self.used, self.covered) = (word(1), word(2), word(3));
        let sound = self.slots >= SMALLEST
            && size == HEADER + self.slots.saturating_mul(SLOT)
            && self.used < self.slots;
        word(0) == MAGIC && sound && self.covered <= long
    }

    fn write_header(&self) -> Option<()> {
        let words = [MAGIC, self.slots, self.used, self.covered];
        self.file.write_all_at(&words.map(u64::to_be_bytes).concat(), 0).ok()
    }

    fn reset(&mut self, slots: u64) -> Option<()> {
        self.file.set_len(0).ok()?;
        self.file.set_len(HEADER + slots * SLOT).ok()?;
        (self.slots, self.used, self.covered) = (slots, 0, 0);
        Some(())
    }

    /// Takes in the calls that ended since. The header goes last: after a kill the same lines are taken in again.
    fn catch_up(&mut self, long: u64) -> Option<()> {
        const CHUNK: u64 = 1 << 20;
        if self.covered == long {
            return Some(());
        }
        while self.covered < long {
            let want = (long - self.covered).min(CHUNK);
            let bytes = folder::read_at(self.ledger, LEDGER_FILE, self.covered, want).ok()?;
            let end = memchr::memrchr(b'\n', &bytes)? + 1;
            let mut at = 0;
            for line in bytes[..end].split_inclusive(|b| *b == b'\n') {
                if let Some(step) = terminal(line) {
                    self.insert(hash(&step.call), self.covered + at)?;
                }
                at += line.len() as u64;
            }
            self.covered += end as u64;
        }
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
            let got = self.ledger.read_at(&mut bytes, offset).ok()?;
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
