//! Decides everything an installation will do, before it does any of it.
//!
//! Reads the settings file, the receipt and the places of our texts. Invariant: every refusal happens here, so that
//! nothing is left half done.

use super::Level;
use crate::claude::settings::{PROGRAM, StatusLine, Unreadable, register, status_line, unregister, with_status_line};
use crate::cli::install::receipt::{Edited, Placed, Receipt, back_up};
use crate::config::problem::position;
use crate::config::texts::{self, Asset};
use crate::system::env::Env;
use crate::system::files::{self, Found};
use crate::text::sha256::sha256;
use crate::text::template::one_line;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};

/// One installation, decided.
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
        let new = shown(&new, &settings.path, &command, statusline)?;
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
            found.replace(asset.text.as_bytes(), 0o666).with_context(|| named(&found.path))?;
        }
        for found in &self.stale {
            found.remove().with_context(|| named(&found.path))?;
        }
        if self.new != self.old {
            self.settings.replace(self.new.as_bytes(), 0o666).with_context(|| named(&self.settings.path))?;
        }
        Ok(kept)
    }

    /// The settings' entry in the receipt. The original is the text without our entries, later edits included.
    fn enter_settings(&mut self, env: &Env) -> anyhow::Result<Option<PathBuf>> {
        let path = self.settings.path.clone();
        let known = self.receipt.edited(&path).cloned();
        let (original, kept) = match known {
            Some(known) if known.untouched(&self.settings) => (known.original, None),
            known => {
                let before = known.and_then(|known| known.original().ok().flatten());
                let before = before.and_then(|bytes| String::from_utf8(bytes).ok());
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
        self.receipt.files.retain(|placed| texts::placed().all(|asset| env.config.join(asset.path) != placed.path));
        self.receipt.files.retain(|placed| self.stale.iter().all(|found| found.path != placed.path));
        for asset in texts::placed() {
            let sha256 = sha256(&[asset.text.as_bytes()]);
            self.receipt.files.push(Placed { path: env.config.join(asset.path), sha256 });
        }
    }
}

/// The settings with our status line, where it was asked for or is there already.
fn shown(text: &str, path: &Path, command: &str, wanted: bool) -> anyhow::Result<String> {
    match status_line(text) {
        StatusLine::None | StatusLine::Foreign(_) if !wanted => Ok(text.to_owned()),
        StatusLine::Foreign(line) => bail!(
            "{} already has another status line, which was not overwritten: `{}`\nhint: nothing was installed; call `aops-hook statusline` from yours (it reads the same JSON), or remove `statusLine`, then install again",
            named(path),
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
        bail!("{} must be called `{PROGRAM}` to be found again\nhint: rename it, then install again", named(&path));
    }
    let Ok(path) = path.into_os_string().into_string() else {
        bail!("the path of this program is not UTF-8, and settings are\nhint: move it elsewhere, then install again");
    };
    Ok(path)
}

/// A settings file and its text, empty if there is no file.
pub fn read_settings(path: &Path) -> anyhow::Result<(Found, String)> {
    let found = files::find(path).with_context(|| named(path))?;
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
        named(path)
    )
}

/// Refuses a read-only file before anything is done.
pub fn writable(found: &Found) -> anyhow::Result<()> {
    found.check_writable().map_err(|error| {
        let path = found.path.display();
        anyhow::anyhow!("`{path}` is {error}\nhint: run `chmod u+w {path}`, then try again")
    })
}

pub fn named(path: &Path) -> String {
    format!("`{}`", path.display())
}

/// The texts to write; refused where a foreign file has the same name.
fn texts(env: &Env, receipt: &Receipt) -> anyhow::Result<Vec<(Found, &'static Asset)>> {
    let mut to_write = Vec::new();
    let mut foreign = Vec::new();
    for asset in texts::placed() {
        let path = env.config.join(asset.path);
        let found = files::find(&path).with_context(|| named(&path))?;
        match &found.bytes {
            Some(bytes) if bytes == asset.text.as_bytes() => {}
            Some(bytes) if receipt.placed(&path).is_none_or(|placed| placed.sha256 != sha256(&[bytes])) => {
                foreign.push(named(&path));
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
        let found = files::find(&placed.path).with_context(|| named(&placed.path))?;
        let ours = found.bytes.as_ref().is_some_and(|bytes| sha256(&[bytes]) == placed.sha256);
        if ours && texts::placed().all(|asset| env.config.join(asset.path) != placed.path) {
            gone.push(found);
        }
    }
    Ok(gone)
}
