//! Secrets recognised by the document that contains them: block scalars and Kubernetes secrets in YAML and
//! JSON, elements and attributes in XML, a name and its value in two members, lines of `.pgpass`, `htpasswd`
//! and `shadow`, keys of `PuTTY` and Rails, the end of a private key; and a few tokens with their sign in the
//! middle.
//!
//! Invariants: removed text is not found again; each search goes at most `FAR` bytes back, or over bytes that
//! it removes.

use super::assigned::{Value, in_quotes, least};
use super::credential::is_login;
use super::look::NameKind::{Password, Secret};
use super::look::{Name, holds_mark, is_code, is_mixed, is_placeholder, promise};
use super::{FoundSecret, begins_word};
use memchr::{memchr2, memmem};

const FAR: usize = 256;

fn found(name: &'static str, from: usize, to: usize) -> FoundSecret {
    FoundSecret { name, from, to }
}

/// How many bytes before `at` fulfil this condition; never beyond `floor`.
fn back(bytes: &[u8], at: usize, floor: usize, most: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes[floor..at].iter().rev().take(most).take_while(|b| is(**b)).count()
}

fn ahead(bytes: &[u8], from: usize, most: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes.get(from..).unwrap_or_default().iter().take(most).take_while(|b| is(**b)).count()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Length of the line break here: a line feed, or an escaped one in a string nested in another.
fn breaks(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at..).unwrap_or_default() {
        [b'\n', ..] => 1,
        [b'\\', b'n', ..] => 2,
        _ => 0,
    }
}

/// Where the line from here ends, and where the next one begins.
fn line_end(bytes: &[u8], from: usize) -> (usize, usize) {
    let mut at = from;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'\n', b'\\', rest)) {
        at += found;
        if breaks(bytes, at) > 0 {
            return (at, at + breaks(bytes, at));
        }
        at += 1;
    }
    (bytes.len(), bytes.len())
}

/// Where the line of `at` begins; `None` if that is too far.
fn line_start(bytes: &[u8], at: usize, floor: usize) -> Option<usize> {
    let long = back(bytes, at, floor, FAR, |b| b != b'\n');
    let text = &bytes[at - long..at];
    if let Some(escaped) = memmem::rfind(text, b"\\n") {
        return Some(at - long + escaped + 2);
    }
    let start = at - long;
    (long < FAR && (start == 0 || bytes[start - 1] == b'\n')).then_some(start)
}

/// Number of blanks before the text of a line; a diff's sign counts as one.
fn indent(line: &[u8]) -> usize {
    let sign = usize::from(matches!(line.first(), Some(b'+' | b'-')));
    sign + line[sign..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count()
}

/// The lines after `at` that are indented more than the line of `start`: their text, without the last line
/// feed.
fn block(bytes: &[u8], start: usize, at: usize) -> Option<(usize, usize)> {
    let base = indent(&bytes[start..at]);
    let mut next = line_end(bytes, at).1;
    let from = next + indent(bytes.get(next..)?);
    let mut to = next;
    while next < bytes.len() {
        let (end, after) = line_end(bytes, next);
        let line = &bytes[next..end];
        let text = line.get(indent(line)..).unwrap_or_default().trim_ascii();
        if !text.is_empty() && indent(line) <= base {
            break;
        }
        if !text.is_empty() {
            to = end;
        }
        next = after;
    }
    let to = from + bytes.get(from..to)?.trim_ascii_end().len();
    (to > from + 3 && !holds_mark(&bytes[from..to])).then_some((from, to))
}

/// `password: |` and its lines.
pub(super) fn scalar_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let from = at + 1 + ahead(bytes, at + 1, 8, |b| b == b' ');
    let mark = ahead(bytes, from, 4, |b| matches!(b, b'|' | b'>' | b'-' | b'+') || b.is_ascii_digit());
    if mark == 0 || !matches!(bytes[from], b'|' | b'>') || breaks(bytes, from + mark) == 0 {
        return None;
    }
    let name = Name::before(bytes, at, floor).filter(|name| matches!(name.kind, Password | Secret))?;
    let (from, to) = block(bytes, line_start(bytes, name.from, floor)?, from + mark)?;
    Some(found("secret", from, to))
}

