//! Spreads `{a,b}` into its alternatives, as the shell does before anything else.

use super::ALTERNATIVES;
use super::scan::Piece;
use crate::syntax::Bit;

/// All alternatives of these pieces; one that is anything when there are too many.
pub(super) fn spread(pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    let mut waiting = vec![pieces];
    let mut done = Vec::new();
    while let Some(pieces) = waiting.pop() {
        if waiting.len() + done.len() >= ALTERNATIVES {
            return vec![vec![Piece::Bit(Bit::Any)]];
        }
        match first_group(&pieces) {
            Some(members) => waiting.extend(members.into_iter().rev()),
            None => done.push(pieces),
        }
    }
    done
}

/// The first complete group replaced by each of its members.
fn first_group(pieces: &[Piece]) -> Option<Vec<Vec<Piece>>> {
    let opens = pieces.iter().enumerate().filter(|(_, piece)| matches!(piece, Piece::Open)).map(|(at, _)| at);
    // Groups that never close are few in real lines; looking at each once more keeps this simple.
    for open in opens.take(ALTERNATIVES) {
        let Some((close, commas)) = extent(pieces, open) else { continue };
        let around = |inner: &[Piece]| [&pieces[..open], inner, &pieces[close + 1..]].concat();
        if commas.is_empty() {
            if is_sequence(&pieces[open + 1..close]) {
                return Some(vec![around(&[Piece::Bit(Bit::Any)])]);
            }
            continue;
        }
        let mut members = Vec::new();
        let mut begin = open + 1;
        for end in commas.into_iter().chain([close]).take(ALTERNATIVES + 1) {
            members.push(around(&pieces[begin..end]));
            begin = end + 1;
        }
        return Some(members);
    }
    None
}

/// Where the group opened here closes, and its own commas.
fn extent(pieces: &[Piece], open: usize) -> Option<(usize, Vec<usize>)> {
    let (mut depth, mut commas) = (0usize, Vec::new());
    for (at, piece) in pieces.iter().enumerate().skip(open) {
        match piece {
            Piece::Open => depth += 1,
            Piece::Comma if depth == 1 => commas.push(at),
            Piece::Close if depth == 1 => return Some((at, commas)),
            Piece::Close => depth -= 1,
            _ => {}
        }
    }
    None
}

fn is_sequence(inner: &[Piece]) -> bool {
    inner.windows(2).any(|pair| pair.iter().all(|piece| matches!(piece, Piece::Bit(Bit::Char('.')))))
}
