//! Ranks notes for a question (BM25), and finds the lines of a note that answer it best.
//!
//! Invariants: equal scores keep the order of the notes, so that answers are stable; every shown line is
//! short, redacted, and free of control characters.

use super::NoteLine;
use super::words::{Word, each_word};
use crate::text::json::cut;
use crate::text::plain::on_a_line;
use crate::text::redact::redact;
use std::path::PathBuf;

/// Only this many different words of a question count, the first ones.
const MOST_WORDS: usize = 96;

#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) words: Vec<Word>,
}

#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    pub(super) score: f64,
    /// Inverse document frequency of each word of the question.
    pub(super) weights: std::rc::Rc<[f64]>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Totals {
    pub(super) notes: usize,
    pub(super) words: u64,
}

impl Question {
    pub(super) fn of(query: &str) -> Self {
        let mut words = Vec::new();
        each_word(query, |word| {
            if words.len() < MOST_WORDS && !words.contains(&word) {
                words.push(word);
            }
        });
        Self { words }
    }

    pub(super) fn position(&self, word: Word) -> Option<usize> {
        self.words.iter().position(|asked| *asked == word)
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        let mut found = false;
        each_word(text, |word| found |= self.position(word).is_some());
        found
    }
}

#[expect(clippy::cast_precision_loss, reason = "no number of notes or words comes near 2^52")]
impl Totals {
    /// Inverse document frequency of a word that occurs in this many notes.
    pub(super) fn weight(&self, holding: usize) -> f64 {
        let all = self.notes as f64;
        let holding = holding as f64;
        (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln()
    }

    /// BM25 term: what a word adds to the score of a note.
    pub(super) fn score(&self, weight: f64, inside: u32, long: u32) -> f64 {
        let average = self.words as f64 / self.notes.max(1) as f64;
        let length = 0.25 + 0.75 * f64::from(long) / average.max(1.0);
        weight * f64::from(inside) * 2.2 / (f64::from(inside) + 1.2 * length)
    }
}

/// The best notes, twice as many as wanted, since some may have changed.
pub(super) fn best_notes(scores: &[f64], most: usize) -> Vec<(usize, f64)> {
    let mut found: Vec<_> = scores.iter().copied().enumerate().filter(|(_, score)| *score > 0.0).collect();
    found.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    found.truncate(most.saturating_mul(2));
    found
}

const MOST_LINES: usize = 3;
/// Longest line that is shown, in bytes; longer ones are compared piece by piece.
const LONGEST: usize = 240;

/// At most three lines, in the note's order.
pub(super) fn best_lines(question: &Question, weights: &[f64], text: &str) -> Vec<NoteLine> {
    // The text is redacted as a whole, since a private key has many lines.
    let text = redact(text);
    let mut found: Vec<(f64, usize, &str)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for piece in pieces(line) {
            let score = score(question, weights, piece);
            if score > 0.0 {
                found.push((score, number + 1, piece));
            }
        }
    }
    found.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
    found.truncate(MOST_LINES);
    found.sort_by_key(|(_, number, _)| *number);
    found.into_iter().map(|(_, number, piece)| NoteLine { number, text: clean(piece) }).collect()
}

/// The sum of the weights of the question's words in this piece, each counted once.
fn score(question: &Question, weights: &[f64], piece: &str) -> f64 {
    let mut seen = 0_u128;
    let mut sum = 0.0;
    each_word(piece, |word| {
        if let Some(n) = question.position(word).filter(|n| seen >> n & 1 == 0) {
            seen |= 1 << n;
            sum += weights.get(n).copied().unwrap_or_default();
        }
    });
    sum
}

/// The line, cut between words if it is too long.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let most = cut(rest, LONGEST);
        let long = if most.len() == rest.len() {
            most.len()
        } else {
            most.rfind(' ').filter(|at| *at > 0).unwrap_or(most.len())
        };
        let (piece, behind) = rest.split_at(long);
        rest = behind.trim_start();
        Some(piece)
    })
}

pub(super) fn clean(text: &str) -> String {
    let redacted = redact(text);
    cut(&redacted, LONGEST).chars().map(on_a_line).collect()
}
