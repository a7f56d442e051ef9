//! `[undo]`: how much is kept before a command takes it away, and how long.
//!
//! Plain data. Stored type: fields in sorted order.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// Of one command.
    pub files: u64,
    pub keep_days: u64,
    /// Of all keepings together.
    pub keep_mb: u64,
    /// How long it is looked for what a command would take away.
    pub look_ms: u64,
    /// Of one command.
    pub mb: u64,
}

impl Default for Undo {
    fn default() -> Self {
        Self { files: 5_000, keep_days: 14, keep_mb: 2_048, look_ms: 300, mb: 256 }
    }
}
