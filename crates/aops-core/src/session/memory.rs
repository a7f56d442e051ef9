//! What a session remembers beyond its public state: open calls, the task's progress, the client, what is watched.
//!
//! The ledger commits to it by digest, so fields are in sorted order and a new one is left out while it has its default. For
//! the same reason `Memory` is one struct: groups in it would change the order, and with it the digests of older ledgers.

pub use aops_ledger::heads::Signed;

pub use crate::session::brought_back::BroughtBack;
pub use crate::session::rolled_back::{RollbackState, Undone};

use crate::config::policy::{ModeLevel, Policy, is_default};
use crate::config::workflow::Gate;
use crate::model::agent::AgentId;
use crate::model::call::{CallKey, CallState};
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::outcome::{AgentVerdict, CheckEnding, PhaseOutcome};
use crate::model::phase::{Phase, Sandbox};
use crate::model::profile::JailState;
use crate::session::agent_report::{AgentReport, WorkKind};
use crate::session::call_means::CallMeans;
use crate::session::growth::Growth;
use crate::session::kept_count::KeptCount;
use crate::session::observed::Trail;
use crate::session::question::{Question, Questions};
use crate::session::quiet_count::QuietCount;
use crate::session::timer::TimerMark;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What this file says about the ledger beside it, and the part of the fold that is not public.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Witness {
    /// The version of the program that wrote it; older ones wrote none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub binary: String,
    pub bytes: u64,
    /// The ledger's format; versions that knew only one wrote none.
    #[serde(default)]
    pub format: u32,
    /// Digest of its last entry.
    pub head: String,
    /// Length of its last line.
    pub last: u64,
    pub memory: Box<Memory>,
    pub seq: u64,
    /// Where the last snapshot ended: bytes, sequence number.
    pub snapshot: (u64, u64),
}

/// What the gates need and other programs do not read. The ledger commits to it by `working_digest`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Why this client cannot start agents, if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agentless: Option<String>,
    /// Our agents that are at work now, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_work: Vec<AtWork>,
    /// The digest of the files that were uncommitted when the session began. They themselves are in the entry that recorded
    /// them, so that no event carries them along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_sha256: Option<String>,
    /// The boot the ledger was last opened in: only another one explains a lost tail.
    pub boot: String,
    /// What a person brought back, and this session's agent has not been told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brought_back: Option<BroughtBack>,
    pub calls: Vec<OpenCall>,
    /// What the last start asked for with `AOPS_MODE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<ModeAsked>,
    /// Names of our agents that foreign files have taken, where `shadowed` is one; older versions recorded none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clashes: Vec<String>,
    /// The client that was started last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientProcess>,
    /// Where the loop stands, beyond the public state.
    #[serde(rename = "course")]
    pub progress: TaskProgress,
    /// It is recorded that an event named another project's folder than the one that holds the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// Variables that decide where our folders are, when the session began.
    pub folders: BTreeMap<String, String>,
    /// Until the first prompt after a start: the project's file whose hook may send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greets: Option<String>,
    /// Settings files that register our hooks, with their events.
    pub held: BTreeMap<String, Vec<String>>,
    /// Calls that ran, by agent; the main agent has no name.
    pub invocations: BTreeMap<String, u64>,
    /// What holds shell commands, where the client starts them through us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jail: Option<JailState>,
    /// How often something was kept before a command ran, and the number of the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptCount>,
    /// Protected paths that are links or lie behind one, and their real paths when the session began.
    #[serde(default)]
    pub linked: BTreeMap<String, String>,
    /// The log over all sessions when a turn last ended: it was signed, so it cannot just be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Signed>,
    /// Last `stat` of settings files, configuration and program, by path.
    pub marks: BTreeMap<String, String>,
    /// Tasks that the person interrupted, the newest last: they owe nothing until they are taken up again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parked: Vec<Parked>,
    /// A file with a hook that may answer in a person's place when the client asks about a plan, as the client started with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_hook: Option<String>,
    /// The configuration in force, where it is not the shipped one.
    pub policy: Option<Box<Policy>>,
    /// The last prompt that was not refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompted: Option<Prompted>,
    /// What people were asked, and what they answered.
    #[serde(default, skip_serializing_if = "is_default")]
    pub questions: Questions,
    /// What was answered in the person's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<QuietCount>,
    pub root: String,
    /// The step of a run this session is in, as its driver said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunStep>,
    /// A foreign file that defines one of our agents' names: only prefixed names count then.
    pub shadowed: Option<String>,
    /// The last entry that was fsynced.
    pub synced: u64,
    /// Prompts that timers send, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<TimerMark>,
    /// One of them had to be forgotten: until the client starts again any prompt may be a timer's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timers_lost: bool,
    /// The user was told that such a hook keeps plans from counting.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told_plan_hook: bool,
    /// The user was told how to go without the loop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told_way_out: bool,
    /// The commits that were made, where they are attested.
    #[serde(default, skip_serializing_if = "is_default")]
    pub trail: Trail,
    /// A rollback of this tree that has not ended: the next event finishes it.
    pub undoing: Option<Box<Undone>>,
    /// A rollback this session's agent has not been told of.
    pub undone: Option<Box<Undone>>,
    /// Why what the session's client says is no person's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproven: Option<String>,
}

