//! Decides everything an installation will do, before it does any of it, and records what it did in a
//! receipt.
//!
//! Reads the settings file and the places of our texts; writes them and the receipt. Invariants: every
//! refusal happens in `Plan::make`, so that nothing is left half done; the receipt is written before the
//! changes it lists, so a crash in between leaves nothing unlisted.

use super::Level;
use super::placing::{OwnText, Placing};
use super::receipt::{Edited, Placed, Receipt, back_up, quote_path};
use anyhow::{Context, bail};
use aops_core::config::in_force;
use aops_core::config::policy::jail::JailLevel;
use aops_core::config::problem::position;
use aops_core::host::claude::settings::deny::with_denied;
use aops_core::host::claude::settings::prefix::{self, with_prefix};
use aops_core::host::claude::settings::{
    PROGRAM, SCRIPT_COMMAND, SCRIPT_IN_SHELL, StatusLine, Unreadable, register, status_line, unregister,
    with_status_line,
};
use aops_core::model::client::Client;
use aops_core::observe::impostors::program_mark;
use aops_core::observe::own_changes;
use aops_core::system::env::{Env, names_us};
use aops_core::system::files::{self, Found};
use aops_core::text::sha256::sha256;
use aops_core::text::template::one_line;
use std::path::{Path, PathBuf};

pub struct Plan {
    pub command: String,
    pub settings: Found,
    pub old: String,
    pub new: String,
    /// Our texts that are not there yet, or are of an older version.
    pub texts: Vec<(Found, OwnText)>,
    /// Texts of an older version that we no longer ship.
    pub stale: Vec<Found>,
    /// Where they go.
    pub folder: PathBuf,
    pub placing: Placing,
    /// The settings that alone need these texts; nothing where all of the user's do.
    owner: Option<PathBuf>,
    receipt: Receipt,
    /// The client that is on `PATH`.
    client: Option<PathBuf>,
    /// Our program, and the mark of its file.
    program: (PathBuf, String),
}

/// What a person asked for beside the hooks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    pub statusline: bool,
    pub denies_secrets: bool,
}

impl Plan {
    pub fn make(env: &Env, level: Level, wanted: Wanted) -> anyhow::Result<Self> {
        let program = command(env)?;
        let command = if level == Level::Project { SCRIPT_COMMAND.to_owned() } else { program.clone() };
        let receipt = Receipt::read(env)?;
        let (settings, old) = read_settings(&level.path(env))?;
        let new = register(&old, &command).map_err(|error| unreadable(&settings.path, &error))?;
        let in_shell = if level == Level::Project { SCRIPT_IN_SHELL } else { &program };
        let new = add_status_line(&new, &settings.path, in_shell, wanted.statusline)?;
        let new = add_prefix(env, level, new, &settings.path, &program)?;
        let new = if wanted.denies_secrets {
            with_denied(&new).map_err(|error| unreadable(&settings.path, &error))?
        } else {
            new
        };
        let placing = Placing::of(env, level, &program, &receipt);
        let owner = (level == Level::Project).then(|| settings.path.clone());
        let texts = to_write(&placing, &receipt)?;
        let stale = stale(&placing, owner.as_deref(), &receipt)?;
        for found in texts.iter().map(|(found, _)| found).chain(&stale).chain((new != old).then_some(&settings)) {
            writable(found)?;
        }
        let client = env.on_path(Client::Claude.name()).or_else(|| receipt.client_program.clone());
        let program = PathBuf::from(program);
        let program = (program.clone(), program_mark(&program));
        Ok(Self {
            command,
            settings,
            old,
            new,
            texts,
            stale,
            folder: level.folder(env),
            placing,
            owner,
            receipt,
            client,
            program,
        })
    }

    pub fn changes(&self) -> bool {
        let (path, mark) = &self.program;
        let moved = self.client != self.receipt.client_program || self.receipt.programs.get(path) != Some(mark);
        self.new != self.old || !self.texts.is_empty() || !self.stale.is_empty() || moved
    }

    /// Do it: the receipt first, the settings last. Gives where the original was kept, if a new one was.
    pub fn carry_out(&mut self, env: &Env) -> anyhow::Result<Option<PathBuf>> {
        self.receipt.make_folders(&env.config, 0o777)?;
        self.receipt.make_folders(&env.config.join("aops/backup"), 0o700)?;
        for found in self.texts.iter().map(|(found, _)| found).chain([&self.settings]) {
            self.receipt.make_folders(found.path.parent().unwrap_or(Path::new("/")), 0o777)?;
        }
        let kept = self.enter_settings(env)?;
        self.enter_texts();
        self.receipt.client_program.clone_from(&self.client);
        let (path, mark) = self.program.clone();
        self.receipt.programs.insert(path, mark);
        self.receipt.write(env)?;
        for (found, own) in &self.texts {
            found.replace(own.text.as_bytes(), own.mode).with_context(|| quote_path(&found.path))?;
        }
        for found in &self.stale {
            found.remove().with_context(|| quote_path(&found.path))?;
        }
        if self.new != self.old {
            own_changes::announce(env, &self.settings.path, Some(self.new.as_bytes()));
            self.settings.replace(self.new.as_bytes(), 0o666).with_context(|| quote_path(&self.settings.path))?;
        }
        Ok(kept)
    }

