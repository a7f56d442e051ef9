//! What an uninstallation leaves because it belongs to the user: records, and checkpoints in their projects.
//!
//! Reads the sessions on disk to find their projects; writes nothing.

use super::receipt::quote_path;
use aops_core::checkpoint::store::HIDDEN;
use aops_core::checkpoint::tree::OURS;
use aops_core::config::texts;
use aops_core::ledger::sessions;
use aops_core::observe::own_changes;
use aops_core::system::env::Env;
use aops_core::system::files;
use aops_core::system::git::git_common_folder;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How many folders are named.
const FEW: usize = 5;

/// The sessions that still have our hooks, if any, and what to do about them.
pub(super) fn describe_open(env: &Env) -> String {
    let words = match own_changes::open_sessions(env) {
        0 => return String::new(),
        1 => "1 session is open: end it".to_owned(),
        n => format!("{n} sessions are open: end them"),
    };
    format!("\n{words} (`/exit`), then `claude --continue`")
}

/// What stays and how to remove it, if anything stays.
pub(super) fn describe_kept(env: &Env) -> String {
    let records = [env.user_config.clone(), env.config.join("aops"), env.data.clone()];
    let there: Vec<String> =
        records.iter().filter(|path| path.exists()).map(|path| quote_path(path)).collect();
    if there.is_empty() {
        return describe_checkpoints(env);
    }
    let records = there.join(", ");
    let ledgers = quote_path(&env.projects());
    format!("\nkept, as it is yours: {records}; ledgers below {ledgers}{}", describe_checkpoints(env))
}

fn describe_checkpoints(env: &Env) -> String {
    let projects = projects_with_checkpoints(env);
    if projects.is_empty() {
        return String::new();
    }
    let folders: Vec<PathBuf> = projects.iter().map(|project| project.join(OURS)).collect();
    let lists: BTreeSet<PathBuf> =
        projects.iter().filter_map(|project| list_with_our_line(project)).collect();
    let lists: Vec<PathBuf> = lists.into_iter().collect();
    let line = match lists.as_slice() {
        [] => String::new(),
        lists => format!("; the line `{HIDDEN}`, which hides them from git, in {}", name_few(lists)),
    };
    let folders = name_few(&folders);
    let then = if line.is_empty() { "" } else { ", then the line in an editor," };
    format!(
        "\nkept in your projects: checkpoints in {folders}{line}\n\
        hint: remove such a folder with `rm -r`{then} if you want nothing of them back"
    )
}

/// The project here and those of all sessions, if they have checkpoints.
fn projects_with_checkpoints(env: &Env) -> BTreeSet<PathBuf> {
    let known =
        sessions::all(env).into_iter().filter_map(|found| Some(sessions::session(&found)?.memory.place.root));
    let roots = known.map(PathBuf::from).chain([texts::project(env, &env.cwd)]);
    roots.filter(|root| root.is_absolute() && root.join(OURS).is_dir()).collect()
}

/// The exclude file of the git repository around a project, if it contains our line.
fn list_with_our_line(project: &Path) -> Option<PathBuf> {
    let list = project.ancestors().find_map(git_common_folder)?.join("info/exclude");
    let text = files::read(&list).ok()?;
    text.split(|byte| *byte == b'\n').any(|line| line.trim_ascii_end() == HIDDEN.as_bytes()).then_some(list)
}

fn name_few(paths: &[PathBuf]) -> String {
    let named: Vec<String> = paths.iter().take(FEW).map(|path| quote_path(path)).collect();
    match paths.len().saturating_sub(FEW) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
