//! The text of a checkpoint: its canonical form, with the digest of everything else in its place.
//!
//! Reads nothing, writes nothing. Invariant: the digest is over the very bytes, so that a text of megabytes is known to be
//! whole without being written out again, and the files of one checkpoint can be taken over into another as they stand.

use super::{Checkpoint, Identity};
use crate::digest::sha256;
use crate::state::canonical;
use crate::tree::Artifacts;
use memchr::memmem;
use serde::Deserialize;
use std::borrow::Cow;

const FILES: &str = "\"artifacts\":";
/// What follows the files, in a text without and with a digest. No text in a text has bare quotes, so neither occurs twice.
const NEXT: &str = ",\"governance\":";
const DIGEST: &str = ",\"digest\":\"";

/// The text of a checkpoint in three pieces, the files in the middle: they are megabytes, and copied by nobody.
#[derive(Debug)]
pub struct Text<'a> {
    before: String,
    files: Cow<'a, str>,
    after: String,
}

impl Text<'_> {
    pub fn pieces(&self) -> [&str; 3] {
        [&self.before, &self.files, &self.after]
    }
}

/// Sealed: the checkpoint with its digest, and its text. `files`: the text of its artifacts, where somebody has it already.
pub fn seal(mut checkpoint: Checkpoint, files: Option<&str>) -> (Checkpoint, Text<'_>) {
    checkpoint.digest = None;
    let artifacts = std::mem::take(&mut checkpoint.artifacts);
    let files = files.map_or_else(|| Cow::Owned(canonical(&artifacts)), Cow::Borrowed);
    let bare = canonical(&checkpoint);
    let none = format!("{FILES}{}", canonical(&Artifacts::default()));
    let (before, after) = bare.split_once(&none).unwrap_or((&bare, ""));
    let digest = sha256(&[before.as_bytes(), FILES.as_bytes(), files.as_bytes(), after.as_bytes()]);
    let text = Text {
        before: [before, FILES].concat(),
        after: [DIGEST, &digest, "\"", after, "\n"].concat(),
        files,
    };
    (Checkpoint { artifacts, digest: Some(digest), ..checkpoint }, text)
}

/// The checkpoint of a text, or what is wrong with it.
pub fn unseal(text: &[u8]) -> Result<Checkpoint, String> {
    let sound = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    let checkpoint: Checkpoint = serde_json::from_str(sound).map_err(|error| error.to_string())?;
    if let Some(why) = checkpoint.problem() {
        return Err(why);
    }
    let parts = memmem::find(text, DIGEST.as_bytes()).and_then(|at| {
        let rest = text.get(at + DIGEST.len() + 65..)?;
        Some((&text[..at], rest.strip_suffix(b"\n").unwrap_or(rest)))
    });
    let said = parts.map(|(before, after)| sha256(&[before, after]));
    if said.is_none() || said != checkpoint.digest {
        return Err("its digest is not that of its content".to_owned());
    }
    Ok(checkpoint)
}

/// Whose it says it is: a hint, since nothing of it was checked, and quick, since no file of it was read.
pub fn identity(text: &[u8]) -> Option<Identity> {
    #[derive(Deserialize)]
    struct Rest {
        identity: Identity,
    }
    let rest = text.get(memmem::find(text, NEXT.as_bytes())? + 1..)?;
    serde_json::from_slice::<Rest>(&[b"{", rest].concat()).ok().map(|rest| rest.identity)
}

/// The part of a sound text that lists the files.
pub fn files(text: &[u8]) -> Option<&str> {
    let begin = memmem::find(text, FILES.as_bytes())? + FILES.len();
    let end = memmem::find(text, DIGEST.as_bytes()).or_else(|| memmem::find(text, NEXT.as_bytes()))?;
    std::str::from_utf8(text.get(begin..end)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::SCHEMA;
    use crate::digest::Sum;
    use crate::tree::File;

    fn sample() -> Checkpoint {
        let odd = r#"a","digest":"b,"artifacts":{"files":[],"folders":[],"left_out":[]}"#;
        let file = File { path: odd.to_owned(), sha256: Sum::of(b"x"), ..File::default() };
        let checkpoint_id = "manual/POST_idle_v1".to_owned();
        Checkpoint {
            artifacts: Artifacts { files: vec![file], ..Artifacts::default() },
            identity: Identity { checkpoint_id, run_id: "manual".to_owned(), ..Identity::default() },
            metadata: [("note".to_owned(), odd.to_owned())].into(),
            schema: SCHEMA,
            version: 1,
            ..Checkpoint::default()
        }
    }

    #[test]
    fn what_was_sealed_is_read_and_nothing_else() {
        let (sealed, text) = seal(sample(), None);
        let text = text.pieces().concat();
        assert_eq!(text, canonical(&sealed) + "\n", "the canonical form");
        assert_eq!(unseal(text.as_bytes()).unwrap(), sealed);
        assert_eq!(identity(text.as_bytes()).as_ref(), Some(&sealed.identity));
        let (again, same) = seal(sample(), files(text.as_bytes()));
        assert_eq!((again, same.pieces().concat()), (sealed, text.clone()), "the files as they stand");
        for (n, byte) in text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_alphanumeric()) {
            let mut edited = text.clone().into_bytes();
            edited[n] = if byte == b'0' { b'1' } else { b'0' };
            assert!(unseal(&edited).is_err(), "byte {n} of {text}");
        }
    }
}
