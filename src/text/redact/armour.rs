//! Private keys in their armour, whole or cut off, plain or inside a string of some other language.
//!
//! Reads nothing, writes nothing. Invariant: only what can belong to a key is taken, so that a source file that merely
//! names the first line keeps the rest of its text.

use super::FoundSecret;
use memchr::memchr;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";

/// From the first line to the last, or as far as it looks like a key.
pub(super) fn at(bytes: &[u8], at: usize) -> Option<FoundSecret> {
    let behind = bytes[at..].strip_prefix(BEGIN)?;
    let label = label(behind)?;
    let private = behind[..label].windows(11).any(|part| part == b"PRIVATE KEY");
    private.then(|| {
        let from = at + BEGIN.len() + label + 5;
        FoundSecret { name: "private-key", from: at, to: from + body(&bytes[from..]) }
    })
}

/// How long the capital words before `-----` are.
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

/// `Version: GnuPG v2.0 (GNU/Linux)`: all of the line.
fn header(line: &[u8]) -> Option<usize> {
    let long = line.iter().take_while(|b| b.is_ascii_alphabetic() || **b == b'-').count();
    if long == 0 || !line[long..].starts_with(b": ") {
        return None;
    }
    Some(memchr(b'\n', line).unwrap_or(line.len()))
}

/// Base64, and what editors, languages and listings put around its lines.
fn may_hold(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte.is_ascii_whitespace()
        || !byte.is_ascii()
        || matches!(byte, b'+' | b'/' | b'=' | b'\\' | b'"' | b'\'' | b',' | b':' | b'-' | b'|' | b'>' | b'#' | b'*')
}
