//! A rollback in the form that sessions remember.

use crate::model::phase::{Phase, Sandbox};
use serde::{Deserialize, Serialize};

/// A rollback of this session's working tree, by any session or person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    /// The checkpoint that preserves the state before the rollback.
    pub archive: String,
    pub by: String,
    pub id: String,
    /// The restored checkpoint belongs to this session, so the loop goes back, too.
    pub own: bool,
    pub phase: Phase,
    /// The checkpoint of the restored tree.
    pub result: String,
    pub sandbox: Sandbox,
    pub stage: RollbackState,
    /// Only the loop went back, not the tree.
    pub state_only: bool,
    /// The checkpoint that was restored.
    pub target: String,
    /// The number of its task.
    pub task: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RollbackState {
    Begun,
    Done,
    /// It was interrupted before anything was changed.
    Dropped,
    /// The session's agent was told.
    Told,
}
