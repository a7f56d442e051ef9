//! Statements that are made but not yet published: one file each, next to the session's ledger.
//!
//! Reads and writes `attest` in the session's folder. Invariants: a payload is on the disk before the ledger
//! names it, and its file is removed only after its note is written, so if we are killed in between, the next
//! process can continue.

use aops_attest::statement::Statement;
use aops_core::briefing::refresh::{ATTEST_FOLDER as FOLDER, ATTEST_MADE as MADE};
use aops_core::model::error::Failure;
use aops_core::system::files::{self, make_all, replace_private};
use aops_core::text::sha256::sha256;
use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const LOCK: &str = ".lock";
/// The ending of a statement whose note waits for the witnesses.
const NOTED: &str = "noted";

/// How far a statement has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Made,
    Noted,
}

/// A pending statement.
#[derive(Debug)]
pub struct Pending {
    path: PathBuf,
    pub stage: Stage,
    /// The working tree.
    pub root: PathBuf,
    pub payload: String,
}

impl Pending {
    pub fn sha256(&self) -> String {
        sha256(&[self.payload.as_bytes()])
    }

    /// Saves a new one.
    pub fn keep(session: &Path, root: &Path, payload: String) -> Result<Self, Failure> {
        let folder = session.join(FOLDER);
        make_all(&folder)?;
        let path = folder.join(sha256(&[payload.as_bytes()])).with_extension(MADE);
        let text = format!("{}\n{payload}", root.display());
        replace_private(&path, text.as_bytes()).map_err(|e| Failure::storage(path.display(), e))?;
        Ok(Self { path, stage: Stage::Made, root: root.to_owned(), payload })
    }

    /// All pending statements of a session, ordered by name.
    pub fn all(session: &Path) -> Vec<Self> {
        let items = fs::read_dir(session.join(FOLDER)).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = items.map(|item| item.path()).collect();
        paths.sort();
        paths.into_iter().filter_map(Self::read).collect()
    }

    fn read(path: PathBuf) -> Option<Self> {
        let stage = match path.extension()?.to_str()? {
            MADE => Stage::Made,
            NOTED => Stage::Noted,
            _ => return None,
        };
        let text = files::read_text(&path).ok()?;
        let (root, payload) = text.split_once('\n')?;
        Some(Self { path, stage, root: root.into(), payload: payload.to_owned() })
    }

    /// Whether the statement is about this commit.
    pub fn is_about(&self, commit: &str) -> bool {
        Statement::parse(&self.payload).is_ok_and(|statement| statement.commit() == commit)
    }

    /// Records that its note is written, and waits for witnesses.
    pub fn note(&mut self) -> Result<(), Failure> {
        let noted = self.path.with_extension(NOTED);
        fs::rename(&self.path, &noted).map_err(|e| Failure::storage(noted.display(), e))?;
        self.path = noted;
        self.stage = Stage::Noted;
        Ok(())
    }

    /// Removes it when nothing is left to do.
    pub fn end(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The lock for whoever makes statements for this session.
pub fn lock(session: &Path) -> Result<File, Failure> {
    let folder = session.join(FOLDER);
    make_all(&folder)?;
    let path = folder.join(LOCK);
    let opened = files::open_as(&path, File::options().append(true).create(true).mode(0o600));
    let locked = opened
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|e| Failure::storage(path.display(), e))?;
    // With the lock held, any other file is a half-written one, left by a process that was killed.
    for item in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let is_half = !matches!(item.path().extension().and_then(|name| name.to_str()), Some(MADE | NOTED));
        if is_half && item.file_name() != LOCK {
            let _ = fs::remove_file(item.path());
        }
    }
    Ok(locked)
}