/// `data:` and `stringData:` of a `kind: Secret`.
pub(super) fn kubernetes_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let before = &bytes[floor..at];
    let name =
        [&b"stringData"[..], b"data"].into_iter().find(|name| before.ends_with(name)).map_or(0, <[u8]>::len);
    if name == 0 || !begins_word(bytes, at - name, floor) || breaks(bytes, at + 1) == 0 {
        return None;
    }
    let around = &bytes[at.saturating_sub(FAR * 2)..(at + FAR * 4).min(bytes.len())];
    memmem::find(around, b"kind: Secret")?;
    let (from, to) = block(bytes, line_start(bytes, at - name, floor)?, at + 1)?;
    Some(found("kubernetes-secret", from, to))
}

/// `"data": {` and `"stringData": {` of an object with `"kind": "Secret"`, also in a text inside a text: all
/// members.
pub(super) fn kubernetes_json_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let quotes = back(bytes, at, floor, 8, |b| matches!(b, b'"' | b'\\' | b' '));
    let before = &bytes[floor..at - quotes];
    let named = [&b"\"stringData"[..], b"\"data"].into_iter().any(|name| before.ends_with(name));
    let opens = at + 1 + ahead(bytes, at + 1, 64, |b| b.is_ascii_whitespace() || matches!(b, b'\\' | b'n'));
    if quotes == 0 || !named || bytes.get(opens) != Some(&b'{') {
        return None;
    }
    let from = opens + 1 + ahead(bytes, opens + 1, 64, |b| b.is_ascii_whitespace());
    let to = from + ahead(bytes, from, usize::MAX, |b| !matches!(b, b'{' | b'}'));
    let to = from + bytes[from..to].trim_ascii_end().len();
    let around = [&bytes[at.saturating_sub(FAR * 4)..at], &bytes[to..(to + FAR * 4).min(bytes.len())]];
    let is_secret = around.into_iter().any(names_secret_kind);
    (is_secret && to > from + 3 && !holds_mark(&bytes[from..to]))
        .then(|| found("kubernetes-secret", from, to))
}

/// `"kind": "Secret"` is in this text.
fn names_secret_kind(text: &[u8]) -> bool {
    let quoted = |at: usize| {
        let blank = back(text, at, 0, 12, |b| matches!(b, b'"' | b'\\' | b' ' | b':'));
        blank > 2 && text[..at - blank].ends_with(b"kind") && matches!(text.get(at + 6), Some(b'"' | b'\\'))
    };
    memmem::find_iter(text, b"Secret").any(quoted)
}

/// At `</`: the text of an element whose name promises a secret.
pub(super) fn element_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let long = ahead(bytes, at + 2, 64, |b| is_word(b) || matches!(b, b'.' | b':'));
    let name = &bytes[at + 2..at + 2 + long];
    let kind = promise(name).filter(|kind| matches!(kind, Password | Secret))?;
    let text = back(bytes, at, floor, FAR, |b| !matches!(b, b'>' | b'<' | b'\n'));
    let from = at - text;
    let opens = from > floor && bytes[from - 1] == b'>' && bytes[..from - 1].ends_with(name);
    let value = &bytes[from..at];
    let some = |is: fn(&u8) -> bool| value.iter().any(is);
    let odd = value.len() >= 24 && value.iter().all(u8::is_ascii_alphanumeric);
    let odd = odd && some(u8::is_ascii_lowercase) && some(u8::is_ascii_uppercase);
    (opens && bytes.get(at + 2 + long) == Some(&b'>') && (odd || in_quotes(kind, value)) && !is_code(value))
        .then(|| found(kind.name(), from, at))
}

