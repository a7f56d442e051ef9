//! Lists, shows, draws and checks workflows.
//!
//! Reads the texts in force, writes nothing. Invariants: a workflow with a problem is never shown; `check`
//! exits with 0 if there is no problem, and with 1 if there is one.

mod boxes;
mod graph;
#[cfg(test)]
mod tests;

use super::table::{Cell, Tone, clean};
use super::{Command, Io, Refused, flag, operand, refused, text};
use aops_core::config::texts::{self, Bounds, Kind, Library, Origin, Reading, Text, Texts};
use aops_core::config::workflow::{Gate, Held, Piece, Problem, Step, Variant, Workflow, meant, pieces};
use aops_core::system::env::Env;
use aops_core::text::plain::count;
use clap::{Arg, ArgMatches};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io;
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "workflow",
    about: "List, show, draw and check workflows",
    examples: &[
        ("aops-hook workflow list", "all workflows, with gates and origin"),
        ("aops-hook workflow show feature-dev", "the text, and every workflow it contains"),
        ("aops-hook workflow graph project", "its steps, drawn in the terminal"),
        ("aops-hook workflow check", "all problems of the workflows in force, by file and line"),
    ],
    arguments: |row| Command::verbs(VERBS, row),
    run,
};

static VERBS: &[Command] = &[LIST, SHOW, graph::VERB, CHECK];

const LIST: Command = Command {
    name: "list",
    about: "List the workflows with their gates, steps and origin",
    examples: &[
        ("aops-hook workflow list", "a line for each"),
        ("aops-hook workflow list --json", "the same for programs"),
    ],
    arguments: |row| row,
    run: list,
};

const CHECK: Command = Command {
    name: "check",
    about: "Report all problems of workflows, by file and line",
    examples: &[
        ("aops-hook workflow check", "all in force: embedded, the user's and the project's"),
        ("aops-hook workflow check .aops/workflows/release.md", "one file, as if it were in force"),
    ],
    arguments: |row| {
        let help = "Files to check, as if they were in force; none: everything in force";
        row.arg(operand("files", "FILE", help).num_args(0..))
    },
    run: check,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let Some((verb, given)) = Command::find(VERBS, given) else { return refused("say what to do") };
    (verb.run)(given, io)
}

fn id_operand() -> Arg {
    operand("id", "ID", "The workflow's id, as `workflow list` shows it").required(true)
}

fn library(io: &Io) -> Library {
    Library::of(io.env, texts::in_force(&Reading::new(io.env, &io.env.cwd)))
}

/// The workflow with this id, if neither it nor its parts have a problem.
fn whole<'a>(library: &'a Library, id: &str, io: &Io) -> anyhow::Result<&'a Held> {
    let catalogue = &library.catalogue;
    let Some(held) = catalogue.get(id) else {
        if let Some(file) = library.broken.get(id) {
            return broken(id, library.problems.iter().filter(|problem| problem.file == *file), io);
        }
        let near = meant(id, catalogue.ids());
        let hint = "hint: `aops-hook workflow list` shows what there is";
        return refused(format!("there is no workflow `{id}`{near}\n{hint}"));
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
    let lines: Vec<_> = problems.map(|problem| describe_problem(problem, io)).collect();
    let hint = "hint: repair it, then run `aops-hook workflow check`";
    let words = format!("`{id}` cannot be used\n{}\n{hint}", lines.join("\n"));
    Err(Refused { code: 1, words }.into())
}

/// The problem with its path relative to the working directory, safe on a terminal.
fn describe_problem(problem: &Problem, io: &Io) -> String {
    let Problem { line, what, .. } = problem;
    clean(&format!("{}:{line}: {what}", file_from_here(&problem.file, io))).into_owned()
}

fn file_from_here<'a>(file: &'a str, io: &Io) -> &'a str {
    let here = format!("{}/", io.env.cwd.display());
    file.strip_prefix(&here).unwrap_or(file)
}

