//! Requests to a witness and its answers (C2SP `tlog-witness`): it signs a checkpoint that continues the last
//! one it signed.
//!
//! Invariant: a witness that stores [`Answer::Signed`]'s checkpoint before it answers never signs two
//! histories of one log.

use super::checkpoint::{Checkpoint, hash, whole_number};
use super::key::{PublicKey, SecretKey};
use super::note::Note;
use super::text::base64;
use super::tree::{Hash, empty_root, is_consistent};
use std::fmt;

const LONGEST_PATH: usize = 63;

/// The body of `POST /add-checkpoint`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub old: u64,
    pub path: Vec<Hash>,
    pub note: Note,
}

impl Request {
    pub fn parse(body: &str) -> Result<Self, String> {
        let (head, note) = body.split_once("\n\n").ok_or("there is no empty line before the checkpoint")?;
        let mut lines = head.split('\n');
        let old = lines.next().and_then(|line| whole_number(line.strip_prefix("old ")?));
        let old = old.ok_or("the first line is not `old` and a size")?;
        let path: Option<Vec<Hash>> = lines.map(hash).collect();
        let path =
            path.filter(|path| path.len() <= LONGEST_PATH).ok_or("a line of the proof is not a hash")?;
        Ok(Self { old, path, note: Note::parse(note)? })
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "old {}", self.old)?;
        self.path.iter().try_for_each(|hash| writeln!(f, "{}", base64(hash)))?;
        write!(f, "\n{}", self.note)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// 400: it cannot be read, or the old size is larger than the new one.
    Malformed(String),
    /// 404: no key is known for this origin.
    UnknownLog,
    /// 403: no known key signed it, or one signed it wrongly.
    Unsigned(String),
    /// 409: the size that was signed last.
    Conflict(u64),
    /// 422: it does not continue the checkpoint that was signed last.
    Inconsistent,
    /// 200: store the checkpoint, then answer with these lines.
    Signed { checkpoint: Checkpoint, lines: String },
}

impl Answer {
    pub fn status(&self) -> u16 {
        match self {
            Self::Malformed(_) => 400,
            Self::UnknownLog => 404,
            Self::Unsigned(_) => 403,
            Self::Conflict(_) => 409,
            Self::Inconsistent => 422,
            Self::Signed { .. } => 200,
        }
    }

    pub fn body(&self) -> String {
        match self {
            Self::Malformed(why) | Self::Unsigned(why) => format!("{why}\n"),
            Self::UnknownLog => "no key is known for this log\n".to_owned(),
            Self::Conflict(size) => format!("{size}\n"),
            Self::Inconsistent => "it does not continue what was signed last\n".to_owned(),
            Self::Signed { lines, .. } => lines.clone(),
        }
    }
}

/// Judges a request. `keys`: those of all logs, with the origin as their name. `known`: the last signed
/// checkpoint for an origin. `with`: the keys that sign.
pub fn judge(
    body: &str,
    keys: &[PublicKey],
    known: impl FnOnce(&str) -> Option<Checkpoint>,
    with: &[SecretKey],
    now: u64,
) -> Answer {
    let read = Request::parse(body).and_then(|request| Ok((Checkpoint::parse(&request.note.text)?, request)));
    let (checkpoint, request) = match read {
        Ok(read) => read,
        Err(why) => return Answer::Malformed(why),
    };
    let trusted: Vec<PublicKey> = keys.iter().filter(|key| key.name == checkpoint.origin).cloned().collect();
    if trusted.is_empty() {
        return Answer::UnknownLog;
    }
    match request.note.signers(&trusted) {
        Ok(signers) if signers.is_empty() => {
            return Answer::Unsigned("no key of this log signed it".to_owned());
        }
        Err(why) => return Answer::Unsigned(why),
        Ok(_) => {}
    }
    if request.old > checkpoint.size {
        return Answer::Malformed("the old size is larger than the new one".to_owned());
    }
    let empty = || Checkpoint { origin: checkpoint.origin.clone(), size: 0, root: empty_root() };
    let last = known(&checkpoint.origin).unwrap_or_else(empty);
    if request.old != last.size {
        return Answer::Conflict(last.size);
    }
    let hollow = checkpoint.size == 0 && checkpoint.root != empty_root();
    if hollow || !is_consistent(last.size, &last.root, checkpoint.size, &checkpoint.root, &request.path) {
        return Answer::Inconsistent;
    }
    let lines = with
        .iter()
        .filter_map(|key| key.sign(&request.note.text, now))
        .map(|line| line.to_string())
        .collect();
    Answer::Signed { checkpoint, lines }
}

