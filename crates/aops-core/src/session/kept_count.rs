//! How often something was kept before a command ran.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCount {
    /// The number of the last time.
    pub newest: u64,
    pub times: u64,
}
