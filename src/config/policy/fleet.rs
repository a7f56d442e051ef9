//! `[fleet]`: the database that machines share.
//!
//! Plain data. Stored type: fields in sorted order.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    pub announce: Option<String>,
    pub per_repository: u64,
    pub queue_max: u64,
    pub url: Option<String>,
}

impl Default for Fleet {
    fn default() -> Self {
        Self { announce: None, per_repository: 4, queue_max: 10_000, url: None }
    }
}

impl Fleet {
    // Left out where not set: older ledgers hold the same policy in the same bytes.
    pub(super) fn is_shipped(&self) -> bool {
        *self == Self::default()
    }
}
