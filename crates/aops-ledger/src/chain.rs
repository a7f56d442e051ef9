//! Reads a ledger line by line and checks digest, number, link, legality of the fold and, at each mark, the
//! digest of the state.
//!
//! Reads bytes that the caller provides, so a ledger of any length takes little memory. Generic over the
//! [`Fold`] to which the entries are applied. Invariant: an entry is applied only when its batch is
//! committed.

use crate::entry::{ENTRY, Layout, Line};
use crate::failure::Kind;
use crate::json::quoted;
use crate::page::Page;
use crate::sha256::Sum;
use memchr::{memchr, memrchr};
use std::collections::BTreeMap;

/// The state into which entries are folded.
pub trait Fold {
    type Fact;

    const LAYOUT: &'static Layout = &ENTRY;
    /// All lines have the same trace ID.
    const ONE_TRACE: bool = true;

    /// The fact in a payload; `None` if this version does not know it.
    fn read(kind: &str, with: &str) -> Option<Self::Fact>;

    /// Number and digest of the last entry.
    fn tip(&self) -> (u64, &str);

    /// Applies one entry; afterwards `tip` returns that entry.
    fn apply(&mut self, trace: &str, line: &Line, fact: &Self::Fact) -> Result<(), Kind>;

    /// Whether the state may have changed since this was last asked; if not, its digest is not computed
    /// again.
    fn take_touched(&mut self) -> bool {
        true
    }

    /// Writes the bytes that the mark's `state_digest` covers.
    fn write_state(&self, _to: &mut Page) {}

    /// Writes the bytes that the mark's `working_digest` covers.
    fn write_memory(&self, _to: &mut Page) {}
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub kind: Kind,
    pub seq: u64,
    pub what: &'static str,
}

#[derive(Clone, Debug)]
pub struct Walk<F> {
    pub folded: F,
    /// Bytes up to the end of the last committed line.
    pub bytes: u64,
    /// Length of the last committed line.
    pub last: u64,
    /// Where the last snapshot ended: bytes, sequence number.
    pub snapshot: (u64, u64),
    trace: String,
    /// The digests for which witnesses vouch, by the number of the entry.
    vouched: BTreeMap<u64, Vec<String>>,
    /// Digest of the current state, if known.
    state_digest: Option<Sum>,
    /// A buffer for the bytes hashed at each mark, reused each time.
    written: Page,
}

impl<F: Fold> Walk<F> {
    /// Starts from a fold that is known to be right, `bytes` into the ledger.
    pub fn new(folded: F, trace: &str, bytes: u64) -> Self {
        Self {
            folded,
            bytes,
            last: 0,
            snapshot: (bytes, 0),
            trace: trace.to_owned(),
            vouched: BTreeMap::new(),
            state_digest: None,
            written: Page::default(),
        }
    }

    /// Requires entry `seq` to have this digest.
    pub fn vouch(&mut self, seq: u64, digest: &str) {
        self.vouched.entry(seq).or_default().push(digest.to_owned());
    }

    /// A walk that continues from a snapshot, with the same witnesses.
    #[must_use]
    pub fn from_snapshot(&self, folded: F, bytes: u64) -> Self {
        let snapshot = (bytes, folded.tip().0);
        let vouched = self.vouched.clone();
        Self { snapshot, vouched, ..Self::new(folded, &self.trace, bytes) }
    }

