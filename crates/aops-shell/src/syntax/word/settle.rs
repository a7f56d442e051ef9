//! Fills in `~` and variables once braces are spread, and splits at blanks where the shell would.

use super::scan::Piece;
use super::{ALTERNATIVES, LONGEST};
use crate::syntax::Bit;
use crate::syntax::scope::Scope;

/// One text, and where in it the first variable was filled in.
#[derive(Clone, Debug, Default)]
pub(super) struct Field {
    pub(super) bits: Vec<Bit>,
    pub(super) filled_from: Option<usize>,
}

/// The texts these pieces stand for, once braces are gone: `~` and variables filled in, split at blanks.
pub(super) fn settle(pieces: &[Piece], scope: &Scope) -> Vec<Field> {
    // Each alternative is a list of fields; only the last field is still growing.
    let first = Field { bits: Vec::with_capacity(pieces.len()), filled_from: None };
    let mut alternatives: Vec<Vec<Field>> = vec![vec![first]];
    let mut length = 0;
    for (at, piece) in pieces.iter().enumerate() {
        if let Piece::Bit(bit) = piece {
            length += 1;
            for last in alternatives.iter_mut().filter_map(|fields| fields.last_mut()) {
                last.bits.push(*bit);
            }
            continue;
        }
        let choices: Vec<Vec<Bit>> = match piece {
            Piece::Bit(bit) => vec![vec![*bit]],
            Piece::Open => vec![vec![Bit::Char('{')]],
            Piece::Comma => vec![vec![Bit::Char(',')]],
            Piece::Close => vec![vec![Bit::Char('}')]],
            Piece::Tilde => vec![tilde(pieces, at, scope)],
            Piece::OneOf(texts, _) => texts.clone(),
        };
        let from = Source { filled: matches!(piece, Piece::OneOf(..)), split: matches!(piece, Piece::OneOf(_, true)) };
        length += choices.iter().map(Vec::len).sum::<usize>();
        if alternatives.len() * choices.len() > ALTERNATIVES || length > LONGEST {
            return vec![Field { bits: vec![Bit::Any], filled_from: Some(0) }];
        }
        if let [only] = choices.as_slice() {
            for fields in &mut alternatives {
                grow(fields, only, from);
            }
            continue;
        }
        let mut next = Vec::with_capacity(alternatives.len() * choices.len());
        for fields in &alternatives {
            for choice in &choices {
                let mut fields = fields.clone();
                grow(&mut fields, choice, from);
                next.push(fields);
            }
        }
        alternatives = next;
    }
    alternatives.into_iter().flatten().collect()
}

/// Where bits come from.
#[derive(Clone, Copy)]
struct Source {
    filled: bool,
    split: bool,
}

fn grow(fields: &mut Vec<Field>, bits: &[Bit], from: Source) {
    if let Some(last) = fields.last_mut().filter(|last| from.filled && last.filled_from.is_none()) {
        last.filled_from = Some(last.bits.len());
    }
    for bit in bits {
        if from.split && matches!(bit, Bit::Char(' ' | '\t' | '\n')) {
            fields.push(Field { bits: Vec::new(), filled_from: Some(0) });
        } else if let Some(last) = fields.last_mut() {
            last.bits.push(*bit);
        }
    }
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
