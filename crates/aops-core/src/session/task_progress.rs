//! How far the task in hand has come: its plan, its size, what is proven of it, what it still has to close.
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
    /// Our agents that were started, newest last.
    pub agents: Vec<Started>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub audit: TaskAudit,
    /// Until it is known whether a prompt goes on with a task that was done: what was uncommitted when that
    /// one began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_before: Option<String>,
    /// Phase and sandbox that a prompt interrupted; a hydrator that says `continue` gives them back.
    pub before: Option<(Phase, Sandbox)>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub closing: Closing,
    /// Something went against the grain: a refusal, a failed check, an objection. Kept in mode `loop`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub friction: bool,
    /// Stop was let go although something was owed.
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
    /// The plan's workflow asks for this gate.
    pub fn wants(&self, gate: Gate) -> bool {
        self.plan.gates.contains(&gate.into())
    }
}

/// The audit of the work as it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskAudit {
    /// One was drawn that only the rehearsed mode would have asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rehearsed: bool,
    /// Custodiet was started and has not ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub under_way: bool,
    /// Write-class calls since the last draw.
    #[serde(default, skip_serializing_if = "is_default")]
    pub writes_since_draw: u64,
}

/// What ends the task's work beside commit and push.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// Issues of the tracker that this task has in hand: claimed, or named by its plan, and neither closed
    /// nor handed back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<IssueInHand>,
    /// The remote refused the last push, since it has commits that are not here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// The tracker's program, where it changed something and was not told to sync since.
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
    /// The kind of work, where its result is worth remembering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Stored<WorkKind>>,
    /// What the last reviewer found wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// What the person was shown who was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<PlanShown>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// The todos in the state are its steps; the client has named none of its own since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub todos: bool,
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

/// The prompts of a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompts {
    /// In this session so far.
    pub count: u64,
    /// The number of the one that began the task.
    pub first_of_task: u64,
    /// A person took the task up again, and has not prompted since: their next prompt goes on with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
    /// Writes of the task when the last one came.
    pub writes_before: u64,
}

/// What is proven of the work as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proven {
    /// How the user's checks ended when they were last run in this task, by id.
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
    /// The digest of the tree that was verified, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verified: bool,
}

/// What the user was told once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskTold {
    /// That there is no git to close the work in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_git: bool,
    /// At which of the prompts: that a command failed without a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offline: Option<u64>,
    /// At which of the prompts: that a command's result is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsaved: Option<u64>,
}

/// How large the task is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weight {
    /// What it changed so far, where that is measured.
    #[serde(default, skip_serializing_if = "is_default")]
    pub grown: Growth,
    /// How often git brought commits into the tree: each time the measure begins anew.
    #[serde(default, skip_serializing_if = "is_default")]
    pub moved: u64,
    /// By how much it is more than a small edit: `5 files, 140 lines; small is 3 and 60`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outgrown: Option<String>,
    /// The checkpoint of its start, taken before its first change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Since when a command of it may run whose changes are not measured yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured_ms: Option<i64>,
    /// It began at its prompt, without a plan, and has none yet (modes below `strict`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unplanned: bool,
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
    /// The client that started it.
    pub client: String,
    /// It has ended, with its one verdict or without.
    pub done: bool,
    pub name: Stored<AgentId>,
    pub prompt_count: u64,
    /// How often it was sent on because its report was invalid.
    pub sent_on: u64,
    pub task: u64,
}
