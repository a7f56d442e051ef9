//! `quiet`: shows which of the client's questions are answered in the person's place, and changes that.
//!
//! Reads the configuration and the sessions of this project; writes only the user's file. Invariant: if the
//! administrator's bundle or the project's own file overrides the setting, that is kept and reported.

use super::table::Tone;
use super::{Command, Io, allowed, policy_here, user_file, who_may, yes};
use aops_core::config::policy::jail::{Jail, JailLevel};
use aops_core::config::policy::{QuietLevel, choose};
use aops_core::config::texts;
use aops_core::jail::enter::what_each;
use aops_core::jail::plan::Ground;
use aops_core::ledger::sessions;
use aops_core::session::fold::Session;
use aops_core::text::plain::count;
use clap::{Arg, ArgMatches};
use serde_json::json;
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "quiet",
    about: "Show which of the client's questions are answered for you, and change it",
    examples: &[
        ("aops-hook quiet", "the level, whether its jail works here, and what it did"),
        ("aops-hook quiet reading", "lines that only read need no approval"),
        ("aops-hook quiet reading --network gh", "`gh` may read over the network"),
        (
            "aops-hook quiet contained",
            "builds and tests too: without network, and what they overwrite is kept",
        ),
        ("aops-hook quiet off", "the client asks as it always did"),
    ],
    arguments: |row| {
        row.arg(yes().global(true)).subcommands(VERBS.iter().map(|verb| (verb.arguments)(verb.row())))
    },
    run,
};

pub(super) static VERBS: &[Command] = &[
    Command {
        name: "off",
        about: "Answer nothing: the client asks as it always did",
        examples: &[("aops-hook quiet off", "at once, in sessions under way from their next prompt on")],
        arguments: |row| row,
        run: |given, io| set(given, io, QuietLevel::Off),
    },
    Command {
        name: "reading",
        about: "Answer for lines that are proven to only read",
        examples: &[("aops-hook quiet reading --network gh", "`gh pr view` and the like too")],
        arguments: network,
        run: |given, io| set(given, io, QuietLevel::Reading),
    },
    Command {
        name: "contained",
        about: "Answer for builds, tests and scripts too, confined to the project and without network",
        examples: &[("aops-hook quiet contained", "what they overwrite, `aops-hook undo` brings back")],
        arguments: network,
        run: |given, io| set(given, io, QuietLevel::Contained),
    },
];

fn network(row: clap::Command) -> clap::Command {
    let programs = Arg::new("network").long("network").value_name("PROGRAM").value_delimiter(',');
    row.arg(
        programs.help(
            "Programs that may read over the network, such as `gh`; without this, they stay as they are",
        ),
    )
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if let Some(code) = Command::run_verb("quiet", VERBS, given, io)? {
        return Ok(code);
    }
    allowed("quiet", who_may("quiet"), io)?;
    let policy = policy_here(io)?.policy;
    let wanted = &policy.quiet;
    let newest = sessions::pick(io.env, None).ok().and_then(|found| sessions::session(&found));
    let did = newest.as_ref().and_then(Session::describe_quiet).unwrap_or_default();
    let held = held(io, &policy.jail);
    if io.json {
        return io.print(json!({
            "jail": {"holds": held.is_ok(), "why": held.err()},
            "allow": wanted.allow, "network": wanted.network, "unattended": wanted.unattended,
            "last_session": newest.as_ref().and_then(|session| session.memory.questions.quiet.clone()),
        }));
    }
    let means = match wanted.allow {
        QuietLevel::Off => "the client asks as it always did",
        QuietLevel::Reading => "lines that only read are answered for you, if the jail confines them",
        QuietLevel::Contained => {
            "so are builds, tests and scripts, confined to the project and without network"
        }
    };
    io.facts([
        ("quiet", format!("{}: {means}", wanted.allow.name()), Tone::Strong),
        match held {
            Ok(()) => ("jail", "holds here".to_owned(), Tone::Good),
            Err(why) => ("jail", format!("does not work here, so nothing is answered: {why}"), Tone::Bad),
        },
        ("network", wanted.network.join(", "), Tone::Plain),
        ("last session", did, Tone::Plain),
        (
            "change",
            "`aops-hook quiet off|reading|contained`; `aops-hook tryout` counts your past prompts".to_owned(),
            Tone::Quiet,
        ),
    ])
}

/// Tries whether the kernel can confine the commands that would be answered here.
pub(super) fn held(io: &Io, jail: &Jail) -> Result<(), String> {
    if jail.level == JailLevel::Off {
        return Err("your configuration says `[jail] level = \"off\"`".to_owned());
    }
    let ground =
        Ground { layer_mb: jail.layer_mb, ..Ground::here(io.env, &texts::project(io.env, &io.env.cwd)) };
    // Answered lines need both; Landlock alone hides nothing.
    let needed = |name: &str| matches!(name, "namespaces" | "throwaway layers");
    let each = what_each(&ground);
    let mut tried = each.into_iter().filter(|(name, _)| needed(name)).peekable();
    if tried.peek().is_none() {
        return Err("there are no namespaces on this system".to_owned());
    }
    tried.try_for_each(|(name, held)| held.map_err(|why| format!("{name}: {why}")))
}

fn set(given: &ArgMatches, io: &mut Io, level: QuietLevel) -> anyhow::Result<u8> {
    let now = policy_here(io)?;
    let chosen = given.try_get_many::<String>("network").ok().flatten();
    let network: Vec<String> =
        chosen.map_or_else(|| now.policy.quiet.network.clone(), |list| list.cloned().collect());
    let names: Vec<&str> = network.iter().map(String::as_str).collect();
    write_level(io, &now.project, level, &names)
}

/// Writes the level to the user's file. Reports it, and also if it has no effect here.
pub(super) fn write_level(
    io: &mut Io,
    project: &Path,
    level: QuietLevel,
    network: &[&str],
) -> anyhow::Result<u8> {
    let edited = user_file::edit(io, project, |old| choose::set_quiet(old, level, network), "`[quiet]`")?;
    edited.write(io)?;
    let holds = edited.policy.quiet.allow;
    let shown = &edited.shown;
    let stays = if holds == level {
        String::new()
    } else {
        format!("\nin this folder it stays `{}`: `aops-hook policy` says why", holds.name())
    };
    let over = if network.is_empty() || level == QuietLevel::Off {
        String::new()
    } else {
        format!(", {} with the network", count(network.len(), "program"))
    };
    let value = json!({
        "allow": level, "network": network, "file": shown, "changed": edited.is_new(), "in_force": holds
    });
    io.answer(&value, format!("quiet: `{}`{over}, in `{shown}`{stays}", level.name()))
}