/// One prompt, as the client names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompted {
    pub id: String,
    /// Its turn has not ended, as far as is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// SHA-256 of its text.
    pub sha256: String,
}

/// A task as it was when the person interrupted it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    pub acceptance_criteria: Vec<String>,
    /// A question of the person took its place, and no interrupt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// An audit was due.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub audit_due: bool,
    /// The uncommitted files that were not its own, by their digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_sha256: Option<String>,
    pub critic_verdict: Option<Stored<AgentVerdict>>,
    /// How many files it changed that are not committed.
    pub files: u64,
    pub hydrated_intent: Option<String>,
    pub intent: Option<String>,
    pub original_prompt: Option<String>,
    /// These files, as far as they are listed: from the project's root, absolute outside of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    pub phase: Phase,
    pub progress: Box<TaskProgress>,
    pub sandbox: Sandbox,
    /// The person's last prompt asks to go on with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wanted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    pub writes: u64,
}

/// The mode that a start asked for with `AOPS_MODE`; an empty text where it asked for none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeAsked {
    pub asked: String,
    /// The mode that holds because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<ModeLevel>,
    /// Why it does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// A process of the client; its id alone may be another one's later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientProcess {
    pub pid: i32,
    /// When it was started, as the system counts.
    pub started: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskProgress {
    /// Our agents that were started, newest last.
    pub agents: Vec<Started>,
    /// An audit was drawn that only the rehearsed mode would have asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub audit_rehearsed: bool,
    /// An audit is under way: custodiet was started and has not ended.
    pub auditing: bool,
    /// Until it is known whether a prompt goes on with a task that was done: what was uncommitted when that one began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_before: Option<String>,
    /// Phase and sandbox that a prompt interrupted; a hydrator that says `continue` gives them back.
    pub before: Option<(Phase, Sandbox)>,
    /// How the user's checks ended when they were last run in this task, by id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<String, LastRun>,
    /// Prompts of a person so far.
    #[serde(rename = "epoch")]
    pub prompt_count: u64,
    /// The command of `close.format` succeeded after the last change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub formatted: bool,
    /// Something went against the grain: a refusal, a failed check, an objection. Kept in mode `loop`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub friction: bool,
    pub gates: Vec<Stored<Gate>>,
    /// What the task changed so far, where that is measured.
    #[serde(default, skip_serializing_if = "is_default")]
    pub grown: Growth,
    /// Issues of the tracker that this task has in hand: claimed, or named by its plan, and neither closed nor handed back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<IssueInHand>,
    /// The kind of work, where its result is worth remembering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Stored<WorkKind>>,
    /// Stop was let go although something was owed.
    pub let_go: bool,
    /// How often git brought commits into the tree: each time the measure begins anew.
    #[serde(default, skip_serializing_if = "is_default")]
    pub moved: u64,
    /// By how much the task is more than a small edit: `5 files, 140 lines; small is 3 and 60`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outgrown: Option<String>,
    /// The call of `ExitPlanMode` that a person was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_asked: Option<String>,
    /// What the person was shown then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_shown: Option<PlanShown>,
    /// The todos in the state are the plan's steps; the client has named none of its own since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub planned_todos: bool,
    /// What the last reviewer found wrong.
    pub problems: Vec<String>,
    pub reflected: bool,
    /// The remote refused the last push, since it has commits that are not here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// A person took the task up again, and has not prompted since: their next prompt goes on with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
    /// How often the verifier found issues.
    pub rounds: u64,
    /// The checkpoint of the task's start, taken before its first change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    pub steps: Vec<String>,
    #[serde(rename = "task_epoch")]
    pub task_prompt_count: u64,
    /// The command of `evidence.test` succeeded after the last change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tested: bool,
    /// The user was told that there is no git to close the work in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told_no_git: bool,
    /// At which of the prompts the user was told that a command failed without a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_offline: Option<u64>,
    /// At which of the prompts the user was told that a command's result is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_unsaved: Option<u64>,
    /// Since when a command of the task may run whose changes are not measured yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured_ms: Option<i64>,
    /// The task began at its prompt, without a plan, and has none yet (modes below `strict`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unplanned: bool,
    /// The tracker's program, where it changed something and was not told to sync since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsynced: Option<String>,
    pub verified: bool,
    /// The digest of the tree that was verified, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified_tree: Option<String>,
    pub waivers: Vec<Waiver>,
    /// Writes of the current task when the last prompt came.
    #[serde(default)]
    pub writes_at_prompt: u64,
    /// Write-class calls since the last draw.
    pub writes_since_draw: u64,
}

