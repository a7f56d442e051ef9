//! Secrets recognised by the name to which they are assigned: `password=…`, `"token": "…"`, `Authorization:
//! …`, `--api-key …`.
//!
//! A quoted value is easily accepted; a bare value must look like a secret, and how much depends on whether
//! the line is configuration or a program. Invariants: a value that already contains a redaction is left
//! alone; a bare value is measured only as far as needed to judge it, so that a long text of near misses
//! costs no more than its length.

use super::look::NameKind::{self, Authorization, Cookie, Password, Secret};
use super::look::{
    Name, has_digit, has_sign, is_code, is_mixed, is_path, is_placeholder, is_random, is_session, is_uuid,
    is_varied, promise,
};
use super::{FoundSecret, credential, token};

/// How much of a bare value is judged.
const DECIDING: usize = 256;

/// A value, judged by its beginning.
pub(super) struct Value {
    from: usize,
    /// Where it ends, or how far it was measured.
    to: usize,
    quoted: bool,
    ends: fn(u8) -> bool,
}

/// Where the value begins; `None` for `==`, `!=`, `::` and the like.
fn behind_sign(bytes: &[u8], at: usize, floor: usize) -> Option<usize> {
    let before = if at == floor { 0 } else { bytes[at - 1] };
    if matches!(
        before,
        b'=' | b'!' | b'<' | b'>' | b'+' | b'*' | b'/' | b'|' | b'&' | b'^' | b'~' | b':' | b'?'
    ) {
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
    pub(super) fn at(bytes: &[u8], from: usize) -> Option<Self> {
        let is_quote = |at: usize| bytes.get(at).is_some_and(|b| matches!(b, b'"' | b'\'' | b'`'));
        match bytes.get(from)? {
            b'"' | b'\'' | b'`' => Some(Self::quoted(bytes, from + 1, false)),
            b'\\' if is_quote(from + 1) => Some(Self::quoted(bytes, from + 2, true)),
            b'b' | b'r' | b'f' | b'u' | b'@' if is_quote(from + 1) => {
                Some(Self::quoted(bytes, from + 2, false))
            }
            _ => Some(Self::bare(bytes, from, |b| b.is_ascii_whitespace() || b"\"'`,;&|\\)}]".contains(&b))),
        }
    }

    /// Up to a byte that ends it.
    fn bare(bytes: &[u8], from: usize, ends: fn(u8) -> bool) -> Self {
        let long = bytes[from..].iter().take(DECIDING).take_while(|b| !ends(**b)).count();
        Self { from, to: from + long, quoted: false, ends }
    }

    /// Up to the closing quote, the end of the line, or the end of a string that was cut.
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
        // A backslash before a character of several bytes: go to the character's end, not its middle.
        to += bytes[to..].iter().take_while(|b| **b & 0xc0 == 0x80).count();
        Self { from, to, quoted: true, ends: |_| true }
    }

    pub(super) fn text<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.from..self.to]
    }

    pub(super) fn found(&self, bytes: &[u8], name: &'static str) -> FoundSecret {
        let to = self.to + bytes[self.to..].iter().take_while(|b| !(self.ends)(**b)).count();
        let known = token::at(bytes, self.from).filter(|token| token.to == to);
        FoundSecret { name: known.map_or(name, |token| token.name), from: self.from, to }
    }

    /// Nothing but a comment follows it on its line.
    fn ends_line(&self, bytes: &[u8]) -> bool {
        let after = bytes[self.to..].iter().find(|b| !matches!(b, b' ' | b'\t' | b'\r'));
        after.is_none_or(|b| matches!(b, b'\n' | b'#')) || bytes[self.to..].starts_with(b"\\n")
    }
}

/// Whether the whole `value` is secret with this name, and its kind.
pub(super) fn under(name: &str, value: &str) -> Option<&'static str> {
    let kind = promise(name.as_bytes()).filter(|kind| matches!(kind, Password | Secret))?;
    let is_id = is_session(name.as_bytes()) && is_uuid(value.as_bytes());
    (!is_id && in_quotes(kind, value.as_bytes())).then(|| {
        let whole = token::at(value.as_bytes(), 0).filter(|found| found.to == value.len());
        whole.map_or(kind.name(), |found| found.name)
    })
}

