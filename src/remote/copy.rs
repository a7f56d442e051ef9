//! A working tree for a run of its own: cloned, and written as a git tree.
//!
//! Starts `git`. Invariants: a clone appears completely or not at all, and only for its owner; a written
//! tree is what a commit of everything would contain, so ignored files are not in it; the source repository
//! is never written; if the jail works, only commands that contact another machine run outside of it, in a
//! clone with nothing checked out yet, and only with a git that no agent can have put there.

use aops_core::system::env::Env;
use aops_core::system::files::make_all;
use aops_core::system::git;
use aops_core::system::process::program::{Identity, Program, search_path_of_system};
use aops_core::system::process::{self, Ending, Task, variable};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_mins(10);
/// Tells the jail which folder is the project.
const PROJECT: &str = "CLAUDE_PROJECT_DIR";

/// The location of a repository, as another machine would name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The URL of its remote, without user and password.
    pub repository: String,
    pub commit: String,
    /// The path from the top of the repository to the project.
    pub folder: String,
    /// The URL on this machine has a user or a password, which is left out here.
    pub has_secret: bool,
}

/// The origin of this project. Refuses a repository without a remote, and a commit that the remote does not
/// have.
pub fn origin(env: &Env, root: &Path) -> Result<Origin, String> {
    let commit = line(env, root, &["rev-parse", "HEAD"])?;
    let folder = line(env, root, &["rev-parse", "--show-prefix"])?;
    let branch = line(env, root, &["symbolic-ref", "--short", "-q", "HEAD"]).unwrap_or_default();
    let Some(remote) = git::remote(env, root, &branch) else {
        return Err(
            "the repository has no remote, so no other machine can have it\nhint: `git remote add`, \
            then push"
                .to_owned(),
        );
    };
    let mut repository = line(env, root, &["remote", "get-url", &remote])?;
    if Path::new(&repository).is_relative() && !repository.contains(':') {
        let top = line(env, root, &["rev-parse", "--show-toplevel"])?;
        repository = Path::new(&top).join(&repository).to_string_lossy().into_owned();
    }
    let holds = format!("--contains={commit}");
    if line(env, root, &["for-each-ref", "--count=1", &holds, &format!("refs/remotes/{remote}")])?.is_empty()
    {
        return Err(format!(
            "the commit {} is not pushed\nhint: `git push`, so that other machines have it",
            &commit[..12]
        ));
    }
    let open = without_secret(&repository);
    Ok(Origin { has_secret: open != repository, repository: open, commit, folder })
}

/// The address without its user and password: `https://me:token@host/x` is `https://host/x`. Over SSH the
/// user stays, since it is the same for everybody.
fn without_secret(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let Some((user, host)) = authority.rsplit_once('@') else { return url.to_owned() };
    let user = user.split(':').next().filter(|user| scheme.ends_with("ssh") && !user.is_empty());
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    format!("{scheme}://{user}{host}{path}")
}

