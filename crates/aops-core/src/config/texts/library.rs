//! Reads all workflows in force, each with its origin and the gates that it must keep; and builds texts for
//! messages: a template, all axioms, how to choose a workflow.
//!
//! Reads texts through `force`. Invariants: a workflow that cannot be read is reported, and never replaced by
//! the one it should replace; unusable axioms and workflows never hide the shipped ones, and are named in
//! their place.

use super::{ASSETS, Kind, Library, Origin, Reading, Text, Texts, axioms, find, in_force};
use crate::config::workflow::{self, Catalogue, Detail, Gate, Held, Problem, Workflow};
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use std::collections::{BTreeMap, BTreeSet};

impl Library {
    pub fn read<'r>(reading: &'r Reading) -> &'r Self {
        reading.library.get_or_init(|| Self::gather(reading, in_force(reading)))
    }

    /// IDs and gates of the workflows in force. A project's version of a shipped workflow keeps the shipped
    /// gates.
    pub fn workflow_gates(reading: &Reading) -> BTreeMap<String, Vec<Gate>> {
        let gates = |held: &Held| {
            let mut gates: Vec<Gate> = held.workflow.gates.iter().chain(&held.owed).copied().collect();
            gates.sort();
            gates.dedup();
            gates
        };
        let held = Self::read(reading).catalogue.all();
        held.map(|held| (held.workflow.id.clone(), gates(held))).collect()
    }

    /// The same from texts that were already gathered.
    pub fn of(env: &Env, texts: &Texts) -> Self {
        Self::gather(&Reading::new(env, &env.cwd), texts)
    }

    fn gather(reading: &Reading, texts: &Texts) -> Self {
        let mut library = Self { problems: texts.problems.clone(), ..Self::default() };
        let mut held = Vec::new();
        for text in texts.of(Kind::Workflow) {
            library.origins.insert(text.id.clone(), text.origin);
            match workflow::read(&text.file, &text.text) {
                Ok(mut workflow) => {
                    let owed = owed(reading, text).unwrap_or_else(|| {
                        // It replaces no other workflow, and a project must not choose which gates it skips.
                        workflow.gates = Gate::ALL.to_vec();
                        Vec::new()
                    });
                    held.push(Held { file: text.file.clone(), owed, workflow });
                }
                Err(problems) => {
                    library.broken.insert(text.id.clone(), text.file.clone());
                    library.problems.extend(problems);
                }
            }
        }
        library.catalogue = Catalogue::new(held, library.broken.keys().cloned());
        let agents: BTreeSet<_> = texts.of(Kind::Agent).map(|text| text.id.clone()).collect();
        library.problems.extend(library.catalogue.problems(&agents));
        for index in texts.of(Kind::Index) {
            library.problems.extend(library.catalogue.dangling(&index.file, &index.text));
        }
        library.problems.sort();
        library.problems.dedup();
        library
    }

    pub fn workflow(&self, id: &str) -> Option<&Workflow> {
        self.catalogue.get(id).map(|held| &held.workflow)
    }
}

/// The gates of the workflow that a project's workflow replaces; `None` if it replaces none. The user's own
/// may drop any gate.
fn owed(reading: &Reading, text: &Text) -> Option<Vec<Gate>> {
    if text.origin != Origin::Project {
        return Some(Vec::new());
    }
    let beneath = match find(reading, false, Kind::Workflow, &text.id) {
        Ok(None) => return None,
        Ok(Some(beneath)) => workflow::read(&beneath.file, &beneath.text).ok(),
        Err(_) => None,
    };
    // An unreadable workflow might have had any gate.
    Some(beneath.map_or(Gate::ALL.to_vec(), |workflow| workflow.gates))
}

/// A template in force, by its name below `templates/`: the user's own, or the shipped one.
pub fn template(reading: &Reading, name: &str) -> Result<String, Failure> {
    let id = name.strip_suffix(".md").unwrap_or(name);
    match find(reading, false, Kind::Template, id) {
        Ok(text) => Ok(text.map(|text| text.text.into_owned()).unwrap_or_default()),
        Err(problem) => {
            Err(Failure::new(Code::ConfigInvalid, format!("`{}` {}", problem.file, problem.what)))
        }
    }
}

/// The axioms in force, one after another.
pub fn axioms_text(reading: &Reading) -> String {
    let Texts { texts, problems } = axioms(reading);
    let said = texts.iter().map(|text| text.text.trim_end().to_owned());
    said.chain(problems.iter().map(unusable)).collect::<Vec<_>>().join("\n\n")
}

/// How to choose a workflow, and a list of the user's and the project's own in addition to the shipped ones.
pub fn workflows_text(reading: &Reading) -> String {
    let shipped =
        || ASSETS.iter().find(|asset| asset.kind() == Kind::Index).map(|asset| asset.text.to_owned());
    let (index, problem) = match find(reading, false, Kind::Index, "WORKFLOWS") {
        Ok(text) => (text.map(|text| text.text.into_owned()), None),
        Err(problem) => (shipped(), Some(problem)),
    };
    let library = Library::read(reading);
    let own = library.catalogue.all().filter(|held| {
        library.origins.get(&held.workflow.id).is_some_and(|origin| *origin != Origin::Embedded)
    });
    let chain = |id: &str| library.catalogue.chain(id).unwrap_or_default();
    let line = |held: &Held| {
        format!("- `{0}`: {1}: {2}", held.workflow.id, held.workflow.title, chain(&held.workflow.id))
    };
    let own: Vec<_> = own.map(line).collect();
    let mut parts = vec![index.unwrap_or_default().trim_end().to_owned()];
    parts.extend(problem.as_ref().map(unusable));
    if !own.is_empty() {
        parts.push(format!("Also in force here:\n\n{}", own.join("\n")));
    }
    parts.join("\n\n") + "\n"
}

/// The steps of every workflow, those of the user and the project first: with their full text, their first
/// clause, or only their names, depending on the room. The shipped ones are shortened first.
pub fn workflow_steps(reading: &Reading, room: usize) -> String {
    let library = Library::read(reading);
    let mut all: Vec<_> = library.catalogue.ids().collect();
    let is_shipped = |id: &str| library.origins.get(id).is_none_or(|origin| *origin == Origin::Embedded);
    all.sort_by_key(|id| is_shipped(id));
    let told = |(own, shipped): (Detail, Detail)| {
        let outline = |id: &&str| {
            let detail = if is_shipped(id) { shipped } else { own };
            Some(format!("### {id}\n{}", library.catalogue.steps(id, detail)?.trim_end()))
        };
        all.iter().filter_map(outline).collect::<Vec<_>>().join("\n")
    };
    let forms = [
        (Detail::Whole, Detail::Whole),
        (Detail::Clause, Detail::Clause),
        (Detail::Whole, Detail::Name),
        (Detail::Clause, Detail::Name),
    ];
    let fitting = forms.into_iter().map(told).find(|text| text.len() <= room);
    fitting.unwrap_or_else(|| told((Detail::Name, Detail::Name)))
}

/// The text of one workflow, preceded by its own steps and those of the workflows inside it.
pub fn workflow_text(reading: &Reading, id: &str) -> Option<String> {
    let catalogue = &Library::read(reading).catalogue;
    Some(format!("{}\n{}", catalogue.outline(id)?, catalogue.get(id)?.workflow.body.trim()))
}

fn unusable(problem: &Problem) -> String {
    format!("(`{}` {}, so it is not here)", problem.file, problem.what)
}
