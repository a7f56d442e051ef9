//! Whether another program wrote to a ledger since we did, and if so, whether every entry is still as it was.
//!
//! Reads the ledger; writes nothing. Invariants: our last write to the ledger is older than the state; the
//! kernel alone sets the time of a file's last change, so nothing hides a later one; an untouched ledger
//! costs one look at a file.

use super::recover::LEDGER_FILE;
use crate::ledger::entry::Line;
use crate::model::error::{Code, Failure};
use crate::system::folder;
use crate::text::sha256::NO_DIGEST;
use rustix::fs::fstat;
use std::fs::File;

/// Checks the entries up to this byte, unless the ledger is as we left it.
/// `state`: when the state was last written, in seconds and nanoseconds.
pub(super) fn check(state: Option<(i128, i128)>, ledger: &File, to: u64) -> Result<(), Failure> {
    if is_as_left(state, ledger) { Ok(()) } else { check_entries(ledger, to) }
}

fn is_as_left(state: Option<(i128, i128)>, ledger: &File) -> bool {
    let (Some(state), Ok(ledger)) = (state, fstat(ledger)) else { return false };
    (ledger.st_ctime.into(), ledger.st_ctime_nsec.into()) <= state
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