/// At a `:` or `=`: whether a secret is assigned to the name before it.
pub(super) fn at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let name = Name::before(bytes, at, floor)?;
    let from = behind_sign(bytes, at, floor)?;
    match name.kind {
        Authorization => authorization(bytes, from),
        Cookie => cookie(bytes, from),
        kind => {
            let value = Value::at(bytes, from)?;
            let is_session = name.is_session(bytes) && is_uuid(value.text(bytes));
            let secret = !is_session
                && if value.quoted {
                    in_quotes(kind, value.text(bytes))
                } else {
                    bare(kind, value.text(bytes), &Around::of(bytes, &name, &value, at, floor))
                };
            secret.then(|| value.found(bytes, kind.name()))
        }
    }
}

/// At the last `_` of a quoted name: `define('DB_PASSWORD', 'X')`.
pub(super) fn pair_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let rest = &bytes[at + 1..];
    let long = rest.iter().take(32).take_while(|b| b.is_ascii_alphanumeric()).count();
    let end = at + 1 + long;
    let quote = bytes.get(end).filter(|b| matches!(b, b'"' | b'\''))?;
    if bytes.get(end + 1) != Some(&b',') {
        return None;
    }
    let from = end + 2 + bytes[end + 2..].iter().take_while(|b| **b == b' ').count();
    let name = Name::before(bytes, end, floor).filter(|name| matches!(name.kind, Password | Secret))?;
    let value = Value::at(bytes, from).filter(|_| bytes.get(from) == Some(quote))?;
    in_quotes(name.kind, value.text(bytes)).then(|| value.found(bytes, name.kind.name()))
}

/// At `--`: a flag with its value after a blank.
pub(super) fn flag_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let apart = |b: u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'');
    let rest = bytes[at..].strip_prefix(b"--")?;
    if !(at == 0 || at > floor && apart(bytes[at - 1])) {
        return None;
    }
    let long =
        rest.iter().take(64).take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')).count();
    let kind = promise(&rest[..long]).filter(|kind| matches!(kind, Password | Secret))?;
    let value = rest[long..].starts_with(b" ").then(|| Value::at(bytes, at + 3 + long))??;
    let text = value.text(bytes);
    let bare = !value.quoted;
    let prose = bare && !(has_digit(text) || has_sign(text));
    let other = bare && (is_code(text) || text.starts_with(b"-"));
    (!prose && !other && in_quotes(kind, text)).then(|| value.found(bytes, kind.name()))
}

pub(super) fn least(kind: NameKind) -> usize {
    if kind == Password { 4 } else { 8 }
}

pub(super) fn in_quotes(kind: NameKind, value: &[u8]) -> bool {
    let fits = kind == Password || (is_mixed(value) && !is_path(value));
    value.len() >= least(kind) && fits && !value.iter().any(u8::is_ascii_whitespace) && !is_placeholder(value)
}

/// The context of a bare value.
struct Around {
    /// `NAME=value`, `--name=value`, `?name=value`: not program text.
    shell: bool,
    /// The line contains only name and value.
    alone: bool,
    /// `=` without blanks around it.
    tight: bool,
}

impl Around {
    fn of(bytes: &[u8], name: &Name, value: &Value, sign: usize, floor: usize) -> Self {
        let text = &bytes[name.from..name.to];
        let tight = bytes[sign] == b'=' && sign == name.to && value.from == sign + 1;
        let asked = name.from > floor && matches!(bytes[name.from - 1], b'?' | b'&');
        let capital = !text.iter().any(u8::is_ascii_lowercase);
        Self {
            shell: tight && (capital || asked || text.starts_with(b"-")),
            alone: name.begins_line(bytes, floor) && value.ends_line(bytes),
            tight,
        }
    }
}

