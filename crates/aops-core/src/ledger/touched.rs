//! Whether another program wrote to a ledger since we did, and if so, whether every entry is still as it was.
//!
//! Reads the ledger; writes nothing. Invariants: our last write to the ledger is older than the state; the
//! kernel alone sets the time of a file's last change, so nothing hides a later one; an untouched ledger
//! costs two looks at files.

use super::recover::{LEDGER_FILE, STATE_FILE};
use crate::ledger::entry::Line;
use crate::model::error::{Code, Failure};
use crate::system::folder;
use crate::text::sha256::NO_DIGEST;
use rustix::fs::{AtFlags, fstat, statat};
use std::fs::File;
use std::os::fd::OwnedFd;

/// Checks the entries up to this byte, unless the ledger is as we left it.
pub(super) fn check(dir: &OwnedFd, ledger: &File, to: u64) -> Result<(), Failure> {
    if is_as_left(dir, ledger) { Ok(()) } else { check_entries(ledger, to) }
}

fn is_as_left(dir: &OwnedFd, ledger: &File) -> bool {
    let (Ok(ledger), Ok(state)) = (fstat(ledger), statat(dir, STATE_FILE, AtFlags::SYMLINK_NOFOLLOW)) else {
        return false;
    };
    (ledger.st_ctime, ledger.st_ctime_nsec) <= (state.st_mtime, state.st_mtime_nsec)
}

/// Every entry matches its digest and follows the one before it.
fn check_entries(ledger: &File, to: u64) -> Result<(), Failure> {
    let mut before = (0, NO_DIGEST.to_owned());
    let mut damage = None;
    let came = folder::each_line(ledger, 0, to, |_, line| {
        let line = line.strip_suffix(b"\n").and_then(Line::read);
        let line = line.filter(|line| line.holds() && line.prev == before.1 && line.seq == before.0 + 1);
        match line {
            Some(line) => before = (line.seq, line.digest.to_owned()),
            None => damage = Some(before.0 + 1),
        }
        line.map(|_| ())
    })?;
    let damage = damage.or_else(|| (came != Some(to)).then_some(before.0 + 1));
    damage.map_or(Ok(()), |seq| {
        let what =
            format!("`{LEDGER_FILE}` was changed by another program: entry {seq} does not match its digest");
        Err(Failure::new(Code::ChecksumMismatch, what))
    })
}
