//! `man`: the manual pages, made from the same table as `--help`.
//!
//! Reads the table of commands; with `--output` writes one file for each page. Invariant: a page contains
//! only what is in the table.

use super::{COMMANDS, Command, Io, operand, option, parser, refused, text};
use anyhow::Context;
use clap::ArgMatches;
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "man",
    about: "Print a manual page, or write them all",
    examples: &[
        ("aops-hook man | man -l -", "the page of the program"),
        ("aops-hook man checkpoint | man -l -", "the page of one command"),
        ("aops-hook man --output ~/.local/share/man/man1", "all pages, for `man aops-hook-checkpoint`"),
    ],
    arguments: |row| {
        row.arg(operand("command", "COMMAND", "A command; nothing for the program itself"))
            .arg(option("output", "FOLDER", "Write every page to this folder").conflicts_with("command"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let mut all = parser();
    all.build();
    if let Some(folder) = text(given, "output") {
        let folder = io.env.from_here(Path::new(folder));
        std::fs::create_dir_all(&folder).with_context(|| format!("`{}`", folder.display()))?;
        let mut pages = vec![("aops-hook".to_owned(), page("aops-hook", &all))];
        pages.extend(COMMANDS.iter().filter_map(|one| {
            Some((
                format!("aops-hook-{}", one.name),
                page(&format!("aops-hook {}", one.name), all.find_subcommand(one.name)?),
            ))
        }));
        for (name, page) in &pages {
            let path = folder.join(format!("{name}.1"));
            std::fs::write(&path, page).with_context(|| format!("`{}`", path.display()))?;
        }
        let words = format!("wrote {} pages to {}", pages.len(), folder.display());
        return io.answer(&json!({"folder": folder, "pages": pages.len()}), words);
    }
    let page = match text(given, "command").map(|name| (name, all.find_subcommand(name))) {
        None => page("aops-hook", &all),
        Some((name, Some(command))) => page(&format!("aops-hook {name}"), command),
        Some((name, None)) => {
            return refused(format!("no command `{name}`\nhint: `aops-hook --help` lists them"));
        }
    };
    io.answer(&json!({"page": page}), page.trim_end())
}

/// One page in the `man` markup.
fn page(name: &str, command: &clap::Command) -> String {
    let title = name.replace(' ', "-");
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut out = format!(
        ".TH {} 1 \"\" \"aops-hook {}\" \"aops-hook\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
        roff(&title.to_uppercase()),
        env!("CARGO_PKG_VERSION"),
        roff(&title),
        roff(&about)
    );
    let usage = command.clone().render_usage().to_string();
    let _ = writeln!(out, "{}", roff(usage.trim_start_matches("Usage: ")));
    section(&mut out, "OPTIONS", &options(command));
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help");
    let verbs: Vec<(String, String)> = verbs
        .map(|verb| {
            (verb.get_name().to_owned(), verb.get_about().map(ToString::to_string).unwrap_or_default())
        })
        .collect();
    section(&mut out, "COMMANDS", &verbs);
    for verb in command.get_subcommands().filter(|verb| name != "aops-hook" && verb.get_name() != "help") {
        section(&mut out, &format!("{} {}", name, verb.get_name()).to_uppercase(), &options(verb));
    }
    let more = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    match more.strip_prefix("Examples:\n") {
        Some(examples) => {
            let _ = write!(out, ".SH EXAMPLES\n.nf\n{}\n.fi\n", roff(examples.trim_end()));
        }
        None if !more.is_empty() => {
            let _ = write!(out, ".SH NOTES\n{}\n", roff(&more));
        }
        None => {}
    }
    out.push_str(
        ".SH EXIT STATUS\n0 done; 1 it failed; 2 refused or wrong usage; 3 paused, a person is \
        needed; 4 the record is damaged.\n",
    );
    out
}

/// Each option and operand with its help.
fn options(command: &clap::Command) -> Vec<(String, String)> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let told = |arg: &clap::Arg| {
        let names =
            [arg.get_short().map(|c| format!("-{c}")), arg.get_long().map(|name| format!("--{name}"))];
        let names: Vec<String> = names.into_iter().flatten().collect();
        let value = arg.get_value_names().unwrap_or_default().iter().map(|name| format!("<{name}>"));
        let value =
            if arg.get_action().takes_values() { value.collect::<Vec<_>>().join(" ") } else { String::new() };
        let words = [names.join(", "), value].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        (words.join(" "), arg.get_help().map(ToString::to_string).unwrap_or_default())
    };
    shown.map(told).collect()
}

fn section(out: &mut String, title: &str, rows: &[(String, String)]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, ".SH {}", roff(title));
    for (name, words) in rows {
        let _ = write!(out, ".TP\n.B {}\n{}\n", roff(name), roff(words));
    }
}

/// Text escaped for `man`: no line begins with a command of its markup, and hyphens can be copied.
fn roff(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    let guard =
        |line: &str| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() };
    escaped.lines().map(guard).collect::<Vec<_>>().join("\n")
}