fn bare(kind: NameKind, value: &[u8], around: &Around) -> bool {
    if value.len() < least(kind) || is_placeholder(value) || is_code(value) || is_path(value) {
        return false;
    }
    match kind {
        _ if around.shell => true,
        Password if around.tight && around.alone => true,
        Password if around.alone => value.len() >= 6 && (has_digit(value) || has_sign(value)),
        Password if around.tight => value.len() >= 6 && is_mixed(value),
        Secret if around.alone => {
            is_mixed(value) && (is_random(value) || has_sign(value) || is_varied(value))
        }
        _ => value.len() >= 12 && is_random(value),
    }
}

/// `Authorization: Bearer x`: the scheme stays.
fn authorization(bytes: &[u8], from: usize) -> Option<FoundSecret> {
    let from = from + usize::from(matches!(bytes.get(from), Some(b'"' | b'\'')));
    let other = || other_scheme(bytes, from).map(|long| ("other ", "authorization", from + long));
    let (scheme, name, from) =
        credential::scheme(bytes, from).or_else(other).unwrap_or(("", "authorization", from));
    let value = Value::bare(bytes, from, |b| b.is_ascii_whitespace() || b"\"'`,;)\\".contains(&b));
    let text = value.text(bytes);
    let fits = match scheme {
        "" => text.len() >= 12 && is_mixed(text),
        "other " => text.len() >= 6,
        _ => text.len() >= 4,
    };
    (fits && !is_placeholder(text) && !is_code(text)).then(|| value.found(bytes, name))
}

/// `Cookie: a=b; c=d`: the whole value.
fn cookie(bytes: &[u8], from: usize) -> Option<FoundSecret> {
    let from = from + usize::from(matches!(bytes.get(from), Some(b'"' | b'\'')));
    let value = Value::bare(bytes, from, |b| b"\"'`\\\n\r".contains(&b));
    let text = value.text(bytes);
    let first = text.split(|b| *b == b';').next().unwrap_or_default();
    if !text.split(|b| *b == b';').any(is_login_cookie) {
        return None;
    }
    let pair = first.iter().position(|b| *b == b'=').is_some_and(|at| at > 0 && at + 4 < first.len());
    let one = !first.iter().any(u8::is_ascii_whitespace);
    (pair && one && !is_placeholder(text) && !is_code(first)).then(|| value.found(bytes, "cookie"))
}

/// Schemes of `Authorization`, in addition to the two that are recognised anywhere: Okta, GitHub, Discord and
/// others.
const SCHEMES: [&[u8]; 12] = [
    b"token", b"SSWS", b"ApiKey", b"Api-Key", b"Key", b"Bot", b"Splunk", b"GenieKey", b"Digest",
    b"Negotiate", b"NTLM", b"OAuth",
];

/// Length of the scheme here, including its blank.
fn other_scheme(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = &bytes[from..];
    let is = |scheme: &&[u8]| {
        rest.len() > scheme.len()
            && rest[..scheme.len()].eq_ignore_ascii_case(scheme)
            && rest[scheme.len()] == b' '
    };
    SCHEMES.iter().find(|scheme| is(scheme)).map(|scheme| scheme.len() + 1)
}

/// Parts of a cookie's name that suggest a login.
const TELLING: [&[u8]; 13] = [
    b"sess", b"sid", b"auth", b"token", b"csrf", b"xsrf", b"jwt", b"login", b"secret", b"remember", b"key",
    b"user", b"cf_",
];

/// A cookie that is a login by its name, or too random to be a setting.
fn is_login_cookie(pair: &[u8]) -> bool {
    let Some(sign) = pair.iter().position(|b| *b == b'=') else { return false };
    let name = pair[..sign].trim_ascii().to_ascii_lowercase();
    let value = pair[sign + 1..].trim_ascii();
    let says = TELLING.iter().any(|word| name.windows(word.len()).any(|part| part == *word));
    says && value.len() >= 4 || value.len() >= 16 && is_mixed(value)
}
