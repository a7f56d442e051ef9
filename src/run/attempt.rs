//! The attempt ledger: what a driver did, one line each, chained by `aops_ledger::chain`.
//!
//! Reads nothing, writes nothing. Stored types: fields in sorted order. Invariants: a line commits to all lines before it;
//! a torn last line is not taken for a damaged one.

use super::status::{Decision, Outcome, Trigger};
use crate::model::call::CallKey;
use crate::text::json;
use crate::text::sha256::NO_DIGEST;
use crate::text::stored::canonical;
use aops_ledger::chain::{Damage, Fold, Walk};
use aops_ledger::entry::{Frame, Layout, Line, Part};
use aops_ledger::failure::Kind;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What a driver did. A new kind is a variant here, a row in each `match` below and an arm in the fold.
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

/// A step is handed out. The same key again is the same step again.
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

/// A step has ended.
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

/// The line around it. Each line commits itself; the digest is that of the line with an empty digest.
static LAYOUT: Layout = Layout {
    members: &[
        (Part::Digest, "{\"digest\":"),
        (Part::Kind, ",\"kind\":"),
        (Part::Prev, ",\"prev\":"),
        (Part::Trace, ",\"run_id\":"),
        (Part::Seq, ",\"seq\":"),
        (Part::Ts, ",\"ts\":"),
        (Part::With, ",\"with\":"),
    ],
    unsealed: "{\"digest\":\"\",",
    marked: false,
};

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

/// One deed, with its run and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub run_id: String,
    pub ts: String,
    pub deed: Deed,
}

/// The deeds of all runs, in order.
#[derive(Debug)]
pub struct Attempts {
    pub told: Vec<Told>,
    seq: u64,
    pub head: String,
}

impl Default for Attempts {
    fn default() -> Self {
        Self { told: Vec::new(), seq: 0, head: NO_DIGEST.to_owned() }
    }
}

impl Fold for Attempts {
    type Fact = Deed;

    const LAYOUT: &'static Layout = &LAYOUT;
    const ONE_TRACE: bool = false;

    fn read(kind: &str, with: &str) -> Option<Deed> {
        Deed::read(kind, with)
    }

    fn tip(&self) -> (u64, &str) {
        (self.seq, &self.head)
    }

    fn apply(&mut self, _trace: &str, line: &Line, deed: &Deed) -> Result<(), Kind> {
        let run_id = json::read(line.trace_id).ok().and_then(|id| Some(id.text()?.into_owned()));
        let run_id = run_id.ok_or(Kind::ChecksumMismatch)?;
        self.told.push(Told { run_id, ts: line.ts.to_owned(), deed: deed.clone() });
        (self.seq, self.head) = (line.seq, line.digest.to_owned());
        Ok(())
    }
}

impl Attempts {
    /// The ledger in these bytes, and how many bytes at its end are torn.
    pub fn read(bytes: &[u8]) -> Result<(Self, usize), Damage> {
        let mut walk = Walk::new(Self::default(), "", 0);
        let done = walk.feed(bytes)?;
        Ok((walk.folded, bytes.len() - done))
    }

    /// The next line, with its line feed.
    pub fn line(&self, run_id: &str, ts: &str, deed: &Deed) -> String {
        let (kind, with) = deed.stored();
        let (prev, seq) = (&self.head, self.seq + 1);
        Frame { prev, seq, mark: None, trace_id: run_id, ts, kind, with: &with }.write_as(&LAYOUT).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::sha256::sha256;

    fn ledger() -> String {
        let deeds = [
            Deed::Init(Init { task: "ä".to_owned(), ..Init::default() }),
            Deed::Step(Begun { attempt: 1, step: "a".to_owned(), ..Begun::default() }),
            Deed::Terminal(Ended { outcome: Outcome::Pass, reason: "größer".to_owned() }),
        ];
        deeds.iter().fold(String::new(), |text, deed| {
            let line = Attempts::read(text.as_bytes()).unwrap().0.line("r\"1", "t", deed);
            text + &line
        })
    }

    #[test]
    fn every_changed_byte_is_seen_and_a_torn_tail_is_not_damage() {
        let text = ledger();
        let (attempts, torn) = Attempts::read(text.as_bytes()).unwrap();
        assert_eq!((attempts.told.len(), attempts.seq, torn), (3, 3, 0));
        assert!(attempts.told.iter().all(|told| told.run_id == "r\"1" && told.ts == "t"));
        let last = text.trim_end().rfind('\n').unwrap() + 1;
        for at in last..text.len() - 1 {
            let read = Attempts::read(&text.as_bytes()[..=at]);
            let (attempts, torn) = read.unwrap_or_else(|e| panic!("{at}: {e:?}"));
            assert_eq!((attempts.told.len(), torn), (2, at + 1 - last));
        }
        for at in 0..text.len() - 1 {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            assert!(Attempts::read(&bytes).is_err(), "byte {at}");
        }
    }

    /// The form of the first release: canonical, the digest over the line with an empty digest.
    #[test]
    fn a_line_is_the_published_form() {
        for line in ledger().lines() {
            assert_eq!(json::canonical(&json::read(line).unwrap()), line);
            let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
            let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(keys, ["digest", "kind", "prev", "run_id", "seq", "ts", "with"]);
            let digest = std::mem::take(&mut value["digest"]);
            value["digest"] = "".into();
            assert_eq!(digest, sha256(&[serde_json::to_string(&value).unwrap().as_bytes()]).as_str());
        }
    }
}
