//! The gateway's key, with which it signs answers and sessions.
//!
//! Reads and makes it. Invariant: the secret key is in a file that only its owner reads.

use crate::order::Decision;
use aops_core::system::files::{replace_private, write_beside};
use aops_core::system::random;
use aops_proof::key::{SecretKey, Use};
use aops_proof::text::base64;
use aops_remote::signed::{Trusted, text_of};
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const NAME: &str = "aops-gateway";

/// The gateway's key.
#[derive(Debug)]
pub struct Signer(SecretKey);

impl Signer {
    /// The key of this file, which is made if it is missing. The public key is in a file next to it.
    pub fn open(file: &Path) -> Result<Self, String> {
        let at = |what: String| format!("`{}`: {what}", file.display());
        let signer = match fs::read_to_string(file) {
            Ok(text) => {
                let about = fs::metadata(file).map_err(|error| at(error.to_string()))?;
                if about.mode() & 0o077 != 0 {
                    return Err(at("others can read it\nhint: `chmod 600` it".to_owned()));
                }
                Self(SecretKey::parse(&text).map_err(at)?)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let mut seed = [0; 32];
                random::fill(&mut seed).map_err(|error| at(error.to_string()))?;
                let key = SecretKey::new(NAME, Use::Note, &seed).map_err(at)?;
                replace_private(file, format!("{}\n", key.stored()).as_bytes())
                    .map_err(|error| at(error.to_string()))?;
                Self(key)
            }
            Err(error) => return Err(at(error.to_string())),
        };
        let public = format!("{}\n", signer.0.public());
        write_beside(&file.with_added_extension("pub"), 0o644, |file| file.write_all(public.as_bytes()))
            .map_err(|error| at(error.to_string()))?;
        Ok(signer)
    }

    /// What an answer of this gateway is checked with.
    pub fn trusted(&self) -> Trusted {
        Trusted::only(self.0.public().clone())
    }

    pub fn sign_session(&self, text: &str) -> Vec<u8> {
        self.0.sign(&session_text(text), 0).map(|signature| signature.bytes().to_vec()).unwrap_or_default()
    }

    pub fn has_signed_session(&self, text: &str, signature: &[u8]) -> bool {
        self.0.public().accept(&session_text(text), signature).is_some()
    }

    /// The same answer with its signature.
    pub fn sign(&self, run: &str, mut answer: Decision) -> Decision {
        let signature = self.0.sign(&text_of(run, &answer), 0);
        answer.signature = signature.map(|signature| base64(signature.bytes())).unwrap_or_default();
        answer
    }
}

/// What a session's signature covers: never the text of an answer.
fn session_text(text: &str) -> String {
    format!("aops session 1\n{text}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn answer() -> Decision {
        let text = |text: &str| text.to_owned();
        Decision {
            about: text("d"),
            approve: true,
            who: text("bob"),
            at: text("2026-01-13T10:00:00Z"),
            issuer: text("tokens"),
            from: text("page"),
            note: Some(text("go on")),
            signature: String::new(),
        }
    }

    #[test]
    fn an_answer_counts_as_it_was_signed_and_for_its_run() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gateway.key");
        let signer = Signer::open(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        let given = fs::read_to_string(folder.path().join("gateway.key.pub")).unwrap();
        let trusted = Trusted::read(&[given.trim().to_owned()]).unwrap();
        let good = signer.sign("r1", answer());
        assert_eq!(trusted.check("r1", &good), Ok(()));
        assert_eq!(Signer::open(&file).unwrap().sign("r1", answer()), good, "the key is kept");
        assert!(trusted.check("r2", &good).is_err() && trusted.check("r1", &answer()).is_err());
        let changes: [fn(&mut Decision); 7] = [
            |one| one.about.push('x'),
            |one| one.approve = false,
            |one| one.who.push('x'),
            |one| one.at.push('x'),
            |one| one.issuer.push('x'),
            |one| one.from.push('x'),
            |one| one.note = None,
        ];
        for change in changes {
            let mut odd = good.clone();
            change(&mut odd);
            assert!(trusted.check("r1", &odd).is_err(), "{odd:?}");
        }
        let other = Signer::open(&folder.path().join("other")).unwrap();
        assert!(trusted.check("r1", &other.sign("r1", answer())).unwrap_err().contains("not signed"));
        assert!(Trusted::default().check("r1", &good).unwrap_err().contains("hint:"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(Signer::open(&file).unwrap_err().contains("hint:"));
        assert!(Trusted::read(&["nonsense".to_owned()]).is_err());
    }
}
