//! Removes secrets from text before it is stored.
//!
//! `Anchors` are the few bytes at which a secret can be recognised: the sign after a name, the dash, line or
//! dot at the end of a token's prefix, or a rare pair of letters. The finders look only there. Invariants:
//! text without a secret comes back borrowed; redacting twice is redacting once; the time is linear in the
//! text. A new provider is a row in `token::TOKENS`.

mod look;
mod token;
mod credential;
mod assigned;
mod document;

use std::borrow::Cow;

/// A secret: its kind and position. `from` and `to` are between characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FoundSecret {
    name: &'static str,
    from: usize,
    to: usize,
}

/// Beginning of every replacement; a value that contains one is skipped.
pub const MARK: &str = "[redacted:";

/// The text with every secret replaced by its kind in brackets.
pub fn redact(text: &str) -> Cow<'_, str> {
    let Some(mut clean) = pass(text) else { return Cow::Borrowed(text) };
    // Text that was joined to a secret now ends at the mark, and may itself be recognised as a secret.
    for _ in 0..MOST_PASSES {
        let Some(cleaner) = pass(&clean) else { break };
        clean = cleaner;
    }
    Cow::Owned(clean)
}

/// Each pass removes at least one secret; real text never joins more of them.
const MOST_PASSES: usize = 8;

/// One pass; `None` if nothing is replaced.
fn pass(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut anchors = Anchors::of(bytes);
    let mut kept = 0;
    let mut at = 0;
    while let Some(spot) = anchors.next(at) {
        at = spot + 1;
        if let Some(found) = look(bytes, spot, kept) {
            out.push_str(&text[kept..found.from]);
            push(&mut out, found.name);
            kept = found.to;
            at = found.to;
        }
    }
    if kept == 0 {
        return None;
    }
    out.push_str(&text[kept..]);
    Some(out)
}

/// Redacts a value with a name, as in a JSON object: the name may make the whole value secret.
pub fn redact_under<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    let Some(kind) = assigned::under(name, value) else { return redact(value) };
    let mut out = String::new();
    push(&mut out, kind);
    Cow::Owned(out)
}

fn push(out: &mut String, name: &str) {
    out.push_str(MARK);
    out.push_str(name);
    out.push(']');
}

/// The secret at this anchor, if any. `floor` is the end of the last secret: bytes before it do not count.
fn look(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    let found = match bytes[at] {
        b'-' => credential::private_key_at(bytes, at)
            .or_else(|| assigned::flag_at(bytes, at, floor))
            .or_else(|| credential::user_at(bytes, at, floor))
            .or_else(|| credential::option_at(bytes, at, floor))
            .or_else(|| document::putty_at(bytes, at, floor))
            .or_else(|| document::key_end_at(bytes, at, floor)),
        b'_' => assigned::pair_at(bytes, at, floor).or_else(|| document::ngrok_at(bytes, at, floor)),
        b'.' => document::discord_at(bytes, at, floor).or_else(|| document::master_key_at(bytes, at, floor)),
        b'<' => document::element_at(bytes, at, floor),
        b'$' => document::crypt_at(bytes, at, floor),
        b'Q' => document::azure_at(bytes, at, floor),
        b'w' => credential::netrc_at(bytes, at, floor),
        b':' if bytes[at..].starts_with(b"://") => credential::url_at(bytes, at),
        b':' | b'=' => document::scalar_at(bytes, at, floor)
            .or_else(|| assigned::at(bytes, at, floor))
            .or_else(|| document::member_at(bytes, at, floor))
            .or_else(|| document::auth_at(bytes, at, floor))
            .or_else(|| (bytes[at] == b':').then(|| colon(bytes, at, floor))?),
        b'B' if begins_word(bytes, at, floor) => credential::scheme_at(bytes, at),
        _ => None,
    };
    found.or_else(|| token::around(bytes, at, floor))
}

fn colon(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    credential::bot_at(bytes, at, floor)
        .or_else(|| document::kubernetes_at(bytes, at, floor))
        .or_else(|| document::kubernetes_json_at(bytes, at, floor))
        .or_else(|| document::login_line_at(bytes, at, floor))
}

