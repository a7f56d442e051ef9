//! The command that pushes a branch, with the remote that git itself would choose.

use super::Status;
use super::command::git;
use crate::system::env::Env;
use std::path::Path;

/// The command, and what it is for; `None` where there is no remote.
pub(super) fn advice(env: &Env, cwd: &Path, status: &Status) -> Option<(String, String)> {
    let remote = remote(env, cwd, &status.branch)?;
    let command =
        if status.upstream { "git push".to_owned() } else { format!("git push -u {remote} {}", status.branch) };
    let ahead = match (status.upstream, status.ahead) {
        (true, 0) => "the commit to come is".to_owned(),
        (true, 1) => "1 commit is".to_owned(),
        (true, n) => format!("{n} commits are"),
        (false, _) => "this branch is".to_owned(),
    };
    Some((command, ahead))
}

/// As in git's manual: the branch's `pushRemote`, `remote.pushDefault`, the branch's `remote`, the only remote, `origin`.
fn remote(env: &Env, cwd: &Path, branch: &str) -> Option<String> {
    let names = String::from_utf8(git(env, cwd, &["remote"])?).ok()?;
    let names: Vec<&str> = names.lines().collect();
    let wanted = r"^(branch\..*\.(push)?remote|remote\.pushdefault)$";
    let config = git(env, cwd, &["config", "-z", "--get-regexp", wanted]).unwrap_or_default();
    let config = String::from_utf8_lossy(&config);
    let value = |key: String| {
        let mut entries = config.split('\0').filter_map(|entry| entry.split_once('\n'));
        entries.rfind(|(known, _)| *known == key).map(|(_, value)| value)
    };
    let keys =
        [format!("branch.{branch}.pushremote"), "remote.pushdefault".to_owned(), format!("branch.{branch}.remote")];
    let configured = keys.into_iter().filter_map(value).find(|name| is_plain(name));
    let only = if let [only] = names.as_slice() { *only } else { "origin" };
    (!names.is_empty()).then(|| configured.unwrap_or(only).to_owned())
}

/// A name or address that a shell takes as one word. `.` is this repository, to which nothing is pushed.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/:@+~-".contains(c);
    !matches!(name, "" | ".") && !name.starts_with('-') && name.chars().all(plain)
}
