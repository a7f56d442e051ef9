//! Lists the workflows.
//!
//! Reads the texts in force, writes nothing.

use super::super::Io;
use super::super::table::{Cell, Table, Tone};
use super::{Command, Who, file_from_here, gates, library};
use crate::config::texts::{Library, Origin};
use crate::config::workflow::Held;
use clap::ArgMatches;
use serde_json::{Value, json};

pub(super) const VERB: Command = Command {
    name: "list",
    about: "List the workflows with their gates, steps and origin",
    examples: &[
        ("aops-hook workflow list", "a line for each"),
        ("aops-hook workflow list --json", "the same for programs"),
    ],
    who: Who::Anyone,
    arguments: |row| row,
    run,
};

fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let library = library(io);
    if io.json {
        let rows: Vec<_> = library.origins.keys().map(|id| value(&library, id)).collect();
        writeln!(io.out, "{}", Value::Array(rows))?;
        return Ok(0);
    }
    let mut table = Table::new(&["workflow", "gates", "steps", "origin", "title"]);
    for (id, origin) in &library.origins {
        table.row(row(&library, id, *origin, io));
    }
    table.print(io)?;
    Ok(0)
}

fn value(library: &Library, id: &str) -> Value {
    let origin = library.origins.get(id);
    let Some(Held { file, workflow, .. }) = library.catalogue.get(id) else {
        return json!({"id": id, "origin": origin, "file": library.broken.get(id), "broken": true});
    };
    let steps: Vec<_> = workflow.order().iter().map(|step| &step.id).collect();
    let variants: Vec<_> = workflow.variants.iter().map(|variant| &variant.name).collect();
    json!({
        "id": id,
        "title": workflow.title,
        "category": workflow.category,
        "gates": workflow.gates,
        "steps": steps,
        "variants": variants,
        "origin": origin,
        "file": file,
        "broken": false,
    })
}

fn row(library: &Library, id: &str, origin: Origin, io: &Io) -> [Cell; 5] {
    let tone = if origin == Origin::Embedded { Tone::Quiet } else { Tone::Plain };
    let whose = Cell::new(origin.to_string(), tone);
    let name = Cell::new(id, Tone::Strong);
    if let Some(workflow) = library.workflow(id) {
        let steps = workflow.steps.len().to_string();
        return [name, gates(&workflow.gates).into(), steps.into(), whose, workflow.title.as_str().into()];
    }
    let file = library.broken.get(id).map(|file| file_from_here(file, io)).unwrap_or_default();
    let words = format!("broken: `aops-hook workflow check {file}`");
    [name, "".into(), "".into(), whose, Cell::new(words, Tone::Bad)]
}
