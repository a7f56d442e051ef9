//! `undo`: lists and shows what was saved before commands removed it, and restores it.
//!
//! Reads and writes the store of the project in the working directory, and the places that the saved files
//! come from.
//! Invariants: an interrupted undo is finished before anything else; every verb needs a person, and restoring
//! also a terminal.

mod show;

use super::checkpoint::size;
use super::table::{Cell, Tone, clean};
use super::{Command, Io, allowed, flag, operand, option, refused, text, yes};
use aops_core::checkpoint::store::Store;
use aops_core::checkpoint::tree::name;
use aops_core::config::problem::meant;
use aops_core::config::texts;
use aops_core::model::error::{Code, Failure};
use aops_core::text::plain::count;
use aops_core::text::time;
use aops_core::undo::before::describe;
use aops_core::undo::bring::{self, Brought};
use aops_core::undo::form::Keeping;
use aops_core::undo::survey::{Fate, Survey, survey};
use aops_core::undo::{elsewhere, shelf};
use aops_shell::verbs::Who;
use clap::ArgMatches;
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

pub const COMMAND: Command = Command {
    name: "undo",
    about: "Bring back what a command took away (needs a person at a terminal)",
    examples: &[
        ("aops-hook undo list", "what was kept: number, age, session, command, content, size, state"),
        ("aops-hook undo --dry-run", "what bringing back the newest would change"),
        ("aops-hook undo 17", "bring back number 17; the present is kept first"),
        ("aops-hook undo 17 --force", "also over files that changed since"),
        ("aops-hook undo 17 --to ../before", "write the kept files to a new folder, and change nothing else"),
    ],
    arguments: |row| {
        let number =
            operand("number", "N", "A number of `undo list`; without it the newest that is not undone");
        row.args([
            yes().global(true),
            number,
            flag("dry-run", "Show what it would do, and do nothing"),
            flag("force", "Also replace what changed since; it is kept first"),
            option("to", "FOLDER", "Write the kept files to this new folder instead"),
        ])
        .subcommands(VERBS.iter().map(|verb| (verb.arguments)(verb.row())))
    },
    run,
};

pub(super) static VERBS: &[Command] = &[LIST, show::SHOW];

const LIST: Command = Command {
    name: "list",
    about: "List what was kept, the newest first",
    examples: &[("aops-hook undo list --json", "for a program, the oldest first")],
    arguments: |row| row,
    run: list,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if let Some(brought) = bring::finish_pending(io.env, &root(io), None)? {
        if !io.json {
            writeln!(io.out, "the interrupted undo of {} was finished now", brought.number)?;
        }
        // Without a number, the call meant the interrupted undo.
        if given.subcommand_name().is_none() && !given.contains_id("number") {
            return print_done(io, &brought, false);
        }
    }
    if let Some(code) = Command::run_verb("undo", VERBS, given, io)? {
        return Ok(code);
    }
    bring_back(given, io)
}

fn root(io: &Io) -> PathBuf {
    texts::project(io.env, &io.env.cwd)
}

fn store(io: &Io) -> anyhow::Result<Store> {
    let none = "nothing was kept in this project yet\nhint: it is kept right before a command would lose it";
    Store::look(&root(io))?.map_or_else(|| refused(none), Ok)
}

/// The given number, or the newest one that can be restored.
fn pick(given: &ArgMatches, io: &Io) -> anyhow::Result<u64> {
    let list = "`aops-hook undo list` shows what was kept";
    let store = store(io)?;
    let all = shelf::numbers(&store)?;
    let Some(word) = text(given, "number") else {
        // The state that an undo replaced is restored only by its number; otherwise two undos would
        // alternate.
        let is_open = |number: &u64| {
            let keeping = shelf::look(&store, *number).ok().flatten();
            keeping.is_some_and(|keeping| !keeping.call_id.is_empty())
                && shelf::undone(&store, *number).is_ok_and(|undone| undone.is_none())
        };
        let newest = all.into_iter().rev().find(is_open);
        return newest.map_or_else(|| refused(format!("there is nothing to bring back\nhint: {list}")), Ok);
    };
    match word.parse::<u64>() {
        Ok(number) if all.contains(&number) => Ok(number),
        Ok(number) => refused(format!("nothing is kept as {number}\nhint: {list}")),
        Err(_) => {
            let near = meant(word, VERBS.iter().map(|verb| verb.name));
            refused(format!("`{}` is not a number{near}\nhint: {list}", word.escape_default()))
        }
    }
}

/// Paths of the project relative to its root, others in full.
fn shown(io: &Io, path: &str) -> String {
    let root = root(io);
    let inside = Path::new(path).strip_prefix(&root).ok().and_then(Path::to_str);
    clean(&name::shown(inside.unwrap_or(path))).into_owned()
}

