//! Keys and their signatures: Ed25519 over notes (C2SP `signed-note`), Ed25519 and ML-DSA-44 over checkpoints
//! (`tlog-cosignature`).
//!
//! Invariant: a secret key is wiped when it is dropped, and never printed by `Debug`.

use super::checkpoint::Checkpoint;
use super::text::{base64, from_base64};
use super::tiles::hex;
use ed25519_dalek::{Signer as _, VerifyingKey};
use libcrux_ml_dsa::ml_dsa_44::{
    self as ml_dsa, MLDSA44Signature, MLDSA44SigningKey, MLDSA44VerificationKey,
};
use sha2::{Digest as _, Sha256};
use std::fmt;
use zeroize::Zeroize as _;

/// What a key signs, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The text of a note, with Ed25519.
    Note,
    /// A checkpoint together with the time at which it was seen, with Ed25519.
    Cosignature,
    /// The same with ML-DSA-44, which a quantum computer cannot forge. A log also signs its own checkpoints
    /// this way, without a time.
    MlDsa,
}

impl Use {
    fn byte(self) -> u8 {
        match self {
            Self::Note => 1,
            Self::Cosignature => 4,
            Self::MlDsa => 6,
        }
    }

    fn of(byte: u8) -> Option<Self> {
        [Self::Note, Self::Cosignature, Self::MlDsa].into_iter().find(|one| one.byte() == byte)
    }

    /// Length of a public key in bytes.
    fn long(self) -> usize {
        if self == Self::MlDsa { 1312 } else { 32 }
    }

    /// The signed message. `None`: an ML-DSA key signs only checkpoints.
    fn message(self, name: &str, time: u64, text: &str) -> Option<Vec<u8>> {
        Some(match self {
            Self::Note => text.into(),
            Self::Cosignature => format!("cosignature/v1\ntime {time}\n{text}").into(),
            Self::MlDsa => {
                let Checkpoint { origin, size, root } = Checkpoint::parse(text).ok()?;
                let short = |text: &str| u8::try_from(text.len()).ok().filter(|long| *long > 0);
                let parts: [&[u8]; 9] = [
                    b"subtree/v1\n\0",
                    &[short(name)?],
                    name.as_bytes(),
                    &time.to_be_bytes(),
                    &[short(&origin)?],
                    origin.as_bytes(),
                    &0_u64.to_be_bytes(),
                    &size.to_be_bytes(),
                    &root,
                ];
                parts.concat()
            }
        })
    }
}

/// A key's name must have no blanks and no plus signs.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '+')
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    pub name: String,
    pub used: Use,
    bytes: Vec<u8>,
}

impl PublicKey {
    /// The key with these bytes. `None`: the bytes are not a key, or the name is invalid.
    pub fn new(name: &str, used: Use, bytes: &[u8]) -> Option<Self> {
        let fits = match used {
            Use::MlDsa => bytes.len() == used.long(),
            _ => VerifyingKey::from_bytes(bytes.try_into().ok()?).is_ok(),
        };
        (fits && is_name(name)).then(|| Self { name: name.to_owned(), used, bytes: bytes.to_vec() })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn id(&self) -> [u8; 4] {
        let mut hash = Sha256::new();
        for part in [self.name.as_bytes(), b"\n", &[self.used.byte()], &self.bytes] {
            hash.update(part);
        }
        let [a, b, c, d, ..]: [u8; 32] = hash.finalize().into();
        [a, b, c, d]
    }

    /// `name+id+key`, the form in which witnesses are configured.
    pub fn parse(text: &str) -> Result<Self, String> {
        let odd = || format!("`{text}` is not a key: it has the form `name+00000000+…`");
        let (name, rest) = text.split_once('+').ok_or_else(odd)?;
        let (id, key) = rest.split_once('+').ok_or_else(odd)?;
        let bytes = from_base64(key).ok_or_else(odd)?;
        let (used, key) = bytes.split_first().ok_or_else(odd)?;
        let used =
            Use::of(*used).ok_or_else(|| format!("`{name}` has a key of kind {used}, which is not known"))?;
        Self::new(name, used, key).filter(|parsed| hex(&parsed.id()) == id).ok_or_else(odd)
    }

    /// The time of the cosignature (zero for other signatures), if this key signed the text.
    pub(crate) fn check(&self, text: &str, signature: &Signature) -> Option<u64> {
        let mut time = 0;
        let mut bytes = &signature.bytes[..];
        if self.used != Use::Note {
            let (first, rest) = bytes.split_first_chunk::<8>()?;
            time = u64::from_be_bytes(*first);
            bytes = rest;
        }
        let message = self.used.message(&self.name, time, text)?;
        let right = if self.used == Use::MlDsa {
            let key = MLDSA44VerificationKey::new(self.bytes[..].try_into().ok()?);
            ml_dsa::verify(&key, &message, &[], &MLDSA44Signature::new(bytes.try_into().ok()?)).is_ok()
        } else {
            let key = VerifyingKey::from_bytes(self.bytes[..].try_into().ok()?).ok()?;
            key.verify_strict(&message, &ed25519_dalek::Signature::from_slice(bytes).ok()?).is_ok()
        };
        right.then_some(time)
    }

    /// A signature of the text that another program made with this key. `None`: it does not match.
    pub fn accept(&self, text: &str, bytes: &[u8]) -> Option<Signature> {
        let signature = Signature { name: self.name.clone(), id: self.id(), bytes: bytes.to_vec() };
        self.check(text, &signature).map(|_| signature)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let key = [&[self.used.byte()], &self.bytes[..]].concat();
        write!(f, "{}+{}+{}", self.name, hex(&self.id()), base64(&key))
    }
}

enum Secret {
    Ed25519(Box<ed25519_dalek::SigningKey>),
    MlDsa(Box<MlDsaKey>),
}

/// The key, and the random bytes from which it was made.
struct MlDsaKey {
    seed: [u8; 32],
    key: MLDSA44SigningKey,
}

impl Drop for MlDsaKey {
    fn drop(&mut self) {
        self.seed.zeroize();
        self.key.as_mut_slice().zeroize();
    }
}

/// Wiped when it is dropped.
pub struct SecretKey {
    public: PublicKey,
    secret: Secret,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SecretKey({})", self.public.name)
    }
}

