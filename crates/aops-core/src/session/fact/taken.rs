//! A checkpoint, as the ledger names it.

use crate::model::named::Stored;
use crate::model::trigger::CheckpointTrigger;
use serde::{Deserialize, Serialize};

/// A checkpoint was taken. One whose digest is another now was edited.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Taken {
    pub digest: String,
    pub id: String,
    /// What a task with a plan changes is measured against it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub measures: bool,
    pub trigger: Stored<CheckpointTrigger>,
}
