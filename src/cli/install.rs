//! `install` registers this program for every event in a settings file, and places our agents and commands
//! next to it; `uninstall` removes both.
//!
//! Reads and writes what `Steps` name, which the file of each kind of client makes. The project's file is
//! below the working directory, not git's root: the client looks only where it was started. Invariants:
//! installing twice changes nothing; `uninstall` undoes it byte for byte, and later edits stay: from an
//! edited settings file only our entries are removed, an edited agent is left.

pub mod receipt;
pub mod steps;
pub mod placing;
pub mod claude;
mod kept;
mod question;
mod registered;
mod managed;

use super::bundle::trusted_key;
use super::mode::Change;
use super::{Command, Io, flag, one_of, option, text, tryout, user_file};
use aops_core::config::policy::network::NetworkMode;
use aops_core::config::policy::{ModeLevel, choose};
use aops_core::host::claude::settings::{StatusLine, status_line};
use aops_core::model::client::Client;
use aops_core::model::event::EVENTS;
use aops_core::model::named::named;
use aops_core::proof::keys::Keys;
use aops_core::proof::life;
use aops_core::system::env::Env;
use clap::{Arg, ArgGroup, ArgMatches};
use claude::{Plan, Wanted};
use kept::{describe_kept, describe_open};
use managed::{MANAGED, ROOT};
use serde_json::{Value, json};
use std::path::PathBuf;
use steps::{Step, Steps};

pub const INSTALL: Command = Command {
    name: "install",
    about: "Register the hooks in Claude Code's settings",
    examples: &[
        ("aops-hook install", "For all sessions of this user"),
        (
            "aops-hook install --mode loop",
            "The same; small tasks work as usual, larger ones are planned and verified",
        ),
        (
            "aops-hook install --project",
            "For everyone in this project; people without aops-hook see a notice and can work",
        ),
        ("aops-hook install --statusline", "The same, with phase and sandbox in the client's status line"),
        (
            "aops-hook install --client codex",
            "For Codex CLI: hooks, trust in them, and our agents below `$CODEX_HOME`",
        ),
        (
            "aops-hook install --client copilot",
            "For Copilot CLI: a file of hooks and our agents below `$COPILOT_HOME`",
        ),
        ("aops-hook install --client opencode", "For OpenCode: a plugin that asks us, and our agents"),
        (
            "aops-hook install --client gemini",
            "For Gemini CLI: hooks in its `settings.json`; `--client qwen` for Qwen Code",
        ),
        (
            "aops-hook install --managed policy.bundle",
            "As root: an administrator's bundle, and our hooks in every client's settings for everybody",
        ),
        (
            "aops-hook install --deny-secrets",
            "The same, and the client itself does not read `.env`, keys and credentials",
        ),
        ("aops-hook install --dry-run", "Show what would change, change nothing"),
    ],
    arguments: |row| {
        let statusline = flag("statusline", "Show the session's phase and sandbox in the status line");
        let secrets = flag(
            SECRETS,
            "Also deny the client's own reading of `.env`, keys and credentials, `@file` included",
        );
        let mode =
            option("mode", "LEVEL", "How much of the loop is enforced: observe, guard, loop or strict");
        let mode = mode.value_parser(ModeLevel::WORDS.to_vec());
        // For `install.sh`, which prints the same two final lines itself.
        let plain = flag("without-ending", "").hide(true);
        let yes = flag("yes", "Ask nothing; without `--mode` the mode stays as it is");
        let managed =
            option(MANAGED, "BUNDLE", "The administrator's settings of this machine, from this bundle");
        let managed = managed.conflicts_with_all(["level", CLIENT, "mode", "statusline", SECRETS]);
        Level::arguments(row).args([
            mode,
            statusline,
            secrets,
            client(),
            managed,
            trusted_key().requires(MANAGED),
            root(),
            dry_run(),
            yes,
            plain,
        ])
    },
    run: install,
};

pub const UNINSTALL: Command = Command {
    name: "uninstall",
    about: "Remove the hooks from Claude Code's settings, byte for byte; ledgers and reports stay",
    examples: &[
        ("aops-hook uninstall", "For this user"),
        ("aops-hook uninstall --project", "For this project"),
        ("aops-hook uninstall --client codex", "From Codex CLI; the other clients likewise"),
        ("aops-hook uninstall --managed", "As root: the bundle and what it put into the clients' settings"),
        ("aops-hook uninstall --dry-run", "Show what would change, change nothing"),
    ],
    arguments: |row| {
        let managed = flag(MANAGED, "The administrator's settings of this machine")
            .conflicts_with_all(["level", CLIENT]);
        Level::arguments(row).args([client(), managed, root(), dry_run()])
    },
    run: uninstall,
};

named! {
    /// The settings files in which hooks can be registered.
    pub enum Level {
        User = "user",
        Project = "project",
        Local = "local",
    }
}

