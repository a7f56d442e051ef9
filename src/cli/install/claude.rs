//! The steps that install us for Claude Code at one level of its settings, and the steps that undo it.
//!
//! Reads the settings file, the receipt and the places of our texts; writes nothing.

use super::Level;
use super::placing::{OwnText, Placing};
use super::receipt::{Placed, Receipt, quote_path};
use super::steps::{Readers, Step, Steps, own_texts, placed_texts, read_settings, taken_back, unreadable};
use anyhow::{Context, bail};
use aops_core::config::in_force;
use aops_core::config::policy::jail::JailLevel;
use aops_core::host::claude::settings::deny::with_denied;
use aops_core::host::claude::settings::prefix::{self, with_prefix};
use aops_core::host::claude::settings::{
    PROGRAM, SCRIPT_COMMAND, SCRIPT_IN_SHELL, StatusLine, register, status_line, unregister, with_status_line,
};
use aops_core::model::client::Client;
use aops_core::observe::impostors::program_mark;
use aops_core::system::env::{Env, starts_through_us};
use aops_core::text::template::one_line;
use std::path::{Path, PathBuf};

/// What a person asked for in addition to the hooks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    pub statusline: bool,
    pub denies_secrets: bool,
}

/// An installation for Claude Code. The last step writes its settings.
pub struct Plan {
    pub command: String,
    pub steps: Steps,
    /// The folder for our texts.
    pub folder: PathBuf,
    /// Foreign files with our names, as messages for the person.
    pub clashes: Vec<String>,
    /// The receipt names another program, or another client.
    moved: bool,
}

impl Plan {
    pub fn make(env: &Env, level: Level, wanted: Wanted) -> anyhow::Result<Self> {
        let program = command(env)?;
        let command = if level == Level::Project { SCRIPT_COMMAND.to_owned() } else { program.clone() };
        let mut receipt = Receipt::read(env)?;
        let (settings, old) = read_settings(&level.path(env))?;
        let new = merged(env, level, wanted, (&settings.path, &old), (&command, &program))?;
        let placing = Placing::of(env, level, &program, &receipt);
        let owner = (level == Level::Project).then(|| settings.path.clone());
        let texts = placing.texts.iter().map(|own| (own.path.clone(), own.text.clone(), own.readers));
        let mut list = own_texts(texts, &receipt)?;
        list.extend(stale(&placing, owner.as_deref(), &receipt)?);
        let before = receipt.edited(&settings.path).and_then(|known| known.original().ok().flatten());
        let without = unregister(&old, before.as_deref()).unwrap_or_else(|_| old.clone());
        list.push(Step::merge(settings, new, without, Readers::Usual));
        enter_texts(&mut receipt, &placing, owner.as_deref(), &list);
        let moved = enter_programs(&mut receipt, env, program);
        let steps = Steps { list, receipt: Some(receipt), ..Steps::default() }.check()?;
        Ok(Self { command, steps, folder: level.folder(env), clashes: placing.clashes, moved })
    }

    pub fn settings(&self) -> &Step {
        &self.steps.list[self.steps.list.len() - 1]
    }

    /// The steps that change one of our texts.
    pub fn texts(&self) -> impl Iterator<Item = &Step> {
        self.steps.list[..self.steps.list.len() - 1].iter().filter(|step| step.changes())
    }

    pub fn changes(&self) -> bool {
        self.moved || self.steps.changes()
    }
}

/// The settings with everything we want there. `command`: the command to register, and the program it runs.
fn merged(
    env: &Env,
    level: Level,
    wanted: Wanted,
    (path, old): (&Path, &str),
    (command, program): (&str, &str),
) -> anyhow::Result<String> {
    let new = register(old, command).map_err(|error| unreadable(path, &error))?;
    let in_shell = if level == Level::Project { SCRIPT_IN_SHELL } else { program };
    let new = add_status_line(&new, path, in_shell, wanted.statusline)?;
    let new = add_prefix(env, level, new, path, program)?;
    if wanted.denies_secrets { with_denied(&new).map_err(|error| unreadable(path, &error)) } else { Ok(new) }
}

/// Records the placed texts in the receipt, replacing those that are removed.
fn enter_texts(receipt: &mut Receipt, placing: &Placing, owner: Option<&Path>, steps: &[Step]) {
    let enter = |own: &OwnText| Placed::new(own.path.clone(), &own.text, owner.map(Path::to_owned));
    let placed: Vec<_> = placing.texts.iter().map(enter).collect();
    receipt.files.retain(|old| placed.iter().all(|new| new.path != old.path));
    let gone = |path: &Path| steps.iter().any(|step| step.is_gone() && step.found.path == path);
    receipt.files.retain(|old| !gone(&old.path));
    receipt.files.extend(placed);
}

/// Records the client on `PATH` and our program, with the mark of its file. Returns whether either changed.
fn enter_programs(receipt: &mut Receipt, env: &Env, program: String) -> bool {
    let program = PathBuf::from(program);
    let mark = program_mark(&program);
    let client = env.on_path(Client::default().name()).or_else(|| receipt.client_program.clone());
    let moved = client != receipt.client_program || receipt.programs.get(&program) != Some(&mark);
    receipt.client_program = client;
    receipt.programs.insert(program, mark);
    moved
}

