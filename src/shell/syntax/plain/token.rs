//! Cuts plain shell text into words and signs: slices of the text, nothing copied.
//!
//! Invariant: each token is letter by letter what the grammar's own tokenizer makes of the text. Where that one rewrites
//! what it reads (a joined line, blanks in `${…}`), skips it (a comment) or looks ahead (here-documents, arithmetic,
//! extended patterns), there is no answer.

/// One word or sign of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// No sign.
    pub(super) is_word: bool,
    /// Where it begins.
    pub(super) at: usize,
}

/// Signs, longest first. What begins like one of the grammar's others is refused before.
const SIGNS: [&str; 17] =
    ["&>>", "&>", "&&", "&", "||", "|", ";", "\n", "<&", "<>", "<", ">>", ">&", ">|", ">", "(", ")"];

/// Signs of here-documents, `case`, `|&` and arithmetic.
const OTHERS: [&str; 5] = ["<<", ";;", ";&", "|&", "(("];

/// All tokens of a text, or nothing if it is not plain.
pub(super) fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let bytes = text.as_bytes();
    let mut all = Vec::with_capacity(text.len() / 4 + 1);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let begin = at;
        at = match byte {
            b' ' | b'\t' => {
                at += 1;
                continue;
            }
            b'#' => return None,
            _ if ends_word(byte) => at + sign(text.get(at..)?)?,
            _ => word(bytes, at)?,
        };
        let is_word = !ends_word(byte);
        if matches!(byte, b'<' | b'>') && all.last().is_some_and(overflows) {
            return None;
        }
        all.push(Token { text: text.get(begin..at)?, is_word, at: begin });
    }
    Some(all)
}

/// More digits than a descriptor has: the bounds of the grammar refuse such a line.
fn overflows(token: &Token) -> bool {
    token.text.len() > 9 && token.text.bytes().all(|byte| byte.is_ascii_digit())
}

fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'&' | b';' | b'|' | b'<' | b'>' | b'(' | b')')
}

fn sign(rest: &str) -> Option<usize> {
    if OTHERS.iter().any(|other| rest.starts_with(other)) {
        return None;
    }
    SIGNS.iter().find(|sign| rest.starts_with(*sign)).map(|sign| sign.len())
}

/// Where the word that begins here ends.
fn word(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(&byte) = bytes.get(at).filter(|byte| !ends_word(**byte)) {
        at = part(bytes, at, byte)?;
    }
    // `@(…)` and its kin are patterns.
    let pattern = bytes.get(at) == Some(&b'(') && b"@!?+*".contains(&bytes[at - 1]);
    (!pattern).then_some(at)
}

/// The place after one letter, quoted text or expansion of a word.
fn part(bytes: &[u8], at: usize, byte: u8) -> Option<usize> {
    match byte {
        b'\\' => escaped(bytes, at),
        // `$'…'` has escapes of its own, and so has what the tokenizer takes for it.
        b'\'' if at > 0 && bytes[at - 1] == b'$' => None,
        b'\'' => memchr::memchr(b'\'', &bytes[at + 1..]).map(|end| at + end + 2),
        b'"' => double(bytes, at + 1),
        b'$' => dollar(bytes, at),
        b'`' => backquoted(bytes, at + 1),
        _ => Some(at + 1),
    }
}

/// A program between backquotes, from the inside: letter by letter whatever it holds.
fn backquoted(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += match *bytes.get(at)? {
            b'`' => return Some(at + 1),
            b'\\' => 2,
            _ => 1,
        };
    }
}

/// A backslash and the letter behind it; one before a line's end vanishes with it.
fn escaped(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at + 1).filter(|next| **next != b'\n').map(|_| at + 2)
}

fn double(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at = match *bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => escaped(bytes, at)?,
            b'$' => dollar(bytes, at)?,
            b'`' => backquoted(bytes, at + 1)?,
            _ => at + 1,
        };
    }
}

fn dollar(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1) {
        Some(b'(') => substitution(bytes, at + 2),
        Some(b'{') => parameter(bytes, at + 2),
        Some(b'[') => None,
        _ => Some(at + 1),
    }
}

/// `$(…)`, from the inside: a program on one line without brackets of its own.
fn substitution(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at = match *bytes.get(at)? {
            b')' => return Some(at + 1),
            b'(' | b'<' | b'#' | b'\t' | b'\n' => return None,
            byte => part(bytes, at, byte)?,
        };
    }
}

/// `${…}`, from the inside: a name and letters that mean nothing to the tokenizer.
fn parameter(bytes: &[u8], from: usize) -> Option<usize> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_:-=+?#%/.,@*!^~".contains(&byte);
    let length = bytes[from..].iter().position(|byte| !plain(*byte))?;
    (bytes[from + length] == b'}').then_some(from + length + 1)
}
