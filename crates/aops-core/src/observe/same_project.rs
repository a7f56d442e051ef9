//! Which folders belong to one project: a repository's working trees, and every folder inside them.
//!
//! Reads git's own files, and the state of a session. Why: a fork of a blocked session is blocked, wherever
//! in the project it was started.

use crate::ledger::heads::{self, Head};
use crate::ledger::open::Ledger;
use crate::ledger::session_folder::dashed;
use crate::ledger::sessions;
use crate::model::error::Failure;
use crate::model::event::Event;
use crate::system::env::Env;
use crate::system::files;
use std::fs;
use std::path::{Path, PathBuf};

/// Finds a blocked session anywhere in the project: a fork may be started in a subfolder or in another
/// working tree.
pub fn blocked_beside(
    env: &Env,
    ledger: &Ledger,
    event: &Event,
    forks: bool,
) -> Result<Vec<(String, String)>, Failure> {
    let own = ledger.project();
    let cwd = Path::new(&event.cwd);
    let beside = heads::at(env).blocked()?.into_iter();
    let beside = beside.filter(|head| head.project == own || forks && is_of(env, cwd, head));
    Ok(beside.map(|head| (head.session_id, head.reason.unwrap_or_default())).collect())
}

/// Whether this head's session belongs to the project that contains this folder.
pub fn is_of(env: &Env, cwd: &Path, head: &Head) -> bool {
    let trees = working_trees(cwd);
    let inside = trees.iter().find_map(|tree| cwd.strip_prefix(tree).ok()).unwrap_or(Path::new(""));
    let here = trees.iter().flat_map(|tree| inside.ancestors().map(|folder| tree.join(folder)));
    let known = here
        .chain(cwd.ancestors().map(Path::to_path_buf))
        .any(|folder| folder != Path::new("/") && dashed(&folder.to_string_lossy()) == head.project);
    known || began_in(env, head).is_some_and(|root| trees.contains(&root) || cwd.starts_with(&root))
}

/// The root of the project in which this session began.
fn began_in(env: &Env, head: &Head) -> Option<PathBuf> {
    let mut found = env.projects_named(&head.project).into_iter().flat_map(sessions::in_project);
    let found = found.find(|found| found.session_id == head.session_id)?;
    let root = sessions::session(&found)?.memory.place.root;
    (!root.is_empty()).then(|| PathBuf::from(root))
}

/// All working trees of the repository that contains this folder, its own first.
fn working_trees(cwd: &Path) -> Vec<PathBuf> {
    let Some(own) = cwd.ancestors().find(|folder| folder.join(".git").exists()) else { return Vec::new() };
    let link = own.join(".git");
    let read = |path: &Path| files::read_text(path).ok().map(|text| text.trim().to_owned());
    let git = match read(&link).and_then(|text| Some(own.join(text.strip_prefix("gitdir:")?.trim()))) {
        Some(linked) => read(&linked.join("commondir")).map_or(linked.clone(), |common| linked.join(common)),
        None => link,
    };
    let git = git.canonicalize().unwrap_or(git);
    let others = fs::read_dir(git.join("worktrees")).into_iter().flatten().flatten();
    let others = others
        .filter_map(|item| Some(Path::new(&read(&item.path().join("gitdir"))?).parent()?.to_path_buf()));
    let main = git
        .file_name()
        .is_some_and(|name| name == ".git")
        .then(|| git.parent().map(Path::to_path_buf))
        .flatten();
    [own.to_path_buf()].into_iter().chain(main).chain(others).collect()
}
