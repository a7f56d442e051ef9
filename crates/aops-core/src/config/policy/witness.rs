//! `[witness]`: who sees the checkpoints of the log beside us.
//!
//! Plain data. Stored type: fields in sorted order.

use super::words;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    pub git: WitnessGit,
    /// Their public keys.
    pub key: Vec<String>,
    /// So many must have signed; 0: all.
    pub quorum: u64,
    /// Where they are asked.
    pub url: Vec<String>,
}

impl Witness {
    /// How many signatures make a checkpoint count.
    pub fn wanted(&self) -> u64 {
        if self.quorum == 0 { self.key.len() as u64 } else { self.quorum }
    }

    /// Something is to be sent or written in the background.
    pub fn is_asked(&self) -> bool {
        !self.url.is_empty() || self.git == WitnessGit::Notes
    }
}

words! {
    /// Whether checkpoints go into the project's repository.
    WitnessGit {
        #[default]
        Off = "off",
        Notes = "notes",
    }
}
