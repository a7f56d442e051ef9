//! Secrets recognised by their form, without a name and a sign: armoured private keys, passwords in URLs,
//! `Bearer` and `Basic` credentials, options of commands (`curl -u name:X`, `sshpass -p X`, `mysql -pX`),
//! `netrc`.
//!
//! Invariants: user names and hosts stay readable; of a private key only bytes that can belong to it are
//! removed; a password option counts only if its command precedes it in the same command line, at most `NEAR`
//! bytes before.

use super::look::{has_sign, holds_mark, is_code, is_mixed, is_placeholder, is_reference};
use super::{FoundSecret, token};
use memchr::{memchr, memmem};

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";

/// A private key: from the first line to the last, or as long as it looks like a key.
pub(super) fn private_key_at(bytes: &[u8], at: usize) -> Option<FoundSecret> {
    let behind = bytes[at..].strip_prefix(BEGIN)?;
    let label = label(behind)?;
    let private = behind[..label].windows(11).any(|part| part == b"PRIVATE KEY");
    private.then(|| {
        let from = at + BEGIN.len() + label + 5;
        FoundSecret { name: "private-key", from: at, to: from + body(&bytes[from..]) }
    })
}

/// Length of the capital words before `-----`.
fn label(rest: &[u8]) -> Option<usize> {
    let word = |b: &&u8| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b' ';
    let long = rest.iter().take_while(word).count();
    rest[long..].starts_with(b"-----").then_some(long)
}

fn body(rest: &[u8]) -> usize {
    let mut at = 0;
    let mut line = true;
    while at < rest.len() {
        if let Some(end) = rest[at..].strip_prefix(END) {
            return at + END.len() + label(end).map_or(0, |long| long + 5);
        }
        if line && let Some(long) = header(&rest[at..]) {
            at += long;
        }
        let Some(byte) = rest.get(at).filter(|b| may_hold(**b)) else { break };
        line = *byte == b'\n';
        at += 1;
    }
    at
}

/// Length of a header line such as `Version: GnuPG v2.0 (GNU/Linux)`.
fn header(line: &[u8]) -> Option<usize> {
    let long = line.iter().take_while(|b| b.is_ascii_alphabetic() || **b == b'-').count();
    if long == 0 || !line[long..].starts_with(b": ") {
        return None;
    }
    Some(memchr(b'\n', line).unwrap_or(line.len()))
}

/// Base64, and characters that editors, languages and listings put around its lines.
fn may_hold(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte.is_ascii_whitespace()
        || !byte.is_ascii()
        || matches!(
            byte,
            b'+' | b'/' | b'=' | b'\\' | b'"' | b'\'' | b',' | b':' | b'-' | b'|' | b'>' | b'#' | b'*'
        )
}

const SCHEMES: [(&str, &str); 2] = [("bearer ", "bearer-token"), ("basic ", "basic-auth")];

/// `Bearer TOKEN`, `Basic BASE64`, if the rest cannot be prose.
pub(super) fn scheme_at(bytes: &[u8], at: usize) -> Option<FoundSecret> {
    let (scheme, name, from) = scheme(bytes, at)?;
    let body = &bytes[from..from + credential(&bytes[from..])];
    if let Some(found) = token::at(bytes, from) {
        return Some(found);
    }
    let fits = if scheme == "bearer " { body.len() >= 16 && is_mixed(body) } else { is_login(body) };
    fits.then_some(FoundSecret { name, from, to: from + body.len() })
}

/// The scheme named here, and where its credential begins.
pub(super) fn scheme(bytes: &[u8], at: usize) -> Option<(&'static str, &'static str, usize)> {
    let rest = bytes.get(at..)?;
    let is = |scheme: &str| {
        rest.len() > scheme.len() && rest[..scheme.len()].eq_ignore_ascii_case(scheme.as_bytes())
    };
    SCHEMES.into_iter().find(|(scheme, _)| is(scheme)).map(|(scheme, name)| (scheme, name, at + scheme.len()))
}

fn credential(rest: &[u8]) -> usize {
    let part =
        |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=');
    rest.iter().take_while(part).count()
}

