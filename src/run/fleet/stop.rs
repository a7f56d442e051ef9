//! How a run or a session was left, and the answer with which it continues.

use crate::run::attempt::RunOutcome;

/// How it was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    Finished { outcome: RunOutcome, reason: String },
    Asks(String),
    GivenBack,
}

/// How the driver left a run.
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

/// The answer to the last question.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    pub(super) approve: bool,
    /// The digest of the packet, or the call, that the question was about.
    pub(super) about: String,
    pub(super) who: String,
    pub(super) at: String,
    pub(super) note: Option<String>,
}
