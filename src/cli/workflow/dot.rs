//! Writes a workflow as a graph in the DOT language.
//!
//! Reads a workflow, writes nothing. Invariant: whatever a text holds, it stays inside its quotes.

use super::{done_by, gates, phase};
use crate::config::workflow::Workflow;
use std::fmt::Write;

pub(super) fn draw(workflow: &Workflow) -> String {
    let mut dot = String::new();
    let _ = writeln!(dot, "digraph {} {{", quoted(&workflow.id));
    let title = format!("{}\ngates: {}", workflow.title, gates(&workflow.gates));
    let _ = writeln!(dot, "  graph [label={}, labelloc=t, fontname=\"sans-serif\"];", quoted(&title));
    dot.push_str("  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n");
    for step in workflow.order() {
        let parts = [step.name.clone(), phase(step), done_by(step)];
        let label = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
        let tooltip = quoted(&step.description);
        let _ = writeln!(dot, "  {} [label={}, tooltip={tooltip}];", quoted(&step.id), quoted(&label));
    }
    for step in workflow.order() {
        for need in &step.needs {
            let _ = writeln!(dot, "  {} -> {};", quoted(&need.to), quoted(&step.id));
        }
    }
    dot.push_str("}\n");
    dot
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
