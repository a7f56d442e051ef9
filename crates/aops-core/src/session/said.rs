//! What was answered to an event, as it is stored.
//!
//! Reads nothing, writes nothing. Stored type: fields in sorted order.

use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::verdict::Ruling;
use serde::{Deserialize, Serialize};

/// What we answered, where it was not silence.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Said {
    pub gate: Stored<GateId>,
    pub reason: String,
    pub ruling: Stored<Ruling>,
}

impl Said {
    pub fn refuses(&self) -> bool {
        self.ruling == Ruling::Deny
    }

    /// The ruling as a verb, after `would`.
    pub fn verb(&self) -> &'static str {
        if self.refuses() { "refuse" } else { "ask a person about" }
    }
}
