//! Names of our agents that foreign files have taken.
//!
//! Reads nothing, writes nothing. Stored type: fields in sorted order.

use serde::{Deserialize, Serialize};

/// A foreign file defines one of our agents' names: only prefixed names count then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamesTaken {
    /// Which of our agents' names foreign files have taken.
    pub names: Vec<String>,
    /// The first of these files.
    pub path: String,
}
