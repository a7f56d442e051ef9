//! What a session remembers beyond its public state: open calls, the task's progress, the client, what is
//! watched.
//!
//! Reads nothing, writes nothing. The ledger commits to it by digest: fields in sorted order, and a group is
//! left out while it has its default.

pub use aops_ledger::heads::Signed;

pub use crate::session::brought_back::BroughtBack;
pub use crate::session::client_known::{ClientKnown, ClientProcess};
pub use crate::session::parked::Parked;
pub use crate::session::rolled_back::{RollbackState, Undone};
pub use crate::session::run_step::{RunStep, StepRefusal};
pub use crate::session::task_progress::{
    Closing, IssueInHand, LastRun, PlanShown, Prompts, Proven, Started, TaskAudit, TaskPlan, TaskProgress,
    TaskTold, Weight,
};
pub use crate::session::waiver::{Waived, Waiver};

use crate::config::policy::{ModeLevel, Policy, is_default};
use crate::model::agent::AgentId;
use crate::model::call::{CallKey, CallState};
use crate::model::named::Stored;
use crate::session::call_means::CallMeans;
use crate::session::kept_count::KeptCount;
use crate::session::observed::Trail;
use crate::session::question::{Question, Questions};
use crate::session::timer::TimerMark;
use crate::session::watched::Watched;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// What this file says about its ledger, and the part of the fold that is not public.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Witness {
    /// The version of the program that wrote it.
    pub binary: String,
    pub bytes: u64,
    /// The ledger's format.
    pub format: u32,
    /// Digest of the ledger's last entry.
    pub head: String,
    /// Length of the ledger's last line.
    pub last: u64,
    /// The canonical form of the `Memory`, as the ledger commits to it.
    pub memory: Box<RawValue>,
    pub seq: u64,
    /// Where the last snapshot ended: bytes, sequence number.
    pub snapshot: (u64, u64),
    /// Digest of the rest of the file, computed when it was read; not in the file.
    #[serde(skip)]
    pub state: String,
    /// When the file was written, in seconds and nanoseconds; not in the file.
    #[serde(skip)]
    pub written: Option<(i128, i128)>,
}

/// What the gates need but other programs do not read. The ledger commits to it by `working_digest`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    #[serde(default, skip_serializing_if = "is_default")]
    pub agents: AgentsKnown,
    pub calls: Vec<OpenCall>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub client: ClientKnown,
    #[serde(default, skip_serializing_if = "is_default")]
    pub configured: Configured,
    /// Tasks that the person interrupted, the newest last. They owe nothing until they are resumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parked: Vec<Parked>,
    pub place: Place,
    /// The loop's progress beyond the public state.
    pub progress: TaskProgress,
    /// The last prompt that was not refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompted: Option<Prompted>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub proof: ProofKept,
    /// What people were asked, and what they answered.
    #[serde(default, skip_serializing_if = "is_default")]
    pub questions: Questions,
    /// The step of a run that this session executes, as its driver said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunStep>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub timers: Timers,
    #[serde(default, skip_serializing_if = "is_default")]
    pub told: Told,
    #[serde(default, skip_serializing_if = "is_default")]
    pub undo: WayBack,
    pub watched: Watched,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentsKnown {
    /// Our agents that are at work now, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_work: Vec<AtWork>,
    /// How many calls ran, by agent; the main agent's name is empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub invocations: BTreeMap<String, u64>,
}

/// One of our agents between its start and its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtWork {
    /// Known once it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The ID of the call that started it.
    pub call: String,
    /// The client's process ID: under another client the agent cannot be at work.
    pub client: String,
    pub name: Stored<AgentId>,
    pub since: String,
}

/// The session's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configured {
    /// What the last start asked for with `AOPS_MODE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeAsked>,
    /// The configuration in force, unless it is the shipped one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Box<Policy>>,
}

/// The mode that a start asked for with `AOPS_MODE`; an empty text if it asked for none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeAsked {
    pub asked: String,
    /// The resulting mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<ModeLevel>,
    /// Why it was not applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Where the session is, and what it found there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Folders that the person added since the client started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// The digest of the files that were uncommitted when the session began. The list itself is in the entry
    /// that recorded it, so that not every event has to carry it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_sha256: Option<String>,
    /// The boot during which the ledger was last opened: only a reboot explains a lost tail.
    pub boot: String,
    /// The project's root.
    pub root: String,
}

/// One prompt, as the client identifies it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompted {
    pub id: String,
    /// Its turn has not ended, as far as we know.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// SHA-256 of its text.
    pub sha256: String,
}

/// What is proven about the ledger itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofKept {
    /// The log over all sessions when a turn last ended. Since it was signed, it cannot simply be missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Signed>,
    /// The last entry that was flushed to the disk.
    pub synced: u64,
    /// The commits that were made, if they are attested.
    #[serde(default, skip_serializing_if = "is_default")]
    pub trail: Trail,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timers {
    /// Prompts that timers send, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<TimerMark>,
    /// One of them had to be forgotten: until the client starts again, any prompt may come from a timer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// What we must not record or say a second time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// It was recorded that an event named the folder of another project than the session's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// The user was told that a hook keeps plans from counting.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plan_hook: bool,
    /// The user was told how to skip the loop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub way_out: bool,
}

/// What can be restored, is being restored, or was restored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WayBack {
    /// What a person restored and this session's agent was not told about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brought_back: Option<BroughtBack>,
    /// How often something was kept before a command ran, and the last number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptCount>,
    /// A rollback that this session's agent was not told about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolled_back: Option<Box<Undone>>,
    /// An unfinished rollback of this tree: the next event finishes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolling_back: Option<Box<Undone>>,
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
    /// The question to a person about this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// Why a person was asked; repeated if the client asks again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub state: CallState,
}
