//! Searches the notes without an index: reads all of them, on two threads, as far as the deadline allows.
//!
//! Reads the notes. Invariant: ranks as the index would.

use super::rank::{Candidate, Question, Totals, best};
use super::{text, walk};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const THREADS: usize = 2;

/// One note: how long it is, and what each word of the question weighs in it.
struct Seen {
    note: usize,
    long: u32,
    inside: Vec<(usize, u32)>,
}

/// The best notes, and whether all were read.
pub(super) fn candidates(data: &Path, question: &Question, most: usize, deadline: Instant) -> (Vec<Candidate>, bool) {
    let (notes, listed) = walk::list(data, Some(deadline));
    let next = AtomicUsize::new(0);
    let work = || read_some(data, &notes, question, &next, deadline);
    let parts = std::thread::scope(|scope| {
        let others: Vec<_> = (1..THREADS).map(|_| scope.spawn(work)).collect();
        let mut parts = vec![work()];
        parts.extend(others.into_iter().filter_map(|other| other.join().ok()));
        parts
    });
    let whole = listed && parts.iter().all(|(_, whole)| *whole) && parts.len() == THREADS;
    let seen: Vec<Seen> = parts.into_iter().flat_map(|(seen, _)| seen).collect();
    (ranked(&notes, question, &seen, most), whole)
}

fn read_some(
    data: &Path,
    notes: &[PathBuf],
    question: &Question,
    next: &AtomicUsize,
    deadline: Instant,
) -> (Vec<Seen>, bool) {
    let mut seen = Vec::new();
    loop {
        let note = next.fetch_add(1, Ordering::Relaxed);
        let Some(path) = notes.get(note) else { return (seen, true) };
        if Instant::now() >= deadline {
            return (seen, false);
        }
        let Ok(text) = walk::read(data, path) else { continue };
        let mut weights = vec![0; question.words.len()];
        let long = text::weigh(path, &text, |word, weight| {
            if let Some(n) = question.position(word) {
                weights[n] += weight;
            }
        });
        let inside = weights.into_iter().enumerate().filter(|(_, weight)| *weight > 0).collect();
        seen.push(Seen { note, long, inside });
    }
}

fn ranked(notes: &[PathBuf], question: &Question, seen: &[Seen], most: usize) -> Vec<Candidate> {
    let totals = Totals { notes: seen.len(), words: seen.iter().map(|one| u64::from(one.long)).sum() };
    let mut holding = vec![0; question.words.len()];
    seen.iter().flat_map(|one| &one.inside).for_each(|(n, _)| holding[*n] += 1);
    let weights: std::rc::Rc<[f64]> = holding.into_iter().map(|holding| totals.weight(holding)).collect();
    let mut scores = vec![0.0; notes.len()];
    for one in seen {
        let added = one.inside.iter().map(|(n, inside)| totals.score(weights[*n], *inside, one.long));
        scores[one.note] = added.sum();
    }
    let candidate =
        |(note, score): (usize, f64)| Candidate { path: notes[note].clone(), score, weights: weights.clone() };
    best(&scores, most).into_iter().map(candidate).collect()
}
