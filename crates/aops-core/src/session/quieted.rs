//! The answer that was given in a person's place, with its proof.

use crate::model::named::named;
use crate::model::profile::Profile;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quieted {
    /// Digest of the folder and variables that it was judged with; with others it does not run.
    pub environment: String,
    /// Paths that it must not see, since the user's rules forbid reading them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hides: Vec<String>,
    /// Digest of where the folder and these paths led when it was judged; if they lead elsewhere now, it does
    /// not run.
    pub leads: String,
    pub level: AnswerLevel,
    /// The only program in it that may use the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// Each command of the line, and why it is harmless.
    pub proof: Vec<Harmless>,
    /// Paths that its text names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// How many of the user's own rules were checked.
    pub rules: u64,
}

named! {
    /// Why nobody had to be asked.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum AnswerLevel {
        /// Every command only reads.
        #[default]
        Reading = "reading",
        /// Its changes stay in the project, and can be undone.
        Contained = "contained",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Harmless {
    /// What the table says about it.
    pub by: String,
    pub command: String,
}

impl AnswerLevel {
    pub fn profile(self) -> Profile {
        match self {
            Self::Reading => Profile::QuietRead,
            Self::Contained => Profile::QuietWork,
        }
    }
}
