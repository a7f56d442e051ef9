//! How one of the user's checks ended. Stored type: fields in sorted order.

use crate::config::policy::check::Moment;
use crate::model::named::Stored;
use crate::model::outcome::{CheckEnding, PhaseOutcome};
use serde::{Deserialize, Serialize};

/// One run of a user's `[[check]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    pub ending: CheckEnding,
    pub id: String,
    pub ms: u64,
    pub on: Moment,
    pub outcome: Stored<PhaseOutcome>,
    /// The end of its output if it failed: redacted and clipped.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Before a save: the file to be saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub run: String,
    pub timeout_ms: u64,
}

impl Checked {
    pub fn failed(&self) -> bool {
        self.outcome != PhaseOutcome::Pass
    }
}