/// Makes a clone with this commit next to its final place, with nothing checked out.
pub(super) fn clone_beside(env: &Env, repository: &str, commit: &str, to: &Path) -> Result<PathBuf, String> {
    let beside = to.with_extension("new");
    let _ = fs::remove_dir_all(&beside);
    make_all(&beside).map_err(|failure| failure.to_string())?;
    let reach = if Path::new(repository).is_absolute() { git } else { reach };
    reach(env, &beside, &["clone", "--quiet", "--no-checkout", "--", repository, "."])?;
    if git(env, &beside, &["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_err() {
        reach(env, &beside, &["fetch", "--quiet", "--", "origin", commit])?;
    }
    Ok(beside)
}

pub(super) fn check_out(env: &Env, root: &Path, branch: &str, commit: &str) -> Result<(), String> {
    git(env, root, &["checkout", "--quiet", "-B", branch, commit])
}

/// Moves the clone to its final place.
pub(super) fn put(beside: &Path, to: &Path) -> Result<(), String> {
    fs::rename(beside, to).map_err(|error| format!("`{}`: {error}", to.display()))
}

/// The tree that a commit of everything would have, without ignored files.
pub(super) fn write_tree(env: &Env, root: &Path, at: &Path) -> Result<String, String> {
    let with_index = [index(at)];
    git_with(env, root, &["read-tree", "HEAD"], &with_index, 0)?;
    git_with(env, root, &["add", "--all", "--", ":/"], &with_index, 0)?;
    Ok(text(&git_with(env, root, &["write-tree"], &with_index, 4096)?.0))
}

/// Makes git write its index here, and leave the repository's own alone.
pub(super) fn index(at: &Path) -> (String, OsString) {
    variable("GIT_INDEX_FILE", at)
}

/// Fixed names and dates: the same tree on the same commit gives the same commit, at any time and on any
/// machine.
pub(super) fn always_the_same() -> Vec<(String, OsString)> {
    let same = [("NAME", "aops"), ("EMAIL", "aops@localhost"), ("DATE", "@1 +0000")];
    let who = ["AUTHOR", "COMMITTER"].into_iter();
    who.flat_map(|who| same.map(|(what, value)| variable(&format!("GIT_{who}_{what}"), value))).collect()
}

/// Checks out `head` on this branch with the tree of another commit, in a clone with nothing checked out:
/// there, protected files of a project can be created, but not changed.
pub(super) fn restore_commit(
    env: &Env,
    root: &Path,
    (branch, head): (&str, &str),
    tree: &str,
) -> Result<(), String> {
    git(env, root, &["update-ref", &format!("refs/heads/{branch}"), head])?;
    git(env, root, &["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")])?;
    git(env, root, &["read-tree", "--reset", "-u", tree])?;
    git(env, root, &["reset", "--quiet"])
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

pub(super) fn line(env: &Env, cwd: &Path, args: &[&str]) -> Result<String, String> {
    git_with(env, cwd, args, &[], 1 << 20).map(|(said, _)| text(&said))
}

pub(super) fn git(env: &Env, cwd: &Path, args: &[&str]) -> Result<(), String> {
    git_with(env, cwd, args, &[], 4096).map(drop)
}

/// Runs git outside the jail, and only the system's own git. Remotes are reached as the user would: with
/// their agent and their settings.
pub(super) fn reach(env: &Env, cwd: &Path, args: &[&str]) -> Result<(), String> {
    reach_with(env, cwd, args, &[], 4096).map(drop)
}

pub(super) fn reach_with(
    env: &Env,
    cwd: &Path,
    args: &[&str],
    more: &[(String, OsString)],
    keep: usize,
) -> Result<(Vec<u8>, bool), String> {
    start(env, Identity::System("git"), cwd, args, more, keep)
}

/// Disables transports that are a program or an open file.
const NEVER: [&str; 4] = ["-c", "protocol.ext.allow=never", "-c", "protocol.fd.allow=never"];

/// The output, and whether it is complete.
pub(super) fn git_with(
    env: &Env,
    cwd: &Path,
    args: &[&str],
    more: &[(String, OsString)],
    keep: usize,
) -> Result<(Vec<u8>, bool), String> {
    start(env, Identity::OnPath("git"), cwd, args, more, keep)
}

fn start(
    env: &Env,
    git: Identity,
    cwd: &Path,
    args: &[&str],
    more: &[(String, OsString)],
    keep: usize,
) -> Result<(Vec<u8>, bool), String> {
    let guarded = env.for_project(cwd);
    let program = Program::find(&guarded, git).map_err(|error| error.to_string())?;
    let quiet = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0"];
    let words: Vec<String> = quiet.iter().chain(&NEVER).chain(args).map(|arg| (*arg).to_owned()).collect();
    let own = |name: &str| name.starts_with("GIT_") && name != "GIT_SSH_COMMAND" || name == PROJECT;
    let mut variables = env.variables(|name| !own(name));
    variables.extend([variable("GIT_TERMINAL_PROMPT", "0"), variable(PROJECT, cwd)]);
    if env.run.is_driving && !program.is_held() && matches!(git, Identity::System(_)) {
        variables.push(variable("PATH", search_path_of_system(env)));
    }
    variables.extend_from_slice(more);
    let task = Task { keep: keep.max(4096), ..Task::new(&program, &words, cwd, &variables, PATIENCE) };
    let said = process::run(&task).map_err(|error| format!("git: {error}"))?;
    if said.ending == Ending::Exit(0) {
        let is_whole = said.stdout.len() <= keep.max(4096) && !said.cut;
        return Ok((said.stdout, is_whole));
    }
    let why = String::from_utf8_lossy(&said.stderr);
    let why = why.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it failed");
    Err(format!("git {}: {}", args.first().unwrap_or(&""), why.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_no_secret() {
        for (url, open) in [
            ("https://me:token@host/x.git", "https://host/x.git"),
            ("https://ghp_token@host:8443/x?a#b", "https://host:8443/x?a#b"),
            ("http://a:b@c@host", "http://host"),
            ("ssh://git:word@host:22/x", "ssh://git@host:22/x"),
            ("ssh://git@host/x", "ssh://git@host/x"),
            ("https://host/a@b:c", "https://host/a@b:c"),
            ("git@host:x.git", "git@host:x.git"),
            ("/srv/x@y", "/srv/x@y"),
        ] {
            assert_eq!(without_secret(url), open);
        }
    }
}
