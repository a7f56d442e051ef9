//! The index on disk, read by position, so that a question reads only a few kilobytes of it. A refresh keeps
//! what is still true, reads new notes, writes one file, then renames it.
//!
//! Little-endian throughout: a header of 64 bytes; for each word its notes and weights, as differences in
//! variable length; a row for each word, by hash; the length of each note; path, size and time of each note.
//! Invariants: every number from the file is checked before it is used, and any doubt makes the whole index
//! count as missing; an index after many refreshes is, byte for byte, the same as a new one; if two processes
//! refresh at once, the work is done once.

use super::rank::{Candidate, Question, Totals, best_notes};
use super::scan;
use super::words::{Word, weigh};
use crate::model::error::Failure;
use crate::system::files::{self, make_all, replace_private};
use crate::system::{folder, lock as locks};
use rustix::fs::CWD;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"aopsnot1";
const HEADER: usize = 64;
/// Hash, position and length of the list, number of notes.
const ROW: usize = 24;

#[derive(Debug)]
pub(super) struct Index {
    file: File,
    totals: Totals,
    pub(super) built_ms: i64,
    rows: usize,
    rows_at: u64,
    lengths_at: u64,
    places_at: u64,
    size: u64,
}

#[derive(Clone, Copy, Debug)]
struct WordRow {
    word: Word,
    at: u64,
    long: u32,
    notes: u32,
}

/// A note at the time when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamped {
    path: PathBuf,
    size: u64,
    changed: i64,
}

impl Index {
    pub(super) fn open(path: &Path) -> Option<Self> {
        let file = files::open(path).ok()?;
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

    /// The parts follow one another without overlap and do not exceed the file.
    fn fits(&self) -> bool {
        let behind = |at: u64, count: usize, each: usize| {
            u64::try_from(count.checked_mul(each)?).ok()?.checked_add(at)
        };
        let notes = self.totals.notes;
        let rows = self.rows;
        self.rows_at >= HEADER as u64
            && behind(self.rows_at, rows, ROW) == Some(self.lengths_at)
            && behind(self.lengths_at, notes, 4) == Some(self.places_at)
            && notes
                .checked_add(1)
                .and_then(|n| behind(self.places_at, n, 4))
                .is_some_and(|end| end <= self.size)
    }

    /// The best notes for a question; `None` if the index cannot be trusted.
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
        best_notes(&scores, most).into_iter().map(candidate).collect()
    }

