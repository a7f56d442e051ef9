//! Finds tokens that are known by how they begin.
//!
//! Reads nothing, writes nothing. Invariant: the lookup tables are made from the rows of `table` when we are compiled,
//! and a row that could never be found does not compile.

use super::anchor::{is_pair, is_sign};
use super::table::Of::{self, Alnum, Dashed, Hex, Jwt, MixedAlnum, MixedDashed, Upper, Wide, Word};
use super::table::{TOKENS, Token};
use super::{FoundSecret, begins_word};

impl Of {
    const fn allows(self, byte: u8) -> bool {
        match self {
            Hex => byte.is_ascii_hexdigit(),
            Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Alnum | MixedAlnum => byte.is_ascii_alphanumeric(),
            Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Dashed | MixedDashed => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Wide | Jwt => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'+' | b'=' | b'~')
            }
        }
    }

    /// Whether so much of the text is long enough, and of the right mixture.
    fn accepts(self, body: &[u8], least: usize, next: Option<&u8>) -> bool {
        let some = |is: fn(&u8) -> bool| body.iter().any(is);
        let mixture = match self {
            MixedAlnum => some(u8::is_ascii_digit) && some(u8::is_ascii_alphabetic),
            MixedDashed => some(u8::is_ascii_digit) && some(u8::is_ascii_lowercase) && some(u8::is_ascii_uppercase),
            // A longer word is some other word.
            Upper => body.len() == least,
            Hex => !next.is_some_and(u8::is_ascii_alphanumeric),
            Jwt => {
                let parts: Vec<_> = body.split(|b| *b == b'.').collect();
                parts.len() > 1 && parts[0].len() >= 8 && parts[1].len() >= 8
            }
            _ => true,
        };
        body.len() >= least && mixture
    }
}

/// So much of a body decides whether it is one: more would let a long text of near misses cost its square.
const DECIDING: usize = 256;

impl Token {
    /// Where in the prefix its anchor is: the first sign, or else the first pair.
    const fn anchor(&self) -> Option<usize> {
        let prefix = self.prefix.as_bytes();
        let (mut n, mut pair) = (prefix.len() - 1, None);
        let mut sign = None;
        loop {
            if is_sign(prefix[n]) {
                sign = Some(n);
            }
            if n == 0 {
                return if sign.is_some() { sign } else { pair };
            }
            n -= 1;
            if is_pair(prefix[n], prefix[n + 1]) {
                pair = Some(n);
            }
        }
    }

    fn at(&self, bytes: &[u8], at: usize) -> Option<FoundSecret> {
        let behind = bytes.get(at..)?.strip_prefix(self.prefix.as_bytes())?;
        let allowed = |byte: &&u8| self.of.allows(**byte);
        let long = behind.iter().take(DECIDING).take_while(allowed).count();
        if !self.of.accepts(&behind[..long], self.least, behind.get(long)) {
            return None;
        }
        let long = long + behind[long..].iter().take_while(allowed).count();
        Some(FoundSecret { name: self.name, from: at, to: at + self.prefix.len() + long })
    }
}

/// The token that begins here.
pub(super) fn at(bytes: &[u8], at: usize) -> Option<FoundSecret> {
    TOKENS.iter().find_map(|token| token.at(bytes, at))
}

/// The token whose anchor is here.
pub(super) fn around(bytes: &[u8], at: usize, floor: usize) -> Option<FoundSecret> {
    if !may_be_around(bytes, at, floor) {
        return None;
    }
    ROWS.iter().find_map(|(anchor, token)| {
        let from = at.checked_sub(*anchor).filter(|from| *from >= floor)?;
        let prefix = token.prefix.as_bytes();
        if prefix[0] != bytes[from] || prefix[*anchor] != bytes[at] {
            return None;
        }
        let found = token.at(bytes, from)?;
        begins_word(bytes, from, floor).then_some(found)
    })
}

/// The rows with their anchors.
static ROWS: [(usize, &Token); TOKENS.len()] = {
    let mut rows = [(0, &TOKENS[0]); TOKENS.len()];
    let mut n = 0;
    while n < TOKENS.len() {
        rows[n] = match TOKENS[n].anchor() {
            Some(anchor) => (anchor, &TOKENS[n]),
            None => panic!("a prefix without an anchor is never found"),
        };
        n += 1;
    }
    rows
};

/// Bits for the three bytes that end at an anchor, or begin at one that is in front.
static NEAR: [u64; 256] = near();

const fn near() -> [u64; 256] {
    let mut table = [0; 256];
    let mut n = 0;
    while n < ROWS.len() {
        let (anchor, token) = ROWS[n];
        let prefix = token.prefix.as_bytes();
        let from = anchor.saturating_sub(2);
        // What comes behind a short prefix can be anything.
        let known = prefix.len() > from + 2;
        let mut third = if known { prefix[from + 2] } else { 0 };
        loop {
            if known || token.of.allows(third) {
                let spot = spot(prefix[from], prefix[from + 1], third);
                table[spot / 64] |= 1 << (spot % 64);
            }
            if known || third == 127 {
                break;
            }
            third += 1;
        }
        n += 1;
    }
    table
}

const fn spot(first: u8, second: u8, third: u8) -> usize {
    let three = (first as u32) << 16 | (second as u32) << 8 | third as u32;
    (three.wrapping_mul(0x9e37_79b1) >> 18) as usize
}

/// Whether the bytes around the anchor are those of some prefix.
fn may_be_around(bytes: &[u8], at: usize, floor: usize) -> bool {
    let has = |near: Option<&[u8]>| {
        let Some([first, second, third]) = near else { return false };
        let spot = spot(*first, *second, *third);
        NEAR[spot / 64] >> (spot % 64) & 1 == 1
    };
    let from = match bytes[at] {
        b'y' => at.checked_sub(1),
        byte if byte == b'p' || is_sign(byte) => at.checked_sub(2),
        _ => Some(at),
    };
    from.is_some_and(|from| from >= floor && has(bytes.get(from..from + 3)))
}
