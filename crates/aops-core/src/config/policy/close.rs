//! Settings for the end of a task: its format, its test, its tracker.
//!
//! Reads nothing, writes nothing.

use serde::{Deserialize, Serialize};

/// How a task's work is closed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Close {
    /// A shell command that formats the files; any line that contains it counts.
    pub format: Option<String>,
}

/// What must have succeeded after the last change of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// A shell command; any line that contains it counts.
    pub test: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tracker {
    pub command: String,
}

impl Tracker {
    /// The user says that there is none.
    pub fn is_none(&self) -> bool {
        self.command == "none"
    }
}
