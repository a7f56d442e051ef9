//! What a command or a call does to the world. Stored by name, in lower case.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    #[default]
    Read,
    Write,
    /// Closes the work rather than changing it: `git add|commit|push|tag|fetch`. A write, but what was
    /// verified stays so.
    Close,
    Spawn,
    Tracker,
    Control,
}

impl Effect {
    /// Changes something.
    pub fn is_write(self) -> bool {
        matches!(self, Effect::Write | Effect::Close)
    }
}