    /// Enters the settings in the receipt. The original is the text without our entries, later edits
    /// included.
    fn enter_settings(&mut self, env: &Env) -> anyhow::Result<Option<PathBuf>> {
        let path = self.settings.path.clone();
        let known = self.receipt.edited(&path).cloned();
        let (original, kept) = match known {
            Some(known) if known.untouched(&self.settings) => (known.original, None),
            known => {
                let before = known.and_then(|known| known.original().ok().flatten());
                let without = unregister(&self.old, before.as_deref()).unwrap_or_else(|_| self.old.clone());
                let copy = self.settings.bytes.as_ref().map(|_| back_up(env, &path, without.as_bytes()));
                let copy = copy.transpose()?;
                (copy.clone(), copy)
            }
        };
        let wrote_sha256 = sha256(&[self.new.as_bytes()]);
        self.receipt.settings.retain(|edited| edited.path != path);
        self.receipt.settings.push(Edited { path, wrote_sha256, original });
        Ok(kept)
    }

    fn enter_texts(&mut self) {
        let owner = &self.owner;
        let enter = |own: &OwnText| Placed::new(own.path.clone(), &own.text, owner.clone());
        let placed: Vec<_> = self.placing.texts.iter().map(enter).collect();
        self.receipt.files.retain(|old| placed.iter().all(|new| new.path != old.path));
        self.receipt.files.retain(|old| self.stale.iter().all(|found| found.path != old.path));
        self.receipt.files.extend(placed);
    }
}

/// The settings with our status line, where it was asked for or is there already.
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

/// The settings in which the client starts shell commands through us. A project's are also read by people who
/// have no aops-hook, and their commands would not start at all.
fn add_prefix(env: &Env, level: Level, text: String, path: &Path, program: &str) -> anyhow::Result<String> {
    let jail = in_force::load(env, &env.cwd).map(|found| found.policy.jail.level);
    let wanted = cfg!(target_os = "linux") && level != Level::Project;
    if !wanted || jail.is_ok_and(|level| level == JailLevel::Off) {
        return Ok(text);
    }
    with_prefix(&text, program).map_err(|error| unreadable(path, &error))
}

/// No settings of this person's own make the client start shell commands through us, and they could.
pub fn is_unjailed(env: &Env) -> bool {
    let jail = in_force::load(env, &env.cwd).map(|found| found.policy.jail.level);
    let wanted = cfg!(target_os = "linux") && jail.is_ok_and(|level| level != JailLevel::Off);
    let named = |level: Level| {
        let text = read_settings(&level.path(env)).map(|(_, text)| text).unwrap_or_default();
        prefix::found(&text).is_some_and(|value| names_us(&value))
    };
    wanted && !named(Level::User) && !named(Level::Local)
}

/// The program to register: this one, by its whole path.
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
        bail!("the path of this program is not UTF-8, and settings are\nhint: move it elsewhere, then install again");
    };
    Ok(path)
}

/// Whose cache a program is in, and how to have it for good.
fn cached_by(path: &Path) -> Option<(&'static str, &'static str)> {
    let has = |names: &[&str]| path.iter().any(|part| names.iter().any(|name| part == *name));
    match () {
        () if has(&["_npx"]) => Some(("npx", "npm install --global aops-hook")),
        () if has(&["archive-v0", "builds-v0", "environments-v2"]) => Some(("uvx", "uv tool install aops-hook")),
        () => None,
    }
}

/// A settings file and its text, empty if there is no file.
pub fn read_settings(path: &Path) -> anyhow::Result<(Found, String)> {
    let found = files::find(path).with_context(|| quote_path(path))?;
    match String::from_utf8(found.bytes.clone().unwrap_or_default()) {
        Ok(text) => Ok((found, text)),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let (line, column) = position(&String::from_utf8_lossy(&error.as_bytes()[..valid]), valid);
            Err(unreadable(path, &Unreadable { line, column, words: "not UTF-8".to_owned() }))
        }
    }
}

pub fn unreadable(path: &Path, error: &Unreadable) -> anyhow::Error {
    anyhow::anyhow!(
        "{}, {error}\nhint: the file was left as it is; make it plain JSON (no comments, no trailing \
        commas), then try again",
        quote_path(path)
    )
}

/// Refuses a read-only file before anything is done.
pub fn writable(found: &Found) -> anyhow::Result<()> {
    found.check_writable().map_err(|error| {
        let path = found.path.display();
        anyhow::anyhow!("`{path}` is {error}\nhint: run `chmod u+w {path}`, then try again")
    })
}

/// The texts to write; refused where a foreign file has taken even our second name.
fn to_write(placing: &Placing, receipt: &Receipt) -> anyhow::Result<Vec<(Found, OwnText)>> {
    let mut to_write = Vec::new();
    let mut foreign = Vec::new();
    for own in &placing.texts {
        let found = files::find(&own.path).with_context(|| quote_path(&own.path))?;
        match &found.bytes {
            Some(bytes) if bytes == own.text.as_bytes() => {}
            Some(_) if !receipt.placed(&own.path) => foreign.push(quote_path(&own.path)),
            _ => to_write.push((found, own.clone())),
        }
    }
    refuse_foreign(&foreign)?;
    Ok(to_write)
}

/// Refuses where there are such files.
pub fn refuse_foreign(files: &[String]) -> anyhow::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    bail!(
        "these files are not from aops-hook and were not overwritten: {}\n\
        hint: nothing was installed; move them away, then install again",
        files.join(", ")
    )
}

/// Texts of this level that we no longer place.
fn stale(placing: &Placing, owner: Option<&Path>, receipt: &Receipt) -> anyhow::Result<Vec<Found>> {
    let mut gone = Vec::new();
    for placed in receipt.files.iter().filter(|placed| placed.settings.as_deref() == owner) {
        let found = files::find(&placed.path).with_context(|| quote_path(&placed.path))?;
        if placed.untouched(&found) && placing.texts.iter().all(|own| own.path != placed.path) {
            gone.push(found);
        }
    }
    Ok(gone)
}
