//! `ASSETS`: every text we ship, embedded in the program, and which texts are in force if people have their
//! own.
//!
//! Reads the administrator's bundle, the user's configuration folder and the project's `.aops`. Invariants: a
//! text that is listed here but missing does not compile, and one that exists but is not listed fails a test;
//! a project never replaces agents, templates or the index.

mod open;
mod reading;
mod force;
mod library;
#[cfg(test)]
mod tests;

pub use force::{axioms, find, in_force};
pub use library::{axioms_text, template, workflow_steps, workflow_text, workflows_text};
pub use open::{Bounds, project, read_text, root_from};
pub use reading::Reading;

use crate::config::problem::Problem;
use crate::config::workflow::Catalogue;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug)]
pub struct Asset {
    /// Its path in the repository and, for texts that `install` copies, below the host's configuration
    /// folder.
    pub path: &'static str,
    pub text: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Axioms,
    Agent,
    Workflow,
    /// `WORKFLOWS.md`: how to choose a workflow.
    Index,
    Template,
    /// A slash command of the client; `install` copies it, we never read it.
    Command,
}

/// Who provided the text in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Embedded,
    /// The administrator's bundle.
    Managed,
    User,
    Project,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    pub kind: Kind,
    pub id: String,
    pub origin: Origin,
    /// Its name in messages: its path, or `embedded:` and the path in the repository.
    pub file: String,
    pub text: Cow<'static, str>,
}

/// All texts in force, by kind and ID, and the problems of those that cannot be used.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    pub texts: Vec<Text>,
    pub problems: Vec<Problem>,
}

/// The workflows in force and everything wrong with them.
#[derive(Debug, Default)]
pub struct Library {
    pub catalogue: Catalogue,
    /// For every workflow, valid or broken.
    pub origins: BTreeMap<String, Origin>,
    /// About texts that cannot be read or do not fit together, by file and line.
    pub problems: Vec<Problem>,
    /// IDs of workflows that cannot be read, with their files.
    pub broken: BTreeMap<String, String>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(match self {
            Origin::Embedded => "embedded",
            Origin::Managed => "managed",
            Origin::User => "user",
            Origin::Project => "project",
        })
    }
}

impl Asset {
    pub fn kind(&self) -> Kind {
        Self::kind_of(self.path)
    }

    fn kind_of(path: &str) -> Kind {
        match path.split_once('/').map_or(path, |(folder, _)| folder) {
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
        Self::id_of(self.path)
    }

    fn id_of(path: &str) -> &str {
        let name = path.split_once('/').map_or(path, |(_, name)| name);
        name.strip_suffix(".md").unwrap_or(name)
    }
}

/// Texts that `install` copies to the host's folder: agents and commands.
pub fn placed() -> impl Iterator<Item = &'static Asset> {
    ASSETS.iter().filter(|asset| matches!(asset.kind(), Kind::Agent | Kind::Command))
}

/// `folder: names;` for the shipped texts.
macro_rules! assets {
    ($($folder:literal: $($name:literal)+;)+) => {
        &[$($(Asset {
            path: concat!($folder, $name, ".md"),
            text: include_str!(concat!("../../", $folder, $name, ".md")),
        }),+),+]
    };
}

pub static ASSETS: &[Asset] = assets! {
    "": "AXIOMS" "WORKFLOWS";
    "agents/": "critic" "custodiet" "framework" "prompt-hydrator" "qa-verifier";
    "commands/": "aops-checkpoint" "aops-handover" "aops-status" "aops-task" "session-insights";
    "templates/": "AGENTS" "audit-context" "critic-context" "halt-report" "hydration-instruction"
        "insights-analysis" "loop-guide";
    "templates/owed/": "checks" "commit" "custodiet" "evidence" "format" "framework" "plan" "pull" "push" "qa-verifier-again"
        "qa-verifier-outdated" "qa-verifier" "step-agent" "sync" "tracker" "unasked";
    "templates/": "prompt-hydrator-context" "qa-context" "reflection-context";
    "templates/refusals/": "agent-at-work" "agent-missing" "agent-shadowed" "agent-write" "agentless" "audit-due" "check-ask" "check-failed" "check-halt"
        "check-late" "check-prompt" "check-sandbox" "check-save" "danger-ask" "danger-guard" "danger-keys" "danger" "halted" "outgrown" "rule-ask" "rule-warn" "rule"
        "sandbox-brought" "sandbox-planning" "sandbox-question" "sandbox-review" "sandbox-revise"
        "sandbox-step" "sandbox" "stop-let-go" "stop-owed" "stop-unverified" "verdict-form" "verdict-given-up";
    "templates/": "run-step-agent" "run-step";
    "workflows/": "batch-processing" "build-loop" "context-bootstrap" "debugging" "direct-skill" "feature-dev" "minor-edit"
        "project" "qa-demo" "simple-question" "spec-review" "tdd-cycle";
};