fn state(store: &Store, number: u64) -> &'static str {
    match shelf::undone(store, number) {
        Ok(Some(_)) => "undone",
        _ => "kept",
    }
}

fn list(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let store = Store::look(&root(io))?;
    let numbers = store.as_ref().map_or_else(|| Ok(Vec::new()), shelf::numbers)?;
    let mut rows = Vec::new();
    let mut values = Vec::new();
    for (number, store) in numbers.into_iter().zip(store.iter().cycle()) {
        let keeping = match shelf::read(io.env, store, number) {
            Ok(Some(keeping)) => keeping,
            Ok(None) => continue,
            Err(failure) => {
                values.push(json!({"number": number, "state": "damaged", "problem": failure.to_string()}));
                let bad = Cell::new("damaged", Tone::Bad);
                let empty = || Cell::from("");
                rows.push([
                    number.to_string().into(),
                    empty(),
                    empty(),
                    bad,
                    empty(),
                    empty(),
                    failure.what.into(),
                ]);
                continue;
            }
        };
        let what = describe(&keeping);
        let state = state(store, number);
        let age = time::parse(&keeping.at).map(|at| time::age(io.env.now_ms - at)).unwrap_or_default();
        values.push(json!({
            "number": number, "at": keeping.at, "session_id": keeping.session_id, "line": keeping.line,
            "rule": keeping.rule, "what": what, "files": keeping.count(), "bytes": keeping.bytes(),
            "state": state,
        }));
        let tone = if state == "kept" { Tone::Good } else { Tone::Quiet };
        rows.push([
            number.to_string().into(),
            Cell::new(age, Tone::Quiet),
            keeping.session_id.clone().into(),
            Cell::new(state, tone),
            what.into(),
            size(keeping.bytes()).into(),
            keeping.line.clone().into(),
        ]);
    }
    if io.json {
        return io.print(Value::from(values));
    }
    if rows.is_empty() {
        writeln!(io.out, "nothing was kept in this project yet")?;
    }
    rows.reverse();
    io.table_within(["#", "age", "session", "state", "kept", "size", "command"], rows, &[2, 4])
}

fn bring_back(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let dry = given.get_flag("dry-run");
    let force = given.get_flag("force");
    if !dry && !given.contains_id("to") {
        allowed("undo", Who::AtTerminal, io)?;
    }
    let number = pick(given, io)?;
    let root = root(io);
    if let Some(to) = text(given, "to") {
        return write_to(io, &root, number, to, dry);
    }
    if dry || !io.yes {
        let survey = survey(io.env, &store(io)?, number, force)?;
        print_survey(io, &survey, dry)?;
        if dry {
            return Ok(u8::from(survey.has_conflicts()));
        }
        if !survey.is_empty() && !sure(io)? {
            return refused("nothing was done");
        }
    }
    let mut shown = Ok(());
    let mut conflicts = false;
    let done = bring::bring_back(io.env, &root, number, force, &mut |survey| {
        shown = if io.yes && !io.json { print_survey(io, survey, false) } else { Ok(()) };
        conflicts = survey.has_conflicts();
        Ok(())
    })?;
    shown?;
    match done {
        Some(brought) => print_done(io, &brought, conflicts),
        None if io.json => {
            io.print(
                json!({"number": number, "present": null, "files": 0, "problems": [], "whole": !conflicts}),
            )?;
            Ok(u8::from(conflicts))
        }
        None if conflicts => {
            io.print(hint_at_conflicts(number))?;
            Ok(1)
        }
        None => io.print(format!("everything is as it was kept as {number}")),
    }
}

fn hint_at_conflicts(number: u64) -> String {
    format!(
        "what changed since was left alone\nhint: `aops-hook undo {number} --force` replaces it and keeps it \
        first; `aops-hook undo {number} --to FOLDER` writes the kept files elsewhere"
    )
}

fn write_to(io: &mut Io, root: &Path, number: u64, to: &str, dry: bool) -> anyhow::Result<u8> {
    let to = io.env.from_here(Path::new(to));
    if to.symlink_metadata().is_ok() {
        return refused(format!(
            "`{}` exists already\nhint: name a folder that does not exist",
            to.display()
        ));
    }
    let files = if dry { 0 } else { elsewhere::write_to(io.env, root, number, &to)? };
    let words = if dry {
        format!("it would write to `{}`", to.display())
    } else {
        format!("{} of {number} in `{}`", count(files, "file"), to.display())
    };
    io.answer(&json!({"number": number, "folder": to, "files": files, "dry_run": dry}), words)
}

