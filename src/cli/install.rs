//! `install` registers this program for every event in a settings file, and places our agents and commands beside it;
//! `uninstall` removes both.
//!
//! Reads and writes what `Plan` and `Undo` name. The project's file is below the working directory, not git's root: the
//! client looks only where it was started. Invariants: installing twice changes nothing; `uninstall` undoes it byte for
//! byte, and edits since stay: from an edited settings file only our entries are removed, an edited agent is left.

pub mod receipt;
pub mod placing;
pub mod plan;
mod question;
mod other;

use super::mode::Change;
use super::{Command, Io, flag, option, text};
use crate::config::policy::ModeLevel;
use crate::host::claude::settings::{StatusLine, status_line, unregister};
use crate::model::client::Client;
use crate::model::event::EVENTS;
use crate::proof::keys::Keys;
use crate::proof::life;
use crate::system::env::Env;
use crate::system::files::{self, Found};
use crate::text::diff::unified;
use anyhow::Context;
use clap::{Arg, ArgGroup, ArgMatches};
use plan::{Plan, read_settings, unreadable, writable};
use receipt::{Edited, Receipt, quote_path};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

pub const INSTALL: Command = Command {
    name: "install",
    about: "Register the hooks in Claude Code's settings",
    examples: &[
        ("aops-hook install", "For all sessions of this user"),
        ("aops-hook install --mode loop", "The same; small tasks go on as ever, larger ones are planned and verified"),
        (
            "aops-hook install --project",
            "For everyone in this project; who has no aops-hook is told so, and not held up",
        ),
        ("aops-hook install --statusline", "The same, with phase and sandbox in the client's status line"),
        ("aops-hook install --client codex", "For Codex CLI: hooks, trust in them, and our agents below `$CODEX_HOME`"),
        ("aops-hook install --client copilot", "For Copilot CLI: a file of hooks and our agents below `$COPILOT_HOME`"),
        ("aops-hook install --dry-run", "Show what would change, change nothing"),
    ],
    arguments: |row| {
        let statusline = flag("statusline", "Show the session's phase and sandbox in the status line");
        let mode = option("mode", "LEVEL", "How much of the loop is enforced: observe, guard, loop or strict");
        let mode = mode.value_parser(ModeLevel::WORDS.to_vec());
        // For `install.sh`, which ends with the same two lines itself.
        let plain = flag("without-ending", "").hide(true);
        let yes = flag("yes", "Ask nothing; without `--mode` the mode stays as it is");
        Level::arguments(row).args([mode, statusline, client(), dry_run(), yes, plain])
    },
    run: install,
};

