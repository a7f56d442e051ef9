//! One line of the attempt ledger: what a driver did, chained to the line before.
//!
//! Reads nothing, writes nothing. Stored types: fields in sorted order. Invariants: a line commits to all lines before it;
//! a torn last line is told from a damaged one.

use super::status::{Decision, Outcome, Trigger};
use crate::model::call::CallKey;
use crate::text::sha256::{NO_DIGEST, sha256};
use crate::text::stored::canonical;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What was done. A new kind is a variant here, a row in each `match` below and an arm in the fold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    Init(Init),
    Step(Begun),
    Done(Done),
    Checkpoint(Paused),
    Resolved(Resolved),
    Resumed(Resumed),
    Terminal(Ended),
}

/// What the run is for, and what it may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Init {
    /// Millionths of a dollar.
    pub budget: Option<u64>,
    pub policy_hash: String,
    pub project_type: Option<String>,
    pub session_id: String,
    pub step_timeout_ms: u64,
    pub steps: Vec<String>,
    pub task: String,
    pub workflow: String,
}

/// A step is handed out. The same key again is the same step again, never another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// Counts how often it was handed out, from 1.
    pub attempt: u64,
    /// Idempotency key, server, tool.
    pub call: CallKey,
    pub step: String,
    /// The working tree before it.
    pub tree: String,
}

/// A step has ended; what it brought is kept under its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub call: CallKey,
    /// Of the whole run so far, in millionths of a dollar.
    pub cost: u64,
    pub duration_ms: u64,
    pub outcome: Outcome,
    pub reason: String,
    pub step: String,
    pub tokens: u64,
}

/// The run pauses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    pub checkpoint_id: String,
    /// The checks that failed, where it pauses for those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    pub cost: u64,
    pub digest: String,
    pub outcome: Outcome,
    pub question: String,
    pub step: String,
    pub tokens: u64,
    pub tool_use_id: Option<String>,
    /// The working tree as the packet was made.
    pub tree: String,
    pub trigger: Trigger,
}

/// A person decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    pub checkpoint_id: String,
    pub decision: Decision,
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// The budget from now on.
    pub budget: Option<u64>,
    pub checkpoint_id: String,
    pub step_timeout_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub outcome: Outcome,
    pub reason: String,
}

/// The line around it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    pub digest: String,
    pub kind: String,
    pub prev: String,
    pub run_id: String,
    pub seq: u64,
    pub ts: String,
    pub with: Box<RawValue>,
}

/// The end of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub seq: u64,
    pub digest: String,
}

impl Default for Link {
    fn default() -> Self {
        Self { seq: 0, digest: NO_DIGEST.to_owned() }
    }
}

impl Deed {
    fn stored(&self) -> (&'static str, String) {
        match self {
            Deed::Init(deed) => ("INIT", canonical(deed)),
            Deed::Step(deed) => ("STEP", canonical(deed)),
            Deed::Done(deed) => ("DONE", canonical(deed)),
            Deed::Checkpoint(deed) => ("CHECKPOINT", canonical(deed)),
            Deed::Resolved(deed) => ("RESOLVED", canonical(deed)),
            Deed::Resumed(deed) => ("RESUMED", canonical(deed)),
            Deed::Terminal(deed) => ("TERMINAL", canonical(deed)),
        }
    }

    fn read(kind: &str, with: &str) -> Option<Self> {
        fn of<T: DeserializeOwned>(with: &str) -> Option<T> {
            serde_json::from_str(with).ok()
        }
        Some(match kind {
            "INIT" => Deed::Init(of(with)?),
            "STEP" => Deed::Step(of(with)?),
            "DONE" => Deed::Done(of(with)?),
            "CHECKPOINT" => Deed::Checkpoint(of(with)?),
            "RESOLVED" => Deed::Resolved(of(with)?),
            "RESUMED" => Deed::Resumed(of(with)?),
            "TERMINAL" => Deed::Terminal(of(with)?),
            _ => return None,
        })
    }
}

/// The next line, and where the chain then ends.
pub fn line(after: &Link, run_id: &str, ts: &str, deed: &Deed) -> (String, Link) {
    let (kind, with) = deed.stored();
    let mut attempt = Attempt {
        digest: String::new(),
        kind: kind.to_owned(),
        prev: after.digest.clone(),
        run_id: run_id.to_owned(),
        seq: after.seq + 1,
        ts: ts.to_owned(),
        with: RawValue::from_string(with).unwrap_or_default(),
    };
    attempt.digest = sha256(&[canonical(&attempt).as_bytes()]);
    (canonical(&attempt) + "\n", Link { seq: attempt.seq, digest: attempt.digest })
}

/// One deed with whose it is and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub run_id: String,
    pub ts: String,
    pub deed: Deed,
}

/// Every deed of a ledger, where its chain ends, and how many torn bytes stand after it.
pub fn read(bytes: &[u8]) -> Result<(Vec<Told>, Link, usize), String> {
    let (mut told, mut link) = (Vec::new(), Link::default());
    let whole = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    for line in bytes[..whole].split_inclusive(|b| *b == b'\n') {
        let odd = |what: &str| format!("entry {}: {what}", link.seq + 1);
        let attempt: Attempt = serde_json::from_slice(line).map_err(|_| odd("it is no entry"))?;
        let bare = Attempt { digest: String::new(), ..attempt.clone() };
        if sha256(&[canonical(&bare).as_bytes()]) != attempt.digest {
            return Err(odd("its digest is another"));
        }
        if attempt.prev != link.digest || attempt.seq != link.seq + 1 {
            return Err(odd("it does not follow the one before"));
        }
        let deed =
            Deed::read(&attempt.kind, attempt.with.get()).ok_or_else(|| odd("its form is not known"))?;
        link = Link { seq: attempt.seq, digest: attempt.digest };
        told.push(Told { run_id: attempt.run_id, ts: attempt.ts, deed });
    }
    Ok((told, link, bytes.len() - whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> String {
        let deeds = [
            Deed::Init(Init { task: "ä".to_owned(), ..Init::default() }),
            Deed::Step(Begun { attempt: 1, step: "a".to_owned(), ..Begun::default() }),
            Deed::Terminal(Ended { outcome: Outcome::Pass, reason: "größer".to_owned() }),
        ];
        let mut link = Link::default();
        let mut text = String::new();
        for deed in deeds {
            let (more, next) = line(&link, "r", "t", &deed);
            text.push_str(&more);
            link = next;
        }
        text
    }

    #[test]
    fn every_changed_byte_is_seen_and_a_torn_tail_is_told() {
        let text = ledger();
        let (told, link, torn) = read(text.as_bytes()).unwrap();
        assert_eq!((told.len(), link.seq, torn), (3, 3, 0));
        let last = text.trim_end().rfind('\n').unwrap() + 1;
        for at in last..text.len() - 1 {
            let (told, _, torn) = read(&text.as_bytes()[..=at]).unwrap_or_else(|e| panic!("{at}: {e}"));
            assert_eq!((told.len(), torn), (2, at + 1 - last));
        }
        for at in 0..text.len() - 1 {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            assert!(read(&bytes).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_line_is_canonical() {
        for line in ledger().lines() {
            assert_eq!(crate::text::json::read(line).unwrap().canonical(), line);
        }
    }
}
