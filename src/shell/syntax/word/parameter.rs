//! Reads what a `$` or a backquote begins: variables, substitutions, arithmetic.

use super::Manner;
use super::scan::{Piece, Scan, closing_quote};
use crate::shell::syntax::Bit;

/// No variable: text made from one, which is not its value.
const OTHER: &str = "";

/// Read the expansion that begins at `at`; the place after it.
pub(super) fn dollar(scan: &mut Scan, chars: &[char], at: usize, quoted: bool) -> usize {
    match (chars[at], chars.get(at + 1)) {
        ('`', _) => backquoted(scan, chars, at + 1, quoted),
        (_, Some('(')) => {
            let end = closing(chars, at + 2, '(', ')').unwrap_or(chars.len());
            arithmetic_or_program(scan, &chars[(at + 2).min(end)..end], quoted);
            end + 1
        }
        (_, Some('{')) => {
            let end = closing(chars, at + 2, '{', '}').unwrap_or(chars.len());
            braced(scan, &chars[(at + 2).min(end)..end], quoted);
            end + 1
        }
        (_, Some(c)) if c.is_ascii_alphabetic() || *c == '_' => {
            let end = (at + 1..chars.len()).find(|&i| !is_name(chars[i])).unwrap_or(chars.len());
            variable(scan, &text(&chars[at + 1..end]), quoted);
            end
        }
        (_, Some(c)) if c.is_ascii_digit() || "@*#?-$!".contains(*c) => {
            variable(scan, &c.to_string(), quoted);
            at + 2
        }
        _ => {
            scan.text('$');
            at + 1
        }
    }
}

