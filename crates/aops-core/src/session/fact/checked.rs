//! How one of the user's checks ended. Stored type: fields in sorted order.

use crate::config::policy::check::Moment;
use crate::model::named::Stored;
use crate::model::outcome::{CheckEnding, PhaseOutcome};
use serde::{Deserialize, Serialize};

/// One run of a `[[check]]` of the user's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    pub ending: CheckEnding,
    pub id: String,
    pub ms: u64,
    pub on: Moment,
    pub outcome: Stored<PhaseOutcome>,
    /// The end of what it said, where it failed: redacted and clipped.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The file it was asked about, before a save.
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
