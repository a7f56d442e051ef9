//! One line of a ledger: fixed members around a payload, written and read without a JSON parser.
//!
//! The line is its own RFC 8785 form: member names are chosen so that the payload sorts last. Its digest is
//! the SHA-256 of the line without the digest. Invariant: `Line::read` accepts exactly what `Frame::write`
//! writes, byte for byte.

use crate::json::quoted;
use crate::sha256::{Sum, sha256};
use crate::spelling::{is_canonical, is_plain_string};

/// The members of a line, in order.
#[derive(Debug)]
pub struct Layout {
    /// Each member, with the bytes before its value. The digest is the first, the payload the last.
    pub members: &'static [(Part, &'static str)],
    /// The bytes that replace the digest's member while the digest is computed.
    pub unsealed: &'static str,
    /// Lines are committed by a mark; otherwise each line commits itself.
    pub marked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Digest,
    Prev,
    Seq,
    /// Only in lines with a mark.
    State,
    Trace,
    Ts,
    Kind,
    With,
}

pub static ENTRY: Layout = Layout {
    members: &[
        (Part::Digest, "{\"_digest\":"),
        (Part::Prev, ",\"prev_entry_digest\":"),
        (Part::Seq, ",\"sequence_number\":"),
        (Part::State, ",\"state_digest\":"),
        (Part::Trace, ",\"trace_id\":"),
        (Part::Ts, ",\"ts\":"),
        (Part::Kind, ",\"type\":"),
        (Part::With, ",\"with\":"),
    ],
    unsealed: "{",
    marked: true,
};

/// A line in the form of the file, without its line feed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line<'a> {
    pub digest: &'a str,
    pub prev: &'a str,
    pub seq: u64,
    /// The commit mark: digests of state and memory after this entry.
    pub mark: Option<Mark<'a>>,
    /// Still quoted and escaped.
    pub trace_id: &'a str,
    pub ts: &'a str,
    pub kind: &'a str,
    pub with: &'a str,
    body: &'a str,
    unsealed: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark<'a> {
    pub state: &'a str,
    pub memory: &'a str,
}

/// The members of a new line. `with` is a canonical JSON object; `ts` and `kind` need no escapes.
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

/// The last member of a marked payload.
const WORKING: &str = ",\"working_digest\":\"";
const HEX: usize = 64;

impl Frame<'_> {
    /// The line with its line feed, and its digest.
    pub fn write(&self) -> (String, String) {
        self.write_as(&ENTRY)
    }

    pub fn write_as(&self, layout: &Layout) -> (String, String) {
        let mut line = String::with_capacity(self.with.len() + 512);
        for (part, lead) in layout.members.iter().skip(1) {
            if *part == Part::State && self.mark.is_none() {
                continue;
            }
            line.push_str(lead);
            match part {
                Part::Digest => {}
                Part::Prev => push_quoted(self.prev, &mut line),
                Part::Seq => line.push_str(&self.seq.to_string()),
                Part::State => push_quoted(self.mark.map_or("", |mark| mark.state), &mut line),
                Part::Trace => line.push_str(&quoted(self.trace_id)),
                Part::Ts => push_quoted(self.ts, &mut line),
                Part::Kind => push_quoted(self.kind, &mut line),
                Part::With => self.push_payload(&mut line),
            }
        }
        line.push('}');
        let body = &line[1..]; // without the first comma
        let digest = sha256(&[layout.unsealed.as_bytes(), body.as_bytes()]);
        (format!("{}\"{digest}\",{body}\n", layout.members[0].1), digest)
    }

    fn push_payload(&self, line: &mut String) {
        let Some(mark) = self.mark else { return line.push_str(self.with) };
        let open = self.with.strip_suffix('}').unwrap_or(self.with);
        line.push_str(open);
        line.push_str(if open == "{" { &WORKING[1..] } else { WORKING });
        line.push_str(mark.memory);
        line.push_str("\"}");
    }
}

fn push_quoted(text: &str, line: &mut String) {
    line.push('"');
    line.push_str(text);
    line.push('"');
}

impl<'a> Line<'a> {
    pub fn read(line: &'a [u8]) -> Option<Self> {
        Self::read_as(&ENTRY, line)
    }

    pub fn read_as(layout: &Layout, line: &'a [u8]) -> Option<Self> {
        let mut rest = std::str::from_utf8(line).ok()?;
        let mut line = Self { unsealed: layout.unsealed, ..Self::default() };
        let mut state = None;
        for (part, lead) in layout.members {
            match rest.strip_prefix(lead) {
                Some(value) => rest = value,
                None if *part == Part::State => continue,
                None => return None,
            }
            match part {
                Part::Digest => {
                    line.digest = hex_string(&mut rest)?;
                    line.body = rest.get(1..)?;
                }
                Part::Prev => line.prev = hex_string(&mut rest)?,
                Part::Seq => line.seq = number(&mut rest)?,
                Part::State => state = Some(hex_string(&mut rest)?),
                Part::Trace => line.trace_id = string(&mut rest)?,
                Part::Ts => line.ts = unquoted(string(&mut rest)?),
                Part::Kind => line.kind = unquoted(string(&mut rest)?),
                Part::With => line.with = rest.strip_suffix('}')?,
            }
        }
        if let Some(state) = state {
            line.mark = Some(Mark { state, memory: working_digest(line.with)? });
        }
        Some(line)
    }

    /// The digest holds, and the line is its own canonical form.
    pub fn is_sound(&self) -> bool {
        self.holds() && self.is_spelled_right()
    }

    /// The line is its own canonical form: a repeated name, or another spelling, could show two readers two
    /// entries with one digest. The surrounding members are accepted in one form only.
    pub fn is_spelled_right(&self) -> bool {
        let strings = [self.ts, self.kind].into_iter().all(is_plain_string) && is_canonical(self.trace_id);
        strings && self.with.starts_with('{') && is_canonical(self.with)
    }

    /// The digest matches the rest of the line.
    pub fn holds(&self) -> bool {
        Sum::of_pieces(&[self.unsealed.as_bytes(), self.body.as_bytes()]).is(self.digest)
    }
}

fn hex_string<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let (digits, after) = rest.strip_prefix('"')?.split_at_checked(HEX)?;
    *rest = after.strip_prefix('"')?;
    is_hex(digits).then_some(digits)
}

fn is_hex(digits: &str) -> bool {
    // No early exit: the compiler vectorises the loop.
    let lower = |b: u8| b.is_ascii_digit() | (b'a'..=b'f').contains(&b);
    digits.bytes().fold(true, |all, b| all & lower(b))
}

fn number(rest: &mut &str) -> Option<u64> {
    let (digits, after) = rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count());
    *rest = after;
    if digits.starts_with('0') { None } else { digits.parse().ok() }
}

fn string<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let bytes = rest.strip_prefix('"')?.as_bytes();
    let mut end = 0;
    while *bytes.get(end)? != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    let (string, after) = rest.split_at_checked(end + 2)?;
    *rest = after;
    Some(string)
}

fn unquoted(string: &str) -> &str {
    &string[1..string.len() - 1]
}

/// The last member of a marked payload.
fn working_digest(with: &str) -> Option<&str> {
    let (before, digits) = with.strip_suffix("\"}")?.split_at_checked(with.len().checked_sub(2 + HEX)?)?;
    let named = before.ends_with(WORKING) || before.strip_suffix(&WORKING[1..]) == Some("{");
    (named && is_hex(digits)).then_some(digits)
}

#[cfg(test)]
mod tests;