/// At the sign of `value` or `default`: the name is in the member before. `<add key="ApiKey" value="…">`,
/// `{"name": "DB_PASSWORD", "value": "…"}`, `variable "db_password" { default = "…"`.
pub(super) fn member_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let blank = back(bytes, at, floor, 8, |b| matches!(b, b' ' | b'"' | b'\'' | b'\\'));
    let own = back(bytes, at - blank, floor, 16, |b| b.is_ascii_alphabetic());
    let own = &bytes[at - blank - own..at - blank];
    let wanted: &[&[u8]] = match own.to_ascii_lowercase().as_slice() {
        b"value" => &[b"key", b"name"],
        b"default" => &[b"variable"],
        _ => return None,
    };
    let before = &bytes[floor.max(at.saturating_sub(FAR))..at - blank - own.len()];
    let before = &before[before.iter().rposition(|b| *b == b'}').map_or(0, |end| end + 1)..];
    let mut words =
        before.split(|b| !is_word(*b) && *b != b'.').filter(|word| !word.is_empty()).rev().peekable();
    let kind = loop {
        let word = words.next()?;
        let key = words.peek()?;
        let key = &key[key.iter().take_while(|b| **b == b'-').count()..];
        if wanted.iter().any(|wanted| key.eq_ignore_ascii_case(wanted)) {
            break promise(word).filter(|kind| matches!(kind, Password | Secret))?;
        }
    };
    let from = at + 1 + ahead(bytes, at + 1, 8, |b| b == b' ');
    let value = Value::at(bytes, from)?;
    let text = value.text(bytes);
    let fits = text.len() >= least(kind) && !is_placeholder(text) && !is_code(text) && !text.contains(&b' ');
    fits.then(|| value.found(bytes, kind.name()))
}

/// `"auth": "…"` of Docker and `_auth=…` of npm: the name alone proves too little, so we decode the value.
pub(super) fn auth_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let blank = back(bytes, at, floor, 8, |b| matches!(b, b' ' | b'"' | b'\'' | b'\\'));
    let name = back(bytes, at - blank, floor, 8, is_word);
    if !matches!(&bytes[at - blank - name..at - blank], b"auth" | b"_auth") {
        return None;
    }
    let value = Value::at(bytes, at + 1 + ahead(bytes, at + 1, 8, |b| b == b' '))?;
    is_login(value.text(bytes)).then(|| value.found(bytes, "basic-auth"))
}

/// At the first `:` of a line: `host:5432:base:user:password`, and `user:{SHA}…`.
pub(super) fn login_line_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let schemes = [&b"{SHA}"[..], b"{SSHA}", b"{SHA256}", b"{CRYPT}", b"{MD5}"];
    if let Some(scheme) = schemes.into_iter().find(|scheme| bytes[at + 1..].starts_with(scheme)) {
        let from = at + 1 + scheme.len();
        let long = ahead(bytes, from, FAR, |b| {
            b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'.' | b'$')
        });
        return (long >= 16).then(|| found("password-hash", from, from + long));
    }
    if let Some(found) = shadow_at(bytes, at, floor) {
        return Some(found);
    }
    let port = ahead(bytes, at + 1, 6, |b| b.is_ascii_digit() || b == b'*');
    if !(port == 4 || port == 5 || bytes.get(at + 1) == Some(&b'*'))
        || bytes.get(at + 1 + port) != Some(&b':')
    {
        return None;
    }
    let start = line_start(bytes, at, floor)?;
    let host = &bytes[start..at];
    let host = host.strip_prefix(b"+").or_else(|| host.strip_prefix(b"-")).unwrap_or(host);
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'*');
    let from = at + port + 2;
    let rest = &bytes[from..from + ahead(bytes, from, FAR, |b| !matches!(b, b'\n' | b'\r' | b'\\' | b'"'))];
    let mut fields = rest.splitn(3, |b| *b == b':');
    let base = fields.next()?;
    let user = fields.next()?;
    let password = fields.next()?;
    let named =
        |field: &[u8]| !field.is_empty() && field.iter().all(plain) && !field.iter().all(u8::is_ascii_digit);
    let secret =
        password.len() >= 4 && !password.iter().any(u8::is_ascii_whitespace) && !password.contains(&b':');
    (!host.is_empty()
        && host.iter().all(plain)
        && named(base)
        && named(user)
        && secret
        && !is_placeholder(password))
    .then(|| found("password", from + rest.len() - password.len(), from + rest.len()))
}

