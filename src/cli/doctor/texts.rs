//! Checks that configuration and workflows can be read: a guard that cannot read them refuses everything.
//!
//! Reads the texts in force in the working directory, writes nothing.

use super::Finding;
use super::scene::Scene;
use crate::config::in_force;
use crate::config::texts::Library;

pub(super) fn in_force(scene: &Scene) -> Vec<Finding> {
    match in_force::look(scene.env, &scene.env.cwd) {
        Ok(found) => {
            let library = Library::of(scene.env, &found.texts);
            let bad = library.problems.iter().map(|problem| {
                Finding::bad(
                    "workflows",
                    problem.to_string(),
                    "correct that line; `aops-hook workflow check` lists every problem",
                )
            });
            let mut findings: Vec<_> = bad.collect();
            if findings.is_empty() {
                findings.push(Finding::well("configuration", "it and the workflows can be read"));
            }
            findings
        }
        Err(problems) => {
            let fix = "correct that line, then run `aops-hook policy show`";
            problems.iter().map(|problem| Finding::bad("configuration", problem.to_string(), fix)).collect()
        }
    }
}
