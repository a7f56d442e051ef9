//! The first entry of a ledger.

use crate::config::policy::Policy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The form of a ledger: its facts, what they mean, and the state that they fold to. It is another one as
/// soon as the same entries would mean something else; a ledger of another form is not read.
pub const FORMAT: u32 = 2;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opened {
    pub binary: String,
    pub boot: String,
    pub folders: BTreeMap<String, String>,
    /// `FORMAT` of the program that began the ledger.
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
