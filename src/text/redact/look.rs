//! How a value looks: like a secret, like a placeholder, like code.
//!
//! Reads nothing, writes nothing. Invariant: every answer depends on the value alone.

use super::MARK;

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
