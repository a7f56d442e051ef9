//! The timeline of one session: the lines of `log`, as they arrive.
//!
//! Reads one ledger, writes nothing. Invariants: nothing is read twice; of a long ledger only the end is
//! read; every text is safe on a terminal.

use super::model::News;
use crate::cli::log::told::{Teller, Told};
use crate::cli::table::clean;
use aops_core::ledger::recover::LEDGER_FILE;
use aops_core::system::files;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// `aops-hook log` shows what is older.
const LONGEST: u64 = 4 << 20;

pub(super) struct Tail {
    path: PathBuf,
    root: String,
    teller: Teller,
    /// The bytes read so far, up to the end of a line.
    at: u64,
    fresh: bool,
}

impl Tail {
    pub(super) fn new(path: PathBuf, root: String) -> Self {
        Self { path, root, teller: Teller::default(), at: 0, fresh: true }
    }

    /// Delivers the lines since the last call.
    pub(super) fn read(&mut self, tell: &mut dyn FnMut(News)) {
        let bytes = self.new_bytes().unwrap_or_default();
        if bytes.is_empty() && !self.fresh {
            return;
        }
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let lines = lines.filter_map(|line| self.teller.take(line, &self.root, false)).map(safe).collect();
        let open = self.teller.still_open(&self.root).into_iter().map(safe).collect();
        tell(News::Lines { path: self.path.clone(), lines, open, fresh: self.fresh });
        self.fresh = false;
    }

    /// Complete lines after the position reached so far.
    fn new_bytes(&mut self) -> Option<Vec<u8>> {
        let file = files::open(self.path.join(LEDGER_FILE)).ok()?;
        let long = file.metadata().ok()?.len();
        if long < self.at {
            *self = Self::new(self.path.clone(), self.root.clone());
        }
        let skips = long.saturating_sub(self.at) > LONGEST;
        let from = if skips { long - LONGEST } else { self.at };
        let mut bytes = vec![0; usize::try_from(long - from).ok()?];
        file.read_exact_at(&mut bytes, from).ok()?;
        let end = memchr::memrchr(b'\n', &bytes)? + 1;
        bytes.truncate(end);
        self.at = from + end as u64;
        // The first line is incomplete.
        let begin = if skips { memchr::memchr(b'\n', &bytes)? + 1 } else { 0 };
        Some(bytes.split_off(begin))
    }
}

fn safe(told: Told) -> Told {
    let whole = |reason: String| reason.lines().map(clean).collect::<Vec<_>>().join("\n");
    Told {
        text: clean(&told.text).into_owned(),
        word: clean(&told.word).into_owned(),
        reason: told.reason.map(whole),
        ..told
    }
}
