//! Where the parts of a line stand: found once, perhaps by another thread than the one that reads them.
//!
//! Reads nothing, writes nothing. Invariant: `of` gives the parts that `read` found when both are given the same text.

use super::{HEAD, Line, Mark, WORKING};

/// Where a line's body begins: after the digest and its comma.
const BODY: usize = HEAD.len() + HEX + 2;
const PREV: &str = "\"prev_entry_digest\":\"";
const TS: &str = ",\"ts\":";
const TYPE: &str = ",\"type\":";
const WITH: &str = ",\"with\":";
const HEX: usize = 64;

/// The offsets of one line; the digests before the number stand where they always stand.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    seq: u64,
    state: Option<usize>,
    trace: usize,
    ts: usize,
    kind: usize,
    with: usize,
}

impl Shape {
    /// Of a line that is ours.
    pub fn read(text: &str) -> Option<Self> {
        let at = |rest: &str| text.len() - rest.len();
        let mut rest = text.strip_prefix(HEAD)?;
        hex(&mut rest)?;
        rest = rest.strip_prefix("\",")?.strip_prefix(PREV)?;
        hex(&mut rest)?;
        rest = rest.strip_prefix("\",\"sequence_number\":")?;
        let seq = number(&mut rest)?;
        rest = rest.strip_prefix(",\"")?;
        let mut state = None;
        if let Some(mut marked) = rest.strip_prefix("state_digest\":\"") {
            state = Some(at(marked));
            hex(&mut marked)?;
            rest = marked.strip_prefix("\",\"")?;
        }
        rest = rest.strip_prefix("trace_id\":")?;
        let trace = at(rest);
        string(&mut rest)?;
        rest = rest.strip_prefix(TS)?;
        let ts = at(rest);
        string(&mut rest)?;
        rest = rest.strip_prefix(TYPE)?;
        let kind = at(rest);
        string(&mut rest)?;
        rest = rest.strip_prefix(WITH)?;
        if state.is_some() {
            memory(rest.strip_suffix('}')?)?;
        }
        Some(Self { seq, state, trace, ts, kind, with: at(rest) })
    }

    /// The parts of that line. Nothing where the text is another one and too short.
    pub fn of<'a>(&self, text: &'a str) -> Option<Line<'a>> {
        let hex = |at: usize| text.get(at..at + HEX);
        let with = text.get(self.with..)?.strip_suffix('}')?;
        let mark = match self.state {
            Some(state) => Some(Mark { state: hex(state)?, memory: hex(text.len() - "\"}}".len() - HEX)? }),
            None => None,
        };
        Some(Line {
            digest: hex(HEAD.len())?,
            prev: hex(BODY + PREV.len())?,
            seq: self.seq,
            mark,
            trace_id: text.get(self.trace..self.ts - TS.len())?,
            ts: text.get(self.ts + 1..self.kind - TYPE.len() - 1)?,
            kind: text.get(self.kind + 1..self.with - WITH.len() - 1)?,
            with,
            body: text.get(BODY..)?,
        })
    }
}

/// Steps over 64 digits.
fn hex(rest: &mut &str) -> Option<()> {
    let (digits, after) = rest.split_at_checked(HEX)?;
    *rest = after;
    // Looked at to the end, whatever comes: so the compiler takes many at a time.
    let lower = |b: u8| b.is_ascii_digit() | (b'a'..=b'f').contains(&b);
    digits.bytes().fold(true, |all, b| all & lower(b)).then_some(())
}

fn number(rest: &mut &str) -> Option<u64> {
    let long = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, after) = rest.split_at(long);
    *rest = after;
    if digits.starts_with('0') { None } else { digits.parse().ok() }
}

/// Steps over a string.
fn string(rest: &mut &str) -> Option<()> {
    let bytes = rest.as_bytes();
    if bytes.first() != Some(&b'"') {
        return None;
    }
    let mut end = 1;
    while *bytes.get(end)? != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    *rest = rest.get(end + 1..)?;
    Some(())
}

/// The last member of a marked payload is there.
fn memory(with: &str) -> Option<()> {
    let (before, digits) = with.strip_suffix("\"}")?.split_at_checked(with.len() - 2 - HEX)?;
    let named = before.strip_suffix(WORKING).is_some() || before.strip_suffix(&WORKING[1..]).is_some();
    let mut rest = digits;
    if named { hex(&mut rest) } else { None }
}
