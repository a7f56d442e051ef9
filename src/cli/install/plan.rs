//! Decides everything an installation will do, before it does any of it, and records what it did in a receipt.
//!
//! Reads the settings file and the places of our texts; reads and writes the receipt, `<config>/aops/installed.json`, and
//! the originals in `<config>/aops/backup/`. Invariants: every refusal happens in `Plan::make`, so that nothing is left half
//! done; the receipt is written before the changes it lists, so a crash in between leaves nothing unlisted.

use super::Level;
use crate::claude::settings::{PROGRAM, StatusLine, Unreadable, register, status_line, unregister, with_status_line};
use crate::config::problem::position;
use crate::config::texts::{self, Asset};
use crate::system::env::Env;
use crate::system::files::{self, Found};
use crate::text::sha256::sha256;
use crate::text::template::one_line;
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fs, io};

pub struct Plan {
    pub command: String,
    pub settings: Found,
    pub old: String,
    pub new: String,
    /// Our texts that are not there yet, or are of an older version.
    pub texts: Vec<(Found, &'static Asset)>,
    /// Texts of an older version that we no longer ship.
    pub stale: Vec<Found>,
    receipt: Receipt,
}

impl Plan {
    pub fn make(env: &Env, level: Level, statusline: bool) -> anyhow::Result<Self> {
        let command = command(env)?;
        let receipt = Receipt::read(env)?;
        let (settings, old) = read_settings(&level.path(env))?;
        let new = register(&old, &command).map_err(|error| unreadable(&settings.path, &error))?;
        let new = add_status_line(&new, &settings.path, &command, statusline)?;
        let texts = texts(env, &receipt)?;
        let stale = stale(env, &receipt)?;
        for found in texts.iter().map(|(found, _)| found).chain(&stale).chain((new != old).then_some(&settings)) {
            writable(found)?;
        }
        Ok(Self { command, settings, old, new, texts, stale, receipt })
    }

    pub fn changes(&self) -> bool {
        self.new != self.old || !self.texts.is_empty() || !self.stale.is_empty()
    }

    /// Do it: the receipt first, the settings last. Gives where the original was kept, if a new one was.
    pub fn carry_out(mut self, env: &Env) -> anyhow::Result<Option<PathBuf>> {
        self.receipt.make_folders(&env.config, 0o777)?;
        self.receipt.make_folders(&env.config.join("aops/backup"), 0o700)?;
        for found in self.texts.iter().map(|(found, _)| found).chain([&self.settings]) {
            self.receipt.make_folders(found.path.parent().unwrap_or(Path::new("/")), 0o777)?;
        }
        let kept = self.enter_settings(env)?;
        self.enter_texts(env);
        self.receipt.write(env)?;
        for (found, asset) in &self.texts {
            found.replace(asset.text.as_bytes(), 0o666).with_context(|| quote_path(&found.path))?;
        }
        for found in &self.stale {
            found.remove().with_context(|| quote_path(&found.path))?;
        }
        if self.new != self.old {
            self.settings.replace(self.new.as_bytes(), 0o666).with_context(|| quote_path(&self.settings.path))?;
        }
        Ok(kept)
    }

    /// Enters the settings in the receipt. The original is the text without our entries, later edits included.
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

    fn enter_texts(&mut self, env: &Env) {
        let placed: Vec<_> =
            texts::placed().map(|asset| Placed::new(env.config.join(asset.path), asset.text)).collect();
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
            "{} already has another status line, which was not overwritten: `{}`\nhint: nothing was installed; call `aops-hook statusline` from yours (it reads the same JSON), or remove `statusLine`, then install again",
            quote_path(path),
            one_line(&line, 200)
        ),
        StatusLine::None | StatusLine::Ours => {
            with_status_line(text, command).map_err(|error| unreadable(path, &error))
        }
    }
}

/// The program to register: this one, by its whole path.
fn command(env: &Env) -> anyhow::Result<String> {
    let path = env.program().context("cannot find out where this program is")?;
    if path.file_name().is_none_or(|name| name != PROGRAM) {
        bail!(
            "{} must be called `{PROGRAM}` to be found again\nhint: rename it, then install again",
            quote_path(&path)
        );
    }
    let Ok(path) = path.into_os_string().into_string() else {
        bail!("the path of this program is not UTF-8, and settings are\nhint: move it elsewhere, then install again");
    };
    Ok(path)
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
        "{}, {error}\nhint: the file was left as it is; make it plain JSON (no comments, no trailing commas), then try again",
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

pub fn quote_path(path: &Path) -> String {
    format!("`{}`", path.display())
}

/// The texts to write; refused where a foreign file has the same name.
fn texts(env: &Env, receipt: &Receipt) -> anyhow::Result<Vec<(Found, &'static Asset)>> {
    let mut to_write = Vec::new();
    let mut foreign = Vec::new();
    for asset in texts::placed() {
        let path = env.config.join(asset.path);
        let found = files::find(&path).with_context(|| quote_path(&path))?;
        match &found.bytes {
            Some(bytes) if bytes == asset.text.as_bytes() => {}
            Some(_) if !receipt.files.iter().any(|placed| placed.path == path && placed.untouched(&found)) => {
                foreign.push(quote_path(&path));
            }
            _ => to_write.push((found, asset)),
        }
    }
    if !foreign.is_empty() {
        bail!(
            "these files are not from aops-hook and were not overwritten: {}\nhint: nothing was installed; move them away, then install again",
            foreign.join(", ")
        );
    }
    Ok(to_write)
}

fn stale(env: &Env, receipt: &Receipt) -> anyhow::Result<Vec<Found>> {
    let mut gone = Vec::new();
    for placed in &receipt.files {
        let found = files::find(&placed.path).with_context(|| quote_path(&placed.path))?;
        if placed.untouched(&found) && texts::placed().all(|asset| env.config.join(asset.path) != placed.path) {
            gone.push(found);
        }
    }
    Ok(gone)
}

const SCHEMA: u32 = 1;

/// All that is installed for this user.
#[derive(Debug, Serialize, Deserialize)]
pub struct Receipt {
    schema: u32,
    pub settings: Vec<Edited>,
    pub files: Vec<Placed>,
    /// Folders we made, the outermost first.
    pub folders: Vec<PathBuf>,
}

/// A settings file with our entries.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Edited {
    pub path: PathBuf,
    /// What we wrote: any other digest means that the file was edited since.
    pub wrote_sha256: String,
    /// The copy of the text from before the installation; nothing if there was no file.
    pub original: Option<PathBuf>,
}

