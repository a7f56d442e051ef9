//! The client that a session has, as its last start told of it.
//!
//! Reads nothing, writes nothing. Stored types: fields in sorted order.

use crate::model::profile::JailState;
use crate::session::names_taken::NamesTaken;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientKnown {
    /// Why it cannot start agents, if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agentless: Option<String>,
    /// Until the first prompt after a start: the project's file whose hook may send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greets: Option<String>,
    /// What holds shell commands, where it starts them through us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jail: Option<JailState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names_taken: Option<NamesTaken>,
    /// A file with a hook that may answer in a person's place when it asks about a plan, as it started with
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_hook: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ClientProcess>,
    /// Why what it says is no person's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproven: Option<String>,
    /// A command ran outside the jail that the session has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unjailed: bool,
    /// Its start was not seen, and none since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unstarted: bool,
}

/// A process of the client; its id alone may be another one's later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientProcess {
    pub pid: i32,
    /// When it was started, as the system counts.
    pub started: String,
}
