//! `[quiet]`: which of the client's questions are answered for the user.
//!
//! Plain data. Stored type: fields in sorted order.

use super::words;
use aops_shell::quiet::Answers;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quiet {
    pub allow: QuietLevel,
    /// Programs that may use the network for reading.
    pub network: Vec<String>,
    /// Also if nobody sits at the client.
    pub unattended: bool,
}

words! {
    /// Which lines are answered, in rising order.
    QuietLevel {
        #[default]
        Off = "off",
        Reading = "reading",
        Contained = "contained",
    }
}

impl QuietLevel {
    pub fn answers(self) -> Answers {
        match self {
            Self::Off => Answers::Nothing,
            Self::Reading => Answers::Reading,
            Self::Contained => Answers::Contained,
        }
    }
}
