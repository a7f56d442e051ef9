//! Lists, shows, draws and checks workflows.
//!
//! Reads the texts in force, writes nothing. Invariant: a workflow with a problem is never shown.

mod boxes;
mod check;
mod list;
mod show;
mod source;
mod graph;
#[cfg(test)]
mod tests;

use super::{Command, Io, Refused, Who, refused};
use crate::config::texts::{self, Library};
use crate::config::workflow::{Gate, Held, Problem, Step, meant};
use clap::{Arg, ArgMatches};

pub const COMMAND: Command = Command {
    name: "workflow",
    about: "List, show, draw and check workflows",
    examples: &[
        ("aops-hook workflow list", "all workflows, with gates and origin"),
        ("aops-hook workflow show feature-dev", "the text, and every workflow it contains"),
        ("aops-hook workflow graph project", "its steps, drawn in the terminal"),
        ("aops-hook workflow check", "all problems of the workflows in force, by file and line"),
    ],
    who: Who::Anyone,
    arguments,
    run,
};

static VERBS: &[Command] = &[list::VERB, show::VERB, graph::VERB, check::VERB];

fn arguments(row: clap::Command) -> clap::Command {
    Command::verbs(VERBS, row)
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let (verb, given) = Command::asked(VERBS, given)?;
    (verb.run)(given, io)
}

fn id_argument(row: clap::Command) -> clap::Command {
    row.arg(Arg::new("id").value_name("ID").required(true).help("The workflow's id, as `workflow list` shows it"))
}

fn library(io: &Io) -> Library {
    Library::read(io.env, &texts::project(io.env, &io.env.cwd))
}

/// The workflow of this id, if it and all it contains have no problem.
fn whole<'a>(library: &'a Library, id: &str, io: &Io) -> anyhow::Result<&'a Held> {
    let catalogue = &library.catalogue;
    let Some(held) = catalogue.get(id) else {
        if let Some(file) = library.broken.get(id) {
            return broken(id, library.problems.iter().filter(|problem| problem.file == *file), io);
        }
        let near = meant(id, catalogue.ids());
        return refused(format!(
            "there is no workflow `{id}`{near}\nhint: `aops-hook workflow list` shows what there is"
        ));
    };
    let contained = catalogue.contained(id);
    let files: Vec<_> = std::iter::once(held).chain(contained).map(|held| &held.file).collect();
    let mut wrong = library.problems.iter().filter(|problem| files.contains(&&problem.file)).peekable();
    if wrong.peek().is_some() {
        return broken(id, wrong, io);
    }
    Ok(held)
}

fn broken<'p, T>(id: &str, problems: impl Iterator<Item = &'p Problem>, io: &Io) -> anyhow::Result<T> {
    let lines: Vec<_> = problems.map(|problem| shown(problem, io)).collect();
    let hint = "hint: repair it, then run `aops-hook workflow check`";
    let words = format!("`{id}` cannot be used\n{}\n{hint}", lines.join("\n"));
    Err(Refused { code: 1, words }.into())
}

/// The problem with its path relative to the working directory, safe on a terminal.
fn shown(problem: &Problem, io: &Io) -> String {
    let Problem { line, what, .. } = problem;
    super::table::clean(&format!("{}:{line}: {what}", file_from_here(&problem.file, io))).into_owned()
}

fn file_from_here<'a>(file: &'a str, io: &Io) -> &'a str {
    let here = format!("{}/", io.env.cwd.display());
    file.strip_prefix(&here).unwrap_or(file)
}

fn gates(gates: &[Gate]) -> String {
    let names: Vec<_> = gates.iter().map(|gate| gate.name()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Who or what does a step.
fn done_by(step: &Step) -> String {
    let run = step.run.as_ref().map(|run| format!("$ {run}"));
    let agent = step.agent.as_ref().map(|agent| agent.to.clone());
    let inner = step.workflow.as_ref().map(|inner| format!("as in {}", inner.to));
    let parts: Vec<_> = [run, agent, inner].into_iter().flatten().collect();
    parts.join(", ")
}

fn phase(step: &Step) -> String {
    let name = step.phase.and_then(|phase| serde_json::to_value(phase).ok());
    name.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}
