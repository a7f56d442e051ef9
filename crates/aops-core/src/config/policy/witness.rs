//! `[witness]`: who sees the checkpoints of the log beside us.
//!
//! Plain data. Stored type: fields in sorted order.

use super::{is_default, words};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    #[serde(default, skip_serializing_if = "is_default")]
    pub attest: WitnessAttest,
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

    /// Commits of sessions carry a statement about them.
    pub fn attests(&self) -> bool {
        self.attest == WitnessAttest::Notes
    }

    /// Something is to be sent or written in the background.
    pub fn is_asked(&self) -> bool {
        !self.url.is_empty() || self.git == WitnessGit::Notes || self.attests()
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

words! {
    /// Whether commits of sessions are attested. The project's repository carries the statements.
    WitnessAttest {
        #[default]
        Off = "off",
        Notes = "notes",
    }
}