/// An agent or command that we placed in the client's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    pub path: PathBuf,
    pub sha256: String,
}

impl Receipt {
    fn path(env: &Env) -> PathBuf {
        env.config.join("aops/installed.json")
    }

    /// What is installed; an empty one if nothing is.
    pub fn read(env: &Env) -> anyhow::Result<Self> {
        if !env.config.is_absolute() {
            bail!("`HOME` is not set, so the settings cannot be found\nhint: set `HOME` or `CLAUDE_CONFIG_DIR`");
        }
        let path = Self::path(env);
        let named = || format!("`{}`", path.display());
        let Some(bytes) = files::find(&path).with_context(named)?.bytes else {
            return Ok(Self { schema: SCHEMA, settings: Vec::new(), files: Vec::new(), folders: Vec::new() });
        };
        let found: Self = serde_json::from_slice(&bytes).with_context(named)?;
        if found.schema != SCHEMA {
            bail!("{} is of another version\nhint: use the `aops-hook` that wrote it", named());
        }
        Ok(found)
    }

    pub fn write(&self, env: &Env) -> anyhow::Result<()> {
        let path = Self::path(env);
        let found = files::find(&path)?;
        let text = format!("{}\n", serde_json::to_string_pretty(self)?);
        if found.bytes.as_deref() == Some(text.as_bytes()) {
            return Ok(());
        }
        found.replace(text.as_bytes(), 0o600).with_context(|| format!("`{}`", path.display()))
    }

    /// Writes it after an uninstall; removes it, and the folders we made, once nothing is installed.
    pub fn close(mut self, env: &Env) -> anyhow::Result<()> {
        let over = self.settings.is_empty() && self.files.is_empty();
        let found = files::find(&Self::path(env))?;
        if over && found.bytes.is_some() {
            found.remove()?;
        }
        self.folders.reverse();
        self.folders.retain(|folder| fs::remove_dir(folder).is_err() && folder.exists());
        self.folders.reverse();
        if over { Ok(()) } else { self.write(env) }
    }

    pub fn edited(&self, path: &Path) -> Option<&Edited> {
        self.settings.iter().find(|edited| edited.path == path)
    }

    /// Makes a folder, and records it if it is new.
    pub fn make_folders(&mut self, folder: &Path, mode: u32) -> anyhow::Result<()> {
        let new = files::make_folders(folder, mode).with_context(|| format!("`{}`", folder.display()))?;
        self.folders.extend(new);
        Ok(())
    }
}

fn is_digest(found: &Found, digest: &str) -> bool {
    found.bytes.as_ref().is_some_and(|bytes| sha256(&[bytes]) == digest)
}

impl Placed {
    pub fn new(path: PathBuf, text: &str) -> Self {
        Self { path, sha256: sha256(&[text.as_bytes()]) }
    }

    /// The file is as we wrote it.
    pub fn untouched(&self, found: &Found) -> bool {
        is_digest(found, &self.sha256)
    }
}

impl Edited {
    /// The file is as we wrote it.
    pub fn untouched(&self, found: &Found) -> bool {
        is_digest(found, &self.wrote_sha256)
    }

    /// The text from before the installation; nothing if there was no file. An error if the copy is gone or broken.
    pub fn original(&self) -> io::Result<Option<String>> {
        self.original.as_ref().map(fs::read_to_string).transpose()
    }
}

/// Copies a settings file from before the installation; gives the path of the copy.
pub fn back_up(env: &Env, settings: &Path, bytes: &[u8]) -> anyhow::Result<PathBuf> {
    let day = chrono::DateTime::from_timestamp_millis(env.now_ms).unwrap_or_default().format("%Y%m%dT%H%M%SZ");
    let name = settings.file_name().unwrap_or_default().to_string_lossy();
    let digest = sha256(&[settings.as_os_str().as_encoded_bytes(), bytes]);
    let path = env.config.join("aops/backup").join(format!("{name}.{day}-{}", &digest[..8]));
    let found = files::find(&path)?;
    if found.bytes.as_deref() != Some(bytes) {
        found.replace(bytes, 0o600).with_context(|| format!("`{}`", path.display()))?;
    }
    Ok(path)
}
