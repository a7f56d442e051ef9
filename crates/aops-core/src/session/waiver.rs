//! What a person waives: a gate for a time, one call, or the whole loop for one task.
//!
//! Reads nothing, writes nothing. Stored types: fields in sorted order.

use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A gate that a person waived for a limited time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    pub gate: Waived,
    pub reason: String,
    /// Milliseconds since 1970; 0 if it ends with its task.
    pub until_ms: i64,
}

impl Waiver {
    pub fn lifts(&self, what: &Waived, now_ms: i64) -> bool {
        self.gate == *what && self.until_ms > now_ms
    }
}

/// What is waived. Stored as one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Waived {
    /// The whole loop, for one task.
    Task,
    /// One call, by its ID.
    Call(String),
    Gate(Stored<GateId>),
}

impl Default for Waived {
    fn default() -> Self {
        Self::Gate(Stored::default())
    }
}

impl From<GateId> for Waived {
    fn from(gate: GateId) -> Self {
        Self::Gate(gate.into())
    }
}

impl From<String> for Waived {
    fn from(stored: String) -> Self {
        match stored.strip_prefix("call ") {
            Some(id) => Self::Call(id.to_owned()),
            None if stored == "task" => Self::Task,
            None => Self::Gate(Stored::of(&stored)),
        }
    }
}

impl From<Waived> for String {
    fn from(waived: Waived) -> Self {
        waived.to_string()
    }
}

impl fmt::Display for Waived {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Task => f.write_str("task"),
            Self::Call(id) => write!(f, "call {id}"),
            Self::Gate(gate) => gate.fmt(f),
        }
    }
}
