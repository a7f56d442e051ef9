//! A checkpoint in the form in which the ledger refers to it.

use crate::model::named::Stored;
use crate::model::trigger::CheckpointTrigger;
use serde::{Deserialize, Serialize};

/// A checkpoint was taken. If its digest differs now, it was edited.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Taken {
    pub digest: String,
    pub id: String,
    /// Changes of a task with a plan are measured against it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub measures: bool,
    pub trigger: Stored<CheckpointTrigger>,
}
