//! How many calls quiet answered in a session, and whether it may still do so.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuietCount {
    /// Lines that were answered in a person's place.
    pub answered: u64,
    /// Digests of lines that the jail hindered: a person is asked about them for the rest of the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hindered: Vec<String>,
    /// Why no call is answered any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<String>,
}

/// At most this many hindered lines are remembered; after one more, no call is answered.
const MOST_HINDERED: usize = 64;

impl QuietCount {
    /// The jail hindered this line.
    pub fn hinder(&mut self, digest: &str) {
        if self.hindered.len() < MOST_HINDERED {
            self.hindered.push(digest.to_owned());
        } else {
            self.shut("too many lines failed in the jail");
        }
    }

    /// From now on no call is answered.
    pub fn shut(&mut self, why: &str) {
        self.off.get_or_insert_with(|| why.to_owned());
    }
}
