//! The details that only some kinds of events have: one type for each such kind. Stored types: fields in
//! sorted order.

use super::{Baseline, Reached, SessionStarted, TurnBefore};
use crate::model::debt::DebtId;
use crate::model::event::EventKind;
use crate::model::named::Stored;
use crate::session::memory::{PlanShown, Signed};
use crate::session::names_taken::NamesTaken;
use crate::session::prompt::Prompt;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind of an event, with the details that only this kind has.
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
    /// An event without further details.
    #[default]
    Other,
}

impl Happened {
    /// An event of this kind whose details are still empty.
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
    /// For an agent of ours: the client whose call started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starter: Option<String>,
}

/// `SubagentStop`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AgentStopped {
    /// It is an agent of ours, but we do not wait for a verdict from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncounted: bool,
}

/// `PostToolBatch`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BatchEnded {
    /// The turn ends here because an agent of ours is at work in the background.
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
    /// The current task is a question that changed nothing, so it is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anew: bool,
    /// After work that is over: what is uncommitted now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// The previous turn had no Stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<TurnBefore>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goes_on: Option<GoesOn>,
    pub means: Prompt,
    /// SHA-256 of the prompt, if the client gave it an ID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// Which task continues because a prompt asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoesOn {
    /// The prompt only says to continue after an interrupt: with the current task and its plan.
    InHand,
    /// The parked task at this position, as soon as one of its files is changed.
    Parked(u64),
    /// The newest parked task, as soon as a plan or a change shows that it is meant.
    Wished,
}

/// `SessionEnd`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SessionEnded {
    /// The previous turn had no Stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<TurnBefore>,
    /// The traffic to each host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Reached>,
    /// The signed state of the log, without this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Signed>,
}

/// `Stop`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TurnEnded {
    /// A failed check asks the person, so the task is not done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// After work: files that differ from the baseline, committed or not, relative to the repository's root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The task was let go: it is over, whatever it still owes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends: bool,
    /// The signed state of the log, without this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Signed>,
    /// The user was told that there is no git repository for closing the work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_git: bool,
    /// `None` if the turn does not end yet, or ends with a question about the plan: the debts stay as they
    /// are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owed: Option<Vec<Stored<DebtId>>>,
    /// The reflection, made from the ledger, on a task in which nothing went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reflection: Option<BTreeMap<String, String>>,
    /// The task is done, and the plan gate closes again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shuts: bool,
}
