//! The phases of the loop.
//!
//! Reads nothing, writes nothing. Stored by name, in lower case.

use serde::{Deserialize, Serialize};

/// Where the loop stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    #[default]
    Idle,
    Hydrate,
    Review,
    Execute,
    Verify,
    Intervene,
    Reflect,
    Close,
    Done,
    Halted,
}

impl Phase {
    pub const ALL: [Phase; 10] = [
        Phase::Idle,
        Phase::Hydrate,
        Phase::Review,
        Phase::Execute,
        Phase::Verify,
        Phase::Intervene,
        Phase::Reflect,
        Phase::Close,
        Phase::Done,
        Phase::Halted,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Phase::Idle => "idle",
            Phase::Hydrate => "hydrate",
            Phase::Review => "review",
            Phase::Execute => "execute",
            Phase::Verify => "verify",
            Phase::Intervene => "intervene",
            Phase::Reflect => "reflect",
            Phase::Close => "close",
            Phase::Done => "done",
            Phase::Halted => "halted",
        }
    }
}
