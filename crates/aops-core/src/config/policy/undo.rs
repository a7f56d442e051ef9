//! `[undo]`: how much is kept before a command destroys it, and for how long.
//!
//! Plain data. Stored type: fields in sorted order.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// Per command.
    pub files: u64,
    pub keep_days: u64,
    /// For everything that is kept, together.
    pub keep_mb: u64,
    /// How long we may search for what a command would destroy.
    pub look_ms: u64,
    /// Per command.
    pub mb: u64,
}

impl Default for Undo {
    fn default() -> Self {
        Self { files: 5_000, keep_days: 14, keep_mb: 2_048, look_ms: 300, mb: 256 }
    }
}