fn gates(gates: &[Gate]) -> String {
    let names: Vec<_> = gates.iter().map(|gate| gate.name()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Who or what carries out a step.
fn done_by(step: &Step) -> String {
    let run = step.run.as_ref().map(|run| format!("$ {run}"));
    let agent = step.agent.as_ref().map(|agent| agent.to.clone());
    let inner = step.workflow.as_ref().map(|inner| format!("as in {}", inner.to));
    let parts: Vec<_> = [run, agent, inner].into_iter().flatten().collect();
    parts.join(", ")
}

fn phase(step: &Step) -> String {
    step.phase.map(|phase| phase.name().to_owned()).unwrap_or_default()
}

fn list(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let library = library(io);
    if io.json {
        return io.print(library.origins.keys().map(|id| to_json(&library, id)).collect::<Value>());
    }
    let rows = library.origins.iter().map(|(id, origin)| row(&library, id, *origin, io)).collect();
    io.table(["workflow", "gates", "steps", "origin", "title"], rows)
}

fn to_json(library: &Library, id: &str) -> Value {
    let origin = library.origins.get(id);
    let Some(Held { file, workflow, .. }) = library.catalogue.get(id) else {
        return json!({"id": id, "origin": origin, "file": library.broken.get(id), "broken": true});
    };
    let steps: Vec<_> = workflow.order().iter().map(|step| &step.id).collect();
    let variants: Vec<_> = workflow.variants.iter().map(|variant| &variant.name).collect();
    json!({
        "id": id, "title": workflow.title, "category": workflow.category, "gates": workflow.gates,
        "steps": steps, "variants": variants, "origin": origin, "file": file, "broken": false,
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

fn check(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let reading = Reading::new(io.env, &io.env.cwd);
    let mut texts = texts::in_force(&reading).clone();
    let mut named = Vec::new();
    for file in given.get_many::<String>("files").unwrap_or_default() {
        let path = io.env.from_here(Path::new(file));
        named.push(path.display().to_string());
        put(io.env, &mut texts, &path, reading.root());
    }
    let library = Library::of(io.env, &texts);
    let wanted = |problem: &&Problem| named.is_empty() || named.contains(&problem.file);
    let problems: Vec<_> = library.problems.iter().filter(wanted).collect();
    report(io, if named.is_empty() { library.origins.len() } else { named.len() }, &problems)?;
    Ok(u8::from(!problems.is_empty()))
}

/// Adds a file to the texts in force, replacing the one with its name.
fn put(env: &Env, texts: &mut Texts, path: &Path, project: &Path) {
    let file = path.display().to_string();
    let ours = path.starts_with(project.join(".aops/workflows"));
    // Its problems are reported once, below.
    texts.problems.retain(|problem| problem.file != file);
    let text = match texts::read_text(path, ours.then(|| Bounds::of(env, project))) {
        Ok(Some(text)) => text,
        Ok(None) => return texts.problems.push(Problem::new(file, 1, "there is no such file")),
        Err(why) => return texts.problems.push(Problem::new(file, 1, why)),
    };
    let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    texts.texts.retain(|text| text.kind != Kind::Workflow || text.id != id);
    let origin = if ours { Origin::Project } else { Origin::User };
    texts.texts.push(Text { kind: Kind::Workflow, id, origin, file, text: Cow::Owned(text) });
}

fn report(io: &mut Io, checked: usize, problems: &[&Problem]) -> anyhow::Result<u8> {
    if io.json {
        let row = |problem: &&Problem| {
            let file = file_from_here(&problem.file, io);
            json!({"file": file, "line": problem.line, "what": problem.what})
        };
        let rows: Vec<_> = problems.iter().map(row).collect();
        return io.print(json!({"ok": problems.is_empty(), "workflows": checked, "problems": rows}));
    }
    for problem in problems {
        let line = describe_problem(problem, io);
        writeln!(io.out, "{line}")?;
    }
    let checked = count(checked, "workflow");
    match problems.len() {
        0 => io.print(format!("{checked}, no problems")),
        wrong => io.print(format!("{} in {checked}", count(wrong, "problem"))),
    }
}

const SHOW: Command = Command {
    name: "show",
    about: "Show a workflow: its text, and every workflow it contains",
    examples: &[
        ("aops-hook workflow show feature-dev", "text, steps, and what it contains"),
        ("aops-hook workflow show feature-dev --full", "the texts of what it contains too"),
        ("aops-hook workflow show project --json", "steps, gates and variants for programs"),
    ],
    arguments: |row| row.args([id_operand(), flag("full", "Print the texts of contained workflows too")]),
    run: show,
};

fn show(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
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

/// Prints the frontmatter as text.
fn about(io: &mut Io, library: &Library, held: &Held) -> io::Result<()> {
    let Held { file, workflow, .. } = held;
    let whose = match library.origins.get(&workflow.id) {
        Some(origin) if *origin != Origin::Embedded => format!("{origin} ({})", file_from_here(file, io)),
        _ => Origin::Embedded.to_string(),
    };
    let step = |(n, step): (usize, &&Step)| {
        let by =
            Some(done_by(step)).filter(|by| !by.is_empty()).map(|by| format!("({by})")).unwrap_or_default();
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

/// Prints the body; a link becomes the name of its target, and headings and links are highlighted on a
/// terminal.
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
