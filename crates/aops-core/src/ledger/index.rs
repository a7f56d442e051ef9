//! `calls.index`: the last entry of each ended call, so that a repeated ID is found in constant time.
//!
//! Reads and writes this one file. It is a hint, see `aops_ledger::index`, and is rebuilt after a reboot: it
//! is not synced, so a power loss can keep its header and lose its slots.

use crate::ledger::entry::Line;
use crate::model::call::CallKey;
use crate::model::error::{Code, Failure};
use crate::session::fact::{Fact, Step};
use crate::text::sha256::short;
use aops_ledger::index::{Indexed, Keys};
use memchr::memmem;
use std::fs::File;
use std::os::fd::OwnedFd;

static KEYS: Keys = Keys {
    file: "calls.index",
    hash: |line| Some(hash(&read_end(line)?.call)),
    same: |one, other| read_end(one).zip(read_end(other)).is_some_and(|(one, other)| one.call == other.call),
    intact: is_intact,
    lag: 8 << 10,
    synced: false,
};

/// How the last call with this key ended, within the first `long` bytes of this ledger. `boot`: the boot
/// during which the session was last opened. `read_only`: do not update the table.
pub fn last_end(
    (dir, lines, long): (&OwnedFd, &File, u64),
    boot: &str,
    key: &CallKey,
    read_only: bool,
) -> Result<Option<Step>, Failure> {
    let calls = Indexed { keys: &KEYS, dir, lines, long, tag: short(&[boot.as_bytes()]) };
    // An ID without escapes occurs in its entries literally, so most lines need no parsing.
    let plain = key.id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    let id = memmem::Finder::new(key.id.as_bytes());
    // A damaged line that contains the ID may have been this call's end, so it does not mean "never asked
    // about".
    let may_be = |line: &[u8]| read_end(line).map_or_else(|| !is_intact(line), |step| step.call == *key);
    let is = |line: &[u8]| (!plain || id.find(line).is_some()) && may_be(line);
    let found = if read_only {
        calls.peek(hash(key), &is).or_else(|_| calls.scan(&is))?
    } else {
        calls.newest(hash(key), &is)?
    };
    let damaged = || {
        Failure::new(
            Code::ChecksumMismatch,
            format!("an entry of call `{}` does not match its digest", key.id),
        )
    };
    found.map(|line| read_end(&line).ok_or_else(damaged)).transpose()
}

fn is_intact(line: &[u8]) -> bool {
    line.strip_suffix(b"\n").and_then(Line::read).is_some_and(|line| line.holds())
}

fn hash(key: &CallKey) -> u64 {
    short(&[key.server.as_bytes(), b"\0", key.tool.as_bytes(), b"\0", key.id.as_bytes()])
}

/// The step in this line, if it ends a call and its digest is right.
fn read_end(line: &[u8]) -> Option<Step> {
    // Most lines do not end a call: search before parsing.
    memmem::find(line, b",\"type\":\"call\",")?;
    let line = Line::read(line.strip_suffix(b"\n")?).filter(|line| line.kind == "call")?;
    let Some(Fact::Call(step)) = Fact::read(line.kind, line.with) else { return None };
    (step.to.is_terminal() && line.holds()).then_some(step)
}
