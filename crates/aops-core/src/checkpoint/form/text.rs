//! The text of a checkpoint: its canonical form, with a digest over everything else.
//!
//! Pure. Invariant: the digest is over the bytes, so that a text of megabytes is verified without serialising
//! it again, and the files of one checkpoint can be copied into another as text.

use super::{Checkpoint, Identity};
use crate::checkpoint::tree::{Artifacts, File};
use crate::text::{sha256::sha256, stored::canonical};
use memchr::memmem;
use serde::Deserialize;
use std::borrow::Cow;

const FILES: &str = "\"artifacts\":";
/// What follows the files, in a text without and with a digest. Quotes inside a JSON string are escaped, so
/// neither can occur twice.
const NEXT: &str = ",\"governance\":";
/// Where the list of files begins and ends.
const LIST: &str = "\"artifacts\":{\"files\":[";
const FOLDERS: &str = "],\"folders\":[";
const DIGEST: &str = ",\"digest\":\"";

/// The text of a checkpoint in three pieces; the middle one contains the files, may be megabytes and is not
/// copied.
#[derive(Debug)]
pub struct CheckpointText<'a> {
    before: String,
    files: Cow<'a, str>,
    after: String,
}

impl CheckpointText<'_> {
    pub fn pieces(&self) -> [&str; 3] {
        [&self.before, &self.files, &self.after]
    }
}

/// The checkpoint with its digest, and its text. `files`: the text of its artifacts, if known.
pub fn seal(mut checkpoint: Checkpoint, files: Option<&str>) -> (Checkpoint, CheckpointText<'_>) {
    checkpoint.digest = None;
    let artifacts = std::mem::take(&mut checkpoint.artifacts);
    let files = files.map_or_else(|| Cow::Owned(canonical(&artifacts)), Cow::Borrowed);
    let bare = canonical(&checkpoint);
    let none = format!("{FILES}{}", canonical(&Artifacts::default()));
    let (before, after) = bare.split_once(&none).unwrap_or((&bare, ""));
    let digest = sha256(&[before.as_bytes(), FILES.as_bytes(), files.as_bytes(), after.as_bytes()]);
    let text = CheckpointText {
        before: [before, FILES].concat(),
        after: [DIGEST, &digest, "\"", after, "\n"].concat(),
        files,
    };
    (Checkpoint { artifacts, digest: Some(digest), ..checkpoint }, text)
}

pub fn unseal(text: &[u8]) -> Result<Checkpoint, String> {
    let sound = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    whole(text, serde_json::from_str(sound).map_err(|error| error.to_string())?)
}

/// The same without parsing the files. The digest over the whole text is checked.
pub fn unseal_but_files(text: &[u8]) -> Result<Checkpoint, String> {
    let Some(begin) = memmem::find(text, LIST.as_bytes()).map(|at| at + LIST.len()) else {
        return unseal(text);
    };
    let Some(long) = memmem::find(&text[begin..], FOLDERS.as_bytes()) else { return unseal(text) };
    let checkpoint = serde_json::from_slice(&[&text[..begin], &text[begin + long..]].concat());
    let checkpoint: Checkpoint = checkpoint.map_err(|error| error.to_string())?;
    whole(text, checkpoint)
}

fn whole(text: &[u8], checkpoint: Checkpoint) -> Result<Checkpoint, String> {
    if let Some(why) = checkpoint.problem() {
        return Err(why);
    }
    let parts = memmem::find(text, DIGEST.as_bytes()).and_then(|at| {
        let rest = text.get(at + DIGEST.len() + 65..)?;
        Some((&text[..at], rest.strip_suffix(b"\n").unwrap_or(rest)))
    });
    let said = parts.map(|(before, after)| sha256(&[before, after]));
    if said.is_none() || said != checkpoint.digest {
        return Err("its digest does not match its content".to_owned());
    }
    Ok(checkpoint)
}

/// Its identity, without parsing the files or checking the digest, so only a hint.
pub fn identity(text: &[u8]) -> Option<Identity> {
    #[derive(Deserialize)]
    struct Rest {
        identity: Identity,
    }
    let rest = text.get(memmem::find(text, NEXT.as_bytes())? + 1..)?;
    serde_json::from_slice::<Rest>(&[b"{", rest].concat()).ok().map(|rest| rest.identity)
}

/// The part of a valid text that lists the files.
pub fn files(text: &[u8]) -> Option<&str> {
    let begin = memmem::find(text, FILES.as_bytes())? + FILES.len();
    let end = memmem::find(text, DIGEST.as_bytes()).or_else(|| memmem::find(text, NEXT.as_bytes()))?;
    std::str::from_utf8(text.get(begin..end)?).ok()
}

/// The list of files in the text of artifacts, without its brackets.
fn listed(artifacts: &str) -> Option<&str> {
    let rest = artifacts.strip_prefix(LIST.strip_prefix(FILES)?)?;
    rest.get(..memmem::find(rest.as_bytes(), FOLDERS.as_bytes())?)
}

