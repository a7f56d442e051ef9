//! The effect of a command or a call. Stored by name, in lower case.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    #[default]
    Read,
    Write,
    /// Closes the work without changing files: `git add|commit|push|tag|fetch`. A write, but verified work
    /// stays verified.
    Close,
    Spawn,
    Tracker,
    Control,
}

impl Effect {
    /// Whether it changes something.
    pub fn is_write(self) -> bool {
        matches!(self, Effect::Write | Effect::Close)
    }
}
