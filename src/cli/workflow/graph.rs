//! Draws the steps of a workflow in the terminal, or writes them as Mermaid or DOT.
//!
//! Reads the texts in force, writes nothing. Invariant: the same workflow gives the same drawing, byte for
//! byte.

use super::{Command, Io, boxes, done_by, gates, id_operand, library, phase, refused, whole};
use crate::cli::table::{Cell, Tone, clean};
use crate::cli::{option, text};
use aops_core::config::workflow::{Step, Workflow, meant};
use clap::ArgMatches;
use serde_json::json;
use std::fmt::Write;

pub(super) const VERB: Command = Command {
    name: "graph",
    about: "Draw the steps of a workflow: in the terminal, as Mermaid, as DOT",
    examples: &[
        ("aops-hook workflow graph project", "boxes in the terminal, a line for each step when piped"),
        ("aops-hook workflow graph project --variant webapp", "without what that project type skips"),
        ("aops-hook workflow graph project --format mermaid", "a diagram for Markdown"),
        ("aops-hook workflow graph project --format dot | dot -Tpng -o project.png", "for graphviz"),
    ],
    arguments: |row| {
        let format = option("format", "FORMAT", "How to draw it").default_value("text");
        let format = format.value_parser(["text", "mermaid", "dot"]);
        row.args([
            id_operand(),
            format,
            option("variant", "NAME", "One of its variants, such as a project type"),
        ])
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let library = library(io);
    let workflow = &whole(&library, text(given, "id").unwrap_or_default(), io)?.workflow;
    let workflow = match text(given, "variant") {
        Some(name) => &variant(workflow, name)?,
        None => workflow,
    };
    match text(given, "format") {
        _ if io.json => {
            let edges: Vec<_> = edges(workflow).collect();
            let steps = workflow.order();
            io.print(json!({"id": workflow.id, "gates": workflow.gates, "steps": steps, "edges": edges}))
        }
        Some("dot") => io.print(dot(workflow).trim_end()),
        Some("mermaid") => io.print(mermaid(workflow).trim_end()),
        _ => draw(io, workflow),
    }
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

/// Draws boxes if they fit on a terminal; otherwise a line for each step, in the order they are walked.
fn draw(io: &mut Io, workflow: &Workflow) -> anyhow::Result<u8> {
    let drawn = io.terminal.then(|| boxes::draw(workflow));
    let Some(drawn) = drawn.filter(|drawn| io.width.is_none_or(|width| drawn.width() <= width)) else {
        let row = |step: &&Step| {
            let needs: Vec<_> = step.needs.iter().map(|need| need.to.as_str()).collect();
            [step.id.clone(), phase(step), needs.join(","), done_by(step), step.name.clone()].map(Cell::from)
        };
        return io
            .table(["step", "phase", "after", "by", "name"], workflow.order().iter().map(row).collect());
    };
    let head = format!("{}  gates: {}", workflow.title, gates(&workflow.gates));
    writeln!(io.out, "{}\n", Tone::Strong.paint(&clean(&head), io))?;
    for (label, line) in drawn.lines() {
        let tone = if label.trim().is_empty() { Tone::Plain } else { Tone::Quiet };
        writeln!(io.out, "{}", format!("{}{line}", tone.paint(&label, io)).trim_end())?;
    }
    Ok(0)
}

pub(super) fn mermaid(workflow: &Workflow) -> String {
    // Steps get numbers here: an id such as `end` is a keyword of Mermaid.
    let number = |id: &str| workflow.steps.iter().position(|step| step.id == id).unwrap_or_default();
    let title = quoted(&format!("{} (gates: {})", workflow.title, gates(&workflow.gates)));
    let mut out = format!("---\ntitle: {title}\n---\nflowchart TD\n");
    for step in workflow.order() {
        let _ = writeln!(out, "  s{}[\"{}\"]", number(&step.id), entities(&label(step)));
    }
    for (from, to) in edges(workflow) {
        let _ = writeln!(out, "  s{} --> s{}", number(from), number(to));
    }
    out
}

pub(super) fn dot(workflow: &Workflow) -> String {
    let title = quoted(&format!("{}\ngates: {}", workflow.title, gates(&workflow.gates)));
    let mut out = format!("digraph {} {{\n", quoted(&workflow.id));
    let _ = writeln!(out, "  graph [label={title}, labelloc=t, fontname=\"sans-serif\"];");
    out.push_str("  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n");
    for step in workflow.order() {
        let id = quoted(&step.id);
        let label = quoted(&label(step));
        let tooltip = quoted(&step.description);
        let _ = writeln!(out, "  {id} [label={label}, tooltip={tooltip}];");
    }
    for (from, to) in edges(workflow) {
        let _ = writeln!(out, "  {} -> {};", quoted(from), quoted(to));
    }
    out + "}\n"
}

fn label(step: &Step) -> String {
    let parts = [step.name.clone(), phase(step), done_by(step)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Edges from a needed step to the step that needs it.
fn edges(workflow: &Workflow) -> impl Iterator<Item = (&str, &str)> {
    let steps = workflow.order().into_iter();
    steps.flat_map(|step| step.needs.iter().map(|need| (need.to.as_str(), step.id.as_str())))
}

fn quoted(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        '\n' => "\\n".to_owned(),
        c if c.is_control() => " ".to_owned(),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// A label for Mermaid: everything that could end it, or begin markup, becomes a numbered entity.
fn entities(text: &str) -> String {
    let escape = |c: char| match c {
        '\n' => "<br>".to_owned(),
        '"' | '#' | '&' | '<' | '>' | '`' | '\\' => format!("#{};", c as u32),
        c if c.is_control() => " ".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}