/// No letter or digit comes before it, or only one that belongs to an escape: `
/// `, `%3D`, a terminal's colour.
fn begins_word(bytes: &[u8], at: usize, floor: usize) -> bool {
    let before = &bytes[floor..at];
    let escape = || match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', a, b] => a.is_ascii_hexdigit() && b.is_ascii_hexdigit(),
        [colour @ .., b'm'] => {
            let digits =
                colour.iter().rev().take(8).take_while(|b| b.is_ascii_digit() || **b == b';').count();
            colour[..colour.len() - digits].ends_with(b"\x1b[")
        }
        _ => false,
    };
    before.last().is_none_or(|b| !b.is_ascii_alphanumeric()) || escape()
}

#[cfg(test)]
mod tests;

const BLOCK: usize = 64;

/// A sign is an anchor by itself.
const fn is_sign(byte: u8) -> bool {
    matches!(byte, b':' | b'=' | b'-' | b'_' | b'.')
}

/// A letter is an anchor only together with the right next one: `AKIA`, `AIza`, `ATATT`, `SK`, `FlyV1`,
/// `Bearer`, `Basic`, `dapi`, `password`, `eyJ`, `</`, `Q~`, `$6$`.
const fn is_pair(one: u8, next: u8) -> bool {
    match one {
        b'A' => matches!(next, b'K' | b'S' | b'B' | b'I' | b'T'),
        b'B' => matches!(next, b'e' | b'a' | b'E' | b'A'),
        b'F' => next == b'l',
        b'S' => next == b'K',
        b'p' => next == b'i',
        b'w' => next == b'o',
        b'y' => next == b'J',
        b'<' => next == b'/',
        b'Q' => next == b'~',
        b'$' => matches!(next, b'1' | b'2' | b'5' | b'6' | b'7' | b'a' | b'p' | b'y'),
        _ => false,
    }
}

struct Anchors<'a> {
    bytes: &'a [u8],
    base: usize,
    /// A bit for each anchor of the block at `base`.
    found: u64,
}

impl<'a> Anchors<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let mut anchors = Self { bytes, base: 0, found: 0 };
        anchors.load(0);
        anchors
    }

    /// The first anchor at or after `from`, which must never decrease.
    fn next(&mut self, from: usize) -> Option<usize> {
        let skip = from.saturating_sub(self.base);
        if skip >= BLOCK {
            self.load(from);
        } else {
            self.found &= u64::MAX << skip;
        }
        while self.found == 0 {
            if self.base + BLOCK >= self.bytes.len() {
                return None;
            }
            self.load(self.base + BLOCK);
        }
        Some(self.base + self.found.trailing_zeros() as usize)
    }

    fn load(&mut self, base: usize) {
        self.base = base;
        let rest = self.bytes.get(base..).unwrap_or_default();
        self.found = rest.first_chunk().map_or_else(|| scan(&padded(rest)), scan);
    }
}

/// The last piece, padded with zeros.
fn padded(rest: &[u8]) -> [u8; BLOCK + 1] {
    let mut block = [0; BLOCK + 1];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// Applies `is_sign` and `is_pair` to a whole block at once.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "with `||` there would be jumps, and no vector instructions"
)]
fn scan(block: &[u8; BLOCK + 1]) -> u64 {
    let mut flags = [0_u8; BLOCK];
    for n in 0..BLOCK {
        let b = block[n];
        let c = block[n + 1];
        let sign = (b == b':') | (b == b'=') | (b == b'-') | (b == b'_') | (b == b'.');
        let key = (b == b'A') & ((c == b'K') | (c == b'S') | (c == b'B') | (c == b'I') | (c == b'T'));
        let scheme = (b == b'B') & ((c | 0x20 == b'e') | (c | 0x20 == b'a'));
        let other = ((b == b'F') & (c == b'l')) | ((b == b'S') & (c == b'K')) | ((b == b'y') & (c == b'J'));
        let small = ((b == b'p') & (c == b'i')) | ((b == b'w') & (c == b'o'));
        let odd = ((b == b'<') & (c == b'/')) | ((b == b'Q') & (c == b'~'));
        let crypt = (b == b'$')
            & ((c == b'1')
                | (c == b'2')
                | (c == b'5')
                | (c == b'6')
                | (c == b'7')
                | (c == b'a')
                | (c == b'p')
                | (c == b'y'));
        flags[n] = u8::from(sign | key | scheme | other | small | odd | crypt);
    }
    let mut found = 0;
    for (n, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        // Gathers the lowest bits of eight bytes in the highest byte.
        found |= (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * n);
    }
    found
}
