//! Fills in `~` and variables once braces are spread, and splits at blanks where the shell would.

use super::scan::Piece;
use super::{ALTERNATIVES, LONGEST};
use crate::command_line::Bit;
use crate::command_line::scope::Scope;

/// The texts these pieces stand for, once braces are gone: `~` and variables filled in, split at blanks.
pub(super) fn settle(pieces: &[Piece], scope: &Scope) -> Vec<Vec<Bit>> {
    // Each alternative is a list of fields; only the last field is still growing.
    let mut alternatives: Vec<Vec<Vec<Bit>>> = vec![vec![Vec::new()]];
    let mut length = 0;
    for (at, piece) in pieces.iter().enumerate() {
        if let Piece::Bit(bit) = piece {
            length += 1;
            for fields in &mut alternatives {
                grow(fields, &[*bit], false);
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
        let split = matches!(piece, Piece::OneOf(_, true));
        length += choices.iter().map(Vec::len).sum::<usize>();
        if alternatives.len() * choices.len() > ALTERNATIVES || length > LONGEST {
            return vec![vec![Bit::Any]];
        }
        if let [only] = choices.as_slice() {
            for fields in &mut alternatives {
                grow(fields, only, split);
            }
            continue;
        }
        let mut next = Vec::with_capacity(alternatives.len() * choices.len());
        for fields in &alternatives {
            for choice in &choices {
                let mut fields = fields.clone();
                grow(&mut fields, choice, split);
                next.push(fields);
            }
        }
        alternatives = next;
    }
    alternatives.into_iter().flatten().collect()
}

fn grow(fields: &mut Vec<Vec<Bit>>, bits: &[Bit], split: bool) {
    for bit in bits {
        if split && matches!(bit, Bit::Char(' ' | '\t' | '\n')) {
            fields.push(Vec::new());
        } else if let Some(last) = fields.last_mut() {
            last.push(*bit);
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