impl SecretKey {
    /// A key from 32 random bytes.
    pub fn new(name: &str, used: Use, seed: &[u8; 32]) -> Result<Self, String> {
        let (secret, bytes) = if used == Use::MlDsa {
            let pair = ml_dsa::generate_key_pair(*seed);
            let key = MlDsaKey { seed: *seed, key: pair.signing_key };
            (Secret::MlDsa(Box::new(key)), pair.verification_key.as_slice().to_vec())
        } else {
            let key = ed25519_dalek::SigningKey::from_bytes(seed);
            let public = key.verifying_key().as_bytes().to_vec();
            (Secret::Ed25519(Box::new(key)), public)
        };
        let odd = || format!("`{name}` cannot name a key: blanks and `+` are not allowed");
        Ok(Self { public: PublicKey::new(name, used, &bytes).ok_or_else(odd)?, secret })
    }

    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The form in which it is stored: `PRIVATE+KEY+name+id+seed`.
    pub fn stored(&self) -> String {
        let seed = match &self.secret {
            Secret::Ed25519(key) => &key.as_bytes()[..],
            Secret::MlDsa(key) => &key.seed,
        };
        let seed = base64(&[&[self.public.used.byte()], seed].concat());
        format!("PRIVATE+KEY+{}+{}+{seed}", self.public.name, hex(&self.public.id()))
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        let odd = || "this is not a secret key: it has the form `PRIVATE+KEY+name+00000000+…`".to_owned();
        let rest = text.trim_end().strip_prefix("PRIVATE+KEY+").ok_or_else(odd)?;
        let mut parts = rest.splitn(3, '+');
        let (Some(name), Some(id), Some(seed)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(odd());
        };
        let bytes = from_base64(seed).ok_or_else(odd)?;
        let (used, seed) = bytes.split_first().ok_or_else(odd)?;
        let key = Self::new(
            name,
            Use::of(*used).ok_or_else(odd)?,
            <&[u8; 32]>::try_from(seed).map_err(|_| odd())?,
        )?;
        if hex(&key.public.id()) == id { Ok(key) } else { Err(odd()) }
    }

    /// Signs the text of a note; a plain note contains no time. `None`: an ML-DSA key signs only checkpoints.
    pub fn sign(&self, text: &str, time: u64) -> Option<Signature> {
        let PublicKey { name, used, .. } = &self.public;
        let message = used.message(name, time, text)?;
        let signature = match &self.secret {
            Secret::Ed25519(key) => key.sign(&message).to_bytes().to_vec(),
            // Deterministic: one checkpoint has one signature.
            Secret::MlDsa(key) => ml_dsa::sign(&key.key, &message, &[], [0; 32]).ok()?.as_slice().to_vec(),
        };
        let time = time.to_be_bytes();
        let bytes = [if *used == Use::Note { &[] } else { &time[..] }, &signature].concat();
        Some(Signature { name: name.clone(), id: self.public.id(), bytes })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    pub id: [u8; 4],
    bytes: Vec<u8>,
}

impl Signature {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn parse(line: &str) -> Option<Self> {
        let (name, rest) = line.strip_prefix("— ")?.split_once(' ')?;
        let bytes = from_base64(rest)?;
        let (id, bytes) = bytes.split_first_chunk::<4>()?;
        (is_name(name) && !bytes.is_empty()).then(|| Self {
            name: name.to_owned(),
            id: *id,
            bytes: bytes.to_vec(),
        })
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "— {} {}", self.name, base64(&[&self.id, &self.bytes[..]].concat()))
    }
}
