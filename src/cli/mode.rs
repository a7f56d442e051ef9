//! `mode`: shows how much of the loop is enforced here and which file says so, and sets it.
//!
//! Reads both configuration files; writes only the user's. Invariants: an invalid file is never written;
//! everything else in the file stays, byte for byte; nothing in a repository is changed.

use super::table::Tone;
use super::{Command, Io, allowed, flag, operand, policy_here, refused, text, user_file, yes};
use anyhow::{Context, bail};
use aops_core::config::in_force::{CONFIG_FILE, InForce, read_policy};
use aops_core::config::policy::key::KEYS;
use aops_core::config::policy::{
    Folder, Layer, ModeLevel, Origins, Policy, Small, Source, SourceLine, choose,
};
use aops_core::config::problem::Problem;
use aops_core::config::texts;
use aops_core::observe::own_changes;
use aops_core::system::env::Env;
use aops_core::system::files::{self, Found};
use aops_shell::verbs::Who;
use clap::ArgMatches;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub const COMMAND: Command = Command {
    name: "mode",
    about: "Show or set how much of the loop is enforced: observe, guard, loop or strict",
    examples: &[
        ("aops-hook mode", "the mode here, where it comes from, and what each mode costs"),
        ("aops-hook mode loop", "small tasks work as usual, larger ones are planned and verified"),
        (
            "aops-hook mode observe --project",
            "only watch in this project; written to your own file, not to the project",
        ),
        ("aops-hook mode --project --unset", "remove that row: your default applies in this project again"),
        ("aops-hook mode strict --yes", "the same from your own script"),
    ],
    arguments: |row| {
        let level = operand("level", "LEVEL", "The mode to set; nothing: show it")
            .value_parser(ModeLevel::WORDS.to_vec());
        let project =
            flag("project", "Only for this project, as a `[[project]]` row in your own config.toml");
        let unset = flag("unset", "With `--project`: remove this project's row from your file")
            .conflicts_with("level");
        row.args([level, project, unset.requires("project"), yes()])
    },
    run,
};

/// What a mode does, and what it costs.
struct ModeRow {
    level: ModeLevel,
    does: &'static str,
    costs: &'static str,
}

/// In rising order.
const MODES: [ModeRow; 4] = [
    ModeRow {
        level: ModeLevel::Observe,
        does: "records what stricter modes would have blocked; never interferes",
        costs: "costs nothing",
    },
    ModeRow {
        level: ModeLevel::Guard,
        does: "dangerous commands need your approval; your rules and checks are enforced",
        costs: "costs nothing, and a retry where a rule blocks",
    },
    ModeRow {
        level: ModeLevel::Loop,
        does: "small tasks work as usual; larger ones are planned and verified",
        costs: "a small one costs nothing, a feature 6 or 7 requests and 3 agents more",
    },
    ModeRow {
        level: ModeLevel::Strict,
        does: "every task is planned, verified, reflected on, committed and pushed",
        costs: "a typo costs 6 to 8 requests and 3 agents more",
    },
];

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let now = policy_here(io)?;
    if given.get_flag("unset") {
        allowed("mode", Who::AtTerminal, io)?;
        return unset(io);
    }
    let Some(level) = text(given, "level").and_then(ModeLevel::of) else { return show(io, &now) };
    allowed("mode", Who::AtTerminal, io)?;
    let change = Change::make(io.env, level, given.get_flag("project"))?;
    let value = change.to_json();
    let words = change.words();
    change.carry_out(io.env)?;
    io.answer(&value, words)
}

/// Removes this project's entry from the user's file.
fn unset(io: &mut Io) -> anyhow::Result<u8> {
    let env = io.env;
    let project = texts::project(io.env, &io.env.cwd);
    let here = project.to_string_lossy();
    let home = env.home.to_string_lossy();
    let folder = Folder { path: &here, home: &home };
    let path = env.user_config.join(CONFIG_FILE);
    let shown = path.display().to_string();
    let file = files::find(&path).with_context(|| format!("`{shown}`"))?;
    let old =
        String::from_utf8(file.bytes.clone().unwrap_or_default()).with_context(|| format!("`{shown}`"))?;
    let Some(new) = choose::unset_folder_mode(&old, folder) else {
        return refused(format!(
            "`{shown}` has no `[[project]]` row for `{}` that can be removed\n\
            hint: `aops-hook mode` shows where the mode here comes from",
            choose::shorten(folder)
        ));
    };
    let tried = read_policy(env, &project, Some(Source { file: &shown, text: &new }));
    let (policy, origins) = tried.or_else(|problems| refused(unaccepted(ModeLevel::Strict, &problems)))?;
    file.check_writable()?;
    own_changes::announce(env, &path, Some(new.as_bytes()));
    file.replace(new.as_bytes(), 0o666).with_context(|| format!("`{shown}`"))?;
    let mut value = to_json(&policy, &origins, &project);
    value["unset"] = json!(choose::shorten(folder));
    value["file"] = json!(file.path);
    let words = format!(
        "the row for `{}` was removed from `{shown}`; the mode here is now `{}`\n{}",
        choose::shorten(folder),
        policy.mode.level().name(),
        next_prompt(&policy)
    );
    io.answer(&value, words)
}