impl Level {
    pub fn path(self, env: &Env) -> PathBuf {
        match self {
            Level::User => env.config.join("settings.json"),
            Level::Project => env.from_here(".claude/settings.json".as_ref()),
            Level::Local => env.from_here(".claude/settings.local.json".as_ref()),
        }
    }

    /// The folder for agents and commands: next to shared settings, otherwise in the user's folder.
    pub fn folder(self, env: &Env) -> PathBuf {
        if self == Level::Project { env.from_here(".claude".as_ref()) } else { env.config.clone() }
    }

    /// The requested level; the user's if none was given.
    pub fn given(given: &ArgMatches) -> Self {
        Self::ALL.into_iter().find(|level| given.get_flag(level.name())).unwrap_or(Level::User)
    }

    /// The options `--user`, `--project` and `--local`, of which at most one may be given.
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

fn root() -> Arg {
    option(ROOT, "FOLDER", "With `--managed`: below this folder, for an image").requires(MANAGED)
}

/// The option for a client other than Claude Code.
fn client() -> Arg {
    let names: Vec<&str> = Client::ALL.map(Client::name).to_vec();
    let help =
        one_of(&names).replacen(Client::default().name(), &format!("{} (the default)", Client::default()), 1);
    option(CLIENT, "NAME", "")
        .help(format!("The client whose files to change: {help}"))
        .value_parser(names)
        .hide_possible_values(true)
        .conflicts_with("level")
}

const CLIENT: &str = "client";
const SECRETS: &str = "deny-secrets";

/// The requested client, if it is not Claude Code.
fn other_client(given: &ArgMatches) -> Option<Client> {
    text(given, CLIENT).and_then(Client::of).filter(|client| client.is_registered_by_name())
}

fn install(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if let Some(bundle) = text(given, MANAGED) {
        return managed::install(bundle, given, io);
    }
    if let Some(client) = other_client(given) {
        let code = registered::install(client, given, io)?;
        try_out(client, given, io)?;
        return Ok(code);
    }
    let wanted = Wanted { statusline: given.get_flag("statusline"), denies_secrets: given.get_flag(SECRETS) };
    let mut plan = Plan::make(io.env, Level::given(given), wanted)?;
    // Asks all questions before acting on any answer, so that no answer influences the next question.
    let mode = question::change(given, io)?;
    let denies_secrets = question::denies_secrets(given, io)?;
    let observes = denies_secrets.is_some() && question::observes_network(given, io)?;
    let denies_secrets = denies_secrets.unwrap_or(false);
    if denies_secrets {
        plan = Plan::make(io.env, Level::given(given), Wanted { denies_secrets, ..wanted })?;
    }
    let dry_run = given.get_flag("dry-run");
    let unjailed = Level::given(given) == Level::Project && claude::is_unjailed(io.env);
    let told = Told::of(&plan, unjailed, dry_run);
    let command = plan.command.clone();
    let backup = if dry_run { None } else { plan.steps.carry_out(io.env)? };
    let told = Told { backup, ..told };
    if let Some(mode) = mode.as_ref().filter(|_| !dry_run) {
        mode.carry_out(io.env)?;
    }
    if observes {
        observe_network(io)?;
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
        lines.extend(question::ending(io.env, &command));
    }
    lines.iter().try_for_each(|line| writeln!(io.out, "{line}"))?;
    try_out(Client::default(), given, io)?;
    Ok(0)
}

/// `[network] mode = "observe"` in the user's file.
fn observe_network(io: &Io) -> anyhow::Result<()> {
    let change = |old: &str| choose::set_network_mode(old, NetworkMode::Observe);
    user_file::edit(io, &io.env.cwd, change, "`[network]` with `mode = \"observe\"`")?.write(io)
}

/// Shows a person how their own past sessions would have been judged.
fn try_out(client: Client, given: &ArgMatches, io: &mut Io) -> anyhow::Result<()> {
    let wanted = !given.get_flag("dry-run") && question::is_person_there(io);
    if wanted { tryout::at_install(io, client) } else { Ok(()) }
}

/// Shown for a shared settings file, which cannot name a program that others may not have: none of their
/// commands would start.
const UNJAILED: &str = "note: shell commands are judged only by their text: this file is shared, and the \
    jail is for each person\n\
    hint: `aops-hook install --local` sets it for you in this project, `aops-hook install` in all";

/// The result of an installation, for people or for a program.
struct Told {
    settings: String,
    command: String,
    folder: PathBuf,
    diff: String,
    has_status_line: bool,
    /// The text of the settings changes.
    registers: bool,
    changes: bool,
    written: Vec<String>,
    removed: Vec<String>,
    clashes: Vec<String>,
    /// No jail confines shell commands for this person.
    unjailed: bool,
    dry_run: bool,
    backup: Option<PathBuf>,
}

impl Told {
    fn of(plan: &Plan, unjailed: bool, dry_run: bool) -> Self {
        let settings = plan.settings();
        let of = |gone: bool| plan.texts().filter(|step| step.is_gone() == gone).map(Step::path).collect();
        Self {
            settings: settings.path(),
            command: plan.command.clone(),
            folder: plan.folder.clone(),
            diff: settings.diff(),
            has_status_line: status_line(settings.text().unwrap_or_default()) == StatusLine::Ours,
            registers: settings.changes(),
            changes: plan.changes(),
            written: of(false),
            removed: of(true),
            clashes: plan.clashes.clone(),
            unjailed,
            dry_run,
            backup: None,
        }
    }

