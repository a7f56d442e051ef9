//! What a command did with one host.

use crate::text::plain::is_zero;
use serde::{Deserialize, Serialize};

/// A host that was reached for the first time in its session, or refused; at the session's end, all that went there.
/// Stored type: fields in sorted order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    #[serde(default, skip_serializing_if = "is_zero")]
    pub connections: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub down: u64,
    /// With the session's end: seconds since 1970.
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
    /// On whose word it was reached; nothing where every host is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
}
