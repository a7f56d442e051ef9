//! Draws the steps of a workflow in the terminal, or writes them as Mermaid or DOT.
//!
//! Reads the texts in force, writes nothing. Invariant: the same workflow gives the same drawing, byte for byte.

use super::super::table::{Cell, Table, Tone, clean};
use super::super::{Io, refused};
use super::{Command, Who, boxes, done_by, gates, id_argument, library, phase, source, whole};
use crate::config::workflow::{Workflow, meant};
use clap::{Arg, ArgMatches};
use serde_json::json;

pub(super) const VERB: Command = Command {
    name: "graph",
    about: "Draw the steps of a workflow: in the terminal, as Mermaid, as DOT",
    examples: &[
        ("aops-hook workflow graph project", "boxes in the terminal, a line for each step when piped"),
        ("aops-hook workflow graph project --variant webapp", "without what that project type skips"),
        ("aops-hook workflow graph project --format mermaid", "a diagram for Markdown"),
        ("aops-hook workflow graph project --format dot | dot -Tpng -o project.png", "for graphviz"),
    ],
    who: Who::Anyone,
    arguments: |row| {
        let format = Arg::new("format").long("format").value_name("FORMAT").default_value("text");
        let variant = Arg::new("variant").long("variant").value_name("NAME");
        id_argument(row)
            .arg(format.value_parser(FORMATS).help("How to draw it"))
            .arg(variant.help("One of its variants, such as a project type"))
    },
    run,
};

const FORMATS: [&str; 3] = ["text", "mermaid", "dot"];

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let library = library(io);
    let id = given.get_one::<String>("id").map_or("", String::as_str);
    let workflow = &whole(&library, id, io)?.workflow;
    let workflow = match given.get_one::<String>("variant") {
        Some(name) => &variant(workflow, name)?,
        None => workflow,
    };
    let format = given.get_one::<String>("format").map_or("text", String::as_str);
    match format {
        _ if io.json => writeln!(io.out, "{}", value(workflow))?,
        "dot" => write!(io.out, "{}", source::dot(workflow))?,
        "mermaid" => write!(io.out, "{}", source::mermaid(workflow))?,
        _ => text(io, workflow)?,
    }
    Ok(0)
}

fn variant(workflow: &Workflow, name: &str) -> anyhow::Result<Workflow> {
    let known: Vec<_> = workflow.variants.iter().map(|variant| variant.name.as_str()).collect();
    match workflow.variant(name) {
        Some(workflow) => Ok(workflow),
        None if known.is_empty() => refused(format!("`{}` has no variants", workflow.id)),
        None => {
            let near = meant(name, known.iter().copied());
            let hint = format!("hint: there are {}", known.join(", "));
            refused(format!("`{}` has no variant `{name}`{near}\n{hint}", workflow.id))
        }
    }
}

fn value(workflow: &Workflow) -> serde_json::Value {
    let edges: Vec<_> = source::edges(workflow).collect();
    json!({"id": workflow.id, "gates": workflow.gates, "steps": workflow.order(), "edges": edges})
}

/// Boxes where they fit on a terminal; otherwise a line for each step, in the order they are walked.
fn text(io: &mut Io, workflow: &Workflow) -> anyhow::Result<()> {
    let drawn = io.terminal.then(|| boxes::draw(workflow));
    if let Some(drawn) = drawn.filter(|drawn| io.width.is_none_or(|width| drawn.width() <= width)) {
        let head = format!("{}  gates: {}", workflow.title, gates(&workflow.gates));
        writeln!(io.out, "{}\n", Tone::Strong.paint(&clean(&head), io))?;
        for (label, line) in drawn.lines() {
            let tone = if label.trim().is_empty() { Tone::Plain } else { Tone::Quiet };
            let label = tone.paint(&label, io).into_owned();
            writeln!(io.out, "{}", format!("{label}{line}").trim_end())?;
        }
        return Ok(());
    }
    let mut table = Table::new(&["step", "phase", "after", "by", "name"]);
    for step in workflow.order() {
        let needs: Vec<_> = step.needs.iter().map(|need| need.to.as_str()).collect();
        let cells = [step.id.clone(), phase(step), needs.join(","), done_by(step), step.name.clone()];
        table.row(cells.map(Cell::from));
    }
    table.print(io)?;
    Ok(())
}
