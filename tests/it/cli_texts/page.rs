//! `docs/commands.md`: each command with its examples and one real run. `INSTA_UPDATE=always cargo nextest
//! run cli_texts` writes it anew.

use super::{IN_A_SESSION, IN_AN_EMPTY_PROJECT, NO_TRACKER, NOW, stable, words};
use crate::support::{BINARY, Sandbox};
use aops_hook::cli::COMMANDS;
use std::fmt::Write;

/// Lines of a run that are shown.
const SHOWN: usize = 16;

/// One run in a session with one refused change, as a person sees it.
fn shown(line: &str) -> String {
    let sandbox = Sandbox::new().with("AOPS_TEST_NOW_MS", NOW);
    sandbox.configure(NO_TRACKER);
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    session.write("hello.txt").refused(&["no plan yet"]);
    let said = sandbox.person(&words(line));
    let text = stable(&sandbox.scrub(&format!("{}{}", said.out, said.err).replace(BINARY, "aops-hook")));
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut page = format!("```console\n$ aops-hook {line}\n");
    for line in lines.iter().take(SHOWN) {
        writeln!(page, "{}", line.replace("```", "'''")).unwrap();
    }
    page + if lines.len() > SHOWN { "…\n```\n" } else { "```\n" }
}

fn page() -> String {
    let mut page = "# Commands\n\nTo find the command for what you want to do, look here. Each has `--help`, and `--json` for programs. The output is from a small session in a throwaway home.\n".to_owned();
    for command in COMMANDS {
        write!(page, "\n## `{}`\n\n{}.\n\n", command.name, command.about).unwrap();
        let lines = IN_A_SESSION.iter().chain(IN_AN_EMPTY_PROJECT);
        if let Some(line) = lines.into_iter().find(|line| words(line)[0] == command.name) {
            writeln!(page, "{}", shown(line)).unwrap();
        }
        page.push_str("| run | to |\n|---|---|\n");
        for (line, what) in command.examples {
            writeln!(page, "| `{}` | {} |", line.replace('|', "\\|"), what.replace('|', "\\|")).unwrap();
        }
    }
    page
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how a person asks a test to write")]
fn the_page_of_commands_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/commands.md");
    let page = page();
    if std::env::var("INSTA_UPDATE").is_ok_and(|asked| asked == "always") {
        std::fs::write(path, &page).unwrap();
    }
    let there = std::fs::read_to_string(path).unwrap_or_default();
    let changed = there.lines().zip(page.lines()).find(|(old, new)| old != new);
    assert!(
        there == page,
        "docs/commands.md is old: {changed:?}\nhint: run `INSTA_UPDATE=always cargo nextest run cli_texts`"
    );
}
