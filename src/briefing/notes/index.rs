//! The index on disk, read by position: a question reads a few kilobytes of it.
//!
//! Reads one file. Little-endian throughout: a header of 64 bytes; for each word its notes and weights, as differences
//! in variable length; a row for each word, by hash; the length of each note; path, size and time of each note.
//! Invariants: every number that comes from the file is checked before it is used; a path out of the data folder is
//! never believed; any doubt makes the whole index count as missing.

use super::rank::{Candidate, Question, Totals, best};
use super::walk;
use super::words::Word;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

pub(super) const MAGIC: &[u8; 8] = b"aopsnot1";
pub(super) const HEADER: usize = 64;
/// Hash, place and length of the list, number of notes.
pub(super) const ROW: usize = 24;

#[derive(Debug)]
pub(super) struct Index {
    file: File,
    pub(super) totals: Totals,
    pub(super) built_ms: i64,
    pub(super) rows: usize,
    rows_at: u64,
    lengths_at: u64,
    places_at: u64,
    size: u64,
}

/// A word's row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) word: Word,
    at: u64,
    long: u32,
    pub(super) notes: u32,
}

/// A note as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamped {
    pub(super) path: PathBuf,
    pub(super) size: u64,
    pub(super) changed: i64,
}

impl Index {
    pub(super) fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let size = file.metadata().ok()?.len();
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, 0).ok()?;
        let number = |at: usize| u64_at(&header, at);
        let index = Self {
            totals: Totals { notes: usize::try_from(number(8)?).ok()?, words: number(24)? },
            rows: usize::try_from(number(16)?).ok()?,
            built_ms: number(32)?.cast_signed(),
            rows_at: number(40)?,
            lengths_at: number(48)?,
            places_at: number(56)?,
            size,
            file,
        };
        (header.starts_with(MAGIC) && index.fits()).then_some(index)
    }

    /// The parts follow one another and end where the file ends or before.
    fn fits(&self) -> bool {
        let behind = |at: u64, count: usize, each: usize| u64::try_from(count.checked_mul(each)?).ok()?.checked_add(at);
        let (notes, rows) = (self.totals.notes, self.rows);
        self.rows_at >= HEADER as u64
            && behind(self.rows_at, rows, ROW) == Some(self.lengths_at)
            && behind(self.lengths_at, notes, 4) == Some(self.places_at)
            && notes.checked_add(1).and_then(|n| behind(self.places_at, n, 4)).is_some_and(|end| end <= self.size)
    }

    /// The best notes for a question; nothing when the index cannot be trusted.
    pub(super) fn candidates(&self, question: &Question, most: usize) -> Option<Vec<Candidate>> {
        let lengths = self.lengths()?;
        let mut scores = vec![0.0; self.totals.notes];
        let mut weights = vec![0.0; question.words.len()];
        for (n, word) in question.words.iter().enumerate() {
            let at = self.place_of(*word)?;
            let row = if at < self.rows { self.row(at)? } else { continue };
            if row.word != *word {
                continue;
            }
            weights[n] = self.totals.weight(row.notes as usize);
            for (note, inside) in self.notes_of(&row)? {
                let note = note as usize;
                scores[note] += self.totals.score(weights[n], inside, lengths[note]);
            }
        }
        let weights: std::rc::Rc<[f64]> = weights.into();
        let candidate =
            |(note, score)| Some(Candidate { path: self.note(note)?.path, score, weights: weights.clone() });
        best(&scores, most).into_iter().map(candidate).collect()
    }

    /// The first row that is not before this word.
    fn place_of(&self, word: Word) -> Option<usize> {
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.row(middle)?.word < word {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low)
    }

    pub(super) fn row(&self, n: usize) -> Option<Row> {
        let bytes = self.bytes(self.rows_at + (n * ROW) as u64, ROW)?;
        Some(Row {
            word: u64_at(&bytes, 0)?,
            at: u64_at(&bytes, 8)?,
            long: u32_at(&bytes, 16)?,
            notes: u32_at(&bytes, 20)?,
        })
    }

    /// Notes and weights of a word, in the order of the notes.
    pub(super) fn notes_of(&self, row: &Row) -> Option<Vec<(u32, u32)>> {
        let bytes = self.bytes(row.at, row.long as usize)?;
        let (mut at, mut note, mut found) = (0, 0_u32, Vec::new());
        while at < bytes.len() {
            note = note.checked_add(varint(&bytes, &mut at)?)?;
            found.push((note, varint(&bytes, &mut at)?));
            if note as usize >= self.totals.notes {
                return None;
            }
        }
        (found.len() == row.notes as usize).then_some(found)
    }

    pub(super) fn lengths(&self) -> Option<Vec<u32>> {
        let bytes = self.bytes(self.lengths_at, self.totals.notes * 4)?;
        bytes.as_chunks::<4>().0.iter().map(|four| Some(u32::from_le_bytes(*four))).collect()
    }

    pub(super) fn note(&self, n: usize) -> Option<Stamped> {
        let places = self.bytes(self.places_at + (n * 4) as u64, 8)?;
        let (from, to) = (u32_at(&places, 0)?, u32_at(&places, 4)?);
        let at = self.places_at + (self.totals.notes as u64 + 1) * 4 + u64::from(from);
        let bytes = self.bytes(at, to.checked_sub(from)? as usize)?;
        let path = PathBuf::from(OsStr::from_bytes(bytes.get(16..)?));
        walk::is_plain(&path).then_some(Stamped {
            path,
            size: u64_at(&bytes, 0)?,
            changed: u64_at(&bytes, 8)?.cast_signed(),
        })
    }

    fn bytes(&self, at: u64, long: usize) -> Option<Vec<u8>> {
        at.checked_add(long as u64).filter(|end| *end <= self.size)?;
        let mut bytes = vec![0; long];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let mut value = 0_u32;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
