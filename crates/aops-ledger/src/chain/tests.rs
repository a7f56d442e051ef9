use super::*;
use crate::entry::{Frame, Mark};
use crate::sha256::{NO_DIGEST, sha256};
use crate::stored::write_canonical;

/// Adds up numbers.
#[derive(Clone, Debug)]
struct Sum {
    total: u64,
    tip: (u64, String),
}

impl Fold for Sum {
    type Fact = u64;

    fn read(kind: &str, with: &str) -> Option<u64> {
        let with = with.strip_prefix("{\"n\":")?;
        let digits = with.find(|c: char| !c.is_ascii_digit()).map(|end| &with[..end])?;
        digits.parse().ok().filter(|_| kind == "add")
    }

    fn tip(&self) -> (u64, &str) {
        (self.tip.0, &self.tip.1)
    }

    fn apply(&mut self, _: &str, line: &Line, fact: &u64) -> Result<(), Kind> {
        self.total = self.total.checked_add(*fact).ok_or(Kind::InvalidTransition)?;
        self.tip = (line.seq, line.digest.to_owned());
        Ok(())
    }

    fn write_state(&self, to: &mut Page) {
        write_canonical(&self.total, to);
    }
}

fn walk() -> Walk<Sum> {
    Walk::new(Sum { total: 0, tip: (0, NO_DIGEST.to_owned()) }, "t", 0)
}

/// Lines with these numbers; those in `marks` end a batch.
fn ledger(numbers: &[u64], marks: &[usize]) -> Vec<String> {
    let mut total = 0_u64;
    let mut prev = NO_DIGEST.to_owned();
    let memory = sha256(&[MEMORY.to_string().as_bytes()]);
    let lines = numbers.iter().enumerate().map(|(n, number)| {
        total = total.wrapping_add(*number);
        let state = sha256(&[total.to_string().as_bytes()]);
        let mark = marks.contains(&n).then_some(Mark { state: &state, memory: &memory });
        let with = format!("{{\"n\":{number}}}");
        let frame = Frame {
            prev: &prev,
            seq: n as u64 + 1,
            mark,
            trace_id: "t",
            ts: "now",
            kind: "add",
            with: &with,
        };
        let (line, digest) = frame.write();
        prev = digest;
        line
    });
    lines.collect()
}

impl Sum {
    fn is(&self, total: u64, seq: u64) -> bool {
        self.total == total && self.tip.0 == seq
    }
}

const MEMORY: u8 = 7;

/// The memory of this fold is always the same.
struct Marked(Sum);

impl Fold for Marked {
    type Fact = u64;

    fn read(kind: &str, with: &str) -> Option<u64> {
        Sum::read(kind, with)
    }

    fn tip(&self) -> (u64, &str) {
        self.0.tip()
    }

    fn apply(&mut self, trace: &str, line: &Line, fact: &u64) -> Result<(), Kind> {
        self.0.apply(trace, line, fact)
    }

    fn write_state(&self, to: &mut Page) {
        self.0.write_state(to);
    }

    fn write_memory(&self, to: &mut Page) {
        write_canonical(&MEMORY, to);
    }
}

fn marked() -> Walk<Marked> {
    Walk::new(Marked(walk().folded), "t", 0)
}

#[test]
fn only_whole_batches_are_applied() {
    let lines = ledger(&[1, 2, 4, 8, 16], &[1, 3]);
    let text = lines.concat();
    let second = lines[..2].concat().len();
    let fourth = lines[..4].concat().len();
    for cut in 0..=text.len() {
        let mut walk = marked();
        let done = walk.feed(&text.as_bytes()[..cut]).unwrap();
        let (want, total, entries) = if cut < second {
            (0, 0, 0)
        } else if cut < fourth {
            (second, 3, 2)
        } else {
            (fourth, 15, 4)
        };
        assert!(
            done == want && walk.folded.0.is(total, entries) && walk.bytes == want as u64,
            "cut at {cut}"
        );
        assert!(is_tear(&text.as_bytes()[done..cut]), "cut at {cut}");
    }
    assert_eq!(end_of_last_batch(text.as_bytes()), Some(fourth));
}

#[test]
fn every_kind_of_damage_has_its_name() {
    let lines = ledger(&[1, 2, 4], &[0, 1, 2]);
    let kind = |text: String| marked().feed(text.as_bytes()).map_err(|d| (d.kind, d.seq));
    assert_eq!(kind(lines.concat()), Ok(lines.concat().len()));
    assert_eq!(kind(lines[0].clone() + &lines[2]), Err((Kind::SequenceGap, 2)));
    assert_eq!(kind(lines.concat().replace("\"n\":2", "\"n\":3")), Err((Kind::ChecksumMismatch, 2)));
    assert_eq!(kind(ledger(&[1, 2], &[0, 1])[0].clone() + &ledger(&[2, 2], &[0, 1])[1]), {
        Err((Kind::ChecksumMismatch, 2))
    });
    assert_eq!(
        kind(ledger(&[18_446_744_073_709_550_000, 10_000], &[0, 1]).concat()),
        Err((Kind::InvalidTransition, 2))
    );
    let mut other = Walk::new(marked().folded, "another", 0);
    assert_eq!(other.feed(lines[0].as_bytes()).unwrap_err().kind, Kind::ChecksumMismatch);
    let mut vouched = marked();
    vouched.vouch(2, NO_DIGEST);
    let damage = vouched.feed(lines.concat().as_bytes()).unwrap_err();
    assert_eq!((damage.kind, damage.seq), (Kind::RecoveryFailed, 2));
    // The memory of `Sum` differs from what the marks say.
    assert_eq!(walk().feed(lines[0].as_bytes()).unwrap_err().what, "commits to another state");
}

#[test]
fn words_and_zeros_are_no_tear() {
    for (rest, tear) in
        [("", true), ("{\"_dig", true), ("{}", false), ("\n", true), ("{\"_digest\":\"\0", false)]
    {
        assert_eq!(is_tear(rest.as_bytes()), tear, "{rest:?}");
    }
}
