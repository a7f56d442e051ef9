//! The first entry of a ledger.

use crate::config::policy::Policy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The format of a ledger: its facts, their meaning, and the resulting state. It changes as soon as the same
/// entries would mean something else; a ledger in another format is not read.
pub const FORMAT: u32 = 2;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opened {
    pub binary: String,
    pub boot: String,
    pub folders: BTreeMap<String, String>,
    /// `FORMAT` of the program that began the ledger.
    pub format: u32,
    /// The configuration in force, unless it is the shipped one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Box<Policy>>,
    pub policy_hash: String,
    /// The ledger that this one continues, if a person set it aside or it was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Previous>,
    pub project: String,
}

impl Default for Opened {
    fn default() -> Self {
        Self {
            binary: String::new(),
            boot: String::new(),
            folders: BTreeMap::new(),
            format: FORMAT,
            policy: None,
            policy_hash: String::new(),
            previous: None,
            project: String::new(),
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Previous {
    pub folder: String,
    /// Its last good digest and sequence number.
    pub head: String,
    pub seq: u64,
}