/// The shortest hash: that of DES.
const SHORTEST_HASH: usize = 13;

/// At the first `:` of a line of `/etc/shadow`, `root:HASH:19000:0:99999:7:::`: a hash of any kind, even of a
/// locked account.
fn shadow_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let from = at + 1;
    let long = ahead(bytes, from, FAR * 2, |b| b.is_ascii_graphic() && !matches!(b, b':' | b'"'));
    let rest = bytes.get(from + long..).filter(|rest| long >= SHORTEST_HASH && rest.starts_with(b":"))?;
    let dates = &rest[1..=ahead(rest, 1, 64, |b| b.is_ascii_digit() || matches!(b, b':' | b'-'))];
    let fields: Vec<&[u8]> = dates.split(|b| *b == b':').collect();
    let name =
        back(bytes, at, floor, 64, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'$'));
    // The line may be inside a string.
    let begins = bytes[floor..at - name].last().is_none_or(|b| b"\n\r\t \"'`\\+".contains(b));
    let told = fields.iter().filter(|field| !field.is_empty()).count();
    (fields.len() == 7 && told >= 2 && name > 0 && begins).then(|| found("password-hash", from, from + long))
}

/// At `$`: a hash in the form of `crypt`, `$6$salt$…`, `$2y$05$…`, `$argon2id$…`, and Django's
/// `pbkdf2_sha256$…`.
pub(super) fn crypt_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let rest = &bytes[at..];
    let known = [
        &b"$1$"[..],
        b"$2a$",
        b"$2b$",
        b"$2y$",
        b"$5$",
        b"$6$",
        b"$7$",
        b"$y$",
        b"$apr1$",
        b"$argon2",
        b"$pbkdf2",
    ];
    let django = bytes[floor..at].ends_with(b"_sha256") || bytes[floor..at].ends_with(b"_sha1");
    if !django && !known.into_iter().any(|begin| rest.starts_with(begin)) {
        return None;
    }
    let part = |b: u8| {
        b.is_ascii_alphanumeric() || matches!(b, b'$' | b'.' | b'/' | b'+' | b'=' | b',' | b'_' | b'-')
    };
    let long = ahead(bytes, at, FAR * 2, part);
    let parts: Vec<&[u8]> = rest[..long].split(|b| *b == b'$').collect();
    let last = parts.last()?;
    // As long as a hash of MD5, bcrypt, SHA-256 or SHA-512, or containing a digit.
    let fits = matches!(last.len(), 22 | 31 | 43 | 53 | 86) || last.len() >= 20 && is_mixed(last);
    (parts.len() >= 4 && fits).then(|| found("password-hash", at, at + long))
}

/// At the first dot of a Discord bot's token: its number in base64, a time, and the key.
pub(super) fn discord_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let id = back(bytes, at, floor, 30, is_word);
    let from = at - id;
    let time = ahead(bytes, at + 1, 8, is_word);
    let key = at + time + 2;
    let long = ahead(bytes, key, 64, is_word);
    let fits = (23..=28).contains(&id) && matches!(bytes[from], b'M' | b'N' | b'O') && matches!(time, 6 | 7);
    (fits && bytes.get(key - 1) == Some(&b'.') && long >= 27 && is_mixed(&bytes[key..key + long]))
        .then(|| found("discord-token", from, key + long))
}

/// At the `Q` of an Azure client secret: three letters, a digit, `Q~`, and 31 to 34 more.
pub(super) fn azure_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let part = |b: u8| is_word(b) || matches!(b, b'.' | b'~');
    let from = at.checked_sub(4).filter(|from| *from >= floor)?;
    let long = ahead(bytes, at + 2, 48, part);
    let fits = bytes[at - 1].is_ascii_digit()
        && bytes[from..at].iter().all(|b| part(*b))
        && (31..=34).contains(&long);
    (fits && begins_word(bytes, from, floor)).then(|| found("azure-secret", from, at + 2 + long))
}

