//! How names and values look: names that promise a secret (`DB_PASSWORD`, `clientSecret`, `x-api-key`), values that look
//! like one, like a placeholder or like code.
//!
//! Invariants: a name is looked for backwards and never beyond `floor`, where the last secret ended: what was taken out no
//! longer counts; every answer about a value depends on the value alone.

use super::MARK;
use NameKind::{Authorization, Cookie, Password, Secret};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameKind {
    /// Chosen by people: any word may be one.
    Password,
    /// Made by machines: longer, with digits.
    Secret,
    /// An HTTP header: scheme, then credential.
    Authorization,
    Cookie,
}

/// How names end, `_` and `-` left out.
#[rustfmt::skip]
const NAMES: [(&str, NameKind); 26] = [
    ("password", Password), ("passwd", Password), ("passphrase", Password), ("pwd", Password), ("pass", Password),
    ("pw", Password), ("secret", Secret), ("token", Secret), ("apikey", Secret), ("accesskey", Secret),
    ("secretkey", Secret), ("privatekey", Secret), ("accountkey", Secret), ("signingkey", Secret),
    ("encryptionkey", Secret), ("masterkey", Secret), ("authkey", Secret), ("sharedkey", Secret),
    ("credential", Secret), ("credentials", Secret), ("sessionid", Secret), ("keydata", Secret),
    ("signature", Secret), ("sig", Secret), ("authorization", Authorization), ("cookie", Cookie),
];

/// The two letters that each of `NAMES` ends in; most names of a program fail here.
#[rustfmt::skip]
fn may_promise(name: &[u8]) -> bool {
    let [.., one, last] = name else { return false };
    matches!(&[one | 0x20, last | 0x20], b"rd" | b"wd" | b"se" | b"ss" | b"et" | b"en" | b"ey" | b"al" | b"ls"
        | b"id" | b"on" | b"ie" | b"ta" | b"re" | b"ig" | b"pw")
}

/// What a name promises. `PWD` and `bypass` promise nothing.
pub(super) fn promise(name: &[u8]) -> Option<NameKind> {
    NAMES.into_iter().find(|(word, kind)| ends(name, word, *kind)).map(|(_, kind)| kind)
}

impl NameKind {
    /// What to call a secret of which nothing else is known.
    pub(super) fn name(self) -> &'static str {
        match self {
            Password => "password",
            Secret => "secret",
            Authorization => "authorization",
            Cookie => "cookie",
        }
    }
}

fn ends(name: &[u8], word: &str, kind: NameKind) -> bool {
    let mut letters = name.iter().rev().filter(|b| !matches!(b, b'_' | b'-'));
    if !word.bytes().rev().all(|letter| letters.next().is_some_and(|b| b.to_ascii_lowercase() == letter)) {
        return false;
    }
    match word {
        // Too short to be the end of a name.
        "sig" | "pw" => name.len() == word.len(),
        "pass" => !name[..name.len() - 4].last().is_some_and(u8::is_ascii_alphabetic),
        "pwd" => !name.ends_with(b"PWD") || name.len() > 6,
        _ => kind != Cookie || name.eq_ignore_ascii_case(b"cookie") || name.eq_ignore_ascii_case(b"set-cookie"),
    }
}

/// The name before a sign, quotes left out.
pub(super) struct Name {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: NameKind,
}

const LONGEST_NAME: usize = 64;

impl Name {
    pub(super) fn before(bytes: &[u8], at: usize, floor: usize) -> Option<Self> {
        let text = &bytes[floor..at];
        let mut to = text.len() - text.iter().rev().take_while(|b| matches!(b, b' ' | b'\t')).count();
        if to > 0 && matches!(text[to - 1], b'"' | b'\'' | b'`') {
            to -= 1;
            to -= usize::from(to > 0 && text[to - 1] == b'\\');
        }
        let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        // Most signs follow no such name: its last letters say so.
        if !may_promise(&text[..to]) {
            return None;
        }
        let long = text[..to].iter().rev().take(LONGEST_NAME).take_while(|b| part(b)).count();
        let kind = promise(&text[to - long..to])?;
        Some(Self { from: floor + to - long, to: floor + to, kind })
    }

