//! Texts in force as the words that are said: a template, all axioms, how to choose a workflow.
//!
//! Reads texts through `force`. Invariants: unusable axioms and workflows never hide the shipped ones, and are named in their
//! place; a template that cannot be read is a failure that names it.

use super::{ASSETS, Kind, Library, Origin, Text, Texts, axioms, find};
use crate::config::workflow::Problem;
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use std::path::Path;

/// A template in force, by its name below `templates/`: the user's own, or the shipped one.
pub fn template(env: &Env, name: &str) -> Result<String, Failure> {
    let id = name.strip_suffix(".md").unwrap_or(name);
    match find(env, None, Kind::Template, id) {
        Ok(text) => Ok(text.map(|text| text.text.into_owned()).unwrap_or_default()),
        Err(problem) => Err(Failure::new(Code::ConfigInvalid, format!("`{}` {}", problem.file, problem.what))),
    }
}

/// The axioms in force, one after another.
pub fn axioms_text(env: &Env, project: &Path) -> String {
    let Texts { texts, problems } = axioms(env, project);
    let said = texts.iter().map(|text| text.text.trim_end().to_owned());
    said.chain(problems.iter().map(unusable)).collect::<Vec<_>>().join("\n\n")
}

/// How to choose a workflow, and the user's and project's own beside the shipped ones.
pub fn workflows_text(env: &Env, project: &Path) -> String {
    let (index, problem) = usable(find(env, None, Kind::Index, "WORKFLOWS"));
    let library = Library::read(env, project);
    let own = library
        .catalogue
        .all()
        .filter(|held| library.origins.get(&held.workflow.id).is_some_and(|origin| *origin != Origin::Embedded));
    let own: Vec<_> = own.map(|held| format!("- `{}`: {}", held.workflow.id, held.workflow.title)).collect();
    let mut parts = vec![index.trim_end().to_owned()];
    parts.extend(problem.as_ref().map(unusable));
    if !own.is_empty() {
        parts.push(format!("Also in force here:\n\n{}", own.join("\n")));
    }
    parts.join("\n\n") + "\n"
}

/// The index that was found, else the shipped one and why.
fn usable(found: Result<Option<Text>, Problem>) -> (String, Option<Problem>) {
    let ours = || ASSETS.iter().find(|asset| asset.kind() == Kind::Index).map(|asset| asset.text.to_owned());
    match found {
        Ok(text) => (text.map(|text| text.text.into_owned()).unwrap_or_default(), None),
        Err(problem) => (ours().unwrap_or_default(), Some(problem)),
    }
}

fn unusable(problem: &Problem) -> String {
    format!("(`{}` {}, so it is not here)", problem.file, problem.what)
}