/// At the `_` of an ngrok token: 27 letters and digits before it, 21 after it.
pub(super) fn ngrok_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let alnum = |b: u8| b.is_ascii_alphanumeric();
    let one = back(bytes, at, floor, 31, alnum);
    let two = ahead(bytes, at + 1, 26, alnum);
    let from = at - one;
    let fits = (26..=29).contains(&one) && (20..=22).contains(&two) && matches!(bytes[from], b'1'..=b'3');
    let apart = from == floor || !is_word(bytes[from - 1]);
    (fits && apart && is_mixed(&bytes[from..at]) && is_mixed(&bytes[at + 1..at + 1 + two]))
        .then(|| found("ngrok-token", from, at + 1 + two))
}

/// At the dot of `master.key`: the 32 hexadecimal digits that Rails stores there, a little further on.
pub(super) fn master_key_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    if !bytes[at..].starts_with(b".key") || !bytes[floor..at].ends_with(b"master") {
        return None;
    }
    let near = &bytes[at + 4..(at + 4 + FAR).min(bytes.len())];
    let mut words = near.split(|b| !b.is_ascii_alphanumeric());
    let key =
        words.find(|word| word.len() == 32 && is_mixed(word) && word.iter().all(u8::is_ascii_hexdigit))?;
    let from = at + 4 + memmem::find(near, key)?;
    Some(found("rails-key", from, from + 32))
}

/// At the dash of `Private-Lines: 8`, as written by `PuTTY`: those lines and their MAC.
pub(super) fn putty_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let lines = bytes[at..].strip_prefix(b"-Lines: ").filter(|_| bytes[floor..at].ends_with(b"Private"))?;
    let digits = lines.iter().take_while(|b| b.is_ascii_digit()).count();
    let from = at + 8 + digits;
    let body = ahead(bytes, from, usize::MAX, |b| {
        b.is_ascii_alphanumeric()
            || b.is_ascii_whitespace()
            || matches!(b, b'+' | b'/' | b'=' | b'-' | b':' | b'\\')
    });
    let text = &bytes[from..from + body];
    let seal = memmem::find(text, b"Private-MAC: ").map(|at| at + 13);
    let end = seal.map(|at| at + text[at..].iter().take_while(|b| b.is_ascii_hexdigit()).count());
    let from = from + text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let to = from.max(bytes.len().min(at + 8 + digits + end.unwrap_or(body)));
    (digits > 0 && to > from + 16).then(|| found("private-key", from, to))
}

/// At the last line of a private key whose first line was cut off: the preceding lines that look like a key.
pub(super) fn key_end_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let rest = bytes[at..].strip_prefix(b"-----END ")?;
    let label = rest.iter().take(64).take_while(|b| b.is_ascii_uppercase() || **b == b' ').count();
    if !rest[..label].ends_with(b"PRIVATE KEY") || !rest[label..].starts_with(b"-----") {
        return None;
    }
    let to = at + 9 + label + 5;
    if bytes[floor..at].ends_with(b"\\n") {
        let long = back(bytes, at, floor, usize::MAX, |b| is_base64(b) || b == b'\\');
        return (long > 40).then(|| found("private-key", at - long, to));
    }
    let mut start = line_start(bytes, at, floor)?;
    let mut from = at;
    while start > floor {
        let line = &bytes[floor..start - 1];
        let long = line.iter().rev().take(FAR).take_while(|b| **b != b'\n').count();
        let line = &line[line.len() - long..];
        let text = &line[indent(line)..].trim_ascii_end();
        // Only the last line before the end may be short.
        if text.len() < (if from == at { 4 } else { 40 }) || !text.iter().all(|b| is_base64(*b)) {
            break;
        }
        start -= long + 1;
        from = start + indent(line);
    }
    (from < at).then(|| found("private-key", from, to))
}
