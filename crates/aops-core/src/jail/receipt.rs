//! The proof that a call ran in a jail: one small file per call beside the session's ledger.
//!
//! Written by the program around the command before it starts, a second line after its end, read and removed
//! when the call has ended. Invariants: a call has one receipt at most; inside of a jail its folder cannot be
//! written; what is written stays, whatever becomes of the second line.

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
/// Empty. The keeper of a jail holds a write lock on it: of one that waits under this name, of one that was
/// claimed with the command's number behind it. A command in a jail cannot take one: it can open no file of
/// this folder for writing.
pub(super) const MARK: &str = "prepared";
/// How long the end of a call waits for its receipt: one in the background may just be starting.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub struct Receipt(File);

/// The line about a command that somebody outside of the jail waited for.
#[derive(Serialize, Deserialize)]
struct Ended {
    exit: i32,
}

/// Begins the receipt of this call; fails where there is one already.
pub fn begin(session: &Path, call_id: &str, proof: &Proof) -> io::Result<Receipt> {
    make_folder(session)?;
    begin_at(&path(session, call_id), proof)
}

/// The receipt of the first of these calls that has none yet.
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

/// The folder of a session's receipts, which is made where it is missing.
pub(super) fn make_folder(session: &Path) -> io::Result<PathBuf> {
    let folder = folder(session);
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(folder),
    }
}

/// The same in this file.
pub fn begin_at(path: &Path, proof: &Proof) -> io::Result<Receipt> {
    let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
    // Held until the last word about the call is in it. A command may have been faster, and must not make
    // this one wait.
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
    /// The same file, for another process.
    pub(super) fn again(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Adds a line: the last one that is whole counts.
    pub fn write(&mut self, proof: &Proof) -> io::Result<()> {
        self.add(proof)
    }

    /// Adds how the command ended; it stands beside the proof, whichever of the two comes last.
    pub fn end(&mut self, exit: i32) -> io::Result<()> {
        self.add(&Ended { exit })
    }

    fn add(&mut self, what: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        self.0.write_all(&line)
    }
}

/// The receipt of a call that has ended, which is removed. `wait`: until nothing more will be added to it.
/// `same`: calls of the same line that have not ended; the command may have taken the receipt of one of these
/// for its own.
pub fn take(session: &Path, call_id: &str, same: &[&str], wait: bool) -> Option<Proof> {
    let own = path(session, call_id);
    let others = || same.iter().map(|id| path(session, id)).find(|path| path.exists());
    // A command that has ended has begun; one in the background may be about to.
    match others().filter(|_| wait && !own.exists()) {
        Some(other) => take_at(&other, wait),
        None => take_at(&own, wait).or_else(|| take_at(&others()?, wait)),
    }
}

/// The same of this file.
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

/// Removes those of calls that never ended.
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

    /// Another process of the user may set a limit to how much we write.
    #[test]
    fn a_torn_last_line_is_not_the_end_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let proof = Proof::of(Hold::Namespaces, Profile::Trial);
        let mut receipt = begin(folder.path(), "toolu_1", &proof).unwrap();
        receipt.0.write_all(b"{\"hold\":\"names").unwrap();
        drop(receipt);
        assert_eq!(take(folder.path(), "toolu_1", &[], true), Some(proof));
    }

    /// The keeper of a layer and who waits for the command write in any order.
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
