//! The situation when an event came: uncommitted files, and a turn without a Stop. Stored types: fields in
//! sorted order.

use crate::model::debt::DebtId;
use crate::model::named::Stored;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was uncommitted at a start, or at a prompt after work that is over.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Baseline {
    /// The baseline digest of the finished task, since the prompt may continue that task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    pub files: BTreeMap<String, String>,
    /// Digest of `files`.
    pub sha256: String,
}

/// How a turn ended without a Stop, and what happened to its task.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnBefore {
    /// The person interrupted it, and its task continues.
    Kept,
    /// The person interrupted it, and its task left nothing: it is over.
    Left,
    /// No person interrupted it, so its debts stay: what it owed.
    Owing(Vec<Stored<DebtId>>),
    /// The person interrupted it, and its task is parked.
    Parked(LeftChanged),
}

impl TurnBefore {
    /// Its task is no longer the current one.
    pub fn ends_task(&self) -> bool {
        matches!(self, Self::Left | Self::Parked(_))
    }
}

/// The changes that an interrupted task leaves.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LeftChanged {
    pub files: u64,
    /// A limited list of these files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}
