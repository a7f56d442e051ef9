//! What was there when an event came: uncommitted files, and a turn without its Stop. Stored types: fields in
//! sorted order.

use crate::model::debt::DebtId;
use crate::model::named::Stored;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was uncommitted at a start, or at a prompt after work that is over.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Baseline {
    /// The digest of the baseline of a task that is done, since the prompt may go on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    pub files: BTreeMap<String, String>,
    /// Of `files`.
    pub sha256: String,
}

/// How a turn came to its end without a Stop, and what became of its task.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnBefore {
    /// The person interrupted it, and its task goes on.
    Kept,
    /// The person interrupted it, and nothing is left of its task: it is over.
    Left,
    /// No person interrupted it, so its debts stay: what it owed.
    Owing(Vec<Stored<DebtId>>),
    /// The person interrupted it, and its task is parked.
    Parked(LeftChanged),
}

impl TurnBefore {
    /// Its task is no longer in hand.
    pub fn ends_task(&self) -> bool {
        matches!(self, Self::Left | Self::Parked(_))
    }
}

/// What an interrupted task leaves changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LeftChanged {
    pub files: u64,
    /// These files, as far as they are listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}
