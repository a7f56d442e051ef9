//! A rollback as sessions remember it.

use crate::model::phase::{Phase, Sandbox};
use serde::{Deserialize, Serialize};

/// A rollback of this session's working tree, by any session or person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    /// The checkpoint that keeps what was there before.
    pub archive: String,
    pub by: String,
    pub id: String,
    /// The restored checkpoint is of this session: the loop goes back with it.
    pub own: bool,
    pub phase: Phase,
    /// The checkpoint that stands for the restored tree.
    pub result: String,
    pub sandbox: Sandbox,
    pub stage: RollbackState,
    /// The loop went back, the tree did not.
    pub state_only: bool,
    /// The checkpoint that was restored.
    pub target: String,
    /// Its task's number.
    pub task: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RollbackState {
    Begun,
    Done,
    /// It was interrupted before anything was changed.
    Dropped,
    /// The session's agent knows.
    Told,
}
