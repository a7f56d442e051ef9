//! What names and values look like: names that promise a secret (`DB_PASSWORD`, `clientSecret`, `x-api-key`),
//! values that look like a secret, like a placeholder or like code.
//!
//! Invariants: a name is searched backwards and never beyond `floor`, where the last secret ended, since
//! removed text no longer counts; every answer about a value depends only on the value.

use super::MARK;
use NameKind::{Authorization, Cookie, Password, Secret};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameKind {
    /// Chosen by people, so any word may be one.
    Password,
    /// Made by machines: longer, with digits.
    Secret,
    /// An HTTP header: scheme, then credential.
    Authorization,
    Cookie,
}

/// Endings of names, without `_` and `-`.
#[rustfmt::skip]
static NAMES: [(&str, NameKind); 49] = [
    ("password", Password), ("passwd", Password), ("passphrase", Password), ("pwd", Password), ("pass", Password),
    ("pw", Password), ("secret", Secret), ("token", Secret), ("apikey", Secret), ("accesskey", Secret),
    ("secretkey", Secret), ("privatekey", Secret), ("accountkey", Secret), ("signingkey", Secret),
    ("encryptionkey", Secret), ("masterkey", Secret), ("authkey", Secret), ("sharedkey", Secret),
    ("credential", Secret), ("credentials", Secret), ("sessionid", Secret), ("keydata", Secret),
    ("signature", Secret), ("sig", Secret), ("authorization", Authorization), ("cookie", Cookie),
    ("pat", Secret), ("applicationkey", Secret), ("appkey", Secret), ("licensekey", Secret), ("subscriptionkey", Secret),
    ("functionskey", Secret), ("consumerkey", Secret), ("hmackey", Secret), ("jwtkey", Secret), ("passkey", Secret),
    ("storagekey", Secret), ("deploykey", Secret), ("adminkey", Secret), ("servicekey", Secret), ("rolekey", Secret),
    ("secretkeybase", Secret), ("passcode", Password), ("writekey", Secret), ("sendkey", Secret), ("integrationkey", Secret),
    ("routingkey", Secret), ("sasstring", Secret), ("presharedkey", Secret),
];

/// The last two letters of each of `NAMES`, a quick test that most names in a program fail.
#[rustfmt::skip]
fn may_promise(name: &[u8]) -> bool {
    let [.., one, last] = name else { return false };
    matches!(&[one | 0x20, last | 0x20], b"rd" | b"wd" | b"se" | b"ss" | b"et" | b"en" | b"ey" | b"al" | b"ls"
        | b"id" | b"on" | b"ie" | b"ta" | b"re" | b"ig" | b"pw" | b"at" | b"de" | b"ng")
}

/// What a name promises. `PWD` and `bypass` promise nothing.
pub(super) fn promise(name: &[u8]) -> Option<NameKind> {
    let mut letters = name.iter().rev().filter(|b| !matches!(b, b'_' | b'-'));
    let (Some(last), Some(one)) = (letters.next(), letters.next()) else { return None };
    if !may_promise(&[*one, *last]) {
        return None;
    }
    NAMES.iter().find(|(word, kind)| ends(name, word, *kind)).map(|(_, kind)| *kind)
}

impl NameKind {
    /// The kind of a secret about which nothing else is known.
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
        // Too short to be merely the end of a name.
        "sig" | "pw" => name.len() == word.len(),
        "pat" => name.len() == 3 || matches!(name[name.len() - 4], b'_' | b'-'),
        "pass" => !name[..name.len() - 4].last().is_some_and(u8::is_ascii_alphabetic),
        "pwd" => !name.ends_with(b"PWD") || name.len() > 6,
        _ if kind == Cookie => {
            let name = &name[name.iter().take_while(|b| **b == b'-').count()..];
            name.eq_ignore_ascii_case(b"cookie") || name.eq_ignore_ascii_case(b"set-cookie")
        }
        _ => true,
    }
}

/// The name before a sign, without quotes.
pub(super) struct Name {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: NameKind,
}

const LONGEST_NAME: usize = 64;

/// A session ID: a login in a web application, and only a number elsewhere.
pub(super) fn is_session(name: &[u8]) -> bool {
    ends(name, "sessionid", Secret)
}

/// `00000000-0000-4000-8000-000000000000`
pub(super) fn is_uuid(value: &[u8]) -> bool {
    let fits =
        |(n, b): (usize, &u8)| if matches!(n, 8 | 13 | 18 | 23) { *b == b'-' } else { b.is_ascii_hexdigit() };
    value.len() == 36 && value.iter().enumerate().all(fits)
}

impl Name {
    pub(super) fn is_session(&self, bytes: &[u8]) -> bool {
        is_session(&bytes[self.from..self.to])
    }

    pub(super) fn before(bytes: &[u8], at: usize, floor: usize) -> Option<Self> {
        let text = &bytes[floor..at];
        let mut to = text.len() - text.iter().rev().take_while(|b| matches!(b, b' ' | b'\t')).count();
        if to > 0 && matches!(text[to - 1], b'"' | b'\'' | b'`') {
            to -= 1;
            to -= usize::from(to > 0 && text[to - 1] == b'\\');
        }
        let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        // Most signs do not follow such a name, which its last letters show.
        if !may_promise(&text[..to]) {
            return None;
        }
        let long = text[..to].iter().rev().take(LONGEST_NAME).take_while(|b| part(b)).count();
        // `PWD` is a shell's working directory, except as a part of a connection string.
        let connects = || text[..to].ends_with(b";PWD").then_some(Password);
        let kind = promise(&text[to - long..to]).or_else(connects)?;
        Some(Self { from: floor + to - long, to: floor + to, kind })
    }

