//! SHA-256 as 64 lower-case hex digits, and names derived from it that are safe in a file name.

mod sum;

pub use sum::Sum;

use sha2::{Digest as _, Sha256};

/// The link before the first entry.
pub const NO_DIGEST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The digest of the concatenated pieces.
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

/// Writes two digits for each byte.
fn spell(bytes: &[u8], digits: &mut [u8]) {
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// The first eight bytes as a number, for hash tables on disk.
pub fn short(pieces: &[&[u8]]) -> u64 {
    digest(pieces).iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// A longer id is written as its digest.
const LONGEST_ID: usize = 128;

/// An id as entries hold it.
pub fn trace_id(id: &str) -> String {
    if id.chars().count() <= LONGEST_ID { id.to_owned() } else { sha256(&[id.as_bytes()]) }
}

/// An id as part of a file name.
pub fn file_name(id: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=64).contains(&id.len()) && id.chars().all(plain) {
        id.to_owned()
    } else {
        sha256(&[id.as_bytes()])[..16].to_owned()
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
}
