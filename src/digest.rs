//! SHA-256 as 64 lower-case hex digits, and the ids made from it.
//!
//! Reads nothing, writes nothing. Invariant: whatever an id holds, what comes out here is safe in a file name.

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The link before the first entry.
pub const NO_DIGEST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The digest of these pieces, one after another.
pub fn sha256(pieces: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for piece in pieces {
        hash.update(piece);
    }
    hex(&hash.finalize())
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)] as char);
        text.push(DIGITS[usize::from(byte & 15)] as char);
    }
    text
}

/// What each byte stands for as a digit; more than fifteen where it is none.
const VALUES: [u8; 256] = {
    let (mut values, mut n) = ([0xff; 256], 0_u8);
    while n < 16 {
        values[DIGITS[n as usize] as usize] = n;
        n += 1;
    }
    values
};

/// A digest where there are many of them: thirty-two bytes in memory, the hex digits wherever it is written.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sum(pub [u8; 32]);

impl Sum {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// `None` for anything but 64 lower-case digits.
    pub fn read(text: &str) -> Option<Self> {
        let digits = <&[u8; 64]>::try_from(text.as_bytes()).ok()?;
        let (mut sum, mut odd) = ([0; 32], 0);
        for at in 0..32 {
            let (high, low) = (VALUES[usize::from(digits[2 * at])], VALUES[usize::from(digits[2 * at + 1])]);
            odd |= high | low;
            sum[at] = high << 4 | low & 15;
        }
        (odd < 16).then_some(Self(sum))
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Sum {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Sum {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            (pair[0], pair[1]) = (DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]);
        }
        to.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Sum {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Digits;
        impl Visitor<'_> for Digits {
            type Value = Sum;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("64 lower-case hex digits")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Sum, E> {
                Sum::read(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        from.deserialize_str(Digits)
    }
}

/// The first eight bytes as a number, for hash tables on disk.
pub fn short(pieces: &[&[u8]]) -> u64 {
    let mut hash = Sha256::new();
    for piece in pieces {
        hash.update(piece);
    }
    let bytes = hash.finalize();
    bytes.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// Ids longer than this stand in the ledger by their digest.
const LONGEST_ID: usize = 128;

/// A session's name inside entries and state.
pub fn trace_id(session_id: &str) -> String {
    if session_id.chars().count() <= LONGEST_ID {
        session_id.to_owned()
    } else {
        sha256(&[session_id.as_bytes()])
    }
}

/// A session's name in file names outside its folder.
pub fn file_name(session_id: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=64).contains(&session_id.len()) && session_id.chars().all(plain) {
        session_id.to_owned()
    } else {
        sha256(&[session_id.as_bytes()])[..16].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sha256_is_the_published_one() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(&[b"a", b"bc"]), abc);
        assert_eq!(short(&[b"abc"]), 0xba78_16bf_8f01_cfea);
    }

    #[test]
    fn sums_are_written_as_digits() {
        let sum = Sum::of(b"abc");
        let text = serde_json::to_string(&sum).unwrap();
        assert_eq!(text, format!("\"{}\"", sha256(&[b"abc"])));
        assert_eq!(serde_json::from_str::<Sum>(&text).unwrap(), sum);
        for odd in ["\"\"", "\"ba78\"", "7", &text.to_uppercase(), &text.replace("ba", "xy")] {
            assert!(serde_json::from_str::<Sum>(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn file_names_hold_no_path() {
        assert_eq!(file_name("abc-DEF_1"), "abc-DEF_1");
        for odd in ["", "../x", "a/b", "a\0b", &"x".repeat(65)] {
            assert_eq!(file_name(odd).len(), 16, "{odd:?}");
        }
    }
}
