//! Our answer to an event, in its stored form.
//!
//! Reads nothing, writes nothing. Stored type: fields in sorted order.

use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::verdict::Ruling;
use serde::{Deserialize, Serialize};

/// Our answer, unless it was silence.
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

    /// The ruling as a verb, to follow `would`.
    pub fn verb(&self) -> &'static str {
        if self.refuses() { "refuse" } else { "ask a person about" }
    }
}
