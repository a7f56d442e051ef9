//! `[deliver]`: where the work of a run goes when its last step has passed.
//!
//! Plain data. Stored type: fields in sorted order.

use serde::{Deserialize, Serialize};

/// The value that switches off either key.
pub const NONE: &str = "none";
/// The forge's own program, chosen by the address of the remote.
pub const AUTO: &str = "auto";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deliver {
    pub branch: String,
    pub pull_request: String,
}

impl Default for Deliver {
    fn default() -> Self {
        Self { branch: "aops/{run}".to_owned(), pull_request: AUTO.to_owned() }
    }
}

impl Deliver {
    /// The branch of this run; `None` if runs leave their work in the working tree.
    pub fn branch_of(&self, run: &str) -> Option<String> {
        (self.branch != NONE).then(|| self.branch.replace("{run}", run))
    }
}
