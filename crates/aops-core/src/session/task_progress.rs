//! The progress of the current task: its plan, its size, what is proven about it, what it still has to close.
//!
//! Reads nothing, writes nothing. Stored types: fields in sorted order; a group is left out while it has its
//! default.

use crate::config::policy::is_default;
use crate::config::workflow::Gate;
use crate::model::agent::AgentId;
use crate::model::named::Stored;
use crate::model::outcome::{CheckEnding, PhaseOutcome};
use crate::model::phase::{Phase, Sandbox};
use crate::session::agent_report::{AgentReport, WorkKind};
use crate::session::growth::Growth;
use crate::session::waiver::Waiver;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskProgress {
    /// Our agents that were started, the newest last.
    pub agents: Vec<Started>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub audit: TaskAudit,
    /// Until we know whether a prompt continues a finished task: what was uncommitted when that task began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_before: Option<String>,
    /// Phase and plan gate before a prompt interrupted them; restored if the hydrator says `continue`.
    pub before: Option<(Phase, Sandbox)>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub closing: Closing,
    /// Something went wrong: a refusal, a failed check, an objection. Recorded in mode `loop`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub friction: bool,
    /// A Stop was allowed although something was owed.
    pub let_go: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub plan: TaskPlan,
    #[serde(default, skip_serializing_if = "is_default")]
    pub prompts: Prompts,
    #[serde(default, skip_serializing_if = "is_default")]
    pub proven: Proven,
    #[serde(default, skip_serializing_if = "is_default")]
    pub told: TaskTold,
    pub waivers: Vec<Waiver>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub weight: Weight,
}

impl TaskProgress {
    /// The plan's workflow requires this gate.
    pub fn wants(&self, gate: Gate) -> bool {
        self.plan.gates.contains(&gate.into())
    }
}

/// The audits during the work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskAudit {
    /// An audit was drawn that only the rehearsed mode would require.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rehearsed: bool,
    /// Custodiet was started and has not ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub under_way: bool,
    /// Write-class calls since the last draw.
    #[serde(default, skip_serializing_if = "is_default")]
    pub writes_since_draw: u64,
}

/// What closes the task's work apart from commit and push.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// The task's issues in the tracker: claimed, or named by its plan, and neither closed nor handed back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<IssueInHand>,
    /// The remote rejected the last push, since it has commits that we do not have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// The tracker's program, if it changed something and was not told to sync since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsynced: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskPlan {
    /// The call of `ExitPlanMode` that a person was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Stored<Gate>>,
    /// The kind of work, if its result is worth remembering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Stored<WorkKind>>,
    /// The problems that the last reviewer found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// What the person was shown when asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<PlanShown>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// The todos in the state are the plan's steps; the client has named none of its own since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub todos: bool,
}

/// What a person reads when asked to approve a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanShown {
    /// The text in the client's question.
    Text(Box<AgentReport>),
    /// A file that the client names afterwards, as it was at this time, in milliseconds since 1970.
    File(i64),
}

/// The prompts of a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompts {
    /// How many there were in this session so far.
    pub count: u64,
    /// The number of the prompt that began the task.
    pub first_of_task: u64,
    /// A person resumed the task, and has not prompted since: their next prompt continues it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
    /// How many writes the task had made when the last prompt came.
    pub writes_before: u64,
}

/// What is proven about the work in its present state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proven {
    /// The last result of each of the user's checks in this task, by ID.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<String, LastRun>,
    /// The command of `close.format` succeeded after the last change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub formatted: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reflected: bool,
    /// How often the verifier found issues.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rounds: u64,
    /// The command of `evidence.test` succeeded after the last change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tested: bool,
    /// The digest of the verified tree, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verified: bool,
}

/// What the user was told once in this task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskTold {
    /// The user was told that there is no git repository for closing the work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_git: bool,
    /// At which prompt the user was told that a command failed without a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offline: Option<u64>,
    /// At which prompt the user was told that a command's result was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsaved: Option<u64>,
}

/// How large the task is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weight {
    /// What it has changed so far, if that is measured.
    #[serde(default, skip_serializing_if = "is_default")]
    pub grown: Growth,
    /// How often git brought commits into the tree: the measurement restarts each time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub moved: u64,
    /// How far it exceeds the small-edit limit: `5 files, 140 lines: over both limits, 3 files and 60 lines`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outgrown: Option<String>,
    /// The checkpoint of its start, taken before its first change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Since when one of its commands may be running whose changes are not measured yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured_ms: Option<i64>,
    /// It began at its prompt, and still has no plan (modes below `strict`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unplanned: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueInHand {
    pub id: String,
    /// How many prompts a person had given when it was taken.
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
    pub client: String,
    /// It has ended, with or without its verdict.
    pub done: bool,
    pub name: Stored<AgentId>,
    pub prompt_count: u64,
    /// How often it was sent back because its report was invalid.
    pub sent_on: u64,
    pub task: u64,
}