    /// Applies all complete batches and returns their length.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize, Damage> {
        let mut batch = Vec::new();
        let mut at = 0;
        let mut done = 0;
        let mut seq = self.folded.tip().0;
        let known = self.folded.tip().1.to_owned();
        let mut head = known.as_str();
        let trace = F::ONE_TRACE.then(|| quoted(&self.trace));
        while let Some(long) = memchr(b'\n', &bytes[at..]) {
            let line = check::<F>(&bytes[at..at + long], seq + 1, head, trace.as_deref())?;
            if self
                .vouched
                .get(&line.seq)
                .is_some_and(|known| known.iter().any(|digest| digest != line.digest))
            {
                let what = "is not the one that was acknowledged";
                return Err(Damage { kind: Kind::RecoveryFailed, seq: line.seq, what });
            }
            seq = line.seq;
            head = line.digest;
            batch.push(line);
            at += long + 1;
            if line.mark.is_some() || !F::LAYOUT.marked {
                for line in batch.drain(..) {
                    self.apply(&line)?;
                }
                self.bytes += (at - done) as u64;
                self.last = long as u64 + 1;
                done = at;
                if line.kind == "snapshot" {
                    self.snapshot = (self.bytes, line.seq);
                }
            }
        }
        Ok(done)
    }

    fn apply(&mut self, line: &Line) -> Result<(), Damage> {
        let damage = |kind, what| Damage { kind, seq: line.seq, what };
        let fact = F::read(line.kind, line.with)
            .ok_or(damage(Kind::InvalidTransition, "holds a fact this version does not know"))?;
        let applied = self.folded.apply(&self.trace, line, &fact);
        applied.map_err(|kind| damage(kind, "does not follow from the entries before it"))?;
        if self.folded.take_touched() {
            self.state_digest = None;
        }
        let Some(mark) = line.mark else { return Ok(()) };
        let state = self.state_digest.unwrap_or_else(|| self.digest_of(F::write_state));
        if !state.is(mark.state) || !self.digest_of(F::write_memory).is(mark.memory) {
            return Err(damage(Kind::ChecksumMismatch, "commits to another state"));
        }
        self.state_digest = Some(state);
        Ok(())
    }

    fn digest_of(&mut self, write: fn(&F, &mut Page)) -> Sum {
        self.written.clear();
        write(&self.folded, &mut self.written);
        Sum::of(self.written.bytes())
    }
}

/// Where the last complete marked line in these bytes ends; `None` if there is none.
pub fn end_of_last_batch(bytes: &[u8]) -> Option<usize> {
    let mut end = memrchr(b'\n', bytes)?;
    loop {
        let start = memrchr(b'\n', &bytes[..end]).map_or(0, |at| at + 1);
        if Line::read(&bytes[start..end]).is_some_and(|line| line.mark.is_some()) {
            return Some(end + 1);
        }
        end = start.checked_sub(1)?;
    }
}

fn check<'a, F: Fold>(line: &'a [u8], seq: u64, head: &str, trace: Option<&str>) -> Result<Line<'a>, Damage> {
    let damage = |kind, what| Damage { kind, seq, what };
    let line = Line::read_as(F::LAYOUT, line).filter(Line::holds);
    let line = line.ok_or(damage(Kind::ChecksumMismatch, "does not match its digest"))?;
    if !line.is_spelled_right() {
        return Err(damage(Kind::ChecksumMismatch, "is not in the only form of an entry"));
    }
    if line.seq != seq {
        return Err(damage(Kind::SequenceGap, "is missing, repeated or out of order"));
    }
    if line.prev != head {
        return Err(damage(Kind::ChecksumMismatch, "does not follow the entry before it"));
    }
    if trace.is_some_and(|trace| line.trace_id != trace) {
        return Err(damage(Kind::ChecksumMismatch, "belongs to another session"));
    }
    Ok(line)
}

/// Whether the bytes after the last mark can come from an interrupted write: intact lines (checked by
/// `feed`), then at most one that was cut. NUL bytes, or a piece that does not begin like an entry, cannot.
pub fn is_tear(rest: &[u8]) -> bool {
    let start = memrchr(b'\n', rest).map_or(0, |at| at + 1);
    let cut = &rest[start..];
    let head = b"{\"_digest\":\"";
    let long = cut.len().min(head.len());
    cut[..long] == head[..long] && memchr(0, rest).is_none()
}

#[cfg(test)]
mod tests;