#[cfg(test)]
mod tests {
    use super::super::key::Use;
    use super::super::tree::{leaf_hash, node_hash};
    use super::*;

    struct World {
        log: SecretKey,
        witness: [SecretKey; 2],
        keys: Vec<PublicKey>,
    }

    impl World {
        fn new() -> Self {
            let log = SecretKey::new("a.example/log", Use::Note, &[1; 32]).unwrap();
            let witness = [Use::Cosignature, Use::MlDsa]
                .map(|used| SecretKey::new("w.example", used, &[2; 32]).unwrap());
            Self { keys: vec![log.public().clone()], log, witness }
        }

        fn note(&self, size: u64, root: Hash) -> Note {
            let text = Checkpoint { origin: "a.example/log".to_owned(), size, root }.to_string();
            Note { signatures: vec![self.log.sign(&text, 0).unwrap()], text }
        }

        fn ask(&self, old: u64, path: &[Hash], note: &Note, known: Option<(u64, Hash)>) -> Answer {
            let request = Request { old, path: path.to_vec(), note: note.clone() };
            let known =
                known.map(|(size, root)| Checkpoint { origin: "a.example/log".to_owned(), size, root });
            judge(&request.to_string(), &self.keys, |_| known, &self.witness, 99)
        }
    }

    #[test]
    fn a_log_is_witnessed_as_it_grows() {
        let world = World::new();
        let a = leaf_hash(b"a");
        let b = leaf_hash(b"b");
        let one = world.note(1, a);
        let two = world.note(2, node_hash(&a, &b));
        let Answer::Signed { checkpoint, lines } = world.ask(0, &[], &one, None) else { panic!() };
        assert_eq!((checkpoint.size, checkpoint.root), (1, a));
        let cosigned = Note::parse(&format!("{one}{lines}")).unwrap();
        let witnesses = world.witness.each_ref().map(|key| key.public().clone());
        assert_eq!(cosigned.signers(&witnesses).unwrap(), [(&witnesses[0], 99), (&witnesses[1], 99)]);
        assert_eq!(world.ask(1, &[b], &two, Some((1, a))).status(), 200);
        // The same checkpoint again, and one that is not the next.
        assert_eq!(world.ask(1, &[], &one, Some((1, a))).status(), 200);
        assert_eq!(world.ask(0, &[], &two, Some((1, a))), Answer::Conflict(1));
        assert_eq!(world.ask(2, &[], &one, Some((2, node_hash(&a, &b)))).status(), 400);
        assert_eq!(world.ask(1, &[], &one, Some((2, node_hash(&a, &b)))).body(), "2\n");
        assert_eq!(world.ask(1, &[a], &two, Some((1, a))), Answer::Inconsistent);
        assert_eq!(world.ask(1, &[], &world.note(1, b), Some((1, a))), Answer::Inconsistent);
        assert_eq!(world.ask(0, &[], &world.note(0, a), None), Answer::Inconsistent);
    }

    #[test]
    fn what_no_known_key_signed_is_refused() {
        let mut world = World::new();
        let note = world.note(1, leaf_hash(b"a"));
        let mut wrong = note.clone();
        wrong.text = wrong.text.replace("\n1\n", "\n2\n");
        assert_eq!(world.ask(0, &[], &wrong, None).status(), 403);
        let other = SecretKey::new("a.example/log", Use::Note, &[3; 32]).unwrap();
        let strange = Note { signatures: vec![other.sign(&note.text, 0).unwrap()], text: note.text.clone() };
        assert_eq!(world.ask(0, &[], &strange, None).status(), 403);
        world.keys.clear();
        assert_eq!(world.ask(0, &[], &note, None).status(), 404);
        for body in ["", "old 1\n\n", "old 01\n\nx", "old 1\nxx\n\nx\n\n— a AAAAAAAA\n"] {
            assert_eq!(judge(body, &world.keys, |_| None, &world.witness, 1).status(), 400, "{body:?}");
        }
    }
}
