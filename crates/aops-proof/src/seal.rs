//! A seal that a stolen key cannot forge for the past: HMAC-SHA-256 with a key that is replaced at each
//! checkpoint by one computed from it, like journald's forward-secure sealing.
//!
//! Invariant: from the key of an epoch all later keys can be computed, but no earlier one.

use super::tree::Hash;
use sha2::{Digest as _, Sha256};
use std::fmt;
use zeroize::Zeroize as _;

const BLOCK: usize = 64;

/// Wiped when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct SealKey {
    pub epoch: u64,
    key: Hash,
}

impl Drop for SealKey {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SealKey({})", self.epoch)
    }
}

impl SealKey {
    pub fn new(epoch: u64, key: Hash) -> Self {
        Self { epoch, key }
    }

    pub fn bytes(&self) -> &Hash {
        &self.key
    }

    #[must_use]
    pub fn next(&self) -> Self {
        Self { epoch: self.epoch + 1, key: hmac(&self.key, &[b"aops-seal/v1 next"]) }
    }

    /// The key of this epoch, which must not be an earlier one.
    pub fn at(&self, epoch: u64) -> Option<Self> {
        let later = epoch.checked_sub(self.epoch)?;
        Some((0..later).fold(self.clone(), |key, _| key.next()))
    }

    /// The seal of a checkpoint's text.
    pub fn seal(&self, text: &str) -> Hash {
        hmac(&self.key, &[format!("aops-seal/v1\nepoch {}\n", self.epoch).as_bytes(), text.as_bytes()])
    }
}

/// RFC 2104: HMAC-SHA-256.
pub fn hmac(key: &[u8], message: &[&[u8]]) -> Hash {
    let mut padded = [0; BLOCK];
    if key.len() > BLOCK {
        let digest: Hash = Sha256::digest(key).into();
        padded[..digest.len()].copy_from_slice(&digest);
    } else {
        padded[..key.len()].copy_from_slice(key);
    }
    let begin = |pad: u8| {
        let mut hash = Sha256::new();
        hash.update(padded.map(|byte| byte ^ pad));
        hash
    };
    let mut inner = begin(0x36);
    let mut outer = begin(0x5c);
    for piece in message {
        inner.update(piece);
    }
    outer.update(inner.finalize());
    padded.zeroize();
    outer.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::super::tiles::hex;
    use super::*;

    /// The first test case of RFC 4231, with its key of 20 bytes.
    #[test]
    fn hmac_is_the_published_one() {
        let mut key = [0; 32];
        key[..20].fill(0x0b);
        let expected = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(hex(&hmac(&key, &[b"Hi ", b"There"])), expected);
    }

    #[test]
    fn a_key_leads_forward_only() {
        let first = SealKey::new(3, [7; 32]);
        let fifth = first.next().next();
        assert_eq!((first.at(5).as_ref(), fifth.at(3)), (Some(&fifth), None));
        assert_ne!(first.seal("x"), fifth.seal("x"));
        assert_ne!(first.seal("x"), first.seal("y"));
        assert!(!format!("{first:?}").contains('7'));
    }
}
