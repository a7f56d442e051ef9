//! Shows what is in force, as values, as one hash, and against what a session recorded.
//!
//! Reads configuration, texts and one session, writes nothing. Invariant: shows all of it or, with exit code 2, all that
//! is wrong.

mod diff;
mod show;
mod trial;

use super::{Command, Io, Who, refused};
use crate::config::in_force::{self, InForce};
use clap::{Arg, ArgAction, ArgMatches};
use serde_json::json;

pub const COMMAND: Command = Command {
    name: "policy",
    about: "Show the policy in force, its hash, or what changed since a session began",
    examples: &[
        ("aops-hook policy", "every effective value, and the file and line it comes from"),
        ("aops-hook policy hash", "one hash over configuration, agents, workflows, axioms and templates"),
        ("aops-hook policy diff", "what changed since the newest session of this project recorded it"),
        ("aops-hook policy show --test", "try every rule on its own `examples`; exit code 1 if one fails"),
        ("aops-hook policy show --json | jq .settings", "for programs"),
    ],
    who: Who::Anyone,
    arguments: |command| {
        let what = Arg::new("what").value_name("WHAT").value_parser(["show", "hash", "diff"]);
        let session = Arg::new("session").value_name("SESSION");
        let test = Arg::new("test").long("test").action(ArgAction::SetTrue);
        command
            .arg(what.default_value("show").help("What to print"))
            .arg(session.help("With `diff`: a session's id, the beginning of one, or nothing for the newest here"))
            .arg(test.help("With `show`: try every rule on its examples instead"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let what = given.get_one::<String>("what").map_or("show", String::as_str);
    if what != "diff" && given.contains_id("session") {
        return refused(format!(
            "`policy {what}` is about today, not about a session\nhint: `aops-hook policy diff SESSION` compares"
        ));
    }
    let test = given.get_flag("test");
    if test && what != "show" {
        return refused("`--test` goes with `show`\nhint: `aops-hook policy show --test`".to_owned());
    }
    let now = in_force(io)?;
    match what {
        _ if test => return trial::run(io, &now),
        "hash" if io.json => writeln!(io.out, "{}", json!({"hash": now.hash}))?,
        "hash" => writeln!(io.out, "{}", now.hash)?,
        "diff" => diff::run(given, io, &now)?,
        _ => show::run(io, &now)?,
    }
    Ok(0)
}

/// What is in force where the person stands, or every problem there is.
fn in_force(io: &Io) -> anyhow::Result<InForce> {
    in_force::look(io.env, &io.env.cwd).or_else(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| format!("\n{problem}")).collect();
        let files = if problems.len() == 1 { "is a problem" } else { "are problems" };
        refused(format!(
            "there {files} in the configuration:{}\nhint: until it is mended every guarded event is refused; `docs/configuration.md` has each key",
            lines.concat()
        ))
    })
}
