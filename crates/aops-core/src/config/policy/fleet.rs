//! `[fleet]`: the database that machines share.
//!
//! Plain data. Stored type: fields in sorted order.

use serde::{Deserialize, Serialize};

/// Where `fleet serve` listens if no other address is configured.
pub const LISTEN: &str = "127.0.0.1:7390";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    pub announce: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub defer: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otlp: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    pub per_repository: u64,
    pub queue_max: u64,
    pub url: Option<String>,
}

impl Default for Fleet {
    fn default() -> Self {
        Self {
            announce: None,
            defer: false,
            engine: None,
            listen: None,
            otlp: None,
            page: None,
            per_repository: 4,
            queue_max: 10_000,
            url: None,
        }
    }
}

impl Fleet {
    /// Something is sent in the background.
    pub fn sends(&self) -> bool {
        self.url.is_some() || self.otlp.is_some()
    }
}
