//! The delivery of a run's work: a commit on a branch of its own, pushed and read back; then the pull
//! request.
//!
//! Starts `git` and the forge's program. Both are jailed like the agent's own commands, so a delivery can do
//! nothing that a step could not. Invariants: work counts as delivered only if the remote, asked again, has
//! exactly this commit; repeating it after a kill changes nothing; what cannot be delivered stays in the
//! repository and in a bundle.

mod repository;
pub mod forge;

use crate::run::attempt::Delivered;
use aops_core::system::env::Env;
use aops_core::system::git::{self, Status};
use repository::Repository;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long git may take to say what changed.
const PATIENCE: Duration = Duration::from_mins(5);

/// What a run made, and where it should go.
#[derive(Debug)]
pub struct Work<'a> {
    pub env: &'a Env,
    pub root: &'a Path,
    /// The commit at which the run began; `branch` is the branch.
    pub base: &'a str,
    pub began_on: &'a str,
    pub branch: &'a str,
    /// The message of the commit, if one is needed.
    pub message: &'a str,
}

/// Delivers the work of this run; `None` if nothing changed. An error says why it could not be delivered.
/// `made` is called with the new commit and the previous `HEAD` while nobody else can have the commit yet.
pub fn deliver(work: &Work, made: &dyn Fn(&str, &str)) -> Result<Option<Delivered>, String> {
    let status = status_of(work)?;
    let is_clean = status.dirty.is_empty();
    if is_clean && status.head == work.base {
        return Ok(None);
    }
    let repository = Repository::of(work.env, &status.root);
    let remote = git::remote(work.env, work.root, work.began_on);
    if is_clean
        && let Some(remote) = &remote
        && let Some(branch) = repository.branch_with(remote, &status)
    {
        return Ok(Some(delivered(branch, status.head, Some(remote.clone()))));
    }
    repository.stand_on(work.branch)?;
    if !is_clean {
        repository.commit(&status.dirty, work.message)?;
        let left = status_of(work)?.dirty;
        if !left.is_empty() {
            return Err(format!("these changes are in no commit: {}", some_of(&left)));
        }
    }
    let commit = repository.head()?;
    if commit != status.head {
        made(&commit, &status.head);
    }
    if let Some(remote) = &remote {
        repository.push(remote, work.branch, &commit)?;
    }
    Ok(Some(delivered(work.branch.to_owned(), commit, remote)))
}

fn delivered(branch: String, commit: String, remote: Option<String>) -> Delivered {
    Delivered { branch, commit, pull_request: None, remote }
}

/// A delivery has time: what git did not tell within a hook's patience it is asked once more, and why not is
/// told.
fn status_of(work: &Work) -> Result<Status, String> {
    let ask = || git::status(work.env, work.root);
    if let Some(status) = ask() {
        return Ok(status);
    }
    let words = ["status", "--porcelain=v2", "--branch", "-z"];
    let said = git::run(work.env, work.root, &words, b"", work.env.at_most(PATIENCE));
    let silent = || "it did not answer in time".to_owned();
    said.and_then(|_| ask().ok_or_else(silent))
        .map_err(|why| format!("git could not tell what changed: {why}"))
}

fn some_of(paths: &[String]) -> String {
    let more = paths.len().saturating_sub(5);
    let some = paths[..paths.len() - more].join(", ");
    if more == 0 { some } else { format!("{some} and {more} more") }
}

/// Everything that the run changed since it began, committed or not, as a git bundle in this file.
pub fn bundle(work: &Work, run: &str, file: PathBuf) -> Result<PathBuf, String> {
    let status = status_of(work)?;
    Repository::of(work.env, &status.root).bundle(&status, work.base, run, &file)?;
    Ok(file)
}
