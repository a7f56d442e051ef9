//! Lists and reads the notes, and searches them without an index, on two threads, as far as the deadline
//! allows.
//!
//! Reads the data folder. Invariants: no link is followed, and no pipe can block it; a scan ranks as the
//! index would.

use super::rank::{Candidate, Question, Totals, best_notes};
use super::words::weigh;
use crate::system::files;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const LARGEST: u64 = 1 << 20;
const MOST: usize = 100_000;
const DEEPEST: usize = 32;

/// All notes, in the order of their paths, and whether the deadline allowed us to see all folders.
pub(super) fn list(data: &Path, deadline: Option<Instant>) -> (Vec<PathBuf>, bool) {
    let mut notes = Vec::new();
    let mut folders = vec![(PathBuf::new(), 0)];
    while let Some((folder, deep)) = folders.pop() {
        if notes.len() >= MOST || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            notes.sort();
            return (notes, false);
        }
        for entry in fs::read_dir(data.join(&folder)).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Ok(kind) = entry.file_type() else { continue };
            if name.as_bytes().starts_with(b".") {
                continue;
            }
            let path = folder.join(&name);
            if kind.is_dir() && deep < DEEPEST && !(deep == 0 && name == "sessions") {
                folders.push((path, deep + 1));
            } else if kind.is_file() && is_note(&path) {
                notes.push(path);
            }
        }
    }
    notes.sort();
    (notes, true)
}

fn is_note(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

/// A path that `list` could have returned.
pub(super) fn is_plain(path: &Path) -> bool {
    is_note(path)
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(name) if !name.as_bytes().starts_with(b".")))
}

/// Size and modification time, in nanoseconds since 1970.
pub(super) fn stamp(data: &Path, note: &Path) -> io::Result<(u64, i64)> {
    let known = fs::symlink_metadata(data.join(note))?;
    let changed = known.mtime().saturating_mul(1_000_000_000).saturating_add(known.mtime_nsec());
    Ok((known.len(), changed))
}

/// The note's text; bytes that are not UTF-8 become U+FFFD.
pub(super) fn read(data: &Path, note: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    open(&data.join(note))?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()))
}

fn open(path: &Path) -> io::Result<File> {
    files::open_itself(path, OpenOptions::new().read(true))
}

const THREADS: usize = 2;

/// One note: its length, and the weight of each word of the question in it.
struct ScannedNote {
    note: usize,
    long: u32,
    inside: Vec<(usize, u32)>,
}

/// The best notes, and whether all were read.
pub(super) fn candidates(
    data: &Path,
    question: &Question,
    most: usize,
    deadline: Instant,
) -> (Vec<Candidate>, bool) {
    let (notes, listed) = list(data, Some(deadline));
    let next = AtomicUsize::new(0);
    let work = || read_some(data, &notes, question, &next, deadline);
    let parts = std::thread::scope(|scope| {
        let others: Vec<_> = (1..THREADS).map(|_| scope.spawn(work)).collect();
        let mut parts = vec![work()];
        parts.extend(others.into_iter().filter_map(|other| other.join().ok()));
        parts
    });
    let whole = listed && parts.iter().all(|(_, whole)| *whole) && parts.len() == THREADS;
    let seen: Vec<ScannedNote> = parts.into_iter().flat_map(|(seen, _)| seen).collect();
    (ranked(&notes, question, &seen, most), whole)
}

fn read_some(
    data: &Path,
    notes: &[PathBuf],
    question: &Question,
    next: &AtomicUsize,
    deadline: Instant,
) -> (Vec<ScannedNote>, bool) {
    let mut seen = Vec::new();
    loop {
        let note = next.fetch_add(1, Ordering::Relaxed);
        let Some(path) = notes.get(note) else { return (seen, true) };
        if Instant::now() >= deadline {
            return (seen, false);
        }
        let Ok(text) = read(data, path) else { continue };
        let mut weights = vec![0; question.words.len()];
        let long = weigh(path, &text, |word, weight| {
            if let Some(n) = question.position(word) {
                weights[n] += weight;
            }
        });
        let inside = weights.into_iter().enumerate().filter(|(_, weight)| *weight > 0).collect();
        seen.push(ScannedNote { note, long, inside });
    }
}

fn ranked(notes: &[PathBuf], question: &Question, seen: &[ScannedNote], most: usize) -> Vec<Candidate> {
    let totals = Totals { notes: seen.len(), words: seen.iter().map(|one| u64::from(one.long)).sum() };
    let mut holding = vec![0; question.words.len()];
    seen.iter().flat_map(|one| &one.inside).for_each(|(n, _)| holding[*n] += 1);
    let weights: std::rc::Rc<[f64]> = holding.into_iter().map(|holding| totals.weight(holding)).collect();
    let mut scores = vec![0.0; notes.len()];
    for one in seen {
        let added = one.inside.iter().map(|(n, inside)| totals.score(weights[*n], *inside, one.long));
        scores[one.note] = added.sum();
    }
    let candidate = |(note, score): (usize, f64)| Candidate {
        path: notes[note].clone(),
        score,
        weights: weights.clone(),
    };
    best_notes(&scores, most).into_iter().map(candidate).collect()
}
