//! Registers this program for every event in a settings file, and places our agents and commands beside it.
//!
//! Reads and writes what `Plan` names. Invariants: installing twice changes nothing; `uninstall` undoes it byte for byte.

pub mod receipt;
mod level;
pub mod plan;

pub use level::Level;

use super::{Command, Io, Who};
use crate::claude::settings::{StatusLine, status_line};
use crate::model::event::EVENTS;
use crate::text::diff::unified;
use clap::{Arg, ArgAction, ArgMatches};
use plan::Plan;
use serde_json::json;
use std::path::{Path, PathBuf};

pub const COMMAND: Command = Command {
    name: "install",
    about: "Register the hooks in Claude Code's settings",
    examples: &[
        ("aops-hook install", "For all sessions of this user"),
        ("aops-hook install --project", "For everyone in this project; each needs aops-hook at the same path"),
        ("aops-hook install --statusline", "The same, with phase and sandbox in the client's status line"),
        ("aops-hook install --dry-run", "Show what would change, change nothing"),
    ],
    who: Who::OutsideClient,
    arguments,
    run,
};

fn arguments(row: clap::Command) -> clap::Command {
    let statusline = Arg::new("statusline").long("statusline").action(ArgAction::SetTrue);
    Level::arguments(row).arg(statusline.help("Show the session's phase and sandbox in the status line")).arg(dry_run())
}

pub(super) fn dry_run() -> Arg {
    Arg::new("dry-run").long("dry-run").action(ArgAction::SetTrue).help("Show what would change, change nothing")
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let plan = Plan::make(io.env, Level::given(given), given.get_flag("statusline"))?;
    let summary = Summary::of(&plan);
    if given.get_flag("dry-run") {
        summary.dry_run(io)?;
    } else {
        let kept = plan.carry_out(io.env)?;
        summary.done(kept, io)?;
    }
    Ok(0)
}

/// The report on a plan, which `carry_out` consumes.
struct Summary {
    settings: String,
    command: String,
    events: usize,
    registers: bool,
    changes: bool,
    /// The status line is ours.
    statusline: bool,
    diff: String,
    texts: Vec<String>,
    stale: Vec<String>,
}

impl Summary {
    fn of(plan: &Plan) -> Self {
        let settings = plan.settings.path.display().to_string();
        let before = if plan.settings.bytes.is_some() { settings.as_str() } else { "/dev/null" };
        Self {
            command: plan.command.clone(),
            events: EVENTS.iter().filter(|kind| kind.timeout > 0).count(),
            registers: plan.new != plan.old,
            changes: plan.changes(),
            statusline: status_line(&plan.new) == StatusLine::Ours,
            diff: unified(before, &settings, &plan.old, &plan.new),
            texts: plan.texts.iter().map(|(found, _)| found.path.display().to_string()).collect(),
            stale: plan.stale.iter().map(|found| found.path.display().to_string()).collect(),
            settings,
        }
    }

    fn json(&self, dry_run: bool, backup: Option<&Path>) -> serde_json::Value {
        json!({
            "settings": self.settings, "command": self.command, "events": self.events, "changed": self.changes,
            "statusline": self.statusline,
            "written": self.texts, "removed": self.stale, "backup": backup, "dry_run": dry_run, "diff": self.diff,
        })
    }

    fn dry_run(&self, io: &mut Io) -> anyhow::Result<()> {
        if io.json {
            writeln!(io.out, "{}", self.json(true, None))?;
            return Ok(());
        }
        write!(io.out, "{}", self.diff)?;
        for path in &self.texts {
            writeln!(io.out, "would write `{path}`")?;
        }
        for path in &self.stale {
            writeln!(io.out, "would remove `{path}`")?;
        }
        if !self.changes {
            writeln!(io.out, "nothing to change: registered in `{}`", self.settings)?;
        }
        Ok(())
    }

    fn done(&self, backup: Option<PathBuf>, io: &mut Io) -> anyhow::Result<()> {
        if io.json {
            writeln!(io.out, "{}", self.json(false, backup.as_deref()))?;
            return Ok(());
        }
        let registered = if self.registers { "registered" } else { "already registered" };
        writeln!(io.out, "{registered} for {} events in `{}`", self.events, self.settings)?;
        if self.statusline {
            writeln!(io.out, "the status line there shows the session's phase and sandbox")?;
        }
        if !self.texts.is_empty() {
            writeln!(io.out, "wrote {} agents and commands beside it", self.texts.len())?;
        }
        if let Some(backup) = backup {
            writeln!(io.out, "the original is kept in `{}`", backup.display())?;
        }
        Ok(())
    }
}
