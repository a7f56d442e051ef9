//! Whether a call changes only temporary and generated files.
//!
//! Reads links, the number of a file's names, and what git tracks. Invariants: a path that is uncertain,
//! leads elsewhere through a link or has a second name is not scratch; nothing below the home folder or the
//! project is temporary, wherever they are.

use super::real_paths;
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::system::git;
use crate::tool::effect::CallSetting;
use crate::tool::table::edited_field;
use crate::tool::targets::{Act, Targets};
use aops_shell::class::only_changes_named;
use aops_shell::syntax::{Line, Simple, Word};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Folders for files that nobody misses.
pub(super) fn temporary_folders() -> [PathBuf; 3] {
    [PathBuf::from("/tmp"), PathBuf::from("/var/tmp"), std::env::temp_dir()]
}

/// Only computed if changes wait for a plan, or if each change counts.
pub(super) fn is_all(
    env: &Env,
    session: &Session,
    tool: &str,
    line: Option<&Line>,
    around: &CallSetting,
    reach: &Targets,
) -> bool {
    if around.listed.is_some() || !session.plans_first() && !session.is_shut() {
        return false;
    }
    let root = Path::new(around.line.project.unwrap_or(around.line.ground.cwd));
    let named = match line {
        Some(line) => only_changes_named(line, &around.line),
        None => edited_field(tool).is_some(),
    };
    let mut changed = reach.paths.iter().filter(|target| target.act != Act::Copy).peekable();
    let known = named && reach.hidden.is_empty() && !reach.over && changed.peek().is_some();
    known && changed.all(|target| is_scratch(env, root, &target.path))
}

/// The path of the temporary file that receives a command's output.
pub(super) fn temporary_output(env: &Env, root: &Path, simple: &Simple, word: &Word) -> Option<String> {
    let [folder] = simple.folders.as_slice() else { return None };
    let path = word.from_folder(folder);
    let is_temporary = |path: &String| {
        let inside = real_paths::real(root).is_some_and(|root| Path::new(path).starts_with(root));
        !inside && is_scratch(env, root, &Word::of(path))
    };
    path.literal().filter(|_| path.is_firm()).filter(is_temporary)
}

pub(super) fn is_scratch(env: &Env, root: &Path, path: &Word) -> bool {
    let path = path.literal().filter(|_| path.is_firm());
    let Some(path) = path.and_then(|path| real_paths::real(Path::new(&path))) else { return false };
    if fs::metadata(&path).is_ok_and(|about| about.is_file() && about.nlink() > 1) {
        return false;
    }
    let real = |folder: &Path| real_paths::real(folder).unwrap_or_else(|| folder.to_path_buf());
    let root = real(root);
    let home = real(&env.home);
    if let Ok(inside) = path.strip_prefix(&root) {
        return git::is_made(env, &root, &inside.to_string_lossy());
    }
    // If people work below a temporary folder, the neighbouring files may matter to them.
    let is_beside = |top: &Path| root.starts_with(top) || home.starts_with(top);
    let below = |folder: &PathBuf| {
        let folder = real(folder);
        let first = path.strip_prefix(&folder).ok().and_then(|inside| inside.components().next());
        first.is_some_and(|first| !is_beside(&folder.join(first)))
    };
    !path.starts_with(&home) && temporary_folders().iter().any(below)
}