pub const UNINSTALL: Command = Command {
    name: "uninstall",
    about: "Remove the hooks from Claude Code's settings, byte for byte; ledgers and reports stay",
    examples: &[
        ("aops-hook uninstall", "For this user"),
        ("aops-hook uninstall --project", "For this project"),
        ("aops-hook uninstall --client codex", "From Codex CLI; `--client copilot` from Copilot CLI"),
        ("aops-hook uninstall --dry-run", "Show what would change, change nothing"),
    ],
    arguments: |row| Level::arguments(row).args([client(), dry_run()]),
    run: uninstall,
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

    /// Where agents and commands go: beside settings that are shared, else to the user's.
    pub fn folder(self, env: &Env) -> PathBuf {
        if self == Level::Project { env.from_here(".claude".as_ref()) } else { env.config.clone() }
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

fn dry_run() -> Arg {
    flag("dry-run", "Show what would change, change nothing")
}

/// The client, where it is not Claude Code.
fn client() -> Arg {
    let help = "The client whose files are meant: claude (the default), codex or copilot";
    option(CLIENT, "NAME", help)
        .value_parser(["claude", "codex", "copilot"])
        .hide_possible_values(true)
        .conflicts_with("level")
}

const CLIENT: &str = "client";

/// The other client that is meant.
fn other_client(given: &ArgMatches) -> Option<Client> {
    text(given, CLIENT).and_then(Client::of).filter(|client| *client != Client::Claude)
}

fn install(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if let Some(client) = other_client(given) {
        return other::install(client, given, io);
    }
    let plan = Plan::make(io.env, Level::given(given), given.get_flag("statusline"))?;
    let mode = question::change(given, io)?;
    let dry_run = given.get_flag("dry-run");
    let mut told = Told::of(&plan, dry_run);
    told.unjailed = Level::given(given) == Level::Project && plan::is_unjailed(io.env);
    told.backup = if dry_run { None } else { plan.carry_out(io.env)? };
    if let Some(mode) = mode.as_ref().filter(|_| !dry_run) {
        mode.carry_out()?;
    }
    if !dry_run && Keys::open(io.env)?.is_none() {
        life::begin(io.env, None, None)?;
    }
    if io.json {
        return io.print(told.to_json(mode.as_ref()));
    }
    let mut lines = told.lines(io)?;
    match &mode {
        Some(mode) if dry_run && mode.changes() => lines.push(format!("would be so: {}", mode.outcome())),
        Some(mode) => lines.push(mode.outcome()),
        None => {}
    }
    if !dry_run && !given.get_flag("without-ending") {
        lines.extend(question::ending(io.env, &told.command));
    }
    lines.iter().try_for_each(|line| writeln!(io.out, "{line}"))?;
    Ok(0)
}

/// A shared file cannot name a program that others do not have: no command of theirs would start.
const UNJAILED: &str = "note: shell commands are judged by their words alone: this file is shared, and the jail is for each person\nhint: `aops-hook install --local` sets it for you in this project, `aops-hook install` in all";

/// What an installation comes to, in words or for a program.
struct Told {
    settings: String,
    command: String,
    diff: String,
    written: Vec<String>,
    removed: Vec<String>,
    clashes: Vec<String>,
    /// Where agents and commands are.
    folder: String,
    registers: bool,
    changes: bool,
    statusline: bool,
    /// The kernel holds no shell command for this person.
    unjailed: bool,
    dry_run: bool,
    backup: Option<PathBuf>,
}

impl Told {
    fn of(plan: &Plan, dry_run: bool) -> Self {
        let settings = plan.settings.path.display().to_string();
        let before = if plan.settings.bytes.is_some() { settings.as_str() } else { "/dev/null" };
        Self {
            command: plan.command.clone(),
            diff: unified(before, &settings, &plan.old, &plan.new),
            written: plan.texts.iter().map(|(found, _)| found.path.display().to_string()).collect(),
            removed: paths(&plan.stale),
            clashes: plan.clashes.clone(),
            folder: plan.folder.display().to_string(),
            registers: plan.new != plan.old,
            changes: plan.changes(),
            statusline: status_line(&plan.new) == StatusLine::Ours,
            unjailed: false,
            dry_run,
            backup: None,
            settings,
        }
    }

    fn to_json(&self, mode: Option<&Change>) -> Value {
        json!({
            "settings": self.settings, "command": self.command, "events": events(), "changed": self.changes,
            "statusline": self.statusline, "written": self.written, "removed": self.removed, "backup": self.backup,
            "dry_run": self.dry_run, "diff": self.diff, "clashes": self.clashes, "mode": mode.map(Change::to_json),
        })
    }

    fn lines(&self, io: &mut Io) -> anyhow::Result<Vec<String>> {
        let settings = &self.settings;
        let mut lines = Vec::new();
        if self.dry_run {
            write!(io.out, "{}", self.diff)?;
            lines.extend(self.written.iter().map(|path| format!("would write `{path}`")));
            lines.extend(self.removed.iter().map(|path| format!("would remove `{path}`")));
            lines.extend((!self.changes).then(|| format!("nothing to change: registered in `{settings}`")));
            lines.extend(self.clashes.iter().map(|clash| format!("note: {clash}")));
            return Ok(lines);
        }
        let registered = if self.registers { "registered" } else { "already registered" };
        lines.push(format!("{registered} for {} events in `{settings}`", events()));
        lines.extend(self.statusline.then(|| "the status line there shows the session's phase and sandbox".to_owned()));
        let wrote = || format!("wrote {} agents, commands and scripts to `{}`", self.written.len(), self.folder);
        lines.extend((!self.written.is_empty()).then(wrote));
        let backup = self.backup.as_ref();
        lines.extend(backup.map(|backup| format!("the original is kept in `{}`", backup.display())));
        lines.extend(self.clashes.iter().map(|clash| format!("note: {clash}")));
        lines.extend(self.unjailed.then(|| UNJAILED.to_owned()));
        Ok(lines)
    }
}

fn events() -> usize {
    EVENTS.iter().filter(|kind| kind.timeout > 0).count()
}

fn uninstall(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if let Some(client) = other_client(given) {
        return other::uninstall(client, given, io);
    }
    let undo = Undo::make(io.env, Level::given(given))?;
    let dry_run = given.get_flag("dry-run");
    let (value, words) = (undo.to_json(dry_run), format!("{}{}", undo.words(dry_run), kept(io.env)));
    if !dry_run {
        undo.carry_out(io.env)?;
    }
    io.answer(&value, words.trim_end())
}

/// What is the user's own and stays.
fn kept(env: &Env) -> String {
    let records = [env.user_config.clone(), env.config.join("aops"), env.data.clone()];
    let there: Vec<String> = records.iter().filter(|path| path.exists()).map(|path| quote_path(path)).collect();
    if there.is_empty() {
        return String::new();
    }
    format!("\nkept, as it is yours: {}; ledgers below {}", there.join(", "), quote_path(&env.projects()))
}

struct Undo {
    settings: Found,
    old: String,
    /// Nothing: the file is removed.
    new: Option<String>,
    edited: Option<Edited>,
    /// The original came back to the byte, so its copy is not needed any more.
    exact: bool,
    texts: Vec<Found>,
    /// Edited since, so left.
    left: Vec<Found>,
    receipt: Receipt,
}

impl Undo {
    fn make(env: &Env, level: Level) -> anyhow::Result<Self> {
        let mut receipt = Receipt::read(env)?;
        let (settings, old) = read_settings(&level.path(env))?;
        let edited = receipt.edited(&settings.path).cloned();
        let exact = edited.as_ref().filter(|edited| edited.untouched(&settings));
        let exact = exact.and_then(|edited| edited.original().ok());
        let is_exact = exact.is_some();
        let new = match exact {
            Some(original) => original,
            None => Self::without(&settings, &old, edited.as_ref())?,
        };
        let (texts, left) = texts(&receipt, &settings.path)?;
        let needless: Vec<PathBuf> = receipt.needless(&settings.path).map(|placed| placed.path.clone()).collect();
        receipt.settings.retain(|other| other.path != settings.path);
        receipt.files.retain(|placed| !needless.contains(&placed.path));
        let changed = settings.bytes.is_some() && new.as_ref() != Some(&old);
        for found in texts.iter().chain(changed.then_some(&settings)) {
            writable(found)?;
        }
        Ok(Self { settings, old, new, edited, exact: is_exact, texts, left, receipt })
    }

    /// The file without our entries; no file if there was none and nothing is left.
    fn without(settings: &Found, old: &str, edited: Option<&Edited>) -> anyhow::Result<Option<String>> {
        let original = edited.and_then(|edited| edited.original().ok().flatten());
        let text = unregister(old, original.as_deref()).map_err(|error| unreadable(&settings.path, &error))?;
        let was_absent = edited.is_some_and(|edited| edited.original.is_none());
        let empty = text.split_whitespace().collect::<String>() == "{}";
        Ok((!(was_absent && empty)).then_some(text))
    }

    fn changed(&self) -> bool {
        self.settings.bytes.is_some() && self.new.as_ref() != Some(&self.old)
    }

    fn diff(&self) -> String {
        let path = self.settings.path.display().to_string();
        let after = if self.new.is_some() { path.as_str() } else { "/dev/null" };
        unified(&path, after, &self.old, self.new.as_deref().unwrap_or_default())
    }

    fn to_json(&self, dry_run: bool) -> Value {
        json!({
            "settings": self.settings.path, "changed": self.changed(), "restored": self.exact,
            "removed": paths(&self.texts), "left": paths(&self.left), "dry_run": dry_run, "diff": self.diff(),
        })
    }

    fn words(&self, dry_run: bool) -> String {
        let path = self.settings.path.display();
        let would = if dry_run { "would be " } else { "" };
        let mut lines = vec![match (self.changed(), &self.new, self.exact) {
            (false, ..) => format!("not registered in `{path}`"),
            (true, None, _) => format!("`{path}` {would}removed: the installation made it"),
            (true, _, true) => format!("`{path}` {would}restored as it was before the installation"),
            (true, _, false) => format!("hooks {would}removed from `{path}`; later edits stay"),
        }];
        if !self.texts.is_empty() {
            lines.push(format!("{} agents and commands {would}removed", self.texts.len()));
        }
        lines.extend(paths(&self.left).iter().map(|path| format!("left `{path}`: it was edited")));
        let others = self.receipt.settings.iter();
        lines.extend(others.map(|other| format!("still registered in `{}`", other.path.display())));
        format!("{}{}", if dry_run { self.diff() } else { String::new() }, lines.join("\n"))
    }

    fn carry_out(self, env: &Env) -> anyhow::Result<()> {
        let context = || quote_path(&self.settings.path);
        match &self.new {
            Some(new) if self.changed() => self.settings.replace(new.as_bytes(), 0o666),
            None if self.changed() => self.settings.remove(),
            _ => Ok(()),
        }
        .with_context(context)?;
        for found in &self.texts {
            found.remove().with_context(|| quote_path(&found.path))?;
        }
        if let Some(copy) = self.edited.filter(|_| self.exact).and_then(|edited| edited.original)
            && self.receipt.settings.iter().all(|other| other.original.as_ref() != Some(&copy))
        {
            let _ = fs::remove_file(copy);
        }
        if self.receipt.settings.is_empty() {
            life::forget_unused(env)?;
        }
        self.receipt.close(env)
    }
}

/// The placed texts that are unchanged, and those that were edited.
fn texts(receipt: &Receipt, gone: &Path) -> anyhow::Result<(Vec<Found>, Vec<Found>)> {
    let (mut ours, mut left) = (Vec::new(), Vec::new());
    for placed in receipt.needless(gone) {
        let found = files::find(&placed.path).with_context(|| quote_path(&placed.path))?;
        if found.bytes.is_some() {
            if placed.untouched(&found) { &mut ours } else { &mut left }.push(found);
        }
    }
    Ok((ours, left))
}

fn paths(found: &[Found]) -> Vec<String> {
    found.iter().map(|found| found.path.display().to_string()).collect()
}
