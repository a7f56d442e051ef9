//! Finds the last refusal of a ledger while reading only what is new.

use crate::cli::log::told::Teller;
use aops_core::system::files;
use memchr::memmem::rfind;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How much of a new ledger is read at most, from its end.
const LOOKED_AT: u64 = 1 << 20;

/// How many lines before a refusal are searched for the start of its call.
const BEFORE: usize = 8;

/// The last refusal after `from`, on one line: what was refused, and by which gate.
pub(super) fn last_refusal(ledger: &Path, from: u64, root: &str) -> Option<String> {
    let file = files::open(ledger).ok()?;
    let long = file.metadata().ok()?.len();
    // A file that became shorter is a different ledger.
    let from =
        if from <= long { from.max(long.saturating_sub(LOOKED_AT)) } else { long.saturating_sub(LOOKED_AT) };
    let mut bytes = vec![0; usize::try_from(long - from).ok()?];
    file.read_exact_at(&mut bytes, from).ok()?;
    let hit = rfind(&bytes, b"\"DENIED\"").max(rfind(&bytes, b"\"ruling\":\"deny\""))?;
    let end = hit + memchr::memchr(b'\n', &bytes[hit..])? + 1;
    let lines: Vec<&[u8]> = bytes[..end].split_inclusive(|byte| *byte == b'\n').rev().take(BEFORE).collect();
    let mut teller = Teller::default();
    let told = lines.into_iter().rev().filter_map(|line| teller.take(line, root, false)).last()?;
    (told.word == "refused" || told.refused).then_some(told.text)
}
