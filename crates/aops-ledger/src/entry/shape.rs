//! Where the parts of a line are: found once, perhaps in another thread than the one that reads them.
//!
//! Invariant: `of` gives the parts that `read` found when both get the same text.

use super::{Layout, Line, Mark, Part, WORKING};

const HEX: usize = 64;

/// The offsets of the parts of one line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shape {
    seq: u64,
    digest: usize,
    prev: usize,
    state: Option<usize>,
    trace: (usize, usize),
    ts: (usize, usize),
    kind: (usize, usize),
    with: usize,
}

impl Shape {
    /// `None` where the text is not a line of this layout.
    pub fn read(layout: &Layout, text: &str) -> Option<Self> {
        let mut shape = Self::default();
        let mut rest = text;
        for (part, lead) in layout.members {
            let Some(value) = rest.strip_prefix(lead) else {
                if *part == Part::State {
                    continue;
                }
                return None;
            };
            let at = text.len() - value.len();
            rest = value;
            match part {
                Part::Digest | Part::Prev | Part::State => hex_string(&mut rest)?,
                Part::Seq => shape.seq = number(&mut rest)?,
                Part::Trace | Part::Ts | Part::Kind => string(&mut rest)?,
                Part::With => {}
            }
            let end = text.len() - rest.len();
            match part {
                Part::Digest => shape.digest = at + 1,
                Part::Prev => shape.prev = at + 1,
                Part::State => shape.state = Some(at + 1),
                Part::Trace => shape.trace = (at, end),
                Part::Ts => shape.ts = (at + 1, end - 1),
                Part::Kind => shape.kind = (at + 1, end - 1),
                Part::With => shape.with = at,
                Part::Seq => {}
            }
        }
        if shape.state.is_some() {
            memory(rest.strip_suffix('}')?)?;
        }
        Some(shape)
    }

    /// The parts of that line. `None` where the text is another one and too short.
    pub fn of<'a>(&self, layout: &Layout, text: &'a str) -> Option<Line<'a>> {
        let hex = |at: usize| text.get(at..at + HEX);
        let mark = match self.state {
            Some(state) => Some(Mark { state: hex(state)?, memory: hex(text.len() - "\"}}".len() - HEX)? }),
            None => None,
        };
        Some(Line {
            digest: hex(self.digest)?,
            prev: hex(self.prev)?,
            seq: self.seq,
            mark,
            trace_id: text.get(self.trace.0..self.trace.1)?,
            ts: text.get(self.ts.0..self.ts.1)?,
            kind: text.get(self.kind.0..self.kind.1)?,
            with: text.get(self.with..)?.strip_suffix('}')?,
            body: text.get(self.digest + HEX + "\",".len()..)?,
            unsealed: layout.unsealed,
        })
    }
}

/// Steps over 64 digits in quotes.
fn hex_string(rest: &mut &str) -> Option<()> {
    *rest = rest.strip_prefix('"')?;
    hex(rest)?;
    *rest = rest.strip_prefix('"')?;
    Some(())
}

/// Steps over 64 digits.
fn hex(rest: &mut &str) -> Option<()> {
    let (digits, after) = rest.split_at_checked(HEX)?;
    *rest = after;
    // No early exit: the compiler vectorises the loop.
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

/// Checks the last member of a marked payload.
fn memory(with: &str) -> Option<()> {
    let (before, digits) = with.strip_suffix("\"}")?.split_at_checked(with.len() - 2 - HEX)?;
    let named = before.strip_suffix(WORKING).is_some() || before.strip_suffix(&WORKING[1..]).is_some();
    let mut rest = digits;
    if named { hex(&mut rest) } else { None }
}
