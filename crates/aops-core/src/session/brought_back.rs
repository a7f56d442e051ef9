//! The record that a person restored what was kept before a command. Plain data; stored type.

use serde::{Deserialize, Serialize};

/// A person restored what was kept before a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroughtBack {
    /// How many files were added, changed or removed.
    pub files: u64,
    /// The number under which it was kept.
    pub number: u64,
    /// The session's agent was told about it.
    pub told: bool,
}
