//! The variables an arithmetic text computes with.
//!
//! The shell evaluates the value of a variable again and again, and an index in it may run a program. So all that is
//! computed with must be a number.

use crate::syntax::tree::Raw;

/// The names in a range of the text; the programs of substitutions are skipped.
pub(super) fn names(raw: &Raw, from: usize, to: usize) -> Vec<String> {
    let bytes = raw.text.as_bytes();
    let name_end = |from: usize| (from..to).find(|&at| !is_name(bytes[at])).unwrap_or(to);
    let mut all = Vec::new();
    let mut at = from;
    while at < to {
        let next = bytes.get(at + 1).filter(|_| at + 1 < to);
        let program = raw.part(at).filter(|(part, end)| part.list.is_some() && *end <= to);
        at = match (bytes[at], next) {
            (b'$', _) if program.is_some() => program.map_or(to, |(_, end)| end),
            (b'$', Some(sign)) if sign.is_ascii_digit() || matches!(sign, b'@' | b'*') => {
                all.push(char::from(*sign).to_string());
                at + 2
            }
            (byte, _) if byte.is_ascii_digit() => {
                let end = name_end(at);
                // `16#ff`
                if end < to && bytes[end] == b'#' { name_end(end + 1) } else { end }
            }
            (byte, _) if is_name(byte) => {
                let end = name_end(at);
                all.push(raw.text[at..end].to_owned());
                end
            }
            _ => at + 1,
        };
    }
    all
}

pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
