//! Signed notes (C2SP `signed-note`) and the cosignatures of witnesses (`tlog-cosignature`), with Ed25519 keys.
//!
//! Invariant: a signature counts only by a key that the caller names; a signature of such a key that is wrong spoils the
//! whole note.

use super::tiles::hex;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature as Ed25519, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A reader of notes accepts at least 16 signatures; nobody needs more than this.
const MOST_SIGNATURES: usize = 64;
const LONGEST_NOTE: usize = 1 << 20;

pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// What a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The text of a note.
    Note,
    /// A checkpoint, with the time at which it was seen.
    Cosignature,
}

impl Use {
    fn byte(self) -> u8 {
        match self {
            Self::Note => 1,
            Self::Cosignature => 4,
        }
    }

    fn of(byte: u8) -> Option<Self> {
        [Self::Note, Self::Cosignature].into_iter().find(|one| one.byte() == byte)
    }
}

/// A name without blanks and plus signs, as a key must have.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '+')
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    pub name: String,
    pub used: Use,
    key: VerifyingKey,
}

impl PublicKey {
    pub fn id(&self) -> [u8; 4] {
        let mut hash = Sha256::new();
        for part in [self.name.as_bytes(), b"\n", &[self.used.byte()], self.key.as_bytes()] {
            hash.update(part);
        }
        let [a, b, c, d, ..]: [u8; 32] = hash.finalize().into();
        [a, b, c, d]
    }

    /// `name+id+key`, as witnesses are configured with.
    pub fn parse(text: &str) -> Result<Self, String> {
        let odd = || format!("`{text}` is no key: it has the form `name+00000000+…`");
        let (name, rest) = text.split_once('+').ok_or_else(odd)?;
        let (id, key) = rest.split_once('+').ok_or_else(odd)?;
        let bytes = from_base64(key).ok_or_else(odd)?;
        let (used, key) = bytes.split_first().ok_or_else(odd)?;
        let used = Use::of(*used).ok_or_else(|| format!("`{name}` has a key of kind {used}, which is not known"))?;
        let key = <&[u8; 32]>::try_from(key).map_err(|_| odd())?;
        let key = VerifyingKey::from_bytes(key).map_err(|_| odd())?;
        let parsed = Self { name: name.to_owned(), used, key };
        if !is_name(name) || hex(&parsed.id()) != id {
            return Err(odd());
        }
        Ok(parsed)
    }

    /// The time of the cosignature (zero for others), if this is a signature of the text by this key.
    fn check(&self, text: &str, bytes: &[u8]) -> Option<u64> {
        let (time, bytes) = match self.used {
            Use::Note => (0, bytes),
            Use::Cosignature => {
                let (time, bytes) = bytes.split_first_chunk::<8>()?;
                (u64::from_be_bytes(*time), bytes)
            }
        };
        let signature = Ed25519::from_slice(bytes).ok()?;
        let message = message(self.used, time, text);
        self.key.verify_strict(message.as_bytes(), &signature).ok().map(|()| time)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let key = [&[self.used.byte()], &self.key.as_bytes()[..]].concat();
        write!(f, "{}+{}+{}", self.name, hex(&self.id()), base64(&key))
    }
}

fn message(used: Use, time: u64, text: &str) -> String {
    match used {
        Use::Note => text.to_owned(),
        Use::Cosignature => format!("cosignature/v1\ntime {time}\n{text}"),
    }
}

/// Wiped when it is dropped.
pub struct SecretKey {
    name: String,
    used: Use,
    key: SigningKey,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SecretKey({})", self.name)
    }
}

impl SecretKey {
    /// A key from 32 random bytes.
    pub fn new(name: &str, used: Use, seed: &[u8; 32]) -> Result<Self, String> {
        if !is_name(name) {
            return Err(format!("`{name}` cannot name a key: no blanks, no `+`"));
        }
        Ok(Self { name: name.to_owned(), used, key: SigningKey::from_bytes(seed) })
    }

    pub fn public(&self) -> PublicKey {
        PublicKey { name: self.name.clone(), used: self.used, key: self.key.verifying_key() }
    }

    /// The form in which it is stored: `PRIVATE+KEY+name+id+seed`.
    pub fn stored(&self) -> String {
        let seed = [&[self.used.byte()], &self.key.as_bytes()[..]].concat();
        format!("PRIVATE+KEY+{}+{}+{}", self.name, hex(&self.public().id()), base64(&seed))
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        let odd = || "this is no secret key: it has the form `PRIVATE+KEY+name+00000000+…`".to_owned();
        let rest = text.trim_end().strip_prefix("PRIVATE+KEY+").ok_or_else(odd)?;
        let mut parts = rest.splitn(3, '+');
        let (Some(name), Some(id), Some(seed)) = (parts.next(), parts.next(), parts.next()) else { return Err(odd()) };
        let bytes = from_base64(seed).ok_or_else(odd)?;
        let (used, seed) = bytes.split_first().ok_or_else(odd)?;
        let key = Self::new(name, Use::of(*used).ok_or_else(odd)?, <&[u8; 32]>::try_from(seed).map_err(|_| odd())?)?;
        if hex(&key.public().id()) == id { Ok(key) } else { Err(odd()) }
    }

