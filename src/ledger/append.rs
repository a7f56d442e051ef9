//! Appends facts: folds them, writes their entries in one piece, then the state.
//!
//! Writes the session folder and exports heads. Invariants: a batch is one `write`; a batch is on disk when `append`
//! returns, and leaves no trace when it fails; after a failure nothing more is appended.

use super::open::Ledger;
use super::recover::LEDGER_FILE;
use super::state_file::STATE_FILE;
use crate::ledger::entry::{Frame, Mark};
use crate::ledger::heads::{self, Head};
use crate::model::error::Failure;
use crate::session::fact::{Fact, Snapshot};
use crate::session::fold::Session;
use crate::session::state::{State, Witness};
use crate::system::env::Env;
use crate::system::folder;
use crate::text::stored::digest_of;
use crate::text::time::timestamp;
use std::io::Write;

/// A snapshot is due after so many entries or bytes.
const SNAPSHOT_ENTRIES: u64 = 1024;
const SNAPSHOT_BYTES: u64 = 1 << 20;
const SPARE_FILE: &str = ".session-state.spare";

impl Ledger {
    pub fn append(&mut self, env: &Env, facts: Vec<Fact>) -> Result<(), Failure> {
        let mut facts: Vec<Fact> = self.loaded.repairs.drain(..).chain(facts).collect();
        // The first entry is always `open`, also before repairs.
        if let Some(open) = facts.iter().position(|fact| matches!(fact, Fact::Open(_))) {
            facts[..=open].rotate_right(1);
        }
        if facts.is_empty() {
            return Ok(());
        }
        if self.failed {
            let what = "an earlier entry could not be written; the next event reads the ledger again";
            return Err(Failure::storage(LEDGER_FILE, what));
        }
        let before = self.loaded.walk.bytes;
        let sync = facts.iter().any(Fact::must_sync);
        let export = facts.iter().any(exports);
        // From here to the end of the writes the session in memory is ahead of the disk.
        self.failed = true;
        let batch = self.batch(env, &facts)?;
        if self.dry_run {
            self.loaded.walk.bytes = before;
            self.failed = false;
            return Ok(());
        }
        let written = self.write(&batch, before, sync).and_then(|()| self.write_state());
        if let Err(failure) = written {
            let _ = self.file.set_len(before);
            return Err(failure);
        }
        self.failed = false;
        if export && self.unexported.is_none() {
            self.unexported = self.export(env).err();
        }
        Ok(())
    }

    /// Keeps the newest digest apart from the ledger.
    pub fn export(&self, env: &Env) -> Result<(), Failure> {
        heads::export(env, &self.head(env)).map_err(|failure| {
            let seq = self.session().seq;
            let what = format!("entry {seq} is recorded, but its head was not exported: {}", failure.what);
            Failure::new(failure.code, what)
        })
    }

    /// An entry that was committed stays committed when its head cannot be exported. The caller reports that at the end.
    pub fn exported(&self) -> Result<(), Failure> {
        self.unexported.clone().map_or(Ok(()), Err)
    }

    /// Folds the facts and makes their lines; the last line has the mark.
    fn batch(&mut self, env: &Env, facts: &[Fact]) -> Result<Vec<u8>, Failure> {
        let (ts, mut lines) = (timestamp(env.now_ms), Vec::new());
        let Some((last, before)) = facts.split_last() else { return Ok(lines) };
        for fact in before {
            self.add(fact, &ts, false, &mut lines)?;
        }
        let snapshot = !self.dry_run && self.snapshot_due(lines.len() as u64);
        self.add(last, &ts, !snapshot, &mut lines)?;
        if snapshot {
            let Session { memory, state, .. } = self.session().clone();
            self.add(&Fact::Snapshot(Box::new(Snapshot { memory, state })), &ts, true, &mut lines)?;
            let walk = &mut self.loaded.walk;
            walk.snapshot = (walk.bytes + lines.len() as u64, walk.folded.seq);
        }
        self.loaded.walk.bytes += lines.len() as u64;
        Ok(lines)
    }

    fn add(&mut self, fact: &Fact, ts: &str, marked: bool, lines: &mut Vec<u8>) -> Result<(), Failure> {
        let walk = &mut self.loaded.walk;
        let ((kind, with), before) = (fact.stored(), walk.folded.seq);
        let applied = walk.folded.apply(&self.trace, ts, fact);
        applied.map_err(|code| Failure::new(code, format!("a `{kind}` entry cannot follow entry {before}")))?;
        let digests = marked.then(|| (digest_of(&walk.folded.state), digest_of(&walk.folded.memory)));
        let mark = digests.as_ref().map(|(state, memory)| Mark { state, memory });
        let (prev, seq) = (&walk.folded.head, walk.folded.seq);
        let frame = Frame { prev, seq, mark, trace_id: &self.trace, ts, kind, with: &with };
        let (line, digest) = frame.write();
        walk.folded.head = digest;
        walk.last = line.len() as u64;
        lines.extend_from_slice(line.as_bytes());
        Ok(())
    }

    /// After one more entry.
    fn snapshot_due(&self, new_bytes: u64) -> bool {
        let walk = &self.loaded.walk;
        walk.folded.seq + 1 - walk.snapshot.1 >= SNAPSHOT_ENTRIES - 1
            || walk.bytes + new_bytes - walk.snapshot.0 >= SNAPSHOT_BYTES
    }

    fn write(&mut self, batch: &[u8], before: u64, sync: bool) -> Result<(), Failure> {
        let storage = |e| Failure::storage(LEDGER_FILE, e);
        let mut file = &self.file;
        let written = file.write(batch).map_err(storage)?;
        if written < batch.len() {
            return Err(Failure::storage(
                LEDGER_FILE,
                format!("only {written} of {} bytes could be written at {before}", batch.len()),
            ));
        }
        if sync { file.sync_data().map_err(storage) } else { Ok(()) }
    }

    /// Indented, with the digest of the canonical form.
    fn write_state(&self) -> Result<(), Failure> {
        let walk = &self.loaded.walk;
        let Session { state, memory, seq, head } = walk.folded.clone();
        let witness = Witness { bytes: walk.bytes, head, last: walk.last, memory, seq, snapshot: walk.snapshot };
        let mut state = State { ledger: Some(witness), ..state };
        state.digest = Some(digest_of(&state));
        let text = serde_json::to_string_pretty(&state).unwrap_or_default() + "\n";
        Ok(folder::replace(&self.place.dir, STATE_FILE, SPARE_FILE, text.as_bytes())?)
    }

    fn head(&self, env: &Env) -> Head {
        let session = self.session();
        Head {
            blocked: session.blocked().is_some(),
            digest: session.head.clone(),
            project: self.project(),
            reason: session.blocked().map(str::to_owned),
            seq: session.seq,
            session_id: self.trace.clone(),
            ts: timestamp(env.now_ms),
        }
    }
}

/// The head is exported at the end of a turn and at every change of the block flag.
fn exports(fact: &Fact) -> bool {
    match fact {
        Fact::Block(_) | Fact::Unblock(_) | Fact::Insights(_) => true,
        Fact::Event(seen) => seen.ends_turn(),
        _ => false,
    }
}
