//! What the guard watches from the start of a session on.
//!
//! Reads nothing, writes nothing. Stored type: fields in sorted order.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// Variables that determine our folders.
    pub folders: BTreeMap<String, String>,
    /// Settings files that register our hooks, with their events.
    pub held: BTreeMap<String, Vec<String>>,
    /// Protected places that are links, or lie behind one, with their real paths.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub linked: BTreeMap<String, String>,
    /// Last `stat` of settings files, configuration and program, by path.
    pub marks: BTreeMap<String, String>,
}
