//! A hash table on disk: the newest line of each key in an append-only file of lines.
//!
//! Reads and writes one file next to the lines. It is a hint: a hit is verified by reading the line, lines
//! that the table does not cover yet are read directly, and a table that does not match its lines is rebuilt
//! or ignored. One writer at a time. Readers need no lock: slots change in place, but a larger table is a new
//! file.

use crate::failure::Failure;
use crate::folder::{self, each_line};
use crate::sha256::short;
use memchr::{memchr, memrchr};
use rustix::fs::{AtFlags, OFlags};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

const MAGIC: u64 = 0x61_6f_70_73_69_64_78_33; // "aopsidx3"
const HEADER_LONG: usize = 56;
const HEADER: u64 = HEADER_LONG as u64;
const SLOT: u64 = 16;
const SMALLEST: u64 = 1024;
const PROBE: u64 = 64;
const LONGEST_LINE: usize = 64 << 10;
/// This many bytes before the end of the covered part identify it.
const END: usize = 48;

/// Which lines have a key, and how the table is stored.
#[derive(Debug)]
pub struct Keys {
    pub file: &'static str,
    /// The hash of a line's key; `None` if it has no key. Gets the line with its line feed.
    pub hash: fn(&[u8]) -> Option<u64>,
    /// Two lines with the same hash have the same key.
    pub same: fn(&[u8], &[u8]) -> bool,
    /// Whether a line is unchanged. A changed line is shown for the key under which the table lists it, so
    /// that the caller notices the change.
    pub intact: fn(&[u8]) -> bool,
    /// How many bytes at the end may be missing in the table: reading them is cheaper than writing the table
    /// each time.
    pub lag: u64,
    /// Slots reach the disk before the header that counts them, so that the table survives a power loss.
    pub synced: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Indexed<'a> {
    pub keys: &'static Keys,
    pub dir: &'a OwnedFd,
    pub lines: &'a File,
    /// How many bytes of the lines count.
    pub long: u64,
    /// A table with another tag is rebuilt.
    pub tag: u64,
}

/// No table fits the lines, or the disk refuses it.
#[derive(Clone, Copy, Debug)]
pub struct Unusable;

impl<'a> Indexed<'a> {
    /// The newest line with this key, for the only writer: it also updates the table when that is due.
    pub fn newest(&self, hash: u64, is: &dyn Fn(&[u8]) -> bool) -> Result<Option<Vec<u8>>, Failure> {
        if self.long <= self.keys.lag {
            return Ok(newest_in(&self.read(0)?, is));
        }
        let find = |table: Option<Table>| table.ok_or(Unusable)?.find(hash, is);
        let found = find(self.up_to_date()).or_else(|_| find(self.rebuild()));
        found.or_else(|_| self.scan(is))
    }

    /// The same for a reader, which writes nothing.
    pub fn peek(&self, hash: u64, is: &dyn Fn(&[u8]) -> bool) -> Result<Option<Vec<u8>>, Unusable> {
        if self.long <= self.keys.lag {
            return Ok(newest_in(&self.read(0).map_err(|_| Unusable)?, is));
        }
        // A table that is far behind is useless: its writer was killed again and again.
        let table = Table::open(*self).filter(|table| self.long - table.covered <= 1 << 20);
        table.ok_or(Unusable)?.find(hash, is)
    }

    /// The newest line without a table.
    pub fn scan(&self, is: &dyn Fn(&[u8]) -> bool) -> Result<Option<Vec<u8>>, Failure> {
        let mut newest = None;
        each_line(self.lines, 0, self.long, |_, line| {
            if is(line) {
                newest = Some(line.to_vec());
            }
            Some(())
        })?;
        Ok(newest)
    }

    /// The table, covering all lines but a few. `None` if the disk refuses or no table fits.
    pub fn up_to_date(&self) -> Option<Table<'a>> {
        let mut table = Table::open(*self)?;
        if self.long - table.covered > self.keys.lag {
            table.catch_up()?;
        }
        Some(table)
    }

    pub fn rebuild(&self) -> Option<Table<'a>> {
        let mut table = Table::fresh(*self, SMALLEST)?;
        table.catch_up()?;
        Some(table)
    }

    fn read(&self, from: u64) -> Result<Vec<u8>, Failure> {
        folder::read_at(self.lines, "lines", from, self.long - from)
    }
}

