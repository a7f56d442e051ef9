//! A proof that one leaf is in a log, in one file that is checked offline (C2SP `tlog-proof`).

use super::checkpoint::{Checkpoint, hash, whole_number};
use super::key::PublicKey;
use super::note::Note;
use super::text::{base64, from_base64};
use super::tree::{Hash, is_included};
use std::fmt;

const FIRST: &str = "c2sp.org/tlog-proof@v1";
/// A tree has at most 2^64 leaves.
const LONGEST_PATH: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// What else the reader needs: here the content of the leaf. Not proven by itself.
    pub extra: Vec<u8>,
    pub index: u64,
    pub path: Vec<Hash>,
    pub note: Note,
}

/// What a proof proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown<'k> {
    pub checkpoint: Checkpoint,
    /// Who signed or cosigned it, and when each cosigner saw it.
    pub signers: Vec<(&'k PublicKey, u64)>,
}

impl Proof {
    pub fn parse(text: &str) -> Result<Self, String> {
        let odd = |what: &str| format!("no proof: {what}");
        let (head, note) =
            text.split_once("\n\n").ok_or_else(|| odd("there is no empty line before the checkpoint"))?;
        let mut lines = head.split('\n').peekable();
        if lines.next() != Some(FIRST) {
            return Err(odd(&format!("the first line is not `{FIRST}`")));
        }
        let extra =
            lines.next_if(|line| line.starts_with("extra ")).map(|line| from_base64(&line["extra ".len()..]));
        let extra = extra
            .map_or(Some(Vec::new()), |bytes| bytes)
            .ok_or_else(|| odd("the extra data is not base64"))?;
        let index = lines.next().and_then(|line| whole_number(line.strip_prefix("index ")?));
        let index = index.ok_or_else(|| odd("there is no index"))?;
        let path: Option<Vec<Hash>> = lines.map(hash).collect();
        let path = path
            .filter(|path| path.len() <= LONGEST_PATH)
            .ok_or_else(|| odd("a line of the path is not a hash"))?;
        Ok(Self { extra, index, path, note: Note::parse(note)? })
    }

    /// What the proof proves about a leaf with this hash, using these keys.
    pub fn check<'k>(&self, leaf: &Hash, keys: &'k [PublicKey]) -> Result<Shown<'k>, String> {
        let checkpoint = Checkpoint::parse(&self.note.text)?;
        if !is_included(leaf, self.index, checkpoint.size, &self.path, &checkpoint.root) {
            return Err("the entry is not in the log that this checkpoint describes".to_owned());
        }
        Ok(Shown { signers: self.note.signers(keys)?, checkpoint })
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "{FIRST}")?;
        if !self.extra.is_empty() {
            writeln!(f, "extra {}", base64(&self.extra))?;
        }
        writeln!(f, "index {}", self.index)?;
        self.path.iter().try_for_each(|hash| writeln!(f, "{}", base64(hash)))?;
        write!(f, "\n{}", self.note)
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::{SecretKey, Use};
    use super::super::tree::{leaf_hash, node_hash};
    use super::*;

    #[test]
    fn a_proof_there_and_back() {
        let a = leaf_hash(b"a");
        let b = leaf_hash(b"b");
        let key = SecretKey::new("x.example/log", Use::Note, &[1; 32]).unwrap();
        let text =
            Checkpoint { origin: "x.example/log".to_owned(), size: 2, root: node_hash(&a, &b) }.to_string();
        let note = Note { signatures: vec![key.sign(&text, 0).unwrap()], text };
        let proof = Proof { extra: b"b".to_vec(), index: 1, path: vec![a], note };
        let read = Proof::parse(&proof.to_string()).unwrap();
        assert_eq!(read, proof);
        let keys = [key.public().clone()];
        assert_eq!(read.check(&b, &keys).unwrap().signers, [(&keys[0], 0)]);
        assert!(read.check(&a, &keys).unwrap_err().contains("not in the log"));
        assert_eq!(read.check(&b, &[]).unwrap().signers, []);
        for bad in [
            "",
            FIRST,
            "c2sp.org/tlog-proof@v1\nindex 01\n\n",
            "c2sp.org/tlog-proof@v1\nextra !\nindex 1\n\nx",
        ] {
            assert!(Proof::parse(bad).is_err(), "{bad:?}");
        }
    }
}
