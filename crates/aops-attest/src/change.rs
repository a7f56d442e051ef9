//! What a commit changes: path, both modes, both blobs, exactly as in `git diff-tree -r -z --no-renames
//! --full-index`.
//!
//! Invariant: the digest is that of git's own bytes, whether they come from git or from the list in a
//! statement.

use crate::path;
use crate::statement::{File, Side, is_object_id};
use aops_ledger::sha256::sha256;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Record {
    pub path: Vec<u8>,
    pub before: Side,
    pub after: Side,
}

const NO_FILE: &str = "000000";

impl Record {
    /// Git's status letter. A type is the first two digits of a mode: a file, a link or a submodule.
    fn letter(&self) -> char {
        let Side(before, _) = &self.before;
        let Side(after, _) = &self.after;
        match (before.as_str(), after.as_str()) {
            (NO_FILE, _) => 'A',
            (_, NO_FILE) => 'D',
            _ if before.get(..3) != after.get(..3) => 'T',
            _ => 'M',
        }
    }

    fn write(&self, to: &mut Vec<u8>) {
        let Side(before, old) = &self.before;
        let Side(after, new) = &self.after;
        to.extend(format!(":{before} {after} {old} {new} {}\0", self.letter()).bytes());
        to.extend(&self.path);
        to.push(0);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// In git's order.
    pub records: Vec<Record>,
}

impl Change {
    /// Takes the records from the beginning of git's output. `None`: there are none.
    pub fn take(text: &mut &[u8]) -> Option<Self> {
        let mut records = Vec::new();
        while text.first() == Some(&b':') {
            let about = until_zero(&mut *text)?;
            let about = std::str::from_utf8(&about[1..]).ok()?;
            let [before, after, old, new, letter] = about.split(' ').collect::<Vec<_>>()[..] else {
                return None;
            };
            let side = |mode: &str, blob: &str| {
                (mode.len() == 6 && is_object_id(blob)).then(|| Side(mode.to_owned(), blob.to_owned()))
            };
            let path = until_zero(text)?.to_vec();
            let record = Record { path, before: side(before, old)?, after: side(after, new)? };
            if !letter.chars().eq([record.letter()]) {
                return None;
            }
            records.push(record);
        }
        Some(Self { records })
    }

    /// The change that a statement lists, if its digest matches.
    pub fn of(files: &[File], digest: &str) -> Option<Self> {
        let record = |file: &File| {
            let path = path::read(&file.path)?;
            Some(Record { path, before: file.before.clone(), after: file.after.clone() })
        };
        let change = Self { records: files.iter().map(record).collect::<Option<_>>()? };
        (change.digest() == digest).then_some(change)
    }

    /// Git's output, which is the digested text and the text that a person signs to approve it.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.records.iter().for_each(|record| record.write(&mut bytes));
        bytes
    }

    pub fn digest(&self) -> String {
        sha256(&[&self.bytes()])
    }
}

fn until_zero<'a>(text: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = text.iter().position(|byte| *byte == 0)?;
    let (taken, rest) = text.split_at(end);
    *text = &rest[1..];
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::tests::example;

    #[test]
    fn the_bytes_are_gits_own() {
        let old = "1".repeat(40);
        let new = "2".repeat(40);
        let none = "0".repeat(40);
        let text = format!(
            ":000000 100644 {none} {new} A\0a b\0:100644 000000 {old} {none} D\0d\0:100644 120000 {old} {old} T\0l\0\
             :100644 100755 {old} {old} M\0x\0"
        );
        let mut rest = text.as_bytes();
        let change = Change::take(&mut rest).unwrap();
        assert!(rest.is_empty());
        assert_eq!(change.bytes(), text.as_bytes());
        assert_eq!(change.digest(), sha256(&[text.as_bytes()]));
        for wrong in
            [text.replace(" A\0", " M\0"), text.replace(&new, "22"), text[..text.len() - 1].to_owned()]
        {
            assert_eq!(Change::take(&mut wrong.as_bytes()), None, "{wrong:?}");
        }
        let mut next = &b"0000 1111\n"[..];
        assert_eq!(Change::take(&mut next), Some(Change::default()));
    }

    /// The digest in the example comes from a real trial.
    #[test]
    fn a_statement_lists_what_it_digests() {
        let statement = example();
        let files = statement.session().unwrap().1.files.clone().unwrap();
        let change = Change::of(&files, statement.change());
        assert_eq!(change.unwrap().records[0].path, b"src/calc.py");
        let mut other = files;
        other[0].after.0 = "100755".to_owned();
        assert_eq!(Change::of(&other, statement.change()), None);
    }
}