    /// Only blanks, a list's dash or `export` stand before it on its line.
    pub(super) fn begins_line(&self, bytes: &[u8], floor: usize) -> bool {
        let blank = |text: &[u8]| text.iter().rev().take_while(|b| matches!(b, b' ' | b'\t')).count();
        let text = &bytes[floor..self.from];
        let text = text.strip_suffix(b"export ").unwrap_or(text);
        let text = &text[..text.len() - blank(text)];
        let text = text.strip_suffix(b"-").unwrap_or(text);
        let text = &text[..text.len() - blank(text)];
        text.last().map_or(floor == 0, |b| *b == b'\n')
    }
}

/// What people write where a secret would stand.
#[rustfmt::skip]
const PLACEHOLDERS: [&str; 36] = [
    "null", "none", "nil", "true", "false", "undefined", "string", "str", "text", "bytes", "required",
    "optional", "password", "passwd", "secret", "token", "hidden", "example", "placeholder", "redacted",
    "default", "empty", "unset", "bearer", "basic", "secretstr", "option", "apikey", "api_key", "api-key",
    "csrf", "number", "boolean", "value", "todo", "test",
];

/// Stands for a secret and is none.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let begins =
        |begin: &str| value.get(..begin.len()).is_some_and(|start| start.eq_ignore_ascii_case(begin.as_bytes()));
    is_reference(value)
        || ["your_", "your-", "xxxx"].into_iter().any(begins)
        || PLACEHOLDERS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

/// Names what is somewhere else (`${X}`, `<x>`, `%s`), or is one sign over and over.
pub(super) fn is_reference(value: &[u8]) -> bool {
    let Some((first, rest)) = value.split_first() else { return true };
    let opens = |open: &&[u8]| value.starts_with(open);
    let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'%');
    rest.iter().all(|b| b == first)
        || [&b"${"[..], b"$(", b"{", b"#{", b"%(", b"%{", b"<"].iter().any(opens)
        || (matches!(first, b'$' | b'%') && rest.iter().all(word))
        || holds_mark(value)
}

/// Something was taken out of it already.
pub(super) fn holds_mark(value: &[u8]) -> bool {
    value.windows(MARK.len()).any(|part| part == MARK.as_bytes())
}

/// A piece of a program rather than a value: calls, paths of names, types.
pub(super) fn is_code(value: &[u8]) -> bool {
    let odd = |b: &u8| matches!(b, b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b'`');
    let first = value.first().copied().unwrap_or_default();
    value.iter().any(odd)
        || matches!(first, b'$' | b'%' | b'*' | b'&' | b'@' | b'!' | b'|' | b'#' | b'?')
        || value.windows(2).any(|two| two == b"::" || two == b"->" || two == b"?.")
        || value.starts_with(b"self.")
        || value.starts_with(b"this.")
}

/// A place in a file system or on the net; a file may hold a secret, its name does not.
pub(super) fn is_path(value: &[u8]) -> bool {
    matches!(value.first(), Some(b'/' | b'~' | b'.')) || value.windows(3).any(|three| three == b"://")
}

pub(super) fn has_digit(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit)
}

pub(super) fn is_mixed(value: &[u8]) -> bool {
    has_digit(value) && value.iter().any(u8::is_ascii_alphabetic)
}

/// Holds something that no name in a program holds.
pub(super) fn has_sign(value: &[u8]) -> bool {
    value.iter().any(|b| b.is_ascii_punctuation() && !matches!(b, b'_' | b'.' | b'-' | b':' | b',' | b'/'))
}

/// Letters and digits change places often, as they do in keys and hardly ever in names: `sha256_of_v2` has three.
pub(super) fn is_random(value: &[u8]) -> bool {
    let kinds = value.iter().filter(|b| b.is_ascii_alphanumeric()).map(u8::is_ascii_digit);
    kinds.clone().zip(kinds.skip(1)).filter(|(one, next)| one != next).count() > 3
}

/// Long, with digits, small and capital letters: a name of that kind is rare alone on a line.
pub(super) fn is_varied(value: &[u8]) -> bool {
    let some = |is: fn(&u8) -> bool| value.iter().any(is);
    value.len() >= 24 && has_digit(value) && some(u8::is_ascii_lowercase) && some(u8::is_ascii_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_passes_the_short_look() {
        for (word, _) in NAMES {
            assert!(may_promise(word.as_bytes()), "{word}");
        }
    }
}
