//! The attempt ledger: what a driver did, one line each, chained by `aops_ledger::chain`; and the names of a
//! run's statuses.
//!
//! Reads nothing, writes nothing. Stored types: fields in sorted order. Invariants: a line commits to all
//! lines before it; an incomplete last line does not count as damage; a run in any status but `Terminal` can
//! be continued.

use aops_core::model::call::CallKey;
use aops_core::model::client::Client;
use aops_core::model::named::named;
pub use aops_core::model::outcome::RunOutcome;
use aops_core::text::{json, sha256::NO_DIGEST, stored::canonical};
use aops_ledger::chain::{Damage, Fold, Walk};
use aops_ledger::entry::{Frame, Layout, Line, Part};
use aops_ledger::failure::Kind;
use serde::{Deserialize, Serialize};

named! {
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum RunStatus {
        #[default]
        Init = "INIT",
        Running = "RUNNING",
        /// Paused; a packet says why.
        Checkpoint = "CHECKPOINT",
        Resumed = "RESUMED",
        Terminal = "TERMINAL",
        /// Its driver died. A person must resume it.
        Terminated = "TERMINATED",
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Trigger {
    #[default]
    AskUser,
    BudgetExhausted,
    CheckFailed,
    StepTimeout,
    Killed,
    /// Ctrl-C or SIGTERM.
    Interrupted,
    /// The driver itself was killed.
    Terminated,
    /// A person moved the run back to a checkpoint.
    RolledBack,
    /// The verifier still finds issues after three interventions.
    VerificationFailed,
    /// The critic still wants a revision after three revisions, or there is no plan to go back to.
    CriticRevise,
    /// The critic says that a revision would not help.
    CriticHalt,
    /// A step ended with a question to a person.
    Question,
}

named! {
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum Decision {
        Approved = "APPROVED",
        Rejected = "REJECTED",
    }
}

pub const POLICY_CHANGED: &str = "POLICY_CHANGED_MID_RUN";

impl RunStatus {
    pub fn is_driven(self) -> bool {
        matches!(self, RunStatus::Init | RunStatus::Running | RunStatus::Resumed)
    }
}

impl Trigger {
    pub fn outcome(self) -> RunOutcome {
        match self {
            Trigger::AskUser | Trigger::CheckFailed => RunOutcome::WaiverRequested,
            _ => RunOutcome::EscalationRequested,
        }
    }

    /// Whether a worker or an engine, which cannot type `resume`, must ask a person. If only the driver was
    /// interrupted, the run continues by itself.
    pub fn asks_person(self) -> bool {
        !matches!(self, Trigger::Interrupted | Trigger::Terminated | Trigger::RolledBack)
    }

    /// A person must decide before `resume`; for all others, `resume` itself is the decision.
    pub fn wants_decision(self) -> bool {
        !matches!(self, Trigger::Killed | Trigger::Interrupted | Trigger::Terminated | Trigger::RolledBack)
    }

    /// Whether the person must answer in words, which every later step gets.
    pub fn wants_answer(self) -> bool {
        matches!(self, Trigger::CriticRevise | Trigger::CriticHalt | Trigger::Question)
    }
}

/// What a driver did. A new kind is a variant here and an arm in the fold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "with", rename_all = "UPPERCASE")]
pub enum AttemptFact {
    Init(Init),
    Step(Begun),
    Done(Done),
    Checkpoint(Paused),
    Resolved(Resolved),
    Resumed(Resumed),
    Terminal(Ended),
    Rollback(TakenBack),
    Revised(Revised),
    Delivered(Delivered),
    Removed(Removed),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Init {
    /// The commit and branch it started from; `None` in lines of the first releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Millionths of a dollar.
    pub budget: Option<u64>,
    /// The client whose sessions it drives; empty means Claude Code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub client: String,
    /// Files that belong to the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextRef>,
    /// Digest of the settings and texts that influence decisions, without those that only say where and to
    /// whom something is sent. `None` in older lines, for which the policy's hash counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decides: Option<String>,
    /// The model of steps that name none; `None` means the client's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub policy_hash: String,
    pub project_type: Option<String>,
    pub session_id: String,
    pub step_timeout_ms: u64,
    pub steps: Vec<String>,
    pub task: String,
    pub workflow: String,
}

impl Init {
    pub fn client(&self) -> Client {
        Client::of(&self.client).unwrap_or_default()
    }
}

/// A file that belongs to a task, as it was when the run began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextRef {
    /// Relative to the project's root, or absolute if it is outside.
    pub path: String,
    pub sha256: String,
}

/// A step is handed out. The same key means the same step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// How many times it was handed out, from 1.
    pub attempt: u64,
    /// Idempotency key, server, tool.
    pub call: CallKey,
    pub step: String,
    pub tree: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub call: CallKey,
    /// The cost of the whole run so far, in millionths of a dollar.
    pub cost: u64,
    pub duration_ms: u64,
    pub outcome: RunOutcome,
    pub reason: String,
    pub step: String,
    pub tokens: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    pub checkpoint_id: String,
    /// The failed checks, if it pauses because of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    pub cost: u64,
    pub digest: String,
    pub outcome: RunOutcome,
    pub question: String,
    pub step: String,
    pub tokens: u64,
    pub tool_use_id: Option<String>,
    /// The working tree when the packet was made.
    pub tree: String,
    pub trigger: Trigger,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// Who decided, and when, if that was on another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub checkpoint_id: String,
    pub decision: Decision,
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    pub budget: Option<u64>,
    pub checkpoint_id: String,
    pub step_timeout_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub outcome: RunOutcome,
    pub reason: String,
}

/// The run goes back to a checkpoint: steps that were not completed there are run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenBack {
    pub checkpoint: String,
    /// The steps that are completed from now on.
    pub completed: Vec<String>,
    /// Those that are incomplete again.
    pub incomplete: Vec<String>,
    /// The checkpoint of the restored tree.
    pub result: String,
}

