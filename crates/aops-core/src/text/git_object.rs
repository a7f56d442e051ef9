//! Computes git's name for the content of a file, without starting git.
//!
//! Pure. A repository names its objects with SHA-1 or with SHA-256; the length of any of its names shows
//! which one.

use crate::text::sha256::{hex, sha256};

/// The hash function of a repository's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectFormat {
    Sha1,
    Sha256,
}

impl ObjectFormat {
    /// The format of this name; `None` if it is not a name.
    pub fn of_id(id: &str) -> Option<Self> {
        let is_hex = id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match id.len() {
            40 if is_hex => Some(Self::Sha1),
            64 if is_hex => Some(Self::Sha256),
            _ => None,
        }
    }

    /// The name of a blob with this content.
    pub fn blob(self, content: &[u8]) -> String {
        let head = format!("blob {}\0", content.len());
        self.digest(&[head.as_bytes(), content])
    }

    pub fn digest(self, parts: &[&[u8]]) -> String {
        match self {
            Self::Sha1 => hex(&sha1(parts)),
            Self::Sha256 => sha256(parts),
        }
    }
}

const BLOCK: usize = 64;

/// FIPS 180-4. Only git's names are made with it; nothing here relies on it against an attacker.
fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    let mut message = parts.concat();
    let long = message.len();
    message.push(0x80);
    message.resize((long + 9).next_multiple_of(BLOCK), 0);
    let end = message.len() - 8;
    message[end..].copy_from_slice(&(long as u64 * 8).to_be_bytes());
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in message.as_chunks::<BLOCK>().0 {
        add_block(&mut state, block);
    }
    let mut digest = [0; 20];
    for (to, word) in digest.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

fn add_block(state: &mut [u32; 5], block: &[u8; BLOCK]) {
    let mut words = [0_u32; 80];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for at in 16..80 {
        words[at] = (words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16]).rotate_left(1);
    }
    let mut mixed = *state;
    for (at, word) in words.into_iter().enumerate() {
        let [first, second, third, fourth, fifth] = mixed;
        let (chosen, constant) = match at / 20 {
            0 => ((second & third) | (!second & fourth), 0x5a82_7999_u32),
            1 => (second ^ third ^ fourth, 0x6ed9_eba1),
            2 => ((second & third) | (second & fourth) | (third & fourth), 0x8f1b_bcdc),
            _ => (second ^ third ^ fourth, 0xca62_c1d6),
        };
        let sum = [chosen, fifth, constant, word].into_iter().fold(first.rotate_left(5), u32::wrapping_add);
        mixed = [sum, first, second.rotate_left(30), third, fourth];
    }
    for (word, more) in state.iter_mut().zip(mixed) {
        *word = word.wrapping_add(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected names are the output of `git hash-object`.
    #[test]
    fn names_are_those_of_git() {
        for (content, id) in [
            (&b""[..], "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
            (b"test content\n", "d670460b4b4aece5915caf5c68d12f560a9fe3e4"),
        ] {
            assert_eq!(ObjectFormat::Sha1.blob(content), id);
        }
        let empty = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813";
        assert_eq!(ObjectFormat::Sha256.blob(b""), empty);
        assert_eq!(hex(&sha1(&[b"abc"])), "a9993e364706816aba3e25717850c26c9cd0d89d");
    }

    /// Near the end of a block the padding needs one more block.
    #[test]
    fn every_length_around_a_block_is_hashed_whole() {
        let digest = |long: usize| hex(&sha1(&[&vec![b'a'; long]]));
        assert_eq!(digest(55), "c1c8bbdc22796e28c0e15163d20899b65621d65a");
        assert_eq!(digest(56), "c2db330f6083854c99d4b5bfb6e8f29f201be699");
        assert_eq!(digest(63), "03f09f5b158a7a8cdad920bddc29b81c18a551f5");
        assert_eq!(digest(64), "0098ba824b5c16427bd7a1122a5a442a25ec644d");
        assert_eq!(digest(119), "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56");
        assert_eq!(digest(120), "f34c1488385346a55709ba056ddd08280dd4c6d6");
    }

    #[test]
    fn a_name_tells_its_format() {
        assert_eq!(ObjectFormat::of_id(&"a".repeat(40)), Some(ObjectFormat::Sha1));
        assert_eq!(ObjectFormat::of_id(&"0".repeat(64)), Some(ObjectFormat::Sha256));
        for odd in ["", "HEAD", &"A".repeat(40), &"a".repeat(41)] {
            assert_eq!(ObjectFormat::of_id(odd), None, "{odd}");
        }
    }
}
