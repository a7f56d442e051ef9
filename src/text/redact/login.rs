//! Logins: passwords in URLs, `Bearer` and `Basic` credentials, `-u name:password`.
//!
//! Reads nothing, writes nothing. Invariant: user names and hosts stay readable; only the secret part is taken.

use super::FoundSecret;
use super::look::{has_sign, holds_mark, is_code, is_mixed, is_placeholder, is_reference};
use super::token;

/// The words before a credential.
const SCHEMES: [(&str, &str); 2] = [("bearer ", "bearer-token"), ("basic ", "basic-auth")];

/// `Bearer TOKEN`, `Basic BASE64`, where what follows cannot be prose.
pub(super) fn scheme_at(bytes: &[u8], at: usize) -> Option<FoundSecret> {
    let (scheme, name, from) = scheme(bytes, at)?;
    let body = &bytes[from..from + credential(&bytes[from..])];
    if let Some(found) = token::at(bytes, from) {
        return Some(found);
    }
    let fits = if scheme == "bearer " { body.len() >= 16 && is_mixed(body) } else { is_login(body) };
    fits.then_some(FoundSecret { name, from, to: from + body.len() })
}

/// The scheme named here and where its credential begins.
pub(super) fn scheme(bytes: &[u8], at: usize) -> Option<(&'static str, &'static str, usize)> {
    let rest = bytes.get(at..)?;
    let is = |scheme: &str| rest.len() > scheme.len() && rest[..scheme.len()].eq_ignore_ascii_case(scheme.as_bytes());
    SCHEMES.into_iter().find(|(scheme, _)| is(scheme)).map(|(scheme, name)| (scheme, name, at + scheme.len()))
}

fn credential(rest: &[u8]) -> usize {
    let part = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=');
    rest.iter().take_while(part).count()
}

/// Base64 of `name:password`. No prose decodes to that.
fn is_login(body: &[u8]) -> bool {
    let plain = body.iter().rposition(|b| *b != b'=').map_or(0, |last| last + 1);
    let (mut bits, mut held, mut colon) = (0_u32, 0_u32, false);
    for byte in &body[..plain] {
        let Some(value) = sextet(*byte) else { return false };
        (bits, held) = (bits << 6 | value, held + 6);
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
    let ends =
        |b: &u8| matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\') || b.is_ascii_whitespace();
    let long = bytes[start..].iter().take_while(|b| !ends(b)).count();
    let authority = &bytes[start..start + long];
    let host = authority.iter().rposition(|b| *b == b'@')?;
    let colon = authority[..host].iter().position(|b| *b == b':')?;
    let password = &authority[colon + 1..host];
    let known = holds_mark(authority) || is_reference(password);
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

/// `-u name:PASSWORD`, as curl has it; a group's name or number is none.
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
    let secret = (is_mixed(password) || has_sign(password)) && !is_placeholder(password) && !is_code(password);
    secret.then_some(FoundSecret { name: "password", from: from + colon + 1, to: from + long })
}
