//! That a person brought back what was kept before a command. Plain data; stored type.

use serde::{Deserialize, Serialize};

/// A person brought back what was kept before a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroughtBack {
    /// Files that came, changed or went.
    pub files: u64,
    /// The number it was kept under.
    pub number: u64,
    /// The session's agent knows.
    pub told: bool,
}
