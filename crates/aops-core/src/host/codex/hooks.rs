//! Our entries in `hooks.json`, and whether Codex trusts them.
//!
//! Reads that file's text and Codex's configuration, writes nothing. Invariant: they count as trusted only if
//! each one is.

use super::trust::{Trust, holds, trust};
use crate::host::claude::settings::{Registered, Unreadable, survey};
use crate::system::files;
use std::path::Path;

/// The file below the client's folder.
pub const FILE: &str = "hooks.json";

pub fn ours(text: &str) -> Result<Vec<Registered>, Unreadable> {
    Ok(survey(text)?.ours)
}

/// The trust that our entries of this file need. `file`: its absolute path.
pub fn trusts(text: &str, file: &str) -> Result<Vec<Trust>, Unreadable> {
    Ok(ours(text)?.iter().map(|one| trust(file, one)).collect())
}

/// Codex trusts each of our entries in this file.
pub fn is_trusted(folder: &Path, text: &str) -> bool {
    let path = folder.join(FILE);
    let real = path.canonicalize().unwrap_or(path);
    let config = files::read_text(folder.join("config.toml")).unwrap_or_default();
    trusts(text, &real.display().to_string()).is_ok_and(|trusts| holds(&config, &trusts))
}
