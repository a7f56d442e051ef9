//! `ASSETS`: every text we ship, embedded in the program, and which texts are in force where people have their own.
//!
//! Reads the user's configuration folder and the project's `.aops`. Invariants: a text that is named here and missing does
//! not compile, and one that is there and not named fails a test; agents, templates and the index are never the project's.

mod force;
mod library;
mod open;

pub use force::{Text, Texts, axioms, find, in_force};
pub use library::Library;
pub use open::{project, read_text};

use crate::env::Env;
use serde::Serialize;
use std::fmt;
use std::path::Path;

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
        &[$(Asset { path: $path, text: include_str!(concat!("../", $path)) }),*]
    };
}

/// A template in force, by its name below `templates/`: the user's own, or ours.
pub fn template(env: &Env, name: &str) -> String {
    let id = name.strip_suffix(".md").unwrap_or(name);
    let found = find(env, None, Kind::Template, id).ok().flatten().map(|text| text.text.into_owned());
    let ours = || ASSETS.iter().find(|asset| asset.kind() == Kind::Template && asset.id() == id);
    found.or_else(|| ours().map(|asset| asset.text.to_owned())).unwrap_or_default()
}

/// The axioms in force, one after another.
pub fn axioms_text(env: &Env, project: &Path) -> String {
    let texts = axioms(env, project).unwrap_or_default();
    texts.iter().map(|text| text.text.trim_end()).collect::<Vec<_>>().join("\n\n")
}

/// How to choose a workflow, and the user's and project's own beside the shipped ones.
pub fn workflows_text(env: &Env, project: &Path) -> String {
    let index = find(env, None, Kind::Index, "WORKFLOWS")
        .ok()
        .flatten()
        .map(|text| text.text.into_owned())
        .unwrap_or_default();
    let library = Library::read(env, project);
    let own = library.catalogue.all().filter(|held| {
        library.origins.get(&held.workflow.id).is_some_and(|origin| *origin != Origin::Embedded)
    });
    let lines: String = own
        .map(|held| format!("\n- `{}`: {}", held.workflow.id, held.workflow.title))
        .collect::<Vec<_>>()
        .concat();
    if lines.is_empty() { index } else { format!("{}\n\nAlso in force here:\n{lines}\n", index.trim_end()) }
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
    "templates/AGENTS.md",
    "templates/audit-context.md",
    "templates/critic-context.md",
    "templates/halt-report.md",
    "templates/hydration-instruction.md",
    "templates/owed/commit.md",
    "templates/owed/framework.md",
    "templates/owed/push.md",
    "templates/owed/qa-verifier-again.md",
    "templates/owed/qa-verifier.md",
    "templates/prompt-hydrator-context.md",
    "templates/qa-context.md",
    "templates/reflection-context.md",
    "templates/refusals/agent-shadowed.md",
    "templates/refusals/agent-write.md",
    "templates/refusals/audit-due.md",
    "templates/refusals/blocked.md",
    "templates/refusals/broken.md",
    "templates/refusals/check-failed.md",
    "templates/refusals/check-late.md",
    "templates/refusals/guard-folders.md",
    "templates/refusals/guard-settings.md",
    "templates/refusals/guard-verb.md",
    "templates/refusals/guard-write.md",
    "templates/refusals/halted.md",
    "templates/refusals/rule.md",
    "templates/refusals/sandbox-question.md",
    "templates/refusals/sandbox-review.md",
    "templates/refusals/sandbox-revise.md",
    "templates/refusals/sandbox.md",
    "templates/refusals/stop-let-go.md",
    "templates/refusals/stop-owed.md",
    "templates/refusals/verdict-form.md",
    "templates/refusals/verdict-given-up.md",
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn shipped(folder: &str, found: &mut Vec<String>) {
        for item in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap().flatten() {
            let path = format!("{folder}/{}", item.file_name().to_str().unwrap());
            if item.path().is_dir() {
                shipped(&path, found);
            } else if !path.ends_with("/README.md") {
                found.push(path);
            }
        }
    }

    #[test]
    fn the_table_is_what_the_folders_hold() {
        let mut found = vec!["AXIOMS.md".to_owned(), "WORKFLOWS.md".to_owned()];
        for folder in ["agents", "commands", "templates", "workflows"] {
            shipped(folder, &mut found);
        }
        found.sort();
        let table: Vec<_> = ASSETS.iter().map(|asset| asset.path).collect();
        assert_eq!(table, found);
    }

    #[test]
    fn kinds_and_ids() {
        let of = |path| ASSETS.iter().find(|a| a.path == path).map(|a| (a.kind(), a.id())).unwrap();
        assert_eq!(of("AXIOMS.md"), (Kind::Axioms, "AXIOMS"));
        assert_eq!(of("WORKFLOWS.md"), (Kind::Index, "WORKFLOWS"));
        assert_eq!(of("agents/critic.md"), (Kind::Agent, "critic"));
        assert_eq!(of("templates/refusals/rule.md"), (Kind::Template, "refusals/rule"));
        assert!(
            placed().all(|asset| asset.path.starts_with("agents/") || asset.path.starts_with("commands/"))
        );
    }
}
