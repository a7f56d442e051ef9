//! A checkpoint, as the ledger names it.

use serde::{Deserialize, Serialize};

/// A checkpoint was taken. One whose digest is another now was edited.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Taken {
    pub digest: String,
    pub id: String,
    /// What a task with a plan changes is measured against it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub measures: bool,
    pub trigger: String,
}

impl Taken {
    /// Its trigger where a task is about to make its first change.
    pub const START: &str = "start";
    /// Its trigger where git brought commits into the tree: from then on the task is measured against it.
    pub const MOVED: &str = "moved";
}
