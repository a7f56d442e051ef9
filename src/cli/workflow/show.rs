//! Shows one workflow: its text with the links resolved, and what it contains.
//!
//! Reads the texts in force, writes nothing. Invariant: each contained workflow is listed once, depth first, in the order
//! of its first mention.

use super::super::Io;
use super::super::table::{Tone, clean};
use super::{Command, Who, done_by, file_from_here, gates, id_argument, library, phase, whole};
use crate::config::texts::{Library, Origin};
use crate::config::workflow::{Held, Piece, Workflow, pieces};
use clap::{Arg, ArgAction, ArgMatches};
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
    who: Who::Anyone,
    arguments: |row| {
        let full = Arg::new("full").long("full").action(ArgAction::SetTrue);
        id_argument(row).arg(full.help("Print the texts of contained workflows too"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let library = library(io);
    let id = given.get_one::<String>("id").map_or("", String::as_str);
    let held = whole(&library, id, io)?;
    let contained = library.catalogue.contained(id);
    if io.json {
        let mut value = serde_json::to_value(&held.workflow)?;
        let ids: Vec<_> = contained.iter().map(|held| &held.workflow.id).collect();
        value["contains"] = json!(ids);
        value["origin"] = json!(library.origins.get(id));
        value["file"] = json!(held.file);
        writeln!(io.out, "{value}")?;
        return Ok(0);
    }
    about(io, &library, held)?;
    text(io, &held.workflow)?;
    if !contained.is_empty() {
        writeln!(io.out, "\n{}\n", Tone::Strong.paint("## Contains", io))?;
        for held in &contained {
            let Workflow { id, title, gates: own, .. } = &held.workflow;
            let line = format!("- {id}: {title}; gates: {}", gates(own));
            writeln!(io.out, "{}", clean(&line))?;
        }
    }
    if given.get_flag("full") {
        for held in contained {
            writeln!(io.out, "\n---\n")?;
            about(io, &library, held)?;
            text(io, &held.workflow)?;
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
    let facts = [
        ("id", workflow.id.clone()),
        ("category", workflow.category.clone()),
        ("gates", gates(&workflow.gates)),
        ("origin", whose),
    ];
    for (name, fact) in facts {
        writeln!(io.out, "{} {}", Tone::Quiet.paint(&format!("{name:<9}"), io), clean(&fact))?;
    }
    for (n, step) in workflow.order().iter().enumerate() {
        let label = if n == 0 { "steps" } else { "" };
        let by = Some(done_by(step)).filter(|by| !by.is_empty()).map(|by| format!("({by})"));
        let line = format!("{:<9} {:<16} {}", phase(step), step.id, by.unwrap_or_default());
        writeln!(io.out, "{} {}", Tone::Quiet.paint(&format!("{label:<9}"), io), clean(line.trim_end()))?;
    }
    for (n, variant) in workflow.variants.iter().enumerate() {
        let label = if n == 0 { "variants" } else { "" };
        let skips: Vec<_> = variant.skip.iter().map(|skip| skip.to.as_str()).collect();
        let skips = if skips.is_empty() { "nothing".to_owned() } else { skips.join(", ") };
        let line = format!("{:<16} without {skips}", variant.name);
        writeln!(io.out, "{} {}", Tone::Quiet.paint(&format!("{label:<9}"), io), clean(&line))?;
    }
    writeln!(io.out)
}

/// The body; a link is the name it leads to, headings and links stand out on a terminal.
fn text(io: &mut Io, workflow: &Workflow) -> io::Result<()> {
    let resolved = |piece: Piece| match piece {
        Piece::Text(text) => text.lines().map(clean).collect::<Vec<_>>().join("\n") + ending(text),
        Piece::Link { label, .. } => Tone::Strong.paint(&clean(label), io).into_owned(),
    };
    let whole: String = pieces(workflow.body.trim(), 1).into_iter().map(resolved).collect();
    for line in whole.lines() {
        let tone = if line.starts_with('#') { Tone::Strong } else { Tone::Plain };
        let line = tone.paint(line, io).into_owned();
        writeln!(io.out, "{line}")?;
    }
    Ok(())
}

fn ending(text: &str) -> &'static str {
    if text.ends_with('\n') { "\n" } else { "" }
}