impl TaskProgress {
    /// The plan's workflow asks for this gate.
    pub fn wants(&self, gate: Gate) -> bool {
        self.gates.contains(&gate.into())
    }
}

/// What a person reads who is asked to approve a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanShown {
    /// The text in the client's question.
    Text(Box<AgentReport>),
    /// A file that the client names afterwards, as it was at this time, in milliseconds since 1970.
    File(i64),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueInHand {
    pub id: String,
    /// Prompts of a person when it was taken.
    pub prompt_count: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRun {
    pub ending: CheckEnding,
    pub outcome: Stored<PhaseOutcome>,
}

/// One of our agents, from its start on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    pub agent_id: String,
    /// The client that started it; older versions recorded none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub client: String,
    /// It has ended, with its one verdict or without.
    pub done: bool,
    #[serde(rename = "epoch")]
    pub prompt_count: u64,
    pub name: Stored<AgentId>,
    /// How often it was sent on because its report was invalid.
    pub sent_on: u64,
    pub task: u64,
}

/// One of our agents between its start and its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtWork {
    /// Known once it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The id of the call that started it.
    pub call: String,
    /// The client's process: in another one it cannot be at work.
    pub client: String,
    pub name: Stored<AgentId>,
    pub since: String,
}

/// A gate that a person waived for a limited time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    pub gate: Waived,
    pub reason: String,
    /// Milliseconds since 1970; 0 where it ends with its task.
    pub until_ms: i64,
}

impl Waiver {
    pub fn lifts(&self, what: &Waived, now_ms: i64) -> bool {
        self.gate == *what && self.until_ms > now_ms
    }
}

/// What a person lets go. Stored as one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Waived {
    /// The whole loop, for one task.
    Task,
    /// One call, by its id.
    Call(String),
    Gate(Stored<GateId>),
}

impl Default for Waived {
    fn default() -> Self {
        Self::Gate(Stored::default())
    }
}

impl From<GateId> for Waived {
    fn from(gate: GateId) -> Self {
        Self::Gate(gate.into())
    }
}

impl From<String> for Waived {
    fn from(stored: String) -> Self {
        match stored.strip_prefix("call ") {
            Some(id) => Self::Call(id.to_owned()),
            None if stored == "task" => Self::Task,
            None => Self::Gate(Stored::of(&stored)),
        }
    }
}

impl From<Waived> for String {
    fn from(waived: Waived) -> Self {
        waived.to_string()
    }
}

impl fmt::Display for Waived {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Task => f.write_str("task"),
            Self::Call(id) => write!(f, "call {id}"),
            Self::Gate(gate) => gate.fmt(f),
        }
    }
}

/// One step of a run, as its driver began it and as it went so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStep {
    /// Which of our agents owes the step its verdict.
    pub agent: Option<Stored<AgentId>>,
    /// The deferred call that a person approved.
    pub approved: Option<String>,
    /// What was done is committed and pushed here.
    pub closes: bool,
    /// Checks of the user that failed and have not passed since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// Hash of the key that only the driver and its client know.
    pub key_sha256: String,
    /// A note of the person who decided.
    pub note: Option<String>,
    pub phase: Phase,
    /// The step's prompt was seen.
    pub prompted: bool,
    /// The last refusal, as long as nothing was done after it.
    pub refused: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_by: Option<Stored<GateId>>,
    pub run_id: String,
    pub sandbox: Sandbox,
    pub step: String,
    /// What the step's agent said.
    pub verdict: Option<String>,
    /// What was changed since the last verification is verified here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verifies: bool,
    /// Checks that a person lets this step go without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub call: CallKey,
    pub input_sha256: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub means: CallMeans,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// What a person was asked about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// Why a person was asked; answered again when the client asks again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub state: CallState,
}
