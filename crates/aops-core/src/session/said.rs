//! What was answered to an event, as it is stored.
//!
//! Reads nothing, writes nothing. Stored type: fields in sorted order.

use serde::{Deserialize, Serialize};

/// What we answered, where it was not silence.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Said {
    pub gate: String,
    pub reason: String,
    pub ruling: String,
}

impl Said {
    /// The ruling as a verb, after `would`.
    pub fn verb(&self) -> &'static str {
        if self.ruling == "deny" { "refuse" } else { "ask a person about" }
    }
}
