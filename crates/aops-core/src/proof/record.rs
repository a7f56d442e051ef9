//! Where the entries of each session are in the log: one small text per session, in
//! `<config>/aops/log/sessions`.
//!
//! Reads and appends these texts. Invariant: a record is a hint; its content is compared with ledger and
//! leaves, and a missing or outdated one costs a search, never a leaf.

use super::store::Store;
use crate::model::error::Failure;
use crate::system::files::{self, make_all};
use crate::system::folder;
use crate::text::sha256::{file_name, sha256};
use rustix::fs::CWD;
use std::fmt;
use std::path::PathBuf;

/// Leaves that were added together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub first: u64,
    pub count: u64,
    /// Number and digest of the last of these entries.
    pub seq: u64,
    pub digest: String,
    /// The position in the ledger where it ends, and the length of its line.
    pub bytes: u64,
    pub last: u64,
}

impl Span {
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [first, count, seq, bytes, last, digest] = words[..] else { return None };
        let number = |word: &str| word.parse().ok();
        let first = number(first)?;
        let count = number(count)?;
        let seq = number(seq)?;
        Some(Self {
            first,
            count,
            seq,
            digest: digest.to_owned(),
            bytes: number(bytes)?,
            last: number(last)?,
        })
    }

    /// The leaf after the last one.
    pub fn end(&self) -> u64 {
        self.first + self.count
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { first, count, seq, bytes, last, digest } = self;
        write!(f, "{first} {count} {seq} {bytes} {last} {digest}")
    }
}

#[derive(Clone, Debug, Default)]
pub struct Record {
    pub trace: String,
    pub spans: Vec<Span>,
}

const FOLDER: &str = "sessions";

/// Names that differ only in case must become two files.
fn path(store: &Store, trace: &str) -> PathBuf {
    let name = if trace.chars().any(|c| c.is_ascii_uppercase()) {
        sha256(&[trace.as_bytes()])
    } else {
        file_name(trace)
    };
    store.file(FOLDER).join(name)
}

impl Record {
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let trace = lines.next()?.to_owned();
        // A line that a power loss cut or filled with zeros is skipped; its entries are searched for again.
        Some(Self { trace, spans: lines.filter_map(Span::parse).collect() })
    }

    pub fn of(store: &Store, trace: &str) -> Self {
        let found = files::read_text(path(store, trace)).ok().and_then(|text| Self::parse(&text));
        let ours = found.filter(|record| record.trace == trace.replace('\n', " "));
        ours.unwrap_or_else(|| Self { trace: trace.to_owned(), spans: Vec::new() })
    }

    /// Every session that has a record.
    pub fn all(store: &Store) -> Vec<Self> {
        let files = std::fs::read_dir(store.file(FOLDER)).into_iter().flatten().flatten();
        files.filter_map(|item| Self::parse(&files::read_text(item.path()).ok()?)).collect()
    }

    pub fn add(store: &Store, trace: &str, span: &Span) -> Result<(), Failure> {
        let path = path(store, trace);
        make_all(&store.file(FOLDER))?;
        let dir = folder::enter(CWD, store.file(FOLDER), false)?;
        let dir = dir.ok_or_else(|| Failure::storage(path.display(), "no longer exists"))?;
        let begin = if path.exists() { String::new() } else { format!("{}\n", trace.replace('\n', " ")) };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        folder::append_line(&dir, &name, format!("{begin}{span}\n"))?;
        Ok(())
    }
}
