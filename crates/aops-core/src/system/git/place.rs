//! Finds a repository's own folder without starting `git`.

use crate::system::files;
use std::fs;
use std::path::{Path, PathBuf};

/// The `.git` folder of the repository or worktree here; `None` if there is none.
pub fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let about = fs::symlink_metadata(&git).ok()?;
    if about.is_file() {
        let text = files::read_text(&git).ok()?;
        Some(folder.join(text.strip_prefix("gitdir:")?.trim()))
    } else {
        Some(git)
    }
}

/// The folder that all worktrees of this repository share; `None` if there is no repository.
pub fn git_common_folder(folder: &Path) -> Option<PathBuf> {
    let own = git_folder(folder)?;
    let shared = files::read_text(own.join("commondir")).ok().map(|text| own.join(text.trim()));
    Some(shared.unwrap_or(own)).filter(|folder| folder.join("HEAD").exists())
}
