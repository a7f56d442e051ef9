//! What a command did with one host, and how a session's list of hosts changed.

use crate::text::plain::is_zero;
use aops_network::list::Refusal;
use serde::{Deserialize, Serialize};

/// A host that was refused, or reached for the first time in its session; at the session's end, the total
/// traffic to it. Stored type: fields in sorted order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    #[serde(default, skip_serializing_if = "is_zero")]
    pub connections: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub down: u64,
    /// At the session's end: seconds since 1970.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first: u64,
    pub host: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub last: u64,
    pub port: u16,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub up: u64,
    /// The rule or answer that allowed it; `None` if every host is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
}

impl Reached {
    /// Only the list refused it, so a person can change that.
    pub fn is_wanted(&self) -> bool {
        self.reason.as_deref().is_some_and(Refusal::is_open_in_words)
    }
}

/// What changed the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkChange {
    /// A secret was read: hosts that accept uploads from anybody need approval again.
    Guarded,
    /// The task in which it was read is over.
    Unguarded,
    /// Foreign text was read.
    Foreign,
    /// A person's answers, given with the command for that.
    Allowed,
    Denied,
}

/// Stored type: fields in sorted order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NetworkChanged {
    pub change: NetworkChange,
    /// With a person's answer: the host, as they named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// With foreign text: its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
}

impl NetworkChanged {
    pub fn of(change: NetworkChange) -> Self {
        Self { change, host: None, what: None }
    }

    /// `a person allowed registry.example`
    pub fn describe(&self) -> String {
        let host = self.host.as_deref().unwrap_or_default();
        match self.change {
            NetworkChange::Guarded => {
                "a secret was read: hosts that take uploads need a person again".to_owned()
            }
            NetworkChange::Unguarded => "the task in which a secret was read is over".to_owned(),
            NetworkChange::Foreign => {
                format!("{} brought foreign text", self.what.as_deref().unwrap_or("a call"))
            }
            NetworkChange::Allowed => format!("a person allowed {host}"),
            NetworkChange::Denied => format!("a person denied {host}"),
        }
    }
}
