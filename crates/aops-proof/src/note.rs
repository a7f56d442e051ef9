//! Signed notes (C2SP `signed-note`).
//!
//! Invariant: only signatures by keys that the caller names count; a wrong signature by such a key, or a
//! second one, makes the whole note invalid.

use super::key::{PublicKey, Signature};
use std::fmt;

/// A reader of notes must accept at least 16 signatures; this leaves room for more.
const MOST_SIGNATURES: usize = 64;
const LONGEST_NOTE: usize = 1 << 20;

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
        let (text, lines) =
            note.rsplit_once("\n\n").ok_or("a note ends with signatures after an empty line")?;
        let signed = lines.strip_suffix('\n').ok_or("a note ends with a line feed")?;
        let signatures: Option<Vec<Signature>> = signed.split('\n').map(Signature::parse).collect();
        let signatures = signatures.ok_or("a line after the empty one is not a signature")?;
        if signatures.len() > MOST_SIGNATURES {
            return Err(format!("more than {MOST_SIGNATURES} signatures"));
        }
        Ok(Self { text: format!("{text}\n"), signatures })
    }

    /// Those of these keys that signed it, each with the time in its cosignature.
    pub fn signers<'k>(&self, keys: &'k [PublicKey]) -> Result<Vec<(&'k PublicKey, u64)>, String> {
        let mut found: Vec<(&PublicKey, u64)> = Vec::new();
        for signature in &self.signatures {
            let known = keys.iter().find(|key| key.name == signature.name && key.id() == signature.id);
            let Some(key) = known else { continue };
            if found.iter().any(|(other, _)| *other == key) {
                return Err(format!("`{}` signed twice", key.name));
            }
            let wrong = || format!("the signature of `{}` is wrong", key.name);
            found.push((key, key.check(&self.text, signature).ok_or_else(wrong)?));
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
    use super::super::key::{SecretKey, Use};
    use super::super::text::base64;
    use super::*;

    /// The example of the specification.
    #[test]
    fn a_note_of_another_program() {
        let key = PublicKey::parse("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k")
            .unwrap();
        let text = "This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";
        let note = Note::parse(text).unwrap();
        assert_eq!(note.signers(std::slice::from_ref(&key)).unwrap(), [(&key, 0)]);
        assert_eq!(note.to_string(), text);
        let changed = Note::parse(&text.replace("example message", "exemple message")).unwrap();
        assert!(changed.signers(&[key]).unwrap_err().contains("wrong"));
    }

    #[test]
    fn keys_sign_and_are_stored() {
        for used in [Use::Note, Use::Cosignature, Use::MlDsa] {
            let key = SecretKey::new("here.example/log", used, &[7; 32]).unwrap();
            let again = SecretKey::parse(&format!("{}\n", key.stored())).unwrap();
            let public = PublicKey::parse(&key.public().to_string()).unwrap();
            let text = format!("here.example/log\n3\n{}\n", base64(&[9; 32]));
            let note = Note { signatures: vec![again.sign(&text, 17).unwrap()], text };
            let note = Note::parse(&note.to_string()).unwrap();
            let time = if used == Use::Note { 0 } else { 17 };
            assert_eq!(note.signers(std::slice::from_ref(&public)).unwrap(), [(&public, time)]);
            // Another key of the same name is unknown, so it does not count.
            let other = SecretKey::new("here.example/log", used, &[8; 32]).unwrap().public().clone();
            assert_eq!(note.signers(&[other]).unwrap(), []);
            let changed = Note { text: note.text.replace("\n3\n", "\n4\n"), ..note };
            assert!(changed.signers(&[public]).unwrap_err().contains("wrong"));
            assert!(!format!("{key:?}").contains(&base64(&[7; 32])));
        }
        assert!(SecretKey::new("a b", Use::Note, &[0; 32]).is_err());
        assert_eq!(SecretKey::new("a", Use::MlDsa, &[0; 32]).unwrap().sign("no checkpoint\n", 0), None);
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
