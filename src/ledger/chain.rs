//! Walks a ledger line by line: digest, number, link, legality of the fold and, at each mark, the digest of the state.
//!
//! Reads nothing, writes nothing; fed with bytes, so a ledger of any length takes little memory. Invariant: what was not
//! marked was never applied, so the session is always the one of the last mark.

use crate::ledger::entry::{Line, Shape};
use crate::model::error::Code;
use crate::session::fact::Fact;
use crate::session::fold::Session;
use crate::text::json::quoted;
use crate::text::stored::digest_of;
use memchr::memchr;

/// What is wrong, and from which entry on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub code: Code,
    pub seq: u64,
    pub what: &'static str,
}

/// A walk in progress.
#[derive(Clone, Debug)]
pub struct Walk {
    pub session: Session,
    /// Bytes up to and with the last mark.
    pub bytes: u64,
    /// Length of the last marked line.
    pub last: u64,
    /// Where the last snapshot ended: bytes, sequence number.
    pub snapshot: (u64, u64),
    trace: String,
    /// Entries that somebody else vouches for: number, digest.
    vouched: Vec<(u64, String)>,
    /// Of the state as it is, while it is known.
    state_digest: Option<String>,
}

impl Walk {
    /// From a session that is known to be right, `bytes` into the ledger. `trace` is the session's name.
    pub fn new(session: Session, trace: &str, bytes: u64) -> Self {
        Self {
            session,
            bytes,
            last: 0,
            snapshot: (bytes, 0),
            trace: trace.to_owned(),
            vouched: Vec::new(),
            state_digest: None,
        }
    }

    /// Entry `seq` must have this digest when the walk comes by.
    pub fn vouch(&mut self, seq: u64, digest: &str) {
        self.vouched.push((seq, digest.to_owned()));
    }

    /// Takes all complete batches; returns how many bytes that were. Each entry is shown to `visit` with its offset.
    pub fn feed(&mut self, bytes: &[u8], visit: impl FnMut(u64, &Line, &Fact)) -> Result<usize, Damage> {
        self.take(bytes, prepare(bytes), visit)
    }

    /// The same for lines that were prepared before, perhaps by another thread.
    pub fn take(
        &mut self,
        bytes: &[u8],
        ready: Vec<Ready>,
        mut visit: impl FnMut(u64, &Line, &Fact),
    ) -> Result<usize, Damage> {
        let (mut batch, mut at, mut done) = (Vec::new(), 0, 0);
        let known = self.session.head.clone();
        let (mut seq, mut head) = (self.session.seq, known.as_str());
        let trace = quoted(&self.trace);
        for Ready { long, shape, fact } in ready {
            let line = check(&bytes[at..at + long], shape, seq + 1, head, &trace)?;
            if self.vouched.iter().any(|(seq, digest)| *seq == line.seq && digest != line.digest) {
                let what = "is not the one that was acknowledged";
                return Err(Damage { code: Code::RecoveryFailed, seq: line.seq, what });
            }
            (seq, head) = (line.seq, line.digest);
            batch.push((at, line, fact));
            at += long + 1;
            if line.mark.is_some() {
                for (offset, line, fact) in batch.drain(..) {
                    self.fold(self.bytes + (offset - done) as u64, &line, fact, &mut visit)?;
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

    fn fold(
        &mut self,
        at: u64,
        line: &Line,
        fact: Option<Fact>,
        visit: &mut impl FnMut(u64, &Line, &Fact),
    ) -> Result<(), Damage> {
        let damage = |code, what| Damage { code, seq: line.seq, what };
        let fact = fact.ok_or(damage(Code::InvalidTransition, "holds a fact this version does not know"))?;
        if self.session.may_show(&fact) {
            self.state_digest = None;
        }
        self.session
            .apply(&self.trace, line.ts, &fact)
            .map_err(|code| damage(code, "does not follow from the entries before it"))?;
        line.digest.clone_into(&mut self.session.head);
        if let Some(mark) = line.mark {
            let state = self.state_digest.take().unwrap_or_else(|| digest_of(&self.session.state));
            if state != mark.state || digest_of(&self.session.memory) != mark.memory {
                return Err(damage(Code::ChecksumMismatch, "commits to another state"));
            }
            self.state_digest = Some(state);
        }
        visit(at, line, &fact);
        Ok(())
    }
}

/// A line that was looked at on its own: does its digest hold, and which fact does it hold.
#[derive(Debug)]
pub struct Ready {
    long: usize,
    /// Where the digest holds.
    shape: Option<Shape>,
    fact: Option<Fact>,
}

/// What can be said of each complete line without the lines before it. This is most of the work of a walk.
pub fn prepare(bytes: &[u8]) -> Vec<Ready> {
    let mut ready = Vec::new();
    let mut at = 0;
    while let Some(long) = memchr(b'\n', &bytes[at..]) {
        let text = std::str::from_utf8(&bytes[at..at + long]).unwrap_or_default();
        let shape = Shape::read(text);
        let line = shape.and_then(|shape| shape.of(text)).filter(Line::holds);
        let fact = line.and_then(|line| Fact::read(line.kind, line.with));
        ready.push(Ready { long, shape: shape.filter(|_| line.is_some()), fact });
        at += long + 1;
    }
    ready
}

/// Where the last marked line of these bytes ends; nothing where none is whole.
pub fn end_of_last_batch(bytes: &[u8]) -> Option<usize> {
    let mut end = memchr::memrchr(b'\n', bytes)?;
    loop {
        let start = memchr::memrchr(b'\n', &bytes[..end]).map_or(0, |at| at + 1);
        if Line::read(&bytes[start..end]).is_some_and(|line| line.mark.is_some()) {
            return Some(end + 1);
        }
        end = start.checked_sub(1)?;
    }
}

fn check<'a>(
    line: &'a [u8],
    shape: Option<Shape>,
    seq: u64,
    head: &str,
    trace: &str,
) -> Result<Line<'a>, Damage> {
    let damage = |code, what| Damage { code, seq, what };
    let line = shape
        .and_then(|shape| shape.of(std::str::from_utf8(line).ok()?))
        .ok_or(damage(Code::ChecksumMismatch, "does not match its digest"))?;
    if line.seq != seq {
        return Err(damage(Code::SequenceGap, "is missing, repeated or out of order"));
    }
    if line.prev != head {
        return Err(damage(Code::ChecksumMismatch, "does not follow the entry before it"));
    }
    if line.trace_id != trace {
        return Err(damage(Code::ChecksumMismatch, "belongs to another session"));
    }
    Ok(line)
}

/// What stands after the last mark can be the work of a kill in mid-write: lines that hold (checked by `feed`), then at
/// most one that was cut. NUL bytes or a piece that never began as an entry are not.
pub fn is_tear(rest: &[u8]) -> bool {
    let start = memchr::memrchr(b'\n', rest).map_or(0, |at| at + 1);
    let cut = &rest[start..];
    let head = b"{\"_digest\":\"";
    let long = cut.len().min(head.len());
    cut[..long] == head[..long] && memchr(0, rest).is_none()
}