fn newest_in(bytes: &[u8], is: &dyn Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    let mut end = memrchr(b'\n', bytes)? + 1;
    loop {
        let start = memrchr(b'\n', &bytes[..end - 1]).map_or(0, |at| at + 1);
        let line = &bytes[start..end];
        if is(line) {
            return Some(line.to_vec());
        }
        if start == 0 {
            return None;
        }
        end = start;
    }
}

/// Slots of (hash, offset of the newest line + 1), open addressing, at most half full.
#[derive(Debug)]
pub struct Table<'a> {
    file: File,
    of: Indexed<'a>,
    slots: u64,
    used: u64,
    /// The lines up to here are in the table.
    pub covered: u64,
    /// Identifies the end of the covered part.
    end: u64,
    /// Total length of the lines that are the newest of their key. A hint: it can be too small after a kill.
    pub live: u64,
    /// The file already has its name.
    placed: bool,
    /// This process has added the lines up to the end.
    caught_up: bool,
}

impl<'a> Table<'a> {
    /// A table whose header fits the lines.
    fn open(of: Indexed<'a>) -> Option<Self> {
        let file = folder::open_unchecked(of.dir, of.keys.file, OFlags::RDWR).ok()??;
        let mut bytes = [0; HEADER_LONG];
        file.read_exact_at(&mut bytes, 0).ok()?;
        let word = |n: usize| word(&bytes[n * 8..n * 8 + 8]);
        let slots = word(1);
        let used = word(2);
        let covered = word(3);
        let end = word(5);
        let live = word(6);
        let sound = word(0) == MAGIC && slots >= SMALLEST && used < slots && covered <= of.long;
        (sound && word(4) == of.tag).then_some(Self {
            file,
            of,
            slots,
            used,
            covered,
            end,
            live,
            placed: true,
            caught_up: false,
        })
    }

    /// An empty table in a new file, which gets its name later.
    fn fresh(of: Indexed<'a>, slots: u64) -> Option<Self> {
        let spare = spare(of.keys);
        let make = || folder::make(of.dir, &spare, OFlags::RDWR).ok().flatten();
        // First remove a file that a killed process left behind.
        let file = make().or_else(|| {
            let _ = rustix::fs::unlinkat(of.dir, &spare, AtFlags::empty());
            make()
        })?;
        file.set_len(HEADER + slots * SLOT).ok()?;
        Some(Self { file, of, slots, used: 0, covered: 0, end: 0, live: 0, placed: false, caught_up: false })
    }

    fn find(&self, hash: u64, is: &dyn Fn(&[u8]) -> bool) -> Result<Option<Vec<u8>>, Unusable> {
        if let Some(line) = self.find_in_tail(is)? {
            return Ok(Some(line));
        }
        let mut newest: Option<(u64, Vec<u8>)> = None;
        self.probe(hash, |offset| {
            let line = self.line_at(offset).filter(|line| is(line) || !(self.of.keys.intact)(line));
            if let Some(line) = line.filter(|_| newest.as_ref().is_none_or(|(known, _)| *known < offset)) {
                newest = Some((offset, line));
            }
            true
        })
        .ok_or(Unusable)?;
        Ok(newest.map(|(_, line)| line))
    }

    /// The newest line that is not in the table yet. The table must end where these lines say.
    fn find_in_tail(&self, is: &dyn Fn(&[u8]) -> bool) -> Result<Option<Vec<u8>>, Unusable> {
        if self.caught_up && self.covered == self.of.long {
            return Ok(None);
        }
        let from = self.covered.saturating_sub(END as u64);
        let bytes = self.of.read(from).map_err(|_| Unusable)?;
        let end = usize::try_from(self.covered - from).map_err(|_| Unusable)?;
        let (end, tail) = bytes.split_at_checked(end).ok_or(Unusable)?;
        if short(&[end]) == self.end { Ok(newest_in(tail, is)) } else { Err(Unusable) }
    }

