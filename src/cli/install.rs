//! Registers this program for every event in a settings file, and places our agents and commands beside it.
//!
//! Reads and writes what `Plan` names. The project's file is below the working directory, not git's root: the client looks
//! only where it was started. Invariants: installing twice changes nothing; `uninstall` undoes it byte for byte.

pub mod receipt;
pub mod plan;

use super::{Command, Io, flag};
use crate::claude::settings::{StatusLine, status_line};
use crate::model::event::EVENTS;
use crate::system::env::Env;
use crate::text::diff::unified;
use clap::{Arg, ArgGroup, ArgMatches};
use plan::Plan;
use serde_json::json;
use std::path::PathBuf;

pub const COMMAND: Command = Command {
    name: "install",
    about: "Register the hooks in Claude Code's settings",
    examples: &[
        ("aops-hook install", "For all sessions of this user"),
        ("aops-hook install --project", "For everyone in this project; each needs aops-hook at the same path"),
        ("aops-hook install --statusline", "The same, with phase and sandbox in the client's status line"),
        ("aops-hook install --dry-run", "Show what would change, change nothing"),
    ],
    arguments: |row| {
        let statusline = flag("statusline", "Show the session's phase and sandbox in the status line");
        Level::arguments(row).args([statusline, dry_run()])
    },
    run,
};

/// The settings files in which hooks can be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    User,
    Project,
    Local,
}

impl Level {
    pub const ALL: [Level; 3] = [Level::User, Level::Project, Level::Local];

    pub fn name(self) -> &'static str {
        match self {
            Level::User => "user",
            Level::Project => "project",
            Level::Local => "local",
        }
    }

    pub fn path(self, env: &Env) -> PathBuf {
        match self {
            Level::User => env.config.join("settings.json"),
            Level::Project => env.from_here(".claude/settings.json".as_ref()),
            Level::Local => env.from_here(".claude/settings.local.json".as_ref()),
        }
    }

    /// The level asked for; the user's if none.
    pub fn given(given: &ArgMatches) -> Self {
        Self::ALL.into_iter().find(|level| given.get_flag(level.name())).unwrap_or(Level::User)
    }

    /// The options `--user`, `--project`, `--local`, one at most.
    pub fn arguments(row: clap::Command) -> clap::Command {
        let help = [
            "Settings of this user (default)",
            "`.claude/settings.json` of this folder, shared with others",
            "`.claude/settings.local.json` of this folder, yours alone",
        ];
        let options = Self::ALL.into_iter().zip(help).map(|(level, help)| flag(level.name(), help));
        row.args(options).group(ArgGroup::new("level").args(Self::ALL.map(Level::name)))
    }
}

pub(super) fn dry_run() -> Arg {
    flag("dry-run", "Show what would change, change nothing")
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let plan = Plan::make(io.env, Level::given(given), given.get_flag("statusline"))?;
    let dry_run = given.get_flag("dry-run");
    let settings = plan.settings.path.display().to_string();
    let before = if plan.settings.bytes.is_some() { settings.as_str() } else { "/dev/null" };
    let diff = unified(before, &settings, &plan.old, &plan.new);
    let events = EVENTS.iter().filter(|kind| kind.timeout > 0).count();
    let texts: Vec<_> = plan.texts.iter().map(|(found, _)| found.path.display().to_string()).collect();
    let stale: Vec<_> = plan.stale.iter().map(|found| found.path.display().to_string()).collect();
    let (registers, changes) = (plan.new != plan.old, plan.changes());
    let (statusline, command) = (status_line(&plan.new) == StatusLine::Ours, plan.command.clone());
    let backup = if dry_run { None } else { plan.carry_out(io.env)? };
    if io.json {
        return io.print(json!({
            "settings": settings, "command": command, "events": events, "changed": changes, "statusline": statusline,
            "written": texts, "removed": stale, "backup": backup, "dry_run": dry_run, "diff": diff,
        }));
    }
    let mut lines = Vec::new();
    if dry_run {
        write!(io.out, "{diff}")?;
        lines.extend(texts.iter().map(|path| format!("would write `{path}`")));
        lines.extend(stale.iter().map(|path| format!("would remove `{path}`")));
        lines.extend((!changes).then(|| format!("nothing to change: registered in `{settings}`")));
    } else {
        let registered = if registers { "registered" } else { "already registered" };
        lines.push(format!("{registered} for {events} events in `{settings}`"));
        lines.extend(statusline.then(|| "the status line there shows the session's phase and sandbox".to_owned()));
        let wrote = || format!("wrote {} agents and commands beside it", texts.len());
        lines.extend((!texts.is_empty()).then(wrote));
        lines.extend(backup.map(|backup| format!("the original is kept in `{}`", backup.display())));
    }
    lines.iter().try_for_each(|line| writeln!(io.out, "{line}"))?;
    Ok(0)
}