    fn to_json(&self, mode: Option<&Change>) -> Value {
        json!({
            "settings": self.settings, "command": self.command, "events": events(), "changed": self.changes,
            "statusline": self.has_status_line, "written": self.written, "removed": self.removed,
            "backup": self.backup, "dry_run": self.dry_run, "diff": self.diff, "clashes": self.clashes,
            "mode": mode.map(Change::to_json),
        })
    }

    fn lines(&self, io: &mut Io) -> anyhow::Result<Vec<String>> {
        let settings = &self.settings;
        let written = &self.written;
        let clashes = self.clashes.iter().map(|clash| format!("note: {clash}"));
        let mut lines = Vec::new();
        if self.dry_run {
            write!(io.out, "{}", self.diff)?;
            lines.extend(written.iter().map(|path| format!("would write `{path}`")));
            lines.extend(self.removed.iter().map(|path| format!("would remove `{path}`")));
            lines.extend((!self.changes).then(|| format!("nothing to change: registered in `{settings}`")));
            lines.extend(clashes);
            return Ok(lines);
        }
        let registered = if self.registers { "registered" } else { "already registered" };
        lines.push(format!("{registered} for {} events in `{settings}`", events()));
        let shows = || "the status line there shows the session's phase and sandbox".to_owned();
        lines.extend(self.has_status_line.then(shows));
        let folder = self.folder.display();
        let wrote = || format!("wrote {} agents, commands and scripts to `{folder}`", written.len());
        lines.extend((!written.is_empty()).then(wrote));
        let backup = self.backup.as_ref();
        lines.extend(backup.map(|backup| format!("the original is kept in `{}`", backup.display())));
        lines.extend(clashes);
        lines.extend(self.unjailed.then(|| UNJAILED.to_owned()));
        Ok(lines)
    }
}

fn events() -> usize {
    EVENTS.iter().filter(|kind| kind.timeout > 0).count()
}

fn uninstall(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if given.get_flag(MANAGED) {
        return managed::uninstall(given, io);
    }
    if let Some(client) = other_client(given) {
        return registered::uninstall(client, given, io);
    }
    let undo = claude::undo(io.env, Level::given(given))?;
    let dry_run = given.get_flag("dry-run");
    let rest = format!("{}{}", describe_open(io.env), describe_kept(io.env));
    let (value, words) = taken_back(&undo, dry_run);
    if !dry_run {
        undo.carry_out(io.env)?;
    }
    io.answer(&value, format!("{words}{rest}").trim_end())
}

/// The result of an uninstallation, for a program and for people.
fn taken_back(undo: &Steps, dry_run: bool) -> (Value, String) {
    let settings = &undo.list[0];
    let texts = &undo.list[1..];
    let path = settings.path();
    let changed = settings.changes();
    let removed: Vec<String> = texts.iter().map(Step::path).collect();
    let left: Vec<String> = undo.left.iter().map(|path| path.display().to_string()).collect();
    let diff = if changed { settings.diff() } else { String::new() };
    let value = json!({
        "settings": path, "changed": changed, "restored": undo.restores, "removed": removed, "left": left,
        "dry_run": dry_run, "diff": diff,
    });
    let would = if dry_run { "would be " } else { "" };
    let mut lines = vec![match (changed, settings.is_gone(), undo.restores) {
        (false, ..) => format!("not registered in `{path}`"),
        (true, true, _) => format!("`{path}` {would}removed: the installation made it"),
        (true, _, true) => format!("`{path}` {would}restored as it was before the installation"),
        (true, _, false) => format!("hooks {would}removed from `{path}`; later edits stay"),
    }];
    if !texts.is_empty() {
        lines.push(format!("{} agents and commands {would}removed", texts.len()));
    }
    lines.extend(left.iter().map(|path| format!("left `{path}`: it was edited")));
    let others = undo.receipt.iter().flat_map(|receipt| &receipt.settings);
    lines.extend(others.map(|other| format!("still registered in `{}`", other.path.display())));
    let shown = if dry_run { diff } else { String::new() };
    (value, format!("{shown}{}", lines.join("\n")))
}
