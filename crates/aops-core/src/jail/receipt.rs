//! The proof that a call ran in a jail: one small file per call next to the session's ledger.
//!
//! The program around the command writes it before the command starts, and adds a second line after its end.
//! The end of the call reads and removes it. Invariants: a call has at most one receipt; commands in a jail
//! cannot write its folder; the first line stays valid, whatever happens to the second.

use crate::model::profile::Proof;
use crate::system::files;
use crate::text::sha256::sha256;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const FOLDER: &str = "jail";
/// Name of an empty file on which the keeper of a waiting jail holds a write lock. A claimed jail's file has
/// the command's process ID appended. A command in a jail cannot take such a lock: it can open no file of
/// this folder for writing.
pub(super) const MARK: &str = "prepared";
/// How long the end of a call waits for its receipt: a background command may only just be starting.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub struct Receipt(File);

/// The second line, about a command that a process outside of the jail waited for.
#[derive(Serialize, Deserialize)]
struct Ended {
    exit: i32,
}

/// Begins the receipt of this call; fails if there is one already.
pub fn begin(session: &Path, call_id: &str, proof: &Proof) -> io::Result<Receipt> {
    make_folder(session)?;
    begin_at(&path(session, call_id), proof)
}

/// Begins a receipt for the first of these calls that has none yet.
pub(super) fn begin_first(folder: &Path, ids: &[String], proof: &Proof) -> Result<Receipt, String> {
    let mut why = "there is none to write".to_owned();
    for id in ids {
        match begin(folder, id, proof) {
            Ok(receipt) => return Ok(receipt),
            Err(error) => why = error.to_string(),
        }
    }
    Err(format!("its receipt cannot be written: {why}"))
}

/// The folder of a session's receipts; creates it if it is missing.
pub(super) fn make_folder(session: &Path) -> io::Result<PathBuf> {
    let folder = folder(session);
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(folder),
    }
}

/// Begins a receipt in this file.
pub fn begin_at(path: &Path, proof: &Proof) -> io::Result<Receipt> {
    let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
    // The lock is held until the last line is written. It may fail if the command was faster, and we must not
    // wait.
    let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
    let mut receipt = Receipt(file);
    receipt.write(proof)?;
    Ok(receipt)
}

impl From<OwnedFd> for Receipt {
    fn from(file: OwnedFd) -> Self {
        Self(file.into())
    }
}

impl AsFd for Receipt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Receipt {
    /// A second handle of the same file, for another process.
    pub(super) fn again(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Adds a line. The last complete one counts.
    pub fn write(&mut self, proof: &Proof) -> io::Result<()> {
        self.add(proof)
    }

    /// Adds how the command ended. It is kept in addition to the proof, in either order.
    pub fn end(&mut self, exit: i32) -> io::Result<()> {
        self.add(&Ended { exit })
    }

    fn add(&mut self, what: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        self.0.write_all(&line)
    }
}

/// Reads and removes the receipt of a call that has ended. `wait`: until nothing more will be added. `same`:
/// open calls with the same command line; the command may have taken one of their receipts as its own.
pub fn take(session: &Path, call_id: &str, same: &[&str], wait: bool) -> Option<Proof> {
    let own = path(session, call_id);
    let others = || same.iter().map(|id| path(session, id)).find(|path| path.exists());
    // A command that has ended must have begun; one in the background may be about to.
    match others().filter(|_| wait && !own.exists()) {
        Some(other) => take_at(&other, wait),
        None => take_at(&own, wait).or_else(|| take_at(&others()?, wait)),
    }
}

/// Reads and removes the receipt in this file.
pub fn take_at(path: &Path, wait: bool) -> Option<Proof> {
    let until = Instant::now() + PATIENCE;
    let read = |path: &Path| {
        let file = files::open(path).ok()?;
        if wait && flock(&file, FlockOperation::NonBlockingLockShared).is_err() && Instant::now() < until {
            return None;
        }
        let text = io::read_to_string(&file).ok()?;
        let mut proof: Proof = text.lines().rev().find_map(|line| serde_json::from_str(line).ok())?;
        proof.exit =
            text.lines().find_map(|line| serde_json::from_str(line).ok()).map(|ended: Ended| ended.exit);
        Some(proof)
    };
    loop {
        match read(path) {
            None if Instant::now() < until => std::thread::sleep(PAUSE),
            proof => {
                let _ = fs::remove_file(path);
                return proof;
            }
        }
    }
}

/// Removes the receipts of calls that never ended.
pub fn clear(session: &Path) {
    for entry in fs::read_dir(folder(session)).into_iter().flatten().flatten() {
        if !is_mark(&entry.file_name()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

pub(super) fn is_mark(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(MARK.as_bytes())
}

pub(super) fn folder(session: &Path) -> PathBuf {
    session.join(FOLDER)
}

fn path(session: &Path, call_id: &str) -> PathBuf {
    folder(session).join(&sha256(&[call_id.as_bytes()])[..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::profile::{Hold, Profile};

    /// Another process of the user may limit how much we can write.
    #[test]
    fn a_torn_last_line_is_not_the_end_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let proof = Proof::of(Hold::Namespaces, Profile::Trial);
        let mut receipt = begin(folder.path(), "toolu_1", &proof).unwrap();
        receipt.0.write_all(b"{\"hold\":\"names").unwrap();
        drop(receipt);
        assert_eq!(take(folder.path(), "toolu_1", &[], true), Some(proof));
    }

    /// The keeper of a layer and the process that waits for the command may write in either order.
    #[test]
    fn how_it_ended_stands_beside_the_proof() {
        let folder = tempfile::tempdir().unwrap();
        for ends_first in [true, false] {
            let mut proof = Proof::of(Hold::Namespaces, Profile::Trial);
            let mut receipt = begin(folder.path(), "toolu_1", &proof).unwrap();
            proof.lost.more = 1;
            if ends_first {
                receipt.end(7).unwrap();
            }
            receipt.write(&proof).unwrap();
            if !ends_first {
                receipt.end(7).unwrap();
            }
            drop(receipt);
            assert_eq!(take(folder.path(), "toolu_1", &[], true), Some(Proof { exit: Some(7), ..proof }));
        }
    }

    #[test]
    fn a_receipt_is_taken_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut proof = Proof::of(Hold::Namespaces, Profile::Trial);
        let mut receipt = begin(folder.path(), "toolu_1", &proof).unwrap();
        assert!(begin(folder.path(), "toolu_1", &proof).is_err());
        proof.lost.more = 1;
        receipt.write(&proof).unwrap();
        drop(receipt);
        assert_eq!(take(folder.path(), "toolu_1", &[], true), Some(proof));
        assert_eq!(take(folder.path(), "toolu_1", &[], false), None);
    }
}
