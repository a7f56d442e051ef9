//! Notes in refs of our own: checkpoints of the log in `refs/notes/aops`, statements about commits in
//! `refs/notes/aops-attest`. They are pushed to where the commit is, and read back.
//!
//! Starts `git`, which writes these refs and nothing else. Invariant: no commit and no branch is touched.

use super::{Remotes, ask, git, git_line, git_with, remote};
use crate::model::worktree::Asked;
use crate::system::env::Env;
use std::path::Path;
use std::time::Duration;

/// The refs for notes of one kind.
#[derive(Debug)]
pub struct NotesRef {
    pub ours: &'static str,
    /// What others have pushed.
    theirs: &'static str,
    /// How two versions are merged.
    strategy: &'static str,
}

/// The log's checkpoints.
pub const CHECKPOINTS: NotesRef =
    NotesRef { ours: "refs/notes/aops", theirs: "refs/notes/aops-remote", strategy: "union" };
/// Statements about commits, one per line.
pub const ATTESTATIONS: NotesRef = NotesRef {
    ours: "refs/notes/aops-attest",
    theirs: "refs/notes/aops-attest-remote",
    strategy: "cat_sort_uniq",
};

/// For one exchange with the remote.
const PATIENCE: Duration = Duration::from_secs(10);
/// The author of the notes is our program, not the person.
pub const US: &str = "aops-hook <aops-hook@localhost>";
const AS_US: [&str; 4] = ["-c", "user.name=aops-hook", "-c", "user.email=aops-hook@localhost"];

fn notes(env: &Env, root: &Path, of: &NotesRef, args: &[&str]) -> Option<Vec<u8>> {
    git(env, root, &[&AS_US[..], &["notes", "--ref", of.ours], args].concat())
}

/// Adds a text to the note of the current commit, unless the note contains it. `None`: there is no commit, or
/// no git.
pub fn add(env: &Env, cwd: &Path, text: &str) -> Option<()> {
    let there = notes(env, cwd, &CHECKPOINTS, &["show", "HEAD"]).unwrap_or_default();
    if String::from_utf8_lossy(&there).contains(text.trim_end()) {
        return Some(());
    }
    notes(env, cwd, &CHECKPOINTS, &["append", "-m", text, "HEAD"]).map(drop)
}

/// Pushes the notes if the work itself was pushed. `Some(false)`: it was not.
pub fn push(env: &Env, cwd: &Path, of: &NotesRef, remotes: &Remotes) -> Option<bool> {
    let Some(remote) = holder(env, cwd, remotes).ok()? else { return Some(false) };
    let push = || git_with(env, cwd, &["push", "--quiet", &remote, of.ours], &[], PATIENCE);
    if push().is_some() {
        return Some(true);
    }
    // Another clone pushed notes meanwhile: merge both.
    fetch(env, cwd, of, &remote)?;
    notes(env, cwd, of, &["merge", "--quiet", "--strategy", of.strategy, of.theirs])?;
    push().map(|_| true)
}

/// The remote that has the current commit, preferably the one to which the branch is pushed, such as a fork.
fn holder(env: &Env, cwd: &Path, remotes: &Remotes) -> Result<Option<String>, Asked> {
    if remotes.names.is_empty() {
        return Ok(None);
    }
    let row = "--format=%(HEAD)%(refname) %(upstream) %(upstream:track)";
    let said = ask(env, cwd, &["for-each-ref", "--contains", "HEAD", row, "refs/heads", "refs/remotes"])?;
    let said = String::from_utf8_lossy(&said);
    let rows: Vec<&str> = said.lines().collect();
    let has = |name: &&String| rows.iter().any(|row| row.starts_with(&format!(" refs/remotes/{name}/")));
    let branch = rows.iter().find_map(|row| row.strip_prefix("*refs/heads/")).unwrap_or_default();
    let (branch, upstream) = branch.split_once(' ').unwrap_or_default();
    let wanted = remotes.of(branch);
    let any = rows.iter().any(|row| row.starts_with(" refs/remotes/"));
    let others = || if any { remotes.names.iter().find(has) } else { None };
    let found = wanted.as_ref().filter(has).or_else(others).cloned();
    // If branches of the remote are not stored here, only the upstream shows it.
    let is_pushed = !upstream.starts_with(' ') && !upstream.is_empty() && !upstream.contains("[ahead");
    Ok(found.or_else(|| wanted.filter(|_| is_pushed)))
}

fn fetch(env: &Env, cwd: &Path, of: &NotesRef, remote: &str) -> Option<()> {
    let what = format!("+{}:{}", of.ours, of.theirs);
    git_with(env, cwd, &["fetch", "--quiet", "--no-tags", remote, &what], &[], PATIENCE).map(drop)
}

/// Every line of every checkpoint note, and whether they come from the remote or are only our own copy.
pub fn read(env: &Env, cwd: &Path) -> Option<(String, bool)> {
    let branch = git_line(env, cwd, &["symbolic-ref", "--short", "-q", "HEAD"]).unwrap_or_default();
    let fetched =
        remote(env, cwd, &branch).and_then(|remote| fetch(env, cwd, &CHECKPOINTS, &remote)).is_some();
    let from = if fetched { CHECKPOINTS.theirs } else { CHECKPOINTS.ours };
    let lines = git(env, cwd, &["grep", "--no-color", "-h", "-e", "", from])?;
    Some((String::from_utf8_lossy(&lines).into_owned(), fetched))
}
