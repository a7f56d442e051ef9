//! What quiet has done in a session, and whether it still may.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuietCount {
    /// Lines that were answered in a person's place.
    pub answered: u64,
    /// Digests of lines that the jail was in the way of: in this task a person is asked about them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hindered: Vec<String>,
    /// Why nothing is answered any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<String>,
}

/// Lines that are remembered as hindered; one more, and nothing is answered any more.
const MOST_HINDERED: usize = 64;

impl QuietCount {
    /// The jail was in the way of this line.
    pub fn hinder(&mut self, digest: &str) {
        if self.hindered.len() < MOST_HINDERED {
            self.hindered.push(digest.to_owned());
        } else {
            self.shut("the jail was in the way of too many lines");
        }
    }

    /// From now on nothing is answered.
    pub fn shut(&mut self, why: &str) {
        self.off.get_or_insert_with(|| why.to_owned());
    }
}
