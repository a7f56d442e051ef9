use super::*;
use crate::json::{self, unchanged};
use crate::sha256::NO_DIGEST;

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
        assert_eq!(json::read(line).unwrap().canonical(unchanged), line);
        let read = Line::read(line.as_bytes()).unwrap();
        assert!(read.holds() && read.digest == digest && read.seq == 17 && read.mark == mark, "{line}");
        assert_eq!(
            (read.trace_id, read.ts, read.kind, read.prev),
            ("\"a\\\"b\"", "2026-01-13T10:00:00.123Z", "call", NO_DIGEST)
        );
    }
}

/// Written by the first release.
#[test]
fn the_form_is_the_published_one() {
    let mark = Mark { state: NO_DIGEST, memory: NO_DIGEST };
    let (line, digest) = frame(Some(mark), "{\"a\":1}").write();
    let body = format!(
        "\"prev_entry_digest\":\"{NO_DIGEST}\",\"sequence_number\":17,\"state_digest\":\"{NO_DIGEST}\",\"trace_id\":\"a\\\"b\",\"ts\":\"2026-01-13T10:00:00.123Z\",\"type\":\"call\",\"with\":{{\"a\":1,\"working_digest\":\"{NO_DIGEST}\"}}}}"
    );
    assert_eq!(digest, sha256(&[b"{", body.as_bytes()]));
    assert_eq!(line, format!("{{\"_digest\":\"{digest}\",{body}\n"));
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
