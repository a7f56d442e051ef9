//! The answer that was given in a person's place, with its proof.

use crate::model::named::named;
use crate::model::profile::Profile;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quieted {
    /// The folder and the variables that it was judged with: in others it does not run.
    pub environment: String,
    /// Paths that it does not see: the user's rules forbid to read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hides: Vec<String>,
    /// Where the folder and these paths led when it was judged, as a digest: if they lead elsewhere, it does
    /// not run.
    pub leads: String,
    pub level: AnswerLevel,
    /// The one program in it that has the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// Each command of the line, and what makes it harmless.
    pub proof: Vec<Harmless>,
    /// Paths that its text names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// The user's own rules that were looked at.
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
        /// What it may do stays in the project, and can be undone.
        Contained = "contained",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Harmless {
    /// What the table says of it.
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