/// Texts of this level that we no longer place.
fn stale(placing: &Placing, owner: Option<&Path>, receipt: &Receipt) -> anyhow::Result<Vec<Step>> {
    let of_level = receipt.files.iter().filter(|placed| placed.settings.as_deref() == owner);
    let dropped = of_level.filter(|placed| placing.texts.iter().all(|own| own.path != placed.path));
    Ok(placed_texts(dropped)?.0)
}

/// The steps that undo an installation for Claude Code. The first one restores its settings.
pub fn undo(env: &Env, level: Level) -> anyhow::Result<Steps> {
    let mut receipt = Receipt::read(env)?;
    let (settings, old) = read_settings(&level.path(env))?;
    let path = settings.path.clone();
    let back = taken_back(&receipt, settings, Readers::Usual, |original| {
        unregister(&old, original).map_err(|error| unreadable(&path, &error))
    })?;
    let (texts, left) = placed_texts(receipt.needless(&path))?;
    let needless: Vec<PathBuf> = receipt.needless(&path).map(|placed| placed.path.clone()).collect();
    receipt.settings.retain(|other| other.path != path);
    receipt.files.retain(|placed| !needless.contains(&placed.path));
    let is_shared =
        |copy: &PathBuf| receipt.settings.iter().any(|other| other.original.as_ref() == Some(copy));
    let needless = back.copy.into_iter().filter(|copy| !is_shared(copy)).collect();
    let list = std::iter::once(back.step).chain(texts).collect();
    Steps {
        list,
        receipt: Some(receipt),
        takes_back: true,
        forgets_key: true,
        needless,
        restores: back.is_exact,
        left,
    }
    .check()
}

/// The settings with our status line, if it was requested or is there already.
fn add_status_line(text: &str, path: &Path, command: &str, wanted: bool) -> anyhow::Result<String> {
    match status_line(text) {
        StatusLine::None | StatusLine::Foreign(_) if !wanted => Ok(text.to_owned()),
        StatusLine::Foreign(line) => bail!(
            "{} already has another status line, which was not overwritten: `{}`\nhint: nothing was \
            installed; call `aops-hook statusline` from yours (it reads the same JSON), or remove \
            `statusLine`, then install again",
            quote_path(path),
            one_line(&line, 200)
        ),
        StatusLine::None | StatusLine::Ours => {
            with_status_line(text, command).map_err(|error| unreadable(path, &error))
        }
    }
}

/// The settings that make the client start shell commands through us. Not in a project's shared settings:
/// people without aops-hook read them too, and could start no command at all.
fn add_prefix(env: &Env, level: Level, text: String, path: &Path, program: &str) -> anyhow::Result<String> {
    let jail = in_force::load(env, &env.cwd).map(|found| found.policy.jail.level);
    let wanted = cfg!(target_os = "linux") && level != Level::Project;
    if !wanted || jail.is_ok_and(|level| level == JailLevel::Off) {
        return Ok(text);
    }
    with_prefix(&text, program).map_err(|error| unreadable(path, &error))
}

/// Whether none of this person's own settings make the client start shell commands through us, although they
/// could.
pub fn is_unjailed(env: &Env) -> bool {
    let jail = in_force::load(env, &env.cwd).map(|found| found.policy.jail.level);
    let wanted = cfg!(target_os = "linux") && jail.is_ok_and(|level| level != JailLevel::Off);
    let named = |level: Level| {
        let text = read_settings(&level.path(env)).map(|(_, text)| text).unwrap_or_default();
        prefix::found(&text).is_some_and(|value| starts_through_us(&value))
    };
    wanted && !named(Level::User) && !named(Level::Local)
}

/// The program to register: this one, by its full path.
pub fn command(env: &Env) -> anyhow::Result<String> {
    let path = env.program().context("cannot find out where this program is")?;
    if path.file_name().is_none_or(|name| name != PROGRAM) {
        bail!(
            "{} must be called `{PROGRAM}` to be found again\nhint: rename it, then install again",
            quote_path(&path)
        );
    }
    if let Some((keeper, way)) = cached_by(&path) {
        bail!(
            "{} is in the cache of `{keeper}`, which may be emptied at any time: then no tool call would \
            pass\nhint: run `{way}`, then `aops-hook install`",
            quote_path(&path)
        );
    }
    let Ok(path) = path.into_os_string().into_string() else {
        bail!(
            "the path of this program is not UTF-8, but settings must be\nhint: move it elsewhere, then \
                install again"
        );
    };
    Ok(path)
}

/// The package manager whose cache contains the program, and how to install it permanently.
fn cached_by(path: &Path) -> Option<(&'static str, &'static str)> {
    let has = |names: &[&str]| path.iter().any(|part| names.iter().any(|name| part == *name));
    match () {
        () if has(&["_npx"]) => Some(("npx", "npm install --global aops-hook")),
        () if has(&["archive-v0", "builds-v0", "environments-v2"]) => {
            Some(("uvx", "uv tool install aops-hook"))
        }
        () => None,
    }
}
