//! The first entry of a ledger.

use crate::config::policy::Policy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Opened {
    pub binary: String,
    pub boot: String,
    pub folders: BTreeMap<String, String>,
    /// Version of the ledger's form.
    pub format: u32,
    /// The configuration in force, where it is not the shipped one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Box<Policy>>,
    pub policy_hash: String,
    /// The ledger this one continues: set aside by a person, or lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Previous>,
    pub project: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Previous {
    pub folder: String,
    /// Its last good digest and sequence number.
    pub head: String,
    pub seq: u64,
}
