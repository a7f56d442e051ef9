//! What was repaired when a ledger was opened.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recovered {
    /// Calls that were executing when the ledger was damaged: listed, never run again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executing: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_after: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn_file: Option<String>,
    pub what: String,
}
