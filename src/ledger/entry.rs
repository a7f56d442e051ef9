//! One line of the ledger: its frame, written and read without a JSON parser.
//!
//! Reads nothing, writes nothing. The line is its own RFC 8785 form; names are chosen so that the frame sorts first and
//! the payload last. Invariant: `Line::read` accepts exactly what `Line::write` makes, byte for byte.

mod shape;

pub use shape::Shape;

use crate::text::json::quoted;
use crate::text::sha256::sha256;

/// A line as it stands in the file, without its line feed.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    pub digest: &'a str,
    pub prev: &'a str,
    pub seq: u64,
    /// The commit mark: digests of state and memory after this entry.
    pub mark: Option<Mark<'a>>,
    /// Still quoted and escaped: compared, never shown.
    pub trace_id: &'a str,
    pub ts: &'a str,
    pub kind: &'a str,
    pub with: &'a str,
    body: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark<'a> {
    pub state: &'a str,
    pub memory: &'a str,
}

/// What a new line is made of.
#[derive(Debug)]
pub struct Frame<'a> {
    pub prev: &'a str,
    pub seq: u64,
    pub mark: Option<Mark<'a>>,
    pub trace_id: &'a str,
    pub ts: &'a str,
    pub kind: &'a str,
    pub with: &'a str,
}

const HEAD: &str = "{\"_digest\":\"";
const WORKING: &str = ",\"working_digest\":\"";

impl Frame<'_> {
    /// The line with its line feed, and its digest.
    pub fn write(&self) -> (String, String) {
        let Frame { prev, seq, trace_id, ts, kind, with, .. } = self;
        let trace_id = quoted(trace_id);
        let body = match self.mark {
            None => format!(
                "\"prev_entry_digest\":\"{prev}\",\"sequence_number\":{seq},\"trace_id\":{trace_id},\"ts\":\"{ts}\",\"type\":\"{kind}\",\"with\":{with}}}"
            ),
            Some(Mark { state, memory }) => {
                let with = with.strip_suffix('}').unwrap_or(with);
                let with =
                    if with == "{" { format!("{{{}", &WORKING[1..]) } else { format!("{with}{WORKING}") };
                format!(
                    "\"prev_entry_digest\":\"{prev}\",\"sequence_number\":{seq},\"state_digest\":\"{state}\",\"trace_id\":{trace_id},\"ts\":\"{ts}\",\"type\":\"{kind}\",\"with\":{with}{memory}\"}}}}"
                )
            }
        };
        let digest = sha256(&[b"{", body.as_bytes()]);
        (format!("{HEAD}{digest}\",{body}\n"), digest)
    }
}

impl<'a> Line<'a> {
    /// The frame of one line, or `None` where it is not ours.
    pub fn read(line: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(line).ok()?;
        Shape::read(text)?.of(text)
    }

    /// The digest is that of the rest of the line.
    pub fn holds(&self) -> bool {
        sha256(&[b"{", self.body.as_bytes()]) == self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::json;
    use crate::text::sha256::NO_DIGEST;

    fn frame<'a>(mark: Option<Mark<'a>>, with: &'a str) -> Frame<'a> {
        Frame {
            prev: NO_DIGEST,
            seq: 17,
            mark,
            trace_id: "a\"b",
            ts: "2026-01-13T10:00:00.123Z",
            kind: "call",
            with,
        }
    }

    #[test]
    fn a_line_is_its_own_canonical_form_and_reads_back() {
        let mark = Mark { state: NO_DIGEST, memory: NO_DIGEST };
        for (mark, with) in
            [(None, "{}"), (Some(mark), "{}"), (None, "{\"a\":1}"), (Some(mark), "{\"a\":{\"b\":\"é\"}}")]
        {
            let (line, digest) = frame(mark, with).write();
            let line = line.strip_suffix('\n').unwrap();
            assert_eq!(json::read(line).unwrap().canonical(), line);
            let read = Line::read(line.as_bytes()).unwrap();
            assert!(read.holds() && read.digest == digest && read.seq == 17 && read.mark == mark, "{line}");
            assert_eq!(
                (read.trace_id, read.ts, read.kind),
                ("\"a\\\"b\"", "2026-01-13T10:00:00.123Z", "call")
            );
        }
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let (line, _) = frame(Some(Mark { state: NO_DIGEST, memory: NO_DIGEST }), "{\"a\":1}").write();
        let line = line.trim_end().as_bytes();
        for at in 0..line.len() * 8 {
            let mut flipped = line.to_vec();
            flipped[at / 8] ^= 1 << (at % 8);
            assert!(!Line::read(&flipped).is_some_and(|l| l.holds()), "bit {at}");
        }
    }
}
