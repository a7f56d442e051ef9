//! How a worker leaves a run.

use crate::run::attempt::RunOutcome;

/// How a run was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    Finished {
        outcome: RunOutcome,
        reason: String,
    },
    Asks(String),
    GivenBack,
    /// Another worker has it, or a person ended it.
    Lost,
}

/// How the driver left a run, and what to tell the database.
pub(super) struct Stop {
    pub(super) left: Left,
    /// The digest of the packet that a question is about.
    pub(super) about: String,
    /// The client's session exists only on this machine.
    pub(super) pinned: bool,
}

impl Stop {
    pub(super) fn of(left: Left) -> Self {
        Self { left, about: String::new(), pinned: false }
    }

    pub(super) fn asks(question: String) -> Self {
        Self::of(Left::Asks(question))
    }
}

pub(super) fn rejected(who: &str) -> Stop {
    Stop::of(Left::Finished { outcome: RunOutcome::Blocked, reason: format!("{who} rejected it") })
}
