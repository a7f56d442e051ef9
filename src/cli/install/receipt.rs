//! The receipt of everything installed for this user, and the original settings.
//!
//! Reads and writes `<config>/aops/installed.json` and `<config>/aops/backup/`. Invariant: a file counts as
//! ours only while its digest is the one that we wrote.

use anyhow::{Context, bail};
use aops_core::host::recorded;
use aops_core::system::env::Env;
use aops_core::system::files::{self, Found};
use aops_core::text::sha256::sha256;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

const SCHEMA: u32 = 1;

/// Everything installed for this user.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Receipt {
    schema: u32,
    /// The receipt's file name below our folder; empty for Claude Code.
    #[serde(skip)]
    client: String,
    /// The path of the client's own program, so that a different program found later on `PATH` is not taken
    /// for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_program: Option<PathBuf>,
    /// The registered programs, each with a mark of its file: a different file under our name is not ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<PathBuf, String>,
    pub settings: Vec<Edited>,
    pub files: Vec<Placed>,
    /// Folders we created, the outermost first.
    pub folders: Vec<PathBuf>,
}

/// A settings file with our entries.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Edited {
    pub path: PathBuf,
    /// The digest of what we wrote: any other digest means that the file was edited since.
    pub wrote_sha256: String,
    /// The copy of the text before the installation; `None` if there was no file.
    pub original: Option<PathBuf>,
}

/// An agent or command that we placed in the client's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    pub path: PathBuf,
    pub sha256: String,
    /// The only settings that need it; `None` if all of the user's settings do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<PathBuf>,
}

impl Receipt {
    /// The receipt of what is installed; empty if nothing is.
    pub fn read(env: &Env) -> anyhow::Result<Self> {
        Self::read_of(env, "")
    }

    /// The receipt for another client.
    pub fn read_of(env: &Env, client: &str) -> anyhow::Result<Self> {
        if !env.config.is_absolute() {
            bail!(
                "`HOME` is not set, so the settings cannot be found\nhint: set `HOME` or `CLAUDE_CONFIG_DIR`"
            );
        }
        let path = recorded::receipt(env, client);
        let named = || format!("`{}`", path.display());
        let Some(bytes) = files::find(&path).with_context(named)?.bytes else {
            return Ok(Self { schema: SCHEMA, client: client.to_owned(), ..Self::default() });
        };
        let mut found: Self = serde_json::from_slice(&bytes).with_context(named)?;
        if found.schema != SCHEMA {
            bail!("{} is of another version\nhint: use the `aops-hook` that wrote it", named());
        }
        client.clone_into(&mut found.client);
        Ok(found)
    }

    pub fn write(&self, env: &Env) -> anyhow::Result<()> {
        let path = recorded::receipt(env, &self.client);
        let found = files::find(&path)?;
        let text = format!("{}\n", serde_json::to_string_pretty(self)?);
        if found.bytes.as_deref() == Some(text.as_bytes()) {
            return Ok(());
        }
        found.replace(text.as_bytes(), 0o600).with_context(|| format!("`{}`", path.display()))
    }

    /// Writes the receipt after an uninstall; removes it, and the folders we created, once nothing is
    /// installed.
    pub fn close(mut self, env: &Env) -> anyhow::Result<()> {
        let over = self.settings.is_empty() && self.files.is_empty();
        let found = files::find(&recorded::receipt(env, &self.client))?;
        if over && found.bytes.is_some() {
            found.remove()?;
        }
        self.folders.reverse();
        self.folders.retain(|folder| fs::remove_dir(folder).is_err() && folder.exists());
        self.folders.reverse();
        if over { Ok(()) } else { self.write(env) }
    }

    /// Whether we placed this file, and it is still as we wrote it.
    pub fn placed(&self, path: &Path) -> bool {
        let untouched = |placed: &Placed| files::find(path).is_ok_and(|found| placed.untouched(&found));
        self.files.iter().any(|placed| placed.path == path && untouched(placed))
    }

    /// The placed texts that no settings need any more: those of this file alone and, if no other settings
    /// need them, the user's.
    pub fn needless(&self, gone: &Path) -> impl Iterator<Item = &Placed> {
        let owns = |path: &Path| self.files.iter().any(|placed| placed.settings.as_deref() == Some(path));
        let shared = self.settings.iter().any(|other| other.path != gone && !owns(&other.path));
        self.files.iter().filter(move |placed| match &placed.settings {
            Some(owner) => owner == gone,
            None => !shared,
        })
    }

    pub fn edited(&self, path: &Path) -> Option<&Edited> {
        self.settings.iter().find(|edited| edited.path == path)
    }

    /// Creates a folder, and records it if it is new.
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
    pub fn new(path: PathBuf, text: &str, settings: Option<PathBuf>) -> Self {
        Self { path, sha256: sha256(&[text.as_bytes()]), settings }
    }

    /// Whether the file is as we wrote it.
    pub fn untouched(&self, found: &Found) -> bool {
        is_digest(found, &self.sha256)
    }
}

impl Edited {
    /// Whether the file is as we wrote it.
    pub fn untouched(&self, found: &Found) -> bool {
        is_digest(found, &self.wrote_sha256)
    }

    /// The text before the installation; `None` if there was no file. An error if the copy is gone or broken.
    pub fn original(&self) -> io::Result<Option<String>> {
        self.original.as_ref().map(files::read_text).transpose()
    }
}

/// Copies a settings file before the installation. Returns the path of the copy.
pub fn back_up(env: &Env, settings: &Path, bytes: &[u8]) -> anyhow::Result<PathBuf> {
    let day =
        chrono::DateTime::from_timestamp_millis(env.now_ms).unwrap_or_default().format("%Y%m%dT%H%M%SZ");
    let name = settings.file_name().unwrap_or_default().to_string_lossy();
    let digest = sha256(&[settings.as_os_str().as_encoded_bytes(), bytes]);
    let path = env.config.join("aops/backup").join(format!("{name}.{day}-{}", &digest[..8]));
    let found = files::find(&path)?;
    if found.bytes.as_deref() != Some(bytes) {
        found.replace(bytes, 0o600).with_context(|| format!("`{}`", path.display()))?;
    }
    Ok(path)
}

pub fn quote_path(path: &Path) -> String {
    format!("`{}`", path.display())
}
