//! Writes a workflow as source for graph tools: Mermaid and DOT.
//!
//! Reads a workflow, writes nothing. Invariant: a text of the workflow stays inside its quotes.

use super::{done_by, gates, phase};
use crate::config::workflow::{Step, Workflow};
use std::fmt::Write;

/// A Mermaid flowchart, as GitHub and most Markdown viewers draw it.
pub(super) fn mermaid(workflow: &Workflow) -> String {
    // Steps have numbers here: an id such as `end` is a keyword of Mermaid.
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

/// A graph in the DOT language, for Graphviz.
pub(super) fn dot(workflow: &Workflow) -> String {
    let title = quoted(&format!("{}\ngates: {}", workflow.title, gates(&workflow.gates)));
    let mut out = format!("digraph {} {{\n", quoted(&workflow.id));
    let _ = writeln!(out, "  graph [label={title}, labelloc=t, fontname=\"sans-serif\"];");
    out.push_str("  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n");
    for step in workflow.order() {
        let (id, label, tooltip) = (quoted(&step.id), quoted(&label(step)), quoted(&step.description));
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

/// From a step that is needed to the one that needs it.
pub(super) fn edges(workflow: &Workflow) -> impl Iterator<Item = (&str, &str)> {
    let steps = workflow.order().into_iter();
    steps.flat_map(|step| step.needs.iter().map(|need| (need.to.as_str(), step.id.as_str())))
}

fn quoted(text: &str) -> String {
    let escape = |c: char| match c {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        c if c.is_control() => " ".to_owned(),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// A label of Mermaid: everything that could end it, or begin markup, becomes a numbered entity.
fn entities(text: &str) -> String {
    let escape = |c: char| match c {
        '\n' => "<br>".to_owned(),
        '"' | '#' | '&' | '<' | '>' | '`' | '\\' => format!("#{};", c as u32),
        c if c.is_control() => " ".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}
