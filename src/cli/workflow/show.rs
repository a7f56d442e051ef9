//! Shows one workflow: its text with the links resolved, and what it contains.
//!
//! Reads the texts in force, writes nothing. Invariant: each contained workflow is listed once, depth first, in the order
//! of its first mention.

use super::{Command, Io, done_by, file_from_here, gates, id_operand, library, phase, whole};
use crate::cli::table::{Tone, clean};
use crate::cli::{flag, text};
use crate::config::texts::{Library, Origin};
use crate::config::workflow::{Held, Piece, Step, Variant, Workflow, pieces};
use clap::ArgMatches;
use serde_json::json;
use std::io;

pub(super) const VERB: Command = Command {
    name: "show",
    about: "Show a workflow: its text, and every workflow it contains",
    examples: &[
        ("aops-hook workflow show feature-dev", "text, steps, and what it contains"),
        ("aops-hook workflow show feature-dev --full", "the texts of what it contains too"),
        ("aops-hook workflow show project --json", "steps, gates and variants for programs"),
    ],
    arguments: |row| row.args([id_operand(), flag("full", "Print the texts of contained workflows too")]),
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let library = library(io);
    let id = text(given, "id").unwrap_or_default();
    let held = whole(&library, id, io)?;
    let contained = library.catalogue.contained(id);
    if io.json {
        let mut value = serde_json::to_value(&held.workflow)?;
        let ids: Vec<_> = contained.iter().map(|held| &held.workflow.id).collect();
        value["contains"] = json!(ids);
        value["origin"] = json!(library.origins.get(id));
        value["file"] = json!(held.file);
        return io.print(value);
    }
    about(io, &library, held)?;
    body(io, &held.workflow)?;
    if !contained.is_empty() {
        writeln!(io.out, "\n{}\n", Tone::Strong.paint("## Contains", io))?;
        for held in &contained {
            let Workflow { id, title, gates: own, .. } = &held.workflow;
            writeln!(io.out, "{}", clean(&format!("- {id}: {title}; gates: {}", gates(own))))?;
        }
    }
    if given.get_flag("full") {
        for held in contained {
            writeln!(io.out, "\n---\n")?;
            about(io, &library, held)?;
            body(io, &held.workflow)?;
        }
    }
    Ok(0)
}

/// What stands in the frontmatter, in words.
fn about(io: &mut Io, library: &Library, held: &Held) -> io::Result<()> {
    let Held { file, workflow, .. } = held;
    let whose = match library.origins.get(&workflow.id) {
        Some(origin) if *origin != Origin::Embedded => format!("{origin} ({})", file_from_here(file, io)),
        _ => Origin::Embedded.to_string(),
    };
    let step = |(n, step): (usize, &&Step)| {
        let by = Some(done_by(step)).filter(|by| !by.is_empty()).map(|by| format!("({by})")).unwrap_or_default();
        (if n == 0 { "steps" } else { "" }, format!("{:<9} {:<16} {by}", phase(step), step.id))
    };
    let variant = |(n, variant): (usize, &Variant)| {
        let skips: Vec<_> = variant.skip.iter().map(|skip| skip.to.as_str()).collect();
        let skips = if skips.is_empty() { "nothing".to_owned() } else { skips.join(", ") };
        (if n == 0 { "variants" } else { "" }, format!("{:<16} without {skips}", variant.name))
    };
    let mut facts = vec![
        ("id", workflow.id.clone()),
        ("category", workflow.category.clone()),
        ("gates", gates(&workflow.gates)),
        ("origin", whose),
    ];
    facts.extend(workflow.order().iter().enumerate().map(step));
    facts.extend(workflow.variants.iter().enumerate().map(variant));
    for (name, fact) in facts {
        writeln!(io.out, "{} {}", Tone::Quiet.paint(&format!("{name:<9}"), io), clean(fact.trim_end()))?;
    }
    writeln!(io.out)
}

/// The body; a link is the name it leads to, headings and links stand out on a terminal.
fn body(io: &mut Io, workflow: &Workflow) -> io::Result<()> {
    let resolved = |piece: Piece| match piece {
        Piece::Text(text) => {
            text.split('\n').map(|line| clean(line.trim_end_matches('\r'))).collect::<Vec<_>>().join("\n")
        }
        Piece::Link { label, .. } => Tone::Strong.paint(&clean(label), io).into_owned(),
    };
    let whole: String = pieces(workflow.body.trim(), 1).into_iter().map(resolved).collect();
    for line in whole.lines() {
        let tone = if line.starts_with('#') { Tone::Strong } else { Tone::Plain };
        writeln!(io.out, "{}", tone.paint(line, io))?;
    }
    Ok(())
}
