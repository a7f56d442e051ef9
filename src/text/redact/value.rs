//! The value behind a name and its sign: where it begins and ends.
//!
//! Reads nothing, writes nothing. Invariants: both ends are between characters; a bare value is measured only as far as
//! it takes to judge it, so that a long text of near misses costs no more than its length.

use super::FoundSecret;
use super::token;

/// So much of a bare value is judged.
const DECIDING: usize = 256;

/// A value, judged by its beginning.
pub(super) struct Value {
    pub(super) from: usize,
    /// Where it ends, or as far as it was measured.
    to: usize,
    pub(super) quoted: bool,
    ends: fn(u8) -> bool,
}

/// Where the value begins; nothing for `==`, `!=`, `::` and their like.
pub(super) fn behind_sign(bytes: &[u8], at: usize, floor: usize) -> Option<usize> {
    let before = if at == floor { 0 } else { bytes[at - 1] };
    if matches!(before, b'=' | b'!' | b'<' | b'>' | b'+' | b'*' | b'/' | b'|' | b'&' | b'^' | b'~' | b':' | b'?') {
        return None;
    }
    let mut from = at + 1;
    match (bytes[at], bytes.get(from)) {
        (b':', Some(b':')) | (b'=', Some(b'=' | b'~')) => return None,
        (b':', Some(b'=')) | (b'=', Some(b'>')) => from += 1,
        _ => {}
    }
    Some(from + bytes[from..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count())
}

impl Value {
    /// In quotes of some language, or bare.
    pub(super) fn at(bytes: &[u8], from: usize) -> Option<Self> {
        let is_quote = |at: usize| bytes.get(at).is_some_and(|b| matches!(b, b'"' | b'\'' | b'`'));
        match bytes.get(from)? {
            b'"' | b'\'' | b'`' => Some(Self::quoted(bytes, from + 1, false)),
            b'\\' if is_quote(from + 1) => Some(Self::quoted(bytes, from + 2, true)),
            b'b' | b'r' | b'f' | b'u' | b'@' if is_quote(from + 1) => Some(Self::quoted(bytes, from + 2, false)),
            _ => Some(Self::bare(bytes, from, |b| b.is_ascii_whitespace() || b"\"'`,;&|\\)}]".contains(&b))),
        }
    }

    /// Up to a byte that ends it.
    pub(super) fn bare(bytes: &[u8], from: usize, ends: fn(u8) -> bool) -> Self {
        let long = bytes[from..].iter().take(DECIDING).take_while(|b| !ends(**b)).count();
        Self { from, to: from + long, quoted: false, ends }
    }

    /// To the closing quote, the end of the line, or the end of a text that was cut.
    fn quoted(bytes: &[u8], from: usize, escaped: bool) -> Self {
        let quote = bytes[from - 1];
        let mut to = from;
        while let Some(byte) = bytes.get(to) {
            match byte {
                b'\n' => break,
                b'\\' if escaped && bytes.get(to + 1) == Some(&quote) => break,
                b'\\' => to += 1,
                byte if *byte == quote => break,
                _ => {}
            }
            to += 1;
        }
        to = to.min(bytes.len());
        // A backslash before a character of several bytes: to its end, not its middle.
        to += bytes[to..].iter().take_while(|b| **b & 0xc0 == 0x80).count();
        Self { from, to, quoted: true, ends: |_| true }
    }

    pub(super) fn text<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.from..self.to]
    }

    /// All of it, as a secret.
    pub(super) fn found(&self, bytes: &[u8], name: &'static str) -> FoundSecret {
        let to = self.to + bytes[self.to..].iter().take_while(|b| !(self.ends)(**b)).count();
        let known = token::at(bytes, self.from).filter(|token| token.to == to);
        FoundSecret { name: known.map_or(name, |token| token.name), from: self.from, to }
    }

    /// What comes behind it on its line: nothing, or a remark.
    pub(super) fn ends_line(&self, bytes: &[u8]) -> bool {
        let after = bytes[self.to..].iter().find(|b| !matches!(b, b' ' | b'\t' | b'\r'));
        after.is_none_or(|b| matches!(b, b'\n' | b'#'))
    }
}