    /// Signs the text of a note; `time` is told by a cosignature only.
    pub fn sign(&self, text: &str, time: u64) -> Signature {
        let signature = self.key.sign(message(self.used, time, text).as_bytes()).to_bytes();
        let time = time.to_be_bytes();
        let bytes = [if self.used == Use::Cosignature { &time[..] } else { &[] }, &signature[..]].concat();
        Signature { name: self.name.clone(), id: self.public().id(), bytes }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    pub id: [u8; 4],
    bytes: Vec<u8>,
}

impl Signature {
    pub fn parse(line: &str) -> Option<Self> {
        let (name, rest) = line.strip_prefix("— ")?.split_once(' ')?;
        let bytes = from_base64(rest)?;
        let (id, bytes) = bytes.split_first_chunk::<4>()?;
        (is_name(name) && !bytes.is_empty()).then(|| Self { name: name.to_owned(), id: *id, bytes: bytes.to_vec() })
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "— {} {}", self.name, base64(&[&self.id, &self.bytes[..]].concat()))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Ends with a line feed.
    pub text: String,
    pub signatures: Vec<Signature>,
}

impl Note {
    pub fn parse(note: &str) -> Result<Self, String> {
        if note.len() > LONGEST_NOTE || note.contains(|c: char| c < ' ' && c != '\n') {
            return Err("a note is a short text without control characters".to_owned());
        }
        let (text, lines) = note.rsplit_once("\n\n").ok_or("a note ends with signatures after an empty line")?;
        let signed = lines.strip_suffix('\n').ok_or("a note ends with a line feed")?;
        let signatures: Option<Vec<Signature>> = signed.split('\n').map(Signature::parse).collect();
        let signatures = signatures.ok_or("a line after the empty one is no signature")?;
        if signatures.len() > MOST_SIGNATURES {
            return Err(format!("more than {MOST_SIGNATURES} signatures"));
        }
        Ok(Self { text: format!("{text}\n"), signatures })
    }

    /// The keys among these that signed it, each with the time that a cosignature tells.
    pub fn signers<'k>(&self, keys: &'k [PublicKey]) -> Result<Vec<(&'k PublicKey, u64)>, String> {
        let mut found: Vec<(&PublicKey, u64)> = Vec::new();
        for signature in &self.signatures {
            let known = keys.iter().find(|key| key.name == signature.name && key.id() == signature.id);
            let Some(key) = known.filter(|key| !found.iter().any(|(other, _)| other == key)) else { continue };
            let wrong = || format!("the signature of `{}` is wrong", key.name);
            found.push((key, key.check(&self.text, &signature.bytes).ok_or_else(wrong)?));
        }
        Ok(found)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures.iter().try_for_each(|signature| write!(f, "{signature}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification.
    #[test]
    fn a_note_of_another_program() {
        let key = PublicKey::parse("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k").unwrap();
        let text = "This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";
        let note = Note::parse(text).unwrap();
        assert_eq!(note.signers(std::slice::from_ref(&key)).unwrap(), [(&key, 0)]);
        assert_eq!(note.to_string(), text);
        let changed = Note::parse(&text.replace("example message", "exemple message")).unwrap();
        assert!(changed.signers(&[key]).unwrap_err().contains("wrong"));
    }

    #[test]
    fn keys_sign_and_are_stored() {
        for used in [Use::Note, Use::Cosignature] {
            let key = SecretKey::new("here.example/log", used, &[7; 32]).unwrap();
            let again = SecretKey::parse(&format!("{}\n", key.stored())).unwrap();
            let public = PublicKey::parse(&key.public().to_string()).unwrap();
            let text = "here.example/log\n3\nx\n".to_owned();
            let note = Note { signatures: vec![again.sign(&text, 17)], text };
            let note = Note::parse(&note.to_string()).unwrap();
            let time = if used == Use::Cosignature { 17 } else { 0 };
            assert_eq!(note.signers(std::slice::from_ref(&public)).unwrap(), [(&public, time)]);
            // Another key of the same name is not known.
            let other = SecretKey::new("here.example/log", used, &[8; 32]).unwrap().public();
            assert_eq!(note.signers(&[other]).unwrap(), []);
            assert!(!format!("{key:?}").contains(&base64(&[7; 32])));
        }
        assert!(SecretKey::new("a b", Use::Note, &[0; 32]).is_err());
    }

    #[test]
    fn what_is_no_note_or_key() {
        for text in [
            "",
            "x",
            "x\n\n",
            "x\n\n— a b",
            "x\n\n— a AAAA\n",
            "x\n\ny\n",
            "x\u{1}\n\n— a AAAAAAAA\n",
            "x\n\n— a+b AAAAAAAA\n",
        ] {
            assert!(Note::parse(text).is_err(), "{text:?}");
        }
        let good = SecretKey::new("a", Use::Note, &[1; 32]).unwrap();
        for text in ["", "a", "a+00000000+AA==", &good.public().to_string().replace("a+", "b+")] {
            assert!(PublicKey::parse(text).is_err(), "{text}");
        }
        for text in ["", "PRIVATE+KEY+a", &good.stored().replace("+a+", "+b+"), &good.public().to_string()] {
            assert!(SecretKey::parse(text).is_err(), "{text}");
        }
    }
}