    /// Adds the lines written since. The header is written last: after a kill the same lines are added again.
    fn catch_up(&mut self) -> Option<()> {
        // Writing past the end of a table that was cut off would create free slots.
        if self.placed
            && self.file.metadata().ok()?.len() != self.slots.checked_mul(SLOT)?.checked_add(HEADER)?
        {
            return None;
        }
        if self.placed && self.end_of_covered()? != self.end {
            return None;
        }
        let of = self.of;
        // The end of the last line, unless it is too short.
        let mut last = None;
        let came = each_line(of.lines, self.covered, of.long, |at, line| {
            last = line.last_chunk::<END>().copied();
            match (of.keys.hash)(line) {
                Some(hash) => self.insert(hash, at, line),
                None => Some(()),
            }
        });
        self.covered = came.ok().flatten()?;
        self.end = match last {
            Some(last) => short(&[&last]),
            None => self.end_of_covered()?,
        };
        if of.keys.synced {
            self.file.sync_data().ok()?;
        }
        let words = [MAGIC, self.slots, self.used, self.covered, of.tag, self.end, self.live];
        self.file.write_all_at(&words.map(u64::to_be_bytes).concat(), 0).ok()?;
        if !self.placed {
            if of.keys.synced {
                self.file.sync_data().ok()?;
            }
            rustix::fs::renameat(of.dir, spare(of.keys), of.dir, of.keys.file).ok()?;
            self.placed = true;
        }
        self.caught_up = true;
        Some(())
    }

    fn end_of_covered(&self) -> Option<u64> {
        let from = self.covered.saturating_sub(END as u64);
        let bytes = folder::read_at(self.of.lines, "lines", from, self.covered - from).ok()?;
        Some(short(&[&bytes]))
    }

    fn insert(&mut self, hash: u64, offset: u64, line: &[u8]) -> Option<()> {
        if (self.used + 1) * 2 > self.slots {
            self.grow()?;
        }
        let mut old = 0;
        let mut known = false;
        let (slot, free) = self.probe(hash, |at| {
            known = at == offset;
            let other = if known { None } else { self.line_at(at) };
            old = other.as_ref().map_or(0, |other| other.len() as u64);
            !known && !other.is_some_and(|other| (self.of.keys.same)(&other, line))
        })?;
        if known {
            return Some(());
        }
        self.used += u64::from(free);
        let replaced = if free { 0 } else { old };
        self.live = (self.live + line.len() as u64).saturating_sub(replaced);
        self.put(slot, hash, offset)
    }

    fn put(&self, slot: u64, hash: u64, offset: u64) -> Option<()> {
        self.file.write_all_at(&[hash, offset + 1].map(u64::to_be_bytes).concat(), HEADER + slot * SLOT).ok()
    }

    /// Moves to a new file with four times as many slots.
    fn grow(&mut self) -> Option<()> {
        let mut old = vec![0; usize::try_from(self.slots * SLOT).ok()?];
        self.file.read_exact_at(&mut old, HEADER).ok()?;
        let larger = Self::fresh(self.of, self.slots * 4)?;
        for (hash, offset) in old.chunks_exact(16).map(slot).filter(|(_, offset)| *offset > 0) {
            let (free, _) = larger.probe(hash, |_| true)?;
            larger.put(free, hash, offset - 1)?;
        }
        let used = self.used;
        let covered = self.covered;
        let end = self.end;
        let live = self.live;
        *self = Self { used, covered, end, live, ..larger };
        Some(())
    }

    /// Shows the offset in each slot of this hash until `go_on` returns false or a slot is free. Returns that
    /// slot, and whether it is free; `None` if the table is full.
    fn probe(&self, hash: u64, mut go_on: impl FnMut(u64) -> bool) -> Option<(u64, bool)> {
        let mut at = hash % self.slots;
        for _ in 0..=self.slots / PROBE + 1 {
            let many = PROBE.min(self.slots - at);
            let mut bytes = vec![0; usize::try_from(many * SLOT).ok()?];
            self.file.read_exact_at(&mut bytes, HEADER + at * SLOT).ok()?;
            for (n, (found, offset)) in (at..).zip(bytes.chunks_exact(16).map(slot)) {
                if offset == 0 || (found == hash && !go_on(offset - 1)) {
                    return Some((n, offset == 0));
                }
            }
            at = (at + many) % self.slots;
        }
        None
    }

    fn line_at(&self, offset: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 4096];
        loop {
            let got = self.of.lines.read_at(&mut bytes, offset).ok()?;
            if let Some(end) = memchr(b'\n', &bytes[..got]) {
                bytes.truncate(end + 1);
                return Some(bytes);
            }
            if bytes.len() >= LONGEST_LINE {
                return None;
            }
            bytes.resize(LONGEST_LINE, 0);
        }
    }
}

fn spare(keys: &Keys) -> String {
    format!(".{}.new", keys.file)
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, b| sum << 8 | u64::from(*b))
}

fn slot(bytes: &[u8]) -> (u64, u64) {
    (word(&bytes[..8]), word(&bytes[8..]))
}
