//! `[[check]]`: a command that must pass before a prompt is answered, a task makes its first change, a file
//! is saved, work is committed, or a turn stops.
//!
//! Reads nothing, writes nothing; another module runs it.

use super::key::EntryField;
use super::value::{Form, Parts};
use super::{glob, words};
use crate::model::outcome::PhaseOutcome;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub id: String,
    pub on: Moment,
    pub outcome: Outcome,
    /// The files that it is about; empty means all.
    pub paths: Vec<String>,
    pub run: String,
    pub timeout_ms: u64,
}

words! {
    Moment {
        #[default]
        Save = "save",
        Commit = "commit",
        Stop = "stop",
        /// Before a model runs.
        Prompt = "prompt",
        /// Before the first change of a task.
        Sandbox = "sandbox",
    }
}

words! {
    Outcome {
        AskUser = "ASK_USER",
        #[default]
        InterventionRequired = "INTERVENTION_REQUIRED",
        Halt = "HALT",
    }
}

impl From<Outcome> for PhaseOutcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::AskUser => Self::AskUser,
            Outcome::InterventionRequired => Self::InterventionRequired,
            Outcome::Halt => Self::Halt,
        }
    }
}

pub const TIMEOUT_MS: u64 = 30_000;

/// For all checks before one event together: the host waits 600 s for a hook, and if it gives up, the event
/// is not guarded.
pub const BUDGET_MS: u64 = 540_000;

pub static PARTS: &[EntryField] = &[
    EntryField::needed("id", Form::Id, "its name, in refusals and in the ledger"),
    EntryField::needed("on", Form::OneOf(Moment::WORDS), "before what it runs"),
    EntryField::needed("run", Form::Text, "the command, run by `sh -c` in the project's folder"),
    EntryField::optional("paths", Form::Names, "globs of the files that it checks; without any, all files"),
    EntryField::optional(
        "timeout_ms",
        Form::Whole(100, BUDGET_MS),
        "after this it is cut off and counts as failed",
    ),
    EntryField::optional("outcome", Form::OneOf(Outcome::WORDS), "what a failure means"),
];

impl Moment {
    /// Checks before both of these moments can be needed for one event: a task's first change is often a save
    /// or a commit.
    pub(super) fn meets(self, other: Self) -> bool {
        let first = |one, other| one == Self::Sandbox && matches!(other, Self::Save | Self::Commit);
        self == other || first(self, other) || first(other, self)
    }
}

impl Check {
    pub fn concerns(&self, path: &str, project: &str, home: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|pattern| glob::covers(pattern, path, project, home))
    }

    pub(super) fn of(parts: &mut Parts) -> Self {
        Self {
            id: parts.take("id").unwrap_or_default(),
            on: parts.take("on").unwrap_or_default(),
            outcome: parts.take("outcome").unwrap_or_default(),
            paths: parts.take("paths").unwrap_or_default(),
            run: parts.take("run").unwrap_or_default(),
            timeout_ms: parts.take("timeout_ms").unwrap_or(TIMEOUT_MS),
        }
    }
}