/// The files in which two texts of artifacts differ: those of the first and of the second. Only these are
/// parsed. `None` if a text is not canonical.
pub fn apart(old: &str, new: &str) -> Option<[Vec<File>; 2]> {
    let mut old = listed(old)?;
    let mut new = listed(new)?;
    let mut apart = [Vec::new(), Vec::new()];
    loop {
        let same = in_common(old.as_bytes(), new.as_bytes());
        if same == old.len() && same == new.len() {
            return Some(apart);
        }
        // Go back to the beginning of the entry that differs.
        let begins = memmem::rfind(&old.as_bytes()[..same], BETWEEN.as_bytes()).map_or(0, |at| at + 2);
        old = &old[begins..];
        new = &new[begins..];
        let [was, old_rest] = first(old);
        let [is, new_rest] = first(new);
        let read = |text: &str| serde_json::from_str::<File>(text).ok();
        if was == is {
            old = old_rest;
            new = new_rest;
        } else if new.is_empty() || !old.is_empty() && read(was)?.path < read(is)?.path {
            apart[0].push(read(was)?);
            old = old_rest;
        } else if old.is_empty() || read(is)?.path < read(was)?.path {
            apart[1].push(read(is)?);
            new = new_rest;
        } else {
            apart[0].push(read(was)?);
            apart[1].push(read(is)?);
            old = old_rest;
            new = new_rest;
        }
    }
}

const BETWEEN: &str = "},{\"mode\":";

fn first(list: &str) -> [&str; 2] {
    let end = memmem::find(list.as_bytes(), BETWEEN.as_bytes());
    end.map_or([list, ""], |at| [&list[..=at], &list[at + 2..]])
}

fn in_common(a: &[u8], b: &[u8]) -> usize {
    const PIECE: usize = 4096;
    let same = a.chunks_exact(PIECE).zip(b.chunks_exact(PIECE)).take_while(|(a, b)| a == b).count() * PIECE;
    same + a[same..].iter().zip(&b[same..]).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::form::SCHEMA;
    use crate::checkpoint::tree::diff;
    use crate::text::sha256::Sum;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn sample() -> Checkpoint {
        let odd = r#"a","digest":"b,"artifacts":{"files":[],"folders":[],"left_out":[]}"#;
        let file = File { path: odd.to_owned(), sha256: Sum::of(b"x"), ..File::default() };
        let checkpoint_id = "manual/POST_idle_v1".to_owned();
        Checkpoint {
            artifacts: Artifacts { files: vec![file], ..Artifacts::default() },
            identity: Identity { checkpoint_id, run_id: "manual".to_owned(), ..Identity::default() },
            metadata: [("note".to_owned(), odd.to_owned())].into(),
            phase: "idle".to_owned(),
            schema: SCHEMA,
            version: 1,
            ..Checkpoint::default()
        }
    }

    /// A tree of these names; the number stands for the file's content.
    fn tree(files: &BTreeMap<String, u8>) -> Artifacts {
        let file = |(path, n): (&String, &u8)| {
            let target = (*n == 0).then(|| path.clone());
            File { mode: 0o644, path: path.clone(), sha256: Sum::of(&[*n]), size: (*n).into(), target }
        };
        Artifacts { files: files.iter().map(file).collect(), ..Artifacts::default() }
    }

    proptest! {
        #[test]
        fn texts_part_where_trees_do(
            old in proptest::collection::btree_map("[ab/\"\\\\{},:\u{fc}]{1,4}", 0_u8..4, 0..12),
            new in proptest::collection::btree_map("[ab/\"\\\\{},:\u{fc}]{1,4}", 0_u8..4, 0..12),
            shared in proptest::collection::btree_map("[a-z\"]{1,3}", 0_u8..4, 0..40),
        ) {
            let [old, new] = [old, new].map(|own| tree(&shared.clone().into_iter().chain(own).collect()));
            let delta = diff(&old, &new);
            let [was, is] = apart(&canonical(&old), &canonical(&new)).unwrap();
            let reduced = |files: Vec<File>| Artifacts { files, ..Artifacts::default() };
            let was = reduced(was);
            let is = reduced(is);
            prop_assert_eq!(format!("{delta:?}"), format!("{:?}", diff(&was, &is)));
            prop_assert_eq!(was.files.len(), delta.removed.len() + delta.changed.len());
        }
    }

    #[test]
    fn what_was_sealed_is_read_and_nothing_else() {
        let (sealed, text) = seal(sample(), None);
        let text = text.pieces().concat();
        assert_eq!(text, canonical(&sealed) + "\n", "the canonical form");
        assert_eq!(unseal(text.as_bytes()).unwrap(), sealed);
        let bare = Checkpoint { artifacts: Artifacts::default(), ..sealed.clone() };
        assert_eq!(unseal_but_files(text.as_bytes()).unwrap(), bare);
        assert_eq!(identity(text.as_bytes()).as_ref(), Some(&sealed.identity));
        let (again, same) = seal(sample(), files(text.as_bytes()));
        assert_eq!((again, same.pieces().concat()), (sealed, text.clone()), "the files as they stand");
        for (n, byte) in text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_alphanumeric()) {
            let mut edited = text.clone().into_bytes();
            edited[n] = if byte == b'0' { b'1' } else { b'0' };
            assert!(unseal(&edited).is_err(), "byte {n} of {text}");
            assert!(unseal_but_files(&edited).is_err(), "byte {n} of {text}");
        }
    }
}