fn show(io: &mut Io, now: &InForce) -> anyhow::Result<u8> {
    let level = now.policy.mode.level();
    let places = now.origins.of("mode.level");
    if io.json {
        return io.print(to_json(&now.policy, &now.origins, &now.project));
    }
    let from = match places {
        [] => "the default: no file sets it".to_owned(),
        places => places.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    io.facts([
        ("mode", level.name().to_owned(), Tone::Strong),
        ("from", from, Tone::Plain),
        ("gates", own_levels(now), Tone::Plain),
    ])?;
    writeln!(io.out, "{}\n", next_prompt(&now.policy))?;
    for line in lines(Some(level)) {
        writeln!(io.out, "{line}")?;
    }
    io.print(
        "\nto change it: `aops-hook mode LEVEL`; with `--project` for this project only, `--project \
        --unset` to end that",
    )
}

/// Gates with a level of their own in a file, whatever the mode.
fn own_levels(now: &InForce) -> String {
    let gates = KEYS.iter().filter(|key| key.table() == "gates" && key.name != "gates.close");
    let named = gates.filter_map(|key| Some((key, now.origins.of(key.name).first()?)));
    let named: Vec<String> =
        named.map(|(key, at)| format!("{} is {} by {at}", key.last(), key.get(&now.policy))).collect();
    named.join("; ")
}

fn to_json(policy: &Policy, origins: &Origins, project: &Path) -> Value {
    let places = origins.of("mode.level");
    let at = |place: &SourceLine| json!({"file": place.file, "line": place.line});
    json!({
        "level": policy.mode.level(),
        "from": places.last().map_or_else(|| "default".into(), |place| json!(place.layer)),
        "at": places.iter().map(at).collect::<Vec<_>>(),
        "project": project,
        "next": next_prompt(policy),
        "modes": MODES.map(|row| json!({"level": row.level, "does": row.does, "costs": row.costs})),
    })
}

/// A line for each mode: what it does and what it costs. The one in force is marked.
pub(super) fn lines(marked: Option<ModeLevel>) -> [String; 4] {
    MODES.map(|row| {
        let mark = if marked == Some(row.level) { '*' } else { ' ' };
        let best = if row.level == ModeLevel::Loop { " (recommended)" } else { "" };
        format!("{mark} {:8} {}; {}{best}", row.level.name(), row.does, row.costs)
    })
}

/// How the user's next prompt will work, in one line.
pub(super) fn next_prompt(policy: &Policy) -> String {
    let Small { files, lines, .. } = &policy.small;
    let words = match policy.mode.level() {
        ModeLevel::Observe => format!(
            "works as without aops-hook; what `{}` would have blocked is recorded, and `aops-hook insights` \
            shows it",
            policy.mode.rehearse.level().name()
        ),
        ModeLevel::Guard => "works as without aops-hook; only dangerous commands and what your rules and \
            checks find are stopped"
            .to_owned(),
        ModeLevel::Loop => format!(
            "works as usual while the task is small; one with more than {files} files and more than {lines} \
            lines, or four times as many of either, needs a plan, a review and verification"
        ),
        ModeLevel::Strict => {
            "needs a plan from `prompt-hydrator` before anything changes, and ends verified, reflected on, \
            committed and pushed"
                .to_owned()
        }
    };
    format!("your next prompt {words}")
}

/// A new text of the user's configuration, decided and tried before it is written.
pub(super) struct Change {
    file: Found,
    new: String,
    level: ModeLevel,
    /// The folder it applies to, as written in the file; `None` means everywhere.
    folder: Option<String>,
    project: PathBuf,
    policy: Policy,
    origins: Origins,
}

impl Change {
    /// Refuses here everything that can be refused.
    pub(super) fn make(env: &Env, level: ModeLevel, for_project: bool) -> anyhow::Result<Self> {
        let path = env.user_config.join(CONFIG_FILE);
        if !path.is_absolute() {
            bail!(
                "`HOME` is not set, so your configuration cannot be found\nhint: set `HOME` or \
                    `XDG_CONFIG_HOME`"
            );
        }
        let project = texts::project(env, &env.cwd);
        let here = project.to_string_lossy();
        let home = env.home.to_string_lossy();
        let folder = Folder { path: &here, home: &home };
        if for_project {
            user_file::check_covers_one(env, &project, "a mode", "without `--project`")?;
        }
        let shown = path.display().to_string();
        let file = files::find(&path).with_context(|| format!("`{shown}`"))?;
        let old = String::from_utf8(file.bytes.clone().unwrap_or_default())
            .with_context(|| format!("`{shown}`"))?;
        let new = if for_project {
            choose::set_folder_mode(&old, folder, level)
        } else {
            choose::set_mode(&old, level)
        };
        let Some(new) = new else { return refused(by_hand(&shown, level)) };
        let tried = read_policy(env, &project, Some(Source { file: &shown, text: &new }));
        let (policy, origins) = tried.or_else(|problems| refused(unaccepted(level, &problems)))?;
        let folder = for_project.then(|| choose::shorten(folder));
        let change = Self { file, new, level, folder, project, policy, origins };
        change.check(&shown)?;
        Ok(change)
    }

    /// Checks that the requested mode takes effect here, unless an entry for this folder overrides it.
    fn check(&self, file: &str) -> anyhow::Result<()> {
        let holds = self.policy.mode.level();
        if let Some(floor) = self.origins.floor().filter(|floor| self.level < *floor) {
            return refused(format!(
                "the administrator's bundle sets the mode to `{}`, and you cannot choose a lower one\n\
                hint: ask who signs the bundle; `aops-hook bundle status` shows whose it is",
                floor.name()
            ));
        }
        let place = self.origins.of("mode.level").last();
        match place.filter(|_| holds != self.level) {
            Some(place) if place.layer == Layer::Project => refused(format!(
                "this project's own file sets the mode to `{}` ({place}), and you cannot lower it\nhint: \
                change that line if the project is yours to change; in another folder `aops-hook mode {}` \
                sets your default",
                holds.name(),
                self.level.name()
            )),
            _ if holds != self.level && self.folder.is_some() => refused(by_hand(file, self.level)),
            _ => self.file.check_writable().map_err(|error| {
                anyhow::anyhow!("`{file}` is {error}\nhint: run `chmod u+w {file}`, then try again")
            }),
        }
    }

    pub(super) fn changes(&self) -> bool {
        self.file.bytes.as_deref() != Some(self.new.as_bytes())
    }

    pub(super) fn to_json(&self) -> Value {
        let mut value = to_json(&self.policy, &self.origins, &self.project);
        value["set"] = json!(self.level);
        value["file"] = json!(self.file.path);
        value["folder"] = json!(self.folder);
        value["changed"] = json!(self.changes());
        value
    }

    /// The new state, and how the next prompt will work.
    fn words(&self) -> String {
        format!("{}\n{}", self.outcome(), next_prompt(&self.policy))
    }

    pub(super) fn outcome(&self) -> String {
        let word = self.level.name();
        let file = self.file.path.display();
        let verb = if self.changes() { "is set" } else { "was set already" };
        let folder = self.folder.as_ref().map(|folder| format!(" for `{folder}`")).unwrap_or_default();
        let words = format!("mode `{word}` {verb}{folder} in `{file}`");
        let holds = self.policy.mode.level();
        match self.origins.of("mode.level").last().filter(|_| holds != self.level) {
            Some(place) => format!(
                "{words}\nin this folder it stays `{}`, by the `[[project]]` at {place}; `aops-hook mode \
                {word} --project` changes that",
                holds.name()
            ),
            None => words,
        }
    }

    pub(super) fn carry_out(&self, env: &Env) -> anyhow::Result<()> {
        if !self.changes() {
            return Ok(());
        }
        let path = &self.file.path;
        let named = || format!("`{}`", path.display());
        files::make_folders(path.parent().unwrap_or(Path::new("/")), 0o777).with_context(named)?;
        own_changes::announce(env, path, Some(self.new.as_bytes()));
        self.file.replace(self.new.as_bytes(), 0o666).with_context(named)
    }
}

fn by_hand(file: &str, level: ModeLevel) -> String {
    let word = level.name();
    format!(
        "`{file}` has `mode` or `project` in a form that we cannot edit\n\
        hint: write `[mode]` and `level = \"{word}\"` there yourself"
    )
}

fn unaccepted(level: ModeLevel, problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(|problem| format!("\n{problem}")).collect();
    format!(
        "with mode `{}` the configuration would not be accepted, so nothing was changed:{}\n\
        hint: fix that line first, then set the mode",
        level.name(),
        lines.concat()
    )
}