    /// Only blanks, a list's dash or `export` precede it on its line.
    pub(super) fn begins_line(&self, bytes: &[u8], floor: usize) -> bool {
        let blank = |text: &[u8]| text.iter().rev().take_while(|b| matches!(b, b' ' | b'\t')).count();
        let text = &bytes[floor..self.from];
        let text = text.strip_suffix(b"export ").unwrap_or(text);
        let text = &text[..text.len() - blank(text)];
        let text = text.strip_suffix(b"-").unwrap_or(text);
        let text = &text[..text.len() - blank(text)];
        // Skip a line number, as tools print it; then a diff's sign.
        let text = text.strip_suffix("→".as_bytes()).map_or(text, |text| {
            let digits = text.iter().rev().take_while(|b| b.is_ascii_digit()).count();
            &text[..text.len() - digits - blank(&text[..text.len() - digits])]
        });
        let text = text.strip_suffix(b"+").or_else(|| text.strip_suffix(b"-")).unwrap_or(text);
        // One string may be nested in another.
        text.last().map_or(floor == 0, |b| matches!(b, b'\n' | b'"')) || text.ends_with(b"\\n")
    }
}

/// What people write in place of a secret.
const PLACEHOLDERS: [&str; 36] = [
    "null", "none", "nil", "true", "false", "undefined", "string", "str", "text", "bytes", "required",
    "optional", "password", "passwd", "secret", "token", "hidden", "example", "placeholder", "redacted",
    "default", "empty", "unset", "bearer", "basic", "secretstr", "option", "apikey", "api_key", "api-key",
    "csrf", "number", "boolean", "value", "todo", "test",
];

/// A placeholder for a secret.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let begins = |begin: &str| {
        value.get(..begin.len()).is_some_and(|start| start.eq_ignore_ascii_case(begin.as_bytes()))
    };
    is_reference(value)
        || ["your_", "your-", "xxxx"].into_iter().any(begins)
        || PLACEHOLDERS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
        || is_made_up(value)
}

/// Words in values that people make up, and words that may accompany them.
const MADE_UP: [&str; 13] = [
    "test", "testing", "example", "dummy", "fake", "sample", "mock", "placeholder", "changeme", "changeit",
    "foo", "foobar", "your",
];
const BESIDE: [&str; 14] = [
    "my", "bar", "baz", "token", "key", "api", "secret", "password", "pass", "string", "value", "here",
    "user", "db",
];

/// Invented for tests and manuals: `test1234`, `example-key`, `changeme`, `your_api_key_1`.
fn is_made_up(value: &[u8]) -> bool {
    let is =
        |word: &&[u8], list: &[&str]| list.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    let words = || value.split(|b| !b.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    let plain = value.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b' '));
    plain
        && words().any(|word| is(&word, &MADE_UP))
        && words().all(|word| is(&word, &MADE_UP) || is(&word, &BESIDE))
}

/// Refers to something elsewhere (`${X}`, `<x>`, `%s`), or repeats a single sign.
pub(super) fn is_reference(value: &[u8]) -> bool {
    let Some((first, rest)) = value.split_first() else { return true };
    let opens = |open: &&[u8]| value.starts_with(open);
    let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'%');
    rest.iter().all(|b| b == first)
        || [&b"${"[..], b"$(", b"{", b"#{", b"%(", b"%{", b"<"].iter().any(opens)
        || (matches!(first, b'$' | b'%') && rest.iter().all(word))
        || holds_mark(value)
}

/// Something was already removed from it.
pub(super) fn holds_mark(value: &[u8]) -> bool {
    value.windows(MARK.len()).any(|part| part == MARK.as_bytes())
}

/// Part of a program rather than a value: calls, paths of names, types.
pub(super) fn is_code(value: &[u8]) -> bool {
    let odd = |b: &u8| matches!(b, b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b'`');
    let first = value.first().copied().unwrap_or_default();
    value.iter().any(odd)
        || matches!(first, b'$' | b'%' | b'*' | b'&' | b'@' | b'!' | b'|' | b'#' | b'?')
        || value.windows(2).any(|two| two == b"::" || two == b"->" || two == b"?.")
        || value.starts_with(b"self.")
        || value.starts_with(b"this.")
}

/// A path or a URL; a file may contain a secret, but its name does not.
pub(super) fn is_path(value: &[u8]) -> bool {
    matches!(value.first(), Some(b'/' | b'~' | b'.')) || value.windows(3).any(|three| three == b"://")
}

pub(super) fn has_digit(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit)
}

pub(super) fn is_mixed(value: &[u8]) -> bool {
    has_digit(value) && value.iter().any(u8::is_ascii_alphabetic)
}

/// Contains a character that no name in a program contains.
pub(super) fn has_sign(value: &[u8]) -> bool {
    value.iter().any(|b| b.is_ascii_punctuation() && !matches!(b, b'_' | b'.' | b'-' | b':' | b',' | b'/'))
}

/// Letters and digits alternate often, as in keys but hardly ever in names: `sha256_of_v2` has three changes.
pub(super) fn is_random(value: &[u8]) -> bool {
    let kinds = value.iter().filter(|b| b.is_ascii_alphanumeric()).map(u8::is_ascii_digit);
    kinds.clone().zip(kinds.skip(1)).filter(|(one, next)| one != next).count() > 3
}

/// Long, with digits, small and capital letters: names like that are rarely alone on a line.
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
