//! The lines of a note that answer best.
//!
//! Reads nothing, writes nothing. Invariant: what comes out is short, redacted, and free of control characters.

use super::Line;
use super::rank::Question;
use super::words::each_word;
use crate::text::json::cut;
use crate::text::redact::redact;

const MOST_LINES: usize = 3;
/// Bytes of a line that are shown; longer ones are looked at piece by piece.
const LONGEST: usize = 240;

/// At most three lines, in the note's order.
pub(super) fn best(question: &Question, weights: &[f64], text: &str) -> Vec<Line> {
    // Redacted as a whole: a private key has many lines.
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
    found.into_iter().map(|(_, number, piece)| Line { number, text: clean(piece) }).collect()
}

/// The sum over the different words of the question in it.
fn score(question: &Question, weights: &[f64], piece: &str) -> f64 {
    let (mut seen, mut sum) = (0_u128, 0.0);
    each_word(piece, |word| {
        if let Some(n) = question.position(word).filter(|n| seen >> n & 1 == 0) {
            seen |= 1 << n;
            sum += weights.get(n).copied().unwrap_or_default();
        }
    });
    sum
}

/// A line cut between words where it is too long.
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

/// One line, without control characters.
pub(super) fn clean(text: &str) -> String {
    let redacted = redact(text);
    cut(&redacted, LONGEST).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