/// Base64 of `name:password`. No prose decodes to that.
pub(super) fn is_login(body: &[u8]) -> bool {
    let plain = body.iter().rposition(|b| *b != b'=').map_or(0, |last| last + 1);
    let mut bits = 0_u32;
    let mut held = 0_u32;
    let mut colon = false;
    for byte in &body[..plain] {
        let Some(value) = sextet(*byte) else { return false };
        bits = bits << 6 | value;
        held += 6;
        if held >= 8 {
            held -= 8;
            let decoded = bits >> held & 0xff;
            colon |= decoded == u32::from(b':');
            if !(0x20..0x7f).contains(&decoded) {
                return false;
            }
        }
    }
    plain >= 6 && colon
}

fn sextet(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

/// `scheme://user:PASSWORD@host`
pub(super) fn url_at(bytes: &[u8], at: usize) -> Option<FoundSecret> {
    let start = at + 3;
    let ends = |b: &u8| {
        matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\') || b.is_ascii_whitespace()
    };
    let long = bytes[start..].iter().take_while(|b| !ends(b)).count();
    let authority = &bytes[start..start + long];
    let host = authority.iter().rposition(|b| *b == b'@')?;
    let colon = authority[..host].iter().position(|b| *b == b':')?;
    let password = &authority[colon + 1..host];
    let user = &authority[..colon];
    let at_home = |host: &[u8]| {
        [&b"localhost"[..], b"127.0.0.1", b"[::1]", b"0.0.0.0"].iter().any(|home| host.starts_with(home))
    };
    let made_up = is_placeholder(password) || user == password && at_home(&authority[host + 1..]);
    let known = holds_mark(authority) || is_reference(password) || made_up;
    (!known).then_some(FoundSecret { name: "password", from: start + colon + 1, to: start + host })
}

/// `123456789:AA…`, a Telegram bot's number and token.
pub(super) fn bot_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let number = bytes[floor..at].iter().rev().take(11).take_while(|b| b.is_ascii_digit()).count();
    let from = at + 1;
    let part = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let long = bytes[from..].iter().take(36).take_while(part).count();
    let fits = (8..=10).contains(&number) && long == 35 && is_mixed(&bytes[from..from + long]);
    fits.then_some(FoundSecret { name: "telegram-token", from, to: from + long })
}

/// `-u name:PASSWORD` in the form of curl; a group's name or number does not count.
pub(super) fn user_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let rest = &bytes[at..];
    let apart = at == 0 || at > floor && bytes[at - 1].is_ascii_whitespace();
    let flag = [&b"-u "[..], b"--user "].into_iter().find(|flag| rest.starts_with(flag)).filter(|_| apart)?;
    let mut from = at + flag.len();
    from += usize::from(matches!(bytes.get(from), Some(b'"' | b'\'')));
    let ends = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'');
    let long = bytes[from..].iter().take_while(|b| !ends(b)).count();
    let colon = bytes[from..from + long].iter().position(|b| *b == b':')?;
    let password = &bytes[from + colon + 1..from + long];
    let secret =
        (is_mixed(password) || has_sign(password)) && !is_placeholder(password) && !is_code(password);
    secret.then_some(FoundSecret { name: "password", from: from + colon + 1, to: from + long })
}

/// How far back a command's name is searched for.
const NEAR: usize = 200;

/// Commands, the options after which they take a password, and whether the two may or must be one word.
static SWITCHES: &[(&[&str], &[&str], Glued)] = &[
    (&["mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump", "7z"], &["-p"], Glued::Must),
    (
        &["sshpass", "login", "mongo", "mongosh", "mongodump", "mongorestore", "mongoexport"],
        &["-p"],
        Glued::May,
    ),
    (&["openssl"], &["-passin", "-passout", "-pass"], Glued::Word),
    (&["unzip", "zip"], &["-P"], Glued::May),
    (&["redis-cli"], &["-a"], Glued::May),
    (&["ldapsearch"], &["-w"], Glued::May),
    (&["htpasswd"], &["-b", "-nb", "-cb", "-bc", "-nbB", "-Bbn"], Glued::Last),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Glued {
    Must,
    May,
    Word,
    Last,
}

fn ends_command(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | b';' | b'|' | b'&')
}

fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || ends_command(byte) || matches!(byte, b'"' | b'\'' | b'`' | b'\\')
}

/// At `-`: an option of such a command.
pub(super) fn option_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    if at == floor || !matches!(bytes[at - 1], b' ' | b'\t') {
        return None;
    }
    let word = bytes[at..].iter().take(NEAR).take_while(|b| !ends_word(**b)).count();
    let option = &bytes[at..at + word];
    let fits = |known: &str, glued: Glued| match glued {
        Glued::Must => option.len() > known.len() && option.starts_with(known.as_bytes()),
        Glued::May => option.starts_with(known.as_bytes()),
        Glued::Word | Glued::Last => option == known.as_bytes(),
    };
    let mut rows = SWITCHES.iter().filter_map(|(names, options, glued)| {
        Some((names, options.iter().find(|known| fits(known, *glued))?, *glued))
    });
    // Few options begin like one of these; only for those is it worth looking back.
    rows.clone().next()?;
    let before = &bytes[floor.max(at.saturating_sub(NEAR))..at];
    let begin = before.iter().rposition(|b| ends_command(*b)).map_or(0, |at| at + 1);
    let words = || before[begin..].split(|b| b.is_ascii_whitespace() || matches!(b, b'/' | b'"' | b'\''));
    let (_, known, glued) =
        rows.find(|(names, ..)| words().any(|word| names.iter().any(|n| n.as_bytes() == unsigned(word))))?;
    let from = match glued {
        Glued::Last => last_word(bytes, at + word)?,
        _ if option.len() > known.len() => at + known.len(),
        Glued::May | Glued::Word => next_word(bytes, at + word)?,
        Glued::Must => return None,
    };
    secret(bytes, from)
}

/// The word without a preceding diff sign, prompt or substitution.
fn unsigned(word: &[u8]) -> &[u8] {
    let word = memmem::rfind(word, b"\\n").map_or(word, |line| &word[line + 2..]);
    let signs = word.iter().take_while(|b| matches!(b, b'+' | b'-' | b'$' | b'>' | b'`' | b'(')).count();
    &word[signs..]
}

/// At the `w` of `password X` after a login, as in `netrc`.
pub(super) fn netrc_at(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let before = bytes[floor.max(at.saturating_sub(NEAR))..at].strip_suffix(b"pass")?;
    let from = bytes[at..].strip_prefix(b"word").and_then(|_| next_word(bytes, at + 4))?;
    let mut words = before.split(u8::is_ascii_whitespace).map(unsigned).filter(|word| !word.is_empty()).rev();
    let login = words.nth(1).is_some_and(|word| word == b"login");
    login.then(|| secret(bytes, from)).flatten()
}

fn next_word(bytes: &[u8], at: usize) -> Option<usize> {
    let blanks = bytes[at..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let from = at + blanks;
    let quote = usize::from(matches!(bytes.get(from), Some(b'"' | b'\'')));
    (blanks > 0 && from < bytes.len()).then_some(from + quote)
}

fn last_word(bytes: &[u8], at: usize) -> Option<usize> {
    let long = bytes[at..].iter().take(NEAR).take_while(|b| !ends_command(**b)).count();
    let rest = bytes[at..at + long].trim_ascii_end();
    let rest = rest.strip_suffix(b"'").or_else(|| rest.strip_suffix(b"\"")).unwrap_or(rest);
    let from = rest.iter().rposition(|b| ends_word(*b))? + 1;
    (rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count() >= 2).then_some(at + from)
}

fn secret(bytes: &[u8], from: usize) -> Option<FoundSecret> {
    let long = bytes[from..].iter().take_while(|b| !ends_word(**b)).count();
    let text = &bytes[from..from + long];
    let port = text.iter().all(u8::is_ascii_digit) && text.len() < 6;
    let none = text.len() < 4 || port || text.starts_with(b"-") || is_placeholder(text) || is_code(text);
    (!none).then_some(FoundSecret { name: "password", from, to: from + long })
}