fn sure(io: &mut Io) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let answer = io.ask("the present is kept first; continue? [y/N] ")?;
    Ok(matches!(answer.as_deref(), Some("y" | "Y" | "yes")))
}

/// How many paths of one kind are shown.
const SHOWN: usize = 20;

fn print_survey(io: &mut Io, survey: &Survey, dry: bool) -> anyhow::Result<()> {
    let keeping = &survey.keeping;
    if io.json && !dry {
        return Ok(());
    }
    if io.json {
        let item = |word: &str, path: &str| json!({"path": name::shown(path), "fate": word});
        let files = survey
            .items
            .iter()
            .filter_map(|item_of| fate(&item_of.fate).map(|word| item(word.0, &item_of.path)));
        let of_git = || survey.repositories.iter().flatten();
        let changes: Vec<&String> = of_git().flat_map(|decided| &decided.changes).collect();
        let left: Vec<&String> =
            of_git().flat_map(|decided| &decided.conflicts).chain(&survey.conflicts).collect();
        let files: Vec<Value> = files.collect();
        io.print(
            json!({"number": keeping.number, "files": files, "git": changes, "left": left, "dry_run": dry}),
        )?;
        return Ok(());
    }
    writeln!(io.out, "{}: `{}` ({})", keeping.number, clean(&keeping.line), describe(keeping))?;
    for word in ["comes back", "changes back", "goes", "left"] {
        let of_word: Vec<_> =
            survey.items.iter().filter(|item| fate(&item.fate).is_some_and(|(w, _)| w == word)).collect();
        for item in of_word.iter().take(SHOWN) {
            let (_, tone) = fate(&item.fate).unwrap_or(("", Tone::Plain));
            let why = if let Fate::Conflict(why) = &item.fate { format!(" ({why})") } else { String::new() };
            let line = format!("{word:13} {}{}", shown(io, &item.path), clean(&why));
            writeln!(io.out, "  {}", tone.paint(&line, io))?;
        }
        if of_word.len() > SHOWN {
            writeln!(io.out, "  {word:13} and {} more", of_word.len() - SHOWN)?;
        }
    }
    if survey.crontab.is_some() {
        writeln!(io.out, "  {}", Tone::Warn.paint("changes back  the table of `crontab`", io))?;
    }
    for decided in survey.repositories.iter().flatten() {
        for words in &decided.changes {
            writeln!(io.out, "  {}", Tone::Good.paint(&format!("{:13} {}", "git", clean(words)), io))?;
        }
    }
    let of_git = survey.repositories.iter().flatten().flat_map(|decided| &decided.conflicts);
    for words in of_git.chain(&survey.conflicts) {
        writeln!(io.out, "  {}", Tone::Bad.paint(&format!("{:13} {}", "left", clean(words)), io))?;
    }
    if survey.is_empty() && !survey.has_conflicts() {
        writeln!(io.out, "  nothing differs")?;
    }
    Ok(())
}

fn fate(fate: &Fate) -> Option<(&'static str, Tone)> {
    match fate {
        Fate::Same => None,
        Fate::Comes => Some(("comes back", Tone::Good)),
        Fate::Changes => Some(("changes back", Tone::Warn)),
        Fate::Goes => Some(("goes", Tone::Bad)),
        Fate::Conflict(_) => Some(("left", Tone::Bad)),
    }
}

fn print_done(io: &mut Io, brought: &Brought, conflicts: bool) -> anyhow::Result<u8> {
    let Brought { number, present, files, problems } = brought;
    let whole = problems.is_empty() && !conflicts;
    if io.json {
        io.print(json!({
            "number": number, "present": present, "files": files, "problems": problems, "whole": whole,
        }))?;
        return Ok(u8::from(!whole));
    }
    let what = if *files == 0 { String::new() } else { format!(": {}", count(*files, "file")) };
    writeln!(io.out, "brought back {number}{what}")?;
    for problem in problems {
        writeln!(io.out, "not brought back: {}", clean(problem))?;
    }
    if conflicts {
        writeln!(io.out, "{}", hint_at_conflicts(*number))?;
    }
    if !problems.is_empty() {
        writeln!(io.out, "hint: `aops-hook undo {number}` tries the rest again")?;
    }
    writeln!(io.out, "to take this back, run `aops-hook undo {present}`")?;
    Ok(u8::from(!whole))
}

/// The saved data that a person named.
fn named(given: &ArgMatches, io: &Io) -> anyhow::Result<(Store, Keeping)> {
    let number = pick(given, io)?;
    let store = store(io)?;
    let gone = || Failure::new(Code::InputInvalid, format!("nothing is kept as {number}"));
    let keeping = shelf::read(io.env, &store, number)?.ok_or_else(gone)?;
    Ok((store, keeping))
}
