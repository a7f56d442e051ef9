//! What was kept before a command ran.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The bounds in force at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<KeptBounds>,
    pub bytes: u64,
    /// Digest of the stored record.
    pub digest: String,
    pub files: u64,
    pub number: u64,
    /// IDs of commits that one of our refs preserves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<String>,
    /// The danger rule because of which it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// `3 files, 12 kB`, `branch topic`.
    pub what: String,
}

/// How much may be kept without asking, and how long the search may take.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptBounds {
    pub files: u64,
    pub look_ms: u64,
    pub mb: u64,
}

impl Kept {
    /// The pronoun for it.
    pub fn them(&self) -> &'static str {
        let parts = self.what.split(", ").count();
        let is_one = match self.files {
            // `branch topic`, `1 stash`
            0 => parts == 1 && self.pins.len() == 1,
            // `1 file, 5 bytes`
            1 => parts == 2,
            _ => false,
        };
        if is_one { "it" } else { "them" }
    }
}