/// Letters as text, in one piece of memory: this is done for every expansion.
fn text(chars: &[char]) -> String {
    let mut text = String::with_capacity(chars.len());
    text.extend(chars);
    text
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn backquoted(scan: &mut Scan, chars: &[char], from: usize, quoted: bool) -> usize {
    let mut code = String::new();
    let mut at = from;
    while let Some(&c) = chars.get(at) {
        match (c, chars.get(at + 1)) {
            ('`', _) => break,
            ('\\', Some(&next @ ('`' | '$' | '\\'))) => {
                code.push(next);
                at += 1;
            }
            _ => code.push(c),
        }
        at += 1;
    }
    scan.runs.push(code);
    scan.splits |= !quoted;
    scan.pieces.push(Piece::Bit(Bit::Any));
    at + 1
}

fn arithmetic_or_program(scan: &mut Scan, chars: &[char], quoted: bool) {
    if chars.first() == Some(&'(') && closing(chars, 1, '(', ')') == Some(chars.len() - 1) {
        // A sum is no program, though it may run some.
        scan.sum(&chars[1..chars.len() - 1]);
        scan.sums += 1;
    } else {
        scan.runs.push(text(chars));
        scan.splits |= !quoted;
    }
    scan.pieces.push(Piece::Bit(Bit::Any));
}

fn variable(scan: &mut Scan, name: &str, quoted: bool) {
    scan.splits |= !quoted || matches!(name, "@" | "*");
    match scan.scope.value(name) {
        Some(values) if !values.is_empty() => {
            let texts = values.iter().map(|word| word.bits.clone()).collect();
            scan.said = scan.said.take().or_else(|| values.iter().find_map(|word| word.said.clone()));
            scan.named.extend(values.iter().flat_map(|word| word.named.iter().cloned()).take(64));
            scan.filled.push(name.to_owned());
            scan.pieces.push(Piece::OneOf(texts, !quoted));
        }
        _ => {
            scan.unknown.push(name.to_owned());
            scan.pieces.push(Piece::Bit(Bit::Any));
        }
    }
}

/// `${…}`, the inside.
fn braced(scan: &mut Scan, inner: &[char], quoted: bool) {
    let name_end = inner.iter().position(|c| !is_name(*c)).unwrap_or(inner.len());
    let name = text(&inner[..name_end]);
    let rest = &inner[name_end..];
    let Some(&sign) = rest.first() else { return variable(scan, &name, quoted) };
    let colon = usize::from(sign == ':');
    let known = scan.scope.value(&name).is_some_and(|values| !values.is_empty());
    // Of `[@]` each element is a word; `@P` runs what its value says, and so does `${(e)x}` in zsh.
    scan.splits |= !quoted || sign == '[';
    scan.odd |= sign == '(' || rest.ends_with(&['@', 'P']);
    if sign == '#' && name.is_empty() && rest.len() > 1 {
        scan.sums += 1;
        return scan.pieces.push(Piece::Bit(Bit::Any));
    }
    if sign == '[' {
        index(scan, rest);
        return variable(scan, &name, quoted);
    }
    match rest.get(colon) {
        Some(&sign @ ('-' | '=')) if !name.is_empty() => {
            if sign == '=' {
                scan.sets.push(name.clone());
            }
            if known {
                // It may be empty by then.
                scan.inside(rest);
                scan.unknown.push(OTHER.to_owned());
                return variable(scan, &name, quoted);
            }
            scan.unknown.extend([name, OTHER.to_owned()]);
            default(scan, &rest[colon + 1..], quoted);
        }
        Some('+') if !name.is_empty() => {
            scan.unknown.extend([name, OTHER.to_owned()]);
            default(scan, &rest[colon + 1..], quoted);
        }
        _ => {
            // Cut, replaced, indirect: anything, though it may still run programs.
            // `@P` runs what its value says; `${(e)x}` does in zsh.
            if sign == ':' && !rest.starts_with(&[':', '?']) {
                // `${x:from:length}`
                scan.sum(rest);
            } else {
                scan.inside(rest);
            }
            scan.named.extend(scan.scope.value(&name).unwrap_or_default().iter().cloned());
            scan.unknown.extend([name, OTHER.to_owned()]);
            scan.pieces.push(Piece::Bit(Bit::Any));
        }
    }
}

/// `[index]`, and what follows it; `[@]` and `[*]` count nothing.
fn index(scan: &mut Scan, rest: &[char]) {
    let end = closing(rest, 1, '[', ']').unwrap_or(rest.len());
    scan.sum(&rest[1.min(end)..end]);
    scan.inside(&rest[end..]);
}

/// The word of `${x:-word}`: it, or nothing we know.
fn default(scan: &mut Scan, word: &[char], quoted: bool) {
    let mut within = Scan::new(scan.scope);
    within.read(&text(word), if quoted { Manner::Document } else { Manner::Word });
    let bits = within.pieces.iter().map(|piece| match piece {
        Piece::Bit(bit) => vec![*bit],
        Piece::OneOf(texts, _) => texts.first().cloned().unwrap_or_default(),
        Piece::Tilde => scan.scope.home.bits.clone(),
        Piece::Open => vec![Bit::Char('{')],
        Piece::Comma => vec![Bit::Char(',')],
        Piece::Close => vec![Bit::Char('}')],
    });
    let bits: Vec<Bit> = bits.flatten().collect();
    scan.runs.append(&mut within.runs);
    scan.take(within);
    scan.pieces.push(Piece::OneOf(vec![bits, vec![Bit::Any]], false));
}

/// Where a bracket closes, quotes and nested ones skipped.
pub(in crate::shell::syntax) fn closing(
    chars: &[char],
    from: usize,
    open: char,
    close: char,
) -> Option<usize> {
    let (mut at, mut depth) = (from, 0usize);
    while let Some(&c) = chars.get(at) {
        at = match c {
            '\\' => at + 2,
            '\'' => (at + 1..chars.len()).find(|&i| chars[i] == '\'').map_or(chars.len(), |end| end + 1),
            '"' => closing_quote(chars, at + 1) + 1,
            _ if c == close && depth == 0 => return Some(at),
            _ => {
                depth = if c == open { depth + 1 } else { depth - usize::from(c == close) };
                at + 1
            }
        };
    }
    None
}
