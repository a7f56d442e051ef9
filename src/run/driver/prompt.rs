//! The prompt of a client step.
//!
//! Reads templates and workflows in force. Invariant: the task is quoted, so that it cannot end its own quotation.

use super::base::Driver;
use crate::config::texts::{self, Library};
use crate::model::error::Failure;
use crate::run::plan::PlannedStep;
use crate::session::state::Sandbox;
use crate::text::json::cut;
use crate::text::template::{Phrase, quote};

/// Longest text of an inner workflow, in bytes.
const INNER: usize = 6_000;

impl Driver {
    /// The prompt of this step. `again`: an earlier attempt did not end.
    pub(super) fn prompt(&self, index: usize, step: &PlannedStep, again: bool) -> Result<String, Failure> {
        let library = Library::of(&self.env, &self.prepared.texts);
        let inner = step.inner.as_deref().and_then(|id| library.workflow(id));
        let inner = inner.map_or(String::new(), |workflow| {
            format!("Do it as the workflow `{}` says:\n\n{}\n", workflow.id, cut(workflow.body.trim(), INNER))
        });
        let may = match step.sandbox {
            Sandbox::Open => "You may change files here.",
            Sandbox::Shut => "You may read here, and change nothing.",
        };
        let verified = "First, if anything was changed since the last verification, start the agent `aops:qa-verifier` in the foreground.";
        let committed = "Before you end, commit what is not committed and push it where there is a remote.";
        let closes = [(step.verifies, verified), (step.closes, committed)];
        let closes: Vec<&str> = closes.iter().filter(|(asked, _)| *asked).map(|(_, words)| *words).collect();
        let begun = if again { self.describe_earlier_attempt(step) } else { String::new() };
        let agent = step.verdict_of().map(|name| format!("aops:{name}")).unwrap_or_default();
        let template = if agent.is_empty() { "run-step.md" } else { "run-step-agent.md" };
        let values = vec![
            ("index", (index + 1).to_string()),
            ("count", self.prepared.plan.len().to_string()),
            ("name", step.name.clone()),
            ("description", step.description.clone()),
            ("task", quote(&self.run.init.task)),
            ("inner", inner),
            ("may", may.to_owned()),
            ("closes", closes.join(" ")),
            ("again", begun),
            ("agent", agent),
        ];
        Ok(Phrase::new(template, values).fill(&texts::template(&self.env, template)?))
    }

    fn describe_earlier_attempt(&self, step: &PlannedStep) -> String {
        let words = "You began this step before and were interrupted: look at what is done already, and do only what is missing.";
        match self.list_earlier_calls(&step.id) {
            none if none.is_empty() => words.to_owned(),
            calls => format!("{words} What aops-hook recorded of it:\n\n{calls}"),
        }
    }
}
