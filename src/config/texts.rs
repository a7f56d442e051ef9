//! `ASSETS`: every text we ship, embedded in the program, and which texts are in force where people have their own.
//!
//! Reads the user's configuration folder and the project's `.aops`. Invariants: a text that is named here and missing does
//! not compile, and one that is there and not named fails a test; agents, templates and the index are never the project's.

mod library;
mod open;
mod force;
mod words;
#[cfg(test)]
mod tests;

pub use force::{Text, Texts, axioms, find, in_force};
pub use library::Library;
pub use open::{project, read_text};
pub use words::{axioms_text, template, workflows_text};

use serde::Serialize;
use std::fmt;

/// One shipped text.
#[derive(Debug)]
pub struct Asset {
    /// Its place in the repository and, for what `install` copies, below the host's configuration folder.
    pub path: &'static str,
    pub text: &'static str,
}

/// What a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Axioms,
    Agent,
    Workflow,
    /// `WORKFLOWS.md`: how to choose one.
    Index,
    Template,
    /// A slash command of the client; copied by `install`, never read by us.
    Command,
}

/// Whose text is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Embedded,
    User,
    Project,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(match self {
            Origin::Embedded => "embedded",
            Origin::User => "user",
            Origin::Project => "project",
        })
    }
}

impl Asset {
    pub fn kind(&self) -> Kind {
        match self.path.split_once('/').map_or(self.path, |(folder, _)| folder) {
            "agents" => Kind::Agent,
            "commands" => Kind::Command,
            "templates" => Kind::Template,
            "workflows" => Kind::Workflow,
            "WORKFLOWS.md" => Kind::Index,
            _ => Kind::Axioms,
        }
    }

    /// Its path below the folder of its kind, without `.md`.
    pub fn id(&self) -> &'static str {
        let name = self.path.split_once('/').map_or(self.path, |(_, name)| name);
        name.strip_suffix(".md").unwrap_or(name)
    }
}

/// What `install` copies to the host's folder: agents and commands.
pub fn placed() -> impl Iterator<Item = &'static Asset> {
    ASSETS.iter().filter(|asset| matches!(asset.kind(), Kind::Agent | Kind::Command))
}

macro_rules! assets {
    ($($path:literal),* $(,)?) => {
        &[$(Asset { path: $path, text: include_str!(concat!("../../", $path)) }),*]
    };
}

/// Every shipped text, by path.
pub static ASSETS: &[Asset] = assets![
    "AXIOMS.md",
    "WORKFLOWS.md",
    "agents/critic.md",
    "agents/custodiet.md",
    "agents/framework.md",
    "agents/prompt-hydrator.md",
    "agents/qa-verifier.md",
    "commands/aops-status.md",
    "commands/checkpoint.md",
    "commands/handover.md",
    "commands/session-insights.md",
    "templates/AGENTS.md",
    "templates/audit-context.md",
    "templates/critic-context.md",
    "templates/halt-report.md",
    "templates/hydration-instruction.md",
    "templates/insights-analysis.md",
    "templates/owed/checks.md",
    "templates/owed/commit.md",
    "templates/owed/framework.md",
    "templates/owed/push.md",
    "templates/owed/qa-verifier-again.md",
    "templates/owed/qa-verifier.md",
    "templates/owed/step-agent.md",
    "templates/prompt-hydrator-context.md",
    "templates/qa-context.md",
    "templates/reflection-context.md",
    "templates/refusals/agent-shadowed.md",
    "templates/refusals/agent-write.md",
    "templates/refusals/audit-due.md",
    "templates/refusals/check-failed.md",
    "templates/refusals/check-halt.md",
    "templates/refusals/check-late.md",
    "templates/refusals/check-save.md",
    "templates/refusals/halted.md",
    "templates/refusals/rule.md",
    "templates/refusals/sandbox-question.md",
    "templates/refusals/sandbox-review.md",
    "templates/refusals/sandbox-revise.md",
    "templates/refusals/sandbox-step.md",
    "templates/refusals/sandbox.md",
    "templates/refusals/stop-let-go.md",
    "templates/refusals/stop-owed.md",
    "templates/refusals/verdict-form.md",
    "templates/refusals/verdict-given-up.md",
    "templates/run-step-agent.md",
    "templates/run-step.md",
    "workflows/batch-processing.md",
    "workflows/build-loop.md",
    "workflows/debugging.md",
    "workflows/direct-skill.md",
    "workflows/feature-dev.md",
    "workflows/minor-edit.md",
    "workflows/project.md",
    "workflows/qa-demo.md",
    "workflows/simple-question.md",
    "workflows/spec-review.md",
    "workflows/tdd-cycle.md",
];
