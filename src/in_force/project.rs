//! Finds the folder whose `.aops` counts.
//!
//! Reads the names `.aops` and `.git` on the way up. Invariants: looks no higher than the user's home; above the folder
//! it starts from, what another user put there does not count.

use crate::env::Env;
use std::fs::symlink_metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The nearest folder with `.aops` or `.git`, from where the client was started, else from `cwd`.
pub fn root(env: &Env, cwd: &Path) -> Option<PathBuf> {
    let start = if env.project.as_os_str().is_empty() { cwd } else { &env.project };
    let owner = std::fs::metadata(start).ok().map(|about| about.uid());
    for folder in start.ancestors().take_while(|folder| folder.is_absolute()) {
        // Anybody may make `/tmp/.aops`; our own and the system's are as good as ours.
        let counts = |name: &str| {
            symlink_metadata(folder.join(name))
                .is_ok_and(|about| folder == start || about.uid() == 0 || Some(about.uid()) == owner)
        };
        if counts(".aops") || counts(".git") {
            return Some(folder.to_owned());
        }
        if folder == env.home {
            return None;
        }
    }
    None
}