    /// The position of the first row that is not before this word.
    fn place_of(&self, word: Word) -> Option<usize> {
        let mut low = 0;
        let mut high = self.rows;
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

    fn row(&self, n: usize) -> Option<WordRow> {
        let bytes = self.bytes(self.rows_at + (n * ROW) as u64, ROW)?;
        Some(WordRow {
            word: u64_at(&bytes, 0)?,
            at: u64_at(&bytes, 8)?,
            long: u32_at(&bytes, 16)?,
            notes: u32_at(&bytes, 20)?,
        })
    }

    /// Notes and weights of a word, in the order of the notes.
    fn notes_of(&self, row: &WordRow) -> Option<Vec<(u32, u32)>> {
        let bytes = self.bytes(row.at, row.long as usize)?;
        let mut at = 0;
        let mut note = 0_u32;
        let mut found = Vec::new();
        while at < bytes.len() {
            note = note.checked_add(varint(&bytes, &mut at)?)?;
            found.push((note, varint(&bytes, &mut at)?));
            if note as usize >= self.totals.notes {
                return None;
            }
        }
        (found.len() == row.notes as usize).then_some(found)
    }

    fn lengths(&self) -> Option<Vec<u32>> {
        let bytes = self.bytes(self.lengths_at, self.totals.notes * 4)?;
        bytes.as_chunks::<4>().0.iter().map(|four| Some(u32::from_le_bytes(*four))).collect()
    }

    fn note(&self, n: usize) -> Option<Stamped> {
        let places = self.bytes(self.places_at + (n * 4) as u64, 8)?;
        let from = u32_at(&places, 0)?;
        let to = u32_at(&places, 4)?;
        let at = self.places_at + (self.totals.notes as u64 + 1) * 4 + u64::from(from);
        let bytes = self.bytes(at, to.checked_sub(from)? as usize)?;
        let path = PathBuf::from(OsStr::from_bytes(bytes.get(16..)?));
        scan::is_plain(&path).then_some(Stamped {
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

/// A note that changed this recently may change again unnoticed, so it is read again the next time.
const UNSETTLED_MS: i64 = 2_000;
const UNSETTLED: i64 = i64::MIN;

#[derive(Default)]
struct Draft {
    notes: Vec<Stamped>,
    lengths: Vec<u32>,
    /// Word, note and weight, for the notes that were read.
    fresh: Vec<(Word, u32, u32)>,
    /// New numbers of the old index's notes; `None` for those that were deleted or changed.
    kept: Vec<Option<u32>>,
}

/// Returns how many notes were read; 0 if another process is refreshing.
pub(super) fn refresh(data: &Path, path: &Path, now_ms: i64) -> Result<usize, Failure> {
    let storage = |error: io::Error| Failure::storage(path.display(), error);
    let folder = path.parent().unwrap_or(path);
    make_all(folder)?;
    let Some(_held) = lock(folder)? else { return Ok(0) };
    let old = Index::open(path);
    let notes = stamped(data, now_ms);
    let known = old.as_ref().and_then(known).unwrap_or_default();
    let settled = notes.iter().all(|note| note.changed != UNSETTLED);
    if old.is_some() && settled && known == notes {
        return Ok(0);
    }
    let (draft, read) = draft(data, notes, old.as_ref(), &known);
    let bytes = encode(&draft, old.as_ref(), now_ms);
    replace_private(path, &bytes).map_err(storage)?;
    Ok(read)
}

/// The writer's lock; `None` if another process holds it.
fn lock(folder: &Path) -> Result<Option<File>, Failure> {
    let dir = folder::enter(CWD, folder, true)?
        .ok_or_else(|| Failure::storage(folder.display(), "no longer exists"))?;
    let file = locks::open_or_make(&dir, "index.lock")?;
    Ok(file.try_lock().is_ok().then_some(file))
}

fn stamped(data: &Path, now_ms: i64) -> Vec<Stamped> {
    let stamp = |path: PathBuf| {
        let (size, changed) = scan::stamp(data, &path).ok()?;
        let settled = changed / 1_000_000 + UNSETTLED_MS < now_ms;
        Some(Stamped { path, size, changed: if settled { changed } else { UNSETTLED } })
    };
    scan::list(data, None).0.into_iter().filter_map(stamp).collect()
}

fn known(old: &Index) -> Option<Vec<Stamped>> {
    (0..old.totals.notes).map(|n| old.note(n)).collect()
}

fn draft(data: &Path, notes: Vec<Stamped>, old: Option<&Index>, known: &[Stamped]) -> (Draft, usize) {
    let mut numbers: HashMap<&Path, usize> =
        known.iter().enumerate().map(|(n, note)| (note.path.as_path(), n)).collect();
    let old_lengths = old.and_then(Index::lengths).unwrap_or_default();
    if old_lengths.len() != known.len() || !old.is_none_or(is_sound) {
        numbers.clear();
    }
    let mut draft = Draft { kept: vec![None; known.len()], ..Draft::default() };
    let mut read = 0;
    for note in notes {
        let number = u32::try_from(draft.notes.len()).unwrap_or(u32::MAX);
        let same =
            numbers.get(note.path.as_path()).filter(|n| known[**n] == note && note.changed != UNSETTLED);
        if let Some(n) = same {
            draft.kept[*n] = Some(number);
            draft.lengths.push(old_lengths[*n]);
        } else {
            let Ok(text) = scan::read(data, &note.path) else { continue };
            read += 1;
            let mut weights: HashMap<Word, u32> = HashMap::new();
            let long = weigh(&note.path, &text, |word, weight| *weights.entry(word).or_default() += weight);
            draft.lengths.push(long);
            draft.fresh.extend(weights.into_iter().map(|(word, weight)| (word, number, weight)));
        }
        draft.notes.push(note);
    }
    draft.fresh.sort_unstable();
    (draft, read)
}

/// Every list can be read and the rows are in order, so that parts of it can be reused.
fn is_sound(old: &Index) -> bool {
    let mut last = None;
    (0..old.rows).all(|n| {
        let Some(row) = old.row(n) else { return false };
        let sorted = last.is_none_or(|last| last < row.word);
        last = Some(row.word);
        sorted && old.notes_of(&row).is_some()
    })
}

fn encode(draft: &Draft, old: Option<&Index>, now_ms: i64) -> Vec<u8> {
    let mut out = vec![0; HEADER];
    let mut rows = Vec::new();
    let kept = draft.kept.iter().any(Option::is_some);
    let mut old_rows =
        (0..old.map_or(0, |old| old.rows)).filter(|_| kept).filter_map(|n| old?.row(n)).peekable();
    let mut fresh = draft.fresh.as_slice();
    loop {
        let words = [old_rows.peek().map(|row| row.word), fresh.first().map(|(word, ..)| *word)];
        let Some(word) = words.into_iter().flatten().min() else { break };
        let mut notes: Vec<(u32, u32)> = Vec::new();
        if let Some(row) = old_rows.next_if(|row| row.word == word) {
            let before = old.and_then(|old| old.notes_of(&row)).unwrap_or_default();
            notes.extend(
                before.into_iter().filter_map(|(note, weight)| Some((draft.kept[note as usize]?, weight))),
            );
        }
        let long = fresh.iter().take_while(|(other, ..)| *other == word).count();
        notes.extend(fresh[..long].iter().map(|(_, note, weight)| (*note, *weight)));
        fresh = &fresh[long..];
        notes.sort_unstable();
        if !notes.is_empty() {
            let at = out.len() as u64;
            write_list(&notes, &mut out);
            rows.push((word, at, out.len() as u64 - at, notes.len()));
        }
    }
    finish(draft, &rows, now_ms, out)
}

fn write_list(notes: &[(u32, u32)], out: &mut Vec<u8>) {
    let mut last = 0;
    for (note, weight) in notes {
        write_varint(note - last, out);
        write_varint(*weight, out);
        last = *note;
    }
}

fn write_varint(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Writes rows, lengths and notes after the lists; then the header, which says where they are.
fn finish(draft: &Draft, rows: &[(Word, u64, u64, usize)], now_ms: i64, mut out: Vec<u8>) -> Vec<u8> {
    let short = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    let rows_at = out.len() as u64;
    for (word, at, long, notes) in rows {
        out.extend(word.to_le_bytes());
        out.extend(at.to_le_bytes());
        out.extend(u32::try_from(*long).unwrap_or(u32::MAX).to_le_bytes());
        out.extend(short(*notes));
    }
    let lengths_at = out.len() as u64;
    draft.lengths.iter().for_each(|long| out.extend(long.to_le_bytes()));
    let places_at = out.len() as u64;
    let mut records = Vec::new();
    for note in &draft.notes {
        out.extend(short(records.len()));
        records.extend(note.size.to_le_bytes());
        records.extend(note.changed.to_le_bytes());
        records.extend(note.path.as_os_str().as_bytes());
    }
    out.extend(short(records.len()));
    out.extend(records);
    let words: u64 = draft.lengths.iter().map(|long| u64::from(*long)).sum();
    let numbers = [
        draft.notes.len() as u64,
        rows.len() as u64,
        words,
        now_ms.cast_unsigned(),
        rows_at,
        lengths_at,
        places_at,
    ];
    out[..8].copy_from_slice(MAGIC);
    for (n, number) in numbers.iter().enumerate() {
        out[8 + n * 8..16 + n * 8].copy_from_slice(&number.to_le_bytes());
    }
    out
}
