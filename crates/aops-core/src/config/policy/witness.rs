//! `[witness]`: who else sees the checkpoints of the log.
//!
//! Plain data. Stored type: fields in sorted order.

use super::{is_default, words};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    #[serde(default, skip_serializing_if = "is_default")]
    pub attest: WitnessAttest,
    pub git: WitnessGit,
    /// The witnesses' public keys.
    pub key: Vec<String>,
    /// How many must have signed; 0 means all.
    pub quorum: u64,
    /// Where the witnesses are asked.
    pub url: Vec<String>,
}

impl Witness {
    /// How many signatures a checkpoint needs.
    pub fn wanted(&self) -> u64 {
        if self.quorum == 0 { self.key.len() as u64 } else { self.quorum }
    }

    /// Statements are attached to the commits of sessions.
    pub fn attests(&self) -> bool {
        self.attest == WitnessAttest::Notes
    }

    /// Something must be sent or written in the background.
    pub fn is_asked(&self) -> bool {
        !self.url.is_empty() || self.git == WitnessGit::Notes || self.attests()
    }
}

words! {
    /// Whether checkpoints are stored in the project's repository.
    WitnessGit {
        #[default]
        Off = "off",
        Notes = "notes",
    }
}

words! {
    /// Whether commits of sessions are attested. The statements are stored in the project's repository.
    WitnessAttest {
        #[default]
        Off = "off",
        Notes = "notes",
    }
}
