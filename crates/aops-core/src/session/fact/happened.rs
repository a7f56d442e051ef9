//! What an event tells beside what every event has: one type for each kind that tells something. Stored
//! types: fields in sorted order.

use super::{Baseline, Reached, SessionStarted, TurnBefore};
use crate::model::debt::DebtId;
use crate::model::event::EventKind;
use crate::model::named::Stored;
use crate::session::memory::{PlanShown, Signed};
use crate::session::names_taken::NamesTaken;
use crate::session::prompt::Prompt;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind of an event, with what only that kind tells.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happened {
    AgentStarted(AgentStarted),
    AgentStopped(AgentStopped),
    BatchEnded(BatchEnded),
    PermissionAsked(PermissionAsked),
    Prompted(Box<PromptHeard>),
    SessionEnded(Box<SessionEnded>),
    SessionStarted(Box<SessionStarted>),
    Stopped(Box<TurnEnded>),
    /// It tells no more than every event.
    #[default]
    Other,
}

impl Happened {
    /// An event of this kind that tells nothing yet.
    pub fn of(kind: EventKind) -> Self {
        match kind {
            EventKind::PermissionRequest => Self::PermissionAsked(PermissionAsked::default()),
            EventKind::PostToolBatch => Self::BatchEnded(BatchEnded::default()),
            EventKind::SessionEnd => Self::SessionEnded(Box::default()),
            EventKind::SessionStart => Self::SessionStarted(Box::default()),
            EventKind::Stop => Self::Stopped(Box::default()),
            EventKind::SubagentStart => Self::AgentStarted(AgentStarted::default()),
            EventKind::SubagentStop => Self::AgentStopped(AgentStopped::default()),
            EventKind::UserPromptSubmit => Self::Prompted(Box::default()),
            _ => Self::Other,
        }
    }

    pub(super) fn is_other(&self) -> bool {
        matches!(self, Self::Other)
    }
}

/// `SubagentStart`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AgentStarted {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names_taken: Option<NamesTaken>,
    /// Of an agent of ours: the client whose call started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starter: Option<String>,
}

/// `SubagentStop`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AgentStopped {
    /// An agent of ours, and no verdict is awaited from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncounted: bool,
}

/// `PostToolBatch`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BatchEnded {
    /// The turn ends here, because an agent of ours is at work in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
}

/// `PermissionRequest`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PermissionAsked {
    /// A person is asked to approve the plan of plan mode.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_plan: bool,
    /// A person sits at the client and saw the prompt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dialog: bool,
    /// A file with a hook that may answer in a person's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_hook: Option<String>,
    /// With `asks_plan`: what the person is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_shown: Option<PlanShown>,
}

/// `UserPromptSubmit`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PromptHeard {
    /// The task in hand is a question without a change, so it is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anew: bool,
    /// After work that is over: what is uncommitted now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// The turn before it had no Stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<TurnBefore>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goes_on: Option<GoesOn>,
    pub means: Prompt,
    /// SHA-256 of the prompt, where the client gave it an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// Which task a prompt goes on with that asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoesOn {
    /// It says no more than to go on after an interrupt: with the task in hand and its plan.
    InHand,
    /// The parked task at this place.
    Parked(u64),
    /// What was parked, as soon as a plan or a change says that it is the one.
    Wished,
}

/// `SessionEnd`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SessionEnded {
    /// The turn before it had no Stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<TurnBefore>,
    /// What went to each host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Reached>,
    /// The log as it was signed by then, before this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Signed>,
}

/// `Stop`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TurnEnded {
    /// After work: files that differ from the baseline, committed or not, from the root of the repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// In mode `loop`: the task is given up with everything committed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends: bool,
    /// The log as it was signed by then, before this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Signed>,
    /// The user was told that there is no git to close the work in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_git: bool,
    /// Nothing where the turn does not end yet, or ends with a question about the plan: everything stays as
    /// it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owed: Option<Vec<Stored<DebtId>>>,
    /// On a task that went smoothly, made from the ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reflection: Option<BTreeMap<String, String>>,
    /// The task is done, and the sandbox shuts again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shuts: bool,
}
