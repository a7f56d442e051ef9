//! Makes git ignore the store, by a line in the repository's own list, which is not tracked.
//!
//! Reads the repository's layout, appends to `info/exclude`. A read-only repository is left as it is.

use std::fs;
use std::path::{Path, PathBuf};

/// Anywhere in the repository: a project can begin below its root.
pub const LINE: &str = "**/.claude/checkpoints/";

/// Adds the line where it is missing.
pub fn from_git(root: &Path) {
    let Some(folder) = root.ancestors().find_map(common) else { return };
    let path = folder.join("info/exclude");
    let known = fs::read_to_string(&path).unwrap_or_default();
    if known.lines().any(|line| line.trim_end() == LINE) {
        return;
    }
    let gap = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
    let _ = fs::create_dir_all(folder.join("info"));
    if let Ok(found) = crate::system::files::find(&path) {
        let _ = found.replace(format!("{known}{gap}{LINE}\n").as_bytes(), 0o644);
    }
}

/// The `.git` folder of the repository or worktree here; `None` where there is none.
pub fn own(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let about = fs::symlink_metadata(&git).ok()?;
    if about.is_file() {
        let text = fs::read_to_string(&git).ok()?;
        Some(folder.join(text.strip_prefix("gitdir:")?.trim()))
    } else {
        Some(git)
    }
}

/// The folder that all worktrees of the repository here share; `None` where there is no repository.
pub fn common(folder: &Path) -> Option<PathBuf> {
    let own = own(folder)?;
    let shared = fs::read_to_string(own.join("commondir")).ok().map(|text| own.join(text.trim()));
    Some(shared.unwrap_or(own)).filter(|folder| folder.join("HEAD").exists())
}