/// The critic sent the plan back: the steps from the plan to the review are run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revised {
    pub again: Vec<String>,
    /// The critic's step.
    pub by: String,
    pub problems: String,
}

/// The work has arrived: the remote was asked, and has this commit. Recorded again once there is a pull
/// request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    pub branch: String,
    pub commit: String,
    /// The address of the pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<String>,
    /// `None`: the repository has no remote, and the branch exists only in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
}

/// A person had the files of a finished run removed; its lines stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    pub files: u64,
}

/// The line around a fact. Each line commits to itself: the digest is computed with an empty digest in its
/// place.
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

/// One fact, with its run and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptEntry {
    pub run_id: String,
    pub ts: String,
    pub deed: AttemptFact,
}

#[derive(Debug)]
pub struct Attempts {
    pub told: Vec<AttemptEntry>,
    seq: u64,
    pub head: String,
}

impl Default for Attempts {
    fn default() -> Self {
        Self { told: Vec::new(), seq: 0, head: NO_DIGEST.to_owned() }
    }
}

impl Fold for Attempts {
    type Fact = AttemptFact;

    const LAYOUT: &'static Layout = &LAYOUT;
    const ONE_TRACE: bool = false;

    fn read(kind: &str, with: &str) -> Option<AttemptFact> {
        serde_json::from_str(&format!("{{\"kind\":{},\"with\":{with}}}", json::quoted(kind))).ok()
    }

    fn tip(&self) -> (u64, &str) {
        (self.seq, &self.head)
    }

    fn apply(&mut self, _trace: &str, line: &Line, deed: &AttemptFact) -> Result<(), Kind> {
        let run_id = json::read(line.trace_id).ok().and_then(|id| Some(id.text()?.into_owned()));
        let run_id = run_id.ok_or(Kind::ChecksumMismatch)?;
        self.told.push(AttemptEntry { run_id, ts: line.ts.to_owned(), deed: deed.clone() });
        self.seq = line.seq;
        line.digest.clone_into(&mut self.head);
        Ok(())
    }
}

impl Attempts {
    /// The ledger in these bytes, and how many bytes of an incomplete line are at its end.
    pub fn read(bytes: &[u8]) -> Result<(Self, usize), Damage> {
        let mut walk = Walk::new(Self::default(), "", 0);
        let done = walk.feed(bytes)?;
        Ok((walk.folded, bytes.len() - done))
    }

    /// The next line, with its line feed.
    pub fn line(&self, run_id: &str, ts: &str, deed: &AttemptFact) -> String {
        let stored = serde_json::to_value(deed).unwrap_or_default();
        let kind = stored["kind"].as_str().unwrap_or_default();
        let with = canonical(&stored["with"]);
        let prev = &self.head;
        let seq = self.seq + 1;
        Frame { prev, seq, mark: None, trace_id: run_id, ts, kind, with: &with }.write_as(&LAYOUT).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aops_core::text::sha256::sha256;

    fn ledger() -> String {
        let deeds = [
            AttemptFact::Init(Init { task: "ä".to_owned(), ..Init::default() }),
            AttemptFact::Step(Begun { attempt: 1, step: "a".to_owned(), ..Begun::default() }),
            AttemptFact::Terminal(Ended { outcome: RunOutcome::Pass, reason: "größer".to_owned() }),
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

    /// The format of the first release: canonical JSON, with the digest over the line with an empty digest.
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
