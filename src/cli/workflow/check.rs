//! Checks every workflow in force, or the given files, and reports all problems by file and line.
//!
//! Reads the texts in force and the named files, writes nothing. Invariant: no problem, exit code 0; any, exit code 1.

use super::super::Io;
use super::{Command, Who, file_from_here, shown};
use crate::config::texts::{self, Kind, Library, Origin, Text, Texts};
use crate::config::workflow::Problem;
use clap::{Arg, ArgMatches};
use serde_json::json;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

pub(super) const VERB: Command = Command {
    name: "check",
    about: "Report all problems of workflows, by file and line",
    examples: &[
        ("aops-hook workflow check", "all in force: embedded, the user's and the project's"),
        ("aops-hook workflow check .aops/workflows/release.md", "one file, as if it were in force"),
    ],
    who: Who::Anyone,
    arguments: |row| {
        let files = Arg::new("files").value_name("FILE").num_args(0..);
        row.arg(files.help("Files to check, as if they were in force; none: everything in force"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let files: Vec<PathBuf> = given.get_many::<String>("files").unwrap_or_default().map(PathBuf::from).collect();
    let project = texts::project(io.env, &io.env.cwd);
    let mut texts = texts::in_force(io.env, &project);
    let mut named = Vec::new();
    for file in &files {
        let path = io.env.from_here(file);
        named.push(path.display().to_string());
        put(&mut texts, &path, &project);
    }
    let library = Library::of(io.env, &texts);
    let wanted = |problem: &&Problem| named.is_empty() || named.contains(&problem.file);
    let problems: Vec<_> = library.problems.iter().filter(wanted).collect();
    let count = if named.is_empty() { library.origins.len() } else { named.len() };
    report(io, count, &problems)?;
    Ok(u8::from(!problems.is_empty()))
}

/// Puts a file among the texts in force, in the place of the one with its name.
fn put(texts: &mut Texts, path: &Path, project: &Path) {
    let file = path.display().to_string();
    let ours = path.starts_with(project.join(".aops/workflows"));
    // Its problems are reported below, once.
    texts.problems.retain(|problem| problem.file != file);
    let text = match texts::read_text(path, ours.then_some(project)) {
        Ok(Some(text)) => text,
        Ok(None) => return texts.problems.push(Problem::new(file, 1, "there is no such file")),
        Err(why) => return texts.problems.push(Problem::new(file, 1, why)),
    };
    let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    texts.texts.retain(|text| text.kind != Kind::Workflow || text.id != id);
    let origin = if ours { Origin::Project } else { Origin::User };
    texts.texts.push(Text { kind: Kind::Workflow, id, origin, file, text: Cow::Owned(text) });
}

fn report(io: &mut Io, count: usize, problems: &[&Problem]) -> anyhow::Result<()> {
    let several = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    if io.json {
        let rows: Vec<_> = problems
            .iter()
            .map(|problem| json!({"file": file_from_here(&problem.file, io), "line": problem.line, "what": problem.what}))
            .collect();
        let value = json!({"ok": problems.is_empty(), "workflows": count, "problems": rows});
        writeln!(io.out, "{value}")?;
        return Ok(());
    }
    for problem in problems {
        let line = shown(problem, io);
        writeln!(io.out, "{line}")?;
    }
    let last = if problems.is_empty() {
        format!("{}, no problems", several(count, "workflow"))
    } else {
        format!("{} in {}", several(problems.len(), "problem"), several(count, "workflow"))
    };
    writeln!(io.out, "{last}")?;
    Ok(())
}
