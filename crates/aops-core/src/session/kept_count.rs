//! How often something was kept before a command ran.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCount {
    /// The number under which it was last kept.
    pub newest: u64,
    pub times: u64,
}
