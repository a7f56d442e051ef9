//! What we know about a session's client from its last start.
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
    /// Until the first prompt after a start: the project's file whose hook may send that prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greets: Option<String>,
    /// The jail for shell commands, if the client starts them through us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jail: Option<JailState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names_taken: Option<NamesTaken>,
    /// A file that was loaded at the client's start, with a hook that may answer in a person's place when the
    /// client asks about a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_hook: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ClientProcess>,
    /// A command ran outside the jail that the session has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unjailed: bool,
    /// Why its words do not count as a person's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproven: Option<String>,
    /// We did not see its start, nor any start since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unstarted: bool,
}

/// A process of the client. The ID alone is not enough, since another process may get it later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientProcess {
    pub pid: i32,
    /// When it was started, in the system's own unit.
    pub started: String,
}
