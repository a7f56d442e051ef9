//! `ASSETS`: every text we ship, embedded in the program.
//!
//! Reads nothing at run time. Invariant: a text that is named here and missing does not compile, and one that is there
//! and not named fails a test.

/// One shipped text.
#[derive(Debug)]
pub struct Asset {
    /// Its place in the repository and below the host's configuration folder.
    pub path: &'static str,
    pub text: &'static str,
}

macro_rules! assets {
    ($($path:literal),* $(,)?) => {
        &[$(Asset { path: $path, text: include_str!(concat!("../", $path)) }),*]
    };
}

/// The text of a template, by its name below `templates/`.
pub fn template(name: &str) -> &'static str {
    TEMPLATES
        .iter()
        .find(|asset| asset.path.strip_prefix("templates/") == Some(name))
        .map_or("", |asset| asset.text)
}

/// Rules of conduct, and the catalogue of workflows with its decision tree.
pub static AXIOMS: &str = include_str!("../AXIOMS.md");
pub static WORKFLOWS: &str = include_str!("../WORKFLOWS.md");

/// What we say and hand to agents.
pub static TEMPLATES: &[Asset] = assets![
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
];

/// Agents and commands, copied to the host's folder by `install`.
pub static ASSETS: &[Asset] = assets![
    "agents/critic.md",
    "agents/custodiet.md",
    "agents/framework.md",
    "agents/prompt-hydrator.md",
    "agents/qa-verifier.md",
    "commands/aops-status.md",
];
