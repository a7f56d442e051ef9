//! Notes in a ref of our own, `refs/notes/aops`: added to the commit at hand, pushed where the commit is, read again.
//!
//! Starts `git`, which writes that ref and nothing else. Invariant: no commit and no branch is touched.

use super::{Status, git, git_line, git_with, remote, status};
use crate::system::env::Env;
use std::path::Path;
use std::time::Duration;

const OURS: &str = "refs/notes/aops";
/// What others pushed.
const THEIRS: &str = "refs/notes/aops-remote";
/// Of one exchange with the remote.
const PATIENCE: Duration = Duration::from_secs(10);
/// The notes are ours, not the person's.
const AS_US: [&str; 4] = ["-c", "user.name=aops-hook", "-c", "user.email=aops-hook@localhost"];

fn notes(env: &Env, root: &Path, args: &[&str]) -> Option<Vec<u8>> {
    git(env, root, &[&AS_US[..], &["notes", "--ref", OURS], args].concat())
}

/// Adds a text to the note of the commit at hand, unless it has it. `None`: there is no commit, or no git.
pub fn add(env: &Env, cwd: &Path, text: &str) -> Option<()> {
    let there = notes(env, cwd, &["show", "HEAD"]).unwrap_or_default();
    if String::from_utf8_lossy(&there).contains(text.trim_end()) {
        return Some(());
    }
    notes(env, cwd, &["append", "-m", text, "HEAD"]).map(drop)
}

/// Pushes the notes where the work is pushed already. `Some(false)`: it is not.
pub fn push(env: &Env, cwd: &Path) -> Option<bool> {
    let Status { upstream, ahead, branch, .. } = status(env, cwd)?;
    if !upstream || ahead > 0 {
        return Some(false);
    }
    let remote = remote(env, cwd, &branch)?;
    let push = || git_with(env, cwd, &["push", "--quiet", &remote, OURS], &[], PATIENCE);
    if push().is_some() {
        return Some(true);
    }
    // Another clone pushed notes meanwhile: both are kept.
    fetch(env, cwd, &remote)?;
    notes(env, cwd, &["merge", "--quiet", "--strategy", "union", THEIRS])?;
    push().map(|_| true)
}

fn fetch(env: &Env, cwd: &Path, remote: &str) -> Option<()> {
    let what = format!("+{OURS}:{THEIRS}");
    git_with(env, cwd, &["fetch", "--quiet", "--no-tags", remote, &what], &[], PATIENCE).map(drop)
}

/// Every line of every note, and whether they come from the remote: else it is our own copy.
pub fn read(env: &Env, cwd: &Path) -> Option<(String, bool)> {
    let branch = git_line(env, cwd, &["symbolic-ref", "--short", "-q", "HEAD"]).unwrap_or_default();
    let fetched = remote(env, cwd, &branch).and_then(|remote| fetch(env, cwd, &remote)).is_some();
    let from = if fetched { THEIRS } else { OURS };
    let lines = git(env, cwd, &["grep", "--no-color", "-h", "-e", "", from])?;
    Some((String::from_utf8_lossy(&lines).into_owned(), fetched))
}
