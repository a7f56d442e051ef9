//! Names of our agents that foreign files use.
//!
//! Reads nothing, writes nothing. Stored type: fields in sorted order.

use serde::{Deserialize, Serialize};

/// A foreign file defines one of our agents' names, so only prefixed names count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamesTaken {
    pub names: Vec<String>,
    /// The first file that does so.
    pub path: String,
}
