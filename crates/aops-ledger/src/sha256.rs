//! SHA-256 as 64 lower-case hex digits, and names derived from it that are safe in a file name.

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The link before the first entry.
pub const NO_DIGEST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

pub fn sha256(pieces: &[&[u8]]) -> String {
    hex(&digest(pieces))
}

fn digest(pieces: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for piece in pieces {
        hash.update(piece);
    }
    hash.finalize().into()
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

pub fn hex(bytes: &[u8]) -> String {
    let mut digits = vec![0; bytes.len() * 2];
    spell(bytes, &mut digits);
    String::from_utf8(digits).unwrap_or_default()
}

fn spell(bytes: &[u8], digits: &mut [u8]) {
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// The first eight bytes as a number, for hash tables on disk.
pub fn short(pieces: &[&[u8]]) -> u64 {
    digest(pieces).iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// A longer ID is written as its digest.
const LONGEST_ID: usize = 128;

/// The form of an ID in entries.
pub fn trace_id(id: &str) -> String {
    if id.chars().count() <= LONGEST_ID { id.to_owned() } else { sha256(&[id.as_bytes()]) }
}

/// An ID in a form that is safe in a file name.
pub fn file_name(id: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=64).contains(&id.len()) && id.chars().all(plain) {
        id.to_owned()
    } else {
        sha256(&[id.as_bytes()])[..16].to_owned()
    }
}

/// A digest as 32 bytes, for lists of many thousands. It is serialised as 64 lower-case hex digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sum(pub [u8; 32]);

/// The value of each hex digit; 255 for every other byte.
const VALUES: [u8; 256] = {
    let mut values = [0xff; 256];
    let mut n = 0_u8;
    while n < 16 {
        values[DIGITS[n as usize] as usize] = n;
        n += 1;
    }
    values
};

impl Sum {
    pub fn of(bytes: &[u8]) -> Self {
        Self(digest(&[bytes]))
    }

    pub fn of_pieces(pieces: &[&[u8]]) -> Self {
        Self(digest(pieces))
    }

    /// Whether these 64 digits are this digest.
    pub fn is(&self, digits: &str) -> bool {
        Self::read(digits).as_ref() == Some(self)
    }

    /// `None` for anything but 64 lower-case digits.
    pub fn read(text: &str) -> Option<Self> {
        let digits = <&[u8; 64]>::try_from(text.as_bytes()).ok()?;
        let mut sum = [0; 32];
        let mut odd = 0;
        for at in 0..32 {
            let high = VALUES[usize::from(digits[2 * at])];
            let low = VALUES[usize::from(digits[2 * at + 1])];
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

impl Serialize for Sum {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut text = [0; 64];
        spell(&self.0, &mut text);
        to.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Sum {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::read(<&str>::deserialize(from)?)
            .ok_or_else(|| D::Error::custom("expected 64 lower-case hex digits"))
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
    fn file_names_hold_no_path() {
        assert_eq!(file_name("abc-DEF_1"), "abc-DEF_1");
        for odd in ["", "../x", "a/b", "a\0b", &"x".repeat(65)] {
            assert_eq!(file_name(odd).len(), 16, "{odd:?}");
        }
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
}
