//! Spreads `{a,b}` into its alternatives, as the shell does first; then fills in `~` and variables, and splits at blanks.

use super::scan::Piece;
use super::{ALTERNATIVES, LONGEST};
use crate::syntax::scope::Scope;
use crate::syntax::{Bit, Word};

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
    let opens = pieces.iter().enumerate().filter(|(_, piece)| matches!(piece, Piece::Sign('{'))).map(|(at, _)| at);
    // Groups that never close are few in real lines; looking at each once more keeps this simple.
    opens.take(ALTERNATIVES).find_map(|open| {
        let bounds = extent(pieces, open)?;
        let close = bounds[bounds.len() - 1];
        let around = |inner: &[Piece]| [&pieces[..open], inner, &pieces[close + 1..]].concat();
        if bounds.len() == 2 {
            return is_sequence(&pieces[open + 1..close]).then(|| vec![around(&[Piece::Bit(Bit::Any)])]);
        }
        let members = bounds.windows(2).take(ALTERNATIVES + 1);
        Some(members.map(|pair| around(&pieces[pair[0] + 1..pair[1]])).collect())
    })
}

/// The group opened here: its brace, its own commas, and the brace that closes it.
fn extent(pieces: &[Piece], open: usize) -> Option<Vec<usize>> {
    let (mut depth, mut bounds) = (0usize, Vec::new());
    for (at, piece) in pieces.iter().enumerate().skip(open) {
        depth += usize::from(*piece == Piece::Sign('{'));
        if depth == 1 && matches!(piece, Piece::Sign(_)) {
            bounds.push(at);
        }
        if *piece == Piece::Sign('}') {
            depth -= 1;
            if depth == 0 {
                return Some(bounds);
            }
        }
    }
    None
}

fn is_sequence(inner: &[Piece]) -> bool {
    inner.windows(2).any(|pair| pair.iter().all(|piece| matches!(piece, Piece::Bit(Bit::Char('.')))))
}

/// The words these pieces become, with where the first variable was filled in.
pub(super) fn fields(pieces: &[Piece], scope: &Scope) -> Vec<Word> {
    // Each alternative is a list of words; only the last one is still growing.
    let mut alternatives = vec![vec![Word { bits: Vec::with_capacity(pieces.len()), ..Word::default() }]];
    let mut length = 0;
    for (at, piece) in pieces.iter().enumerate() {
        let (choices, filled, splits) = match piece {
            Piece::Bit(bit) => {
                length += 1;
                alternatives.iter_mut().filter_map(|words| words.last_mut()).for_each(|last| last.bits.push(*bit));
                continue;
            }
            Piece::Sign(c) => (vec![vec![Bit::Char(*c)]], false, false),
            Piece::Tilde => (vec![tilde(pieces, at, scope)], false, false),
            Piece::OneOf(texts, splits) => (texts.clone(), true, *splits),
        };
        length += choices.iter().map(Vec::len).sum::<usize>();
        if alternatives.len() * choices.len() > ALTERNATIVES || length > LONGEST {
            return vec![Word { shifts: Some(0), ..Word::any() }];
        }
        let grown = |words| {
            let copies = std::iter::repeat_n(words, choices.len()).zip(&choices);
            copies.map(|(words, choice)| grow(words, choice, filled, splits))
        };
        alternatives = alternatives.into_iter().flat_map(grown).collect();
    }
    alternatives.into_iter().flatten().collect()
}

fn grow(mut words: Vec<Word>, bits: &[Bit], filled: bool, splits: bool) -> Vec<Word> {
    if let Some(last) = words.last_mut().filter(|_| filled) {
        last.shifts = last.shifts.or(Some(last.bits.len()));
    }
    for bit in bits {
        if splits && matches!(bit, Bit::Char(' ' | '\t' | '\n')) {
            words.push(Word { shifts: Some(0), ..Word::default() });
        } else if let Some(last) = words.last_mut() {
            last.bits.push(*bit);
        }
    }
    words
}

/// A `~` where the shell expands it; elsewhere the character.
fn tilde(pieces: &[Piece], at: usize, scope: &Scope) -> Vec<Bit> {
    let before = at.checked_sub(1).map(|i| &pieces[i]);
    let begins = matches!(before, None | Some(Piece::Bit(Bit::Char('=' | ':'))));
    if !begins {
        return vec![Bit::Char('~')];
    }
    match pieces.get(at + 1) {
        None | Some(Piece::Bit(Bit::Char('/' | ':'))) => scope.home.bits.clone(),
        // `~+` and `~name`: the latter may be our own user.
        _ => vec![Bit::Any],
    }
}
