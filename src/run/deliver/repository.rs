//! The repository of a run, as its delivery changes it: a branch, a commit, a push.
//!
//! Starts `git` with the user's own settings, hooks and credentials. Invariants: only the run's own branch is
//! moved, and only forward; no file of the working tree is touched.

use aops_core::system::env::Env;
use aops_core::system::files::{self, Scratch, make_all};
use aops_core::system::git::Status;
use aops_core::system::process::program::{Identity, Program};
use aops_core::system::process::{self, Ending, Task, variable};
use aops_core::text::redact::redact;
use aops_core::text::template::one_line;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Long, since a push may run the user's tests first.
const PATIENCE: Duration = Duration::from_mins(15);
const LONGEST_ANSWER: usize = 4 << 20;
const LONGEST_REASON: usize = 400;
/// Tells the jail which folder is the project.
const PROJECT: &str = "CLAUDE_PROJECT_DIR";
/// Disables transports that are a program or an open file, and the program that reports changed files: a step
/// could have left one that hides its work.
const NEVER: [&str; 6] =
    ["-c", "protocol.ext.allow=never", "-c", "protocol.fd.allow=never", "-c", "core.fsmonitor=false"];
/// The author of a commit on a machine whose user has no name in git.
const AS_US: [&str; 4] = ["-c", "user.name=aops-hook", "-c", "user.email=aops-hook@localhost"];

pub(super) struct Repository<'a> {
    env: &'a Env,
    top: PathBuf,
}

impl<'a> Repository<'a> {
    pub(super) fn of(env: &'a Env, top: &str) -> Self {
        Self { env, top: PathBuf::from(top) }
    }

    pub(super) fn head(&self) -> Result<String, String> {
        self.git(&["rev-parse", "--verify", "HEAD"])
    }

    /// A branch of the remote that is at the current commit; the current branch is preferred.
    pub(super) fn branch_with(&self, remote: &str, status: &Status) -> Option<String> {
        let said = self.git(&["ls-remote", "--heads", &self.address(remote)]).ok()?;
        let names: Vec<&str> = said
            .lines()
            .filter_map(|line| {
                line.strip_prefix(status.head.as_str())?.trim_start().strip_prefix("refs/heads/")
            })
            .collect();
        names.iter().find(|name| **name == status.branch).or(names.first()).map(|name| (*name).to_owned())
    }

    /// Makes this branch the current one, at the current commit. Index and files stay unchanged.
    pub(super) fn stand_on(&self, branch: &str) -> Result<(), String> {
        let name = format!("refs/heads/{branch}");
        if self.git(&["symbolic-ref", "-q", "HEAD"]).is_ok_and(|current| current == name) {
            return Ok(());
        }
        self.git(&["check-ref-format", &name])
            .map_err(|_| format!("`{branch}` is not the name of a branch"))?;
        // Without a commit, the branch has nothing to point to.
        if self.head().is_ok() {
            let is_new = self.git(&["rev-parse", "--verify", "-q", &name]).is_err();
            if !is_new && self.git(&["merge-base", "--is-ancestor", &name, "HEAD"]).is_err() {
                return Err(format!("there is a branch `{branch}` with other commits"));
            }
            self.git(&["update-ref", &name, "HEAD"])?;
        }
        self.git(&["symbolic-ref", "-m", "aops-hook: deliver the run", "HEAD", &name]).map(drop)
    }

    /// Commits what changed, with the user's own hooks.
    pub(super) fn commit(&self, dirty: &[String], message: &str) -> Result<(), String> {
        self.add(dirty, &[])?;
        let who: &[&str] = if self.git(&["var", "GIT_COMMITTER_IDENT"]).is_ok() { &[] } else { &AS_US };
        let commit = [who, &["commit", "--quiet", "--file=-"]].concat();
        self.run(&commit, message.as_bytes(), &[]).map(drop)
    }

    /// Adds tracked files, and untracked ones by name: generated files, which our git status leaves out, are
    /// not added.
    fn add(&self, dirty: &[String], more: &[(String, OsString)]) -> Result<(), String> {
        self.run(&["add", "--update"], b"", more)?;
        let there = dirty.iter().filter(|path| self.top.join(path).symlink_metadata().is_ok());
        let list: String = there.flat_map(|path| [path.as_str(), "\0"]).collect();
        if list.is_empty() {
            return Ok(());
        }
        let add = ["--literal-pathspecs", "add", "--pathspec-from-file=-", "--pathspec-file-nul"];
        self.run(&add, list.as_bytes(), more).map(drop)
    }

    /// Pushes the branch with an upstream. The remote's state afterwards counts, not the output of the push.
    pub(super) fn push(&self, remote: &str, branch: &str, commit: &str) -> Result<(), String> {
        let name = format!("refs/heads/{branch}");
        let pushed =
            self.git(&["push", "--quiet", "--set-upstream", "--", remote, &format!("{name}:{name}")]);
        let found = self.git(&["ls-remote", "--heads", &self.address(remote), &name]);
        let found = found.map_err(|why| pushed.clone().err().unwrap_or(why))?;
        match found.split_whitespace().next() {
            Some(found) if found == commit => Ok(()),
            Some(found) => Err(pushed.err().unwrap_or_else(|| format!("`{remote}` has {found} there"))),
            None => Err(pushed.err().unwrap_or_else(|| format!("`{remote}` does not have it"))),
        }
    }

    /// The address that a push to this remote uses.
    fn address(&self, remote: &str) -> String {
        self.git(&["remote", "get-url", "--push", remote]).unwrap_or_else(|_| remote.to_owned())
    }

    /// Everything since `base`, committed or not, as a bundle in this file.
    pub(super) fn bundle(&self, status: &Status, base: &str, run: &str, file: &Path) -> Result<(), String> {
        let scratch = Scratch::new("bundle").map_err(|error| error.to_string())?;
        let index = [variable("GIT_INDEX_FILE", scratch.0.join("index"))];
        let head = self.head().ok();
        let name = format!("refs/aops/{run}");
        let commit = match &head {
            Some(head) if status.dirty.is_empty() => head.clone(),
            _ => {
                let parent: Vec<&str> = head.iter().flat_map(|head| ["-p", head.as_str()]).collect();
                if head.is_some() {
                    self.run(&["read-tree", "HEAD"], b"", &index)?;
                }
                self.add(&status.dirty, &index)?;
                let tree = self.run(&["write-tree"], b"", &index)?;
                let words = [&AS_US[..], &["commit-tree", &tree], &parent, &["-m", run]].concat();
                self.git(&words)?
            }
        };
        self.git(&["update-ref", &name, &commit])?;
        let made = scratch.0.join("bundle");
        let path = made.to_string_lossy().into_owned();
        let without = format!("^{base}");
        let since: &[&str] = if head.is_some() && base != commit { &[&without] } else { &[] };
        let is_object = base.bytes().all(|byte| byte.is_ascii_hexdigit());
        let since = if is_object { since } else { &[] };
        self.git(&[&["bundle", "create", "--quiet", &path, &name], since].concat())?;
        file.parent().map_or(Ok(()), make_all).map_err(|failure| failure.to_string())?;
        let bytes = files::read(&made).map_err(|error| error.to_string())?;
        files::replace_private(file, &bytes).map_err(|error| format!("`{}`: {error}", file.display()))
    }

    fn git(&self, args: &[&str]) -> Result<String, String> {
        self.run(args, b"", &[])
    }

    fn run(&self, args: &[&str], input: &[u8], more: &[(String, OsString)]) -> Result<String, String> {
        let guarded = self.env.for_project(&self.top);
        let unstarted = |error: &dyn std::fmt::Display| format!("`git` cannot be started: {error}");
        let program = Program::find(&guarded, Identity::OnPath("git")).map_err(|error| unstarted(&error))?;
        let words: Vec<String> = NEVER.iter().chain(args).map(|arg| (*arg).to_owned()).collect();
        let mut variables = variables_for(self.env, &self.top);
        variables.extend_from_slice(more);
        let task = Task {
            input,
            keep: LONGEST_ANSWER,
            ..Task::new(&program, &words, &self.top, &variables, PATIENCE)
        };
        let said = process::run(&task).map_err(|error| unstarted(&error))?;
        let out = String::from_utf8_lossy(&said.stdout).trim_end().to_owned();
        let verb = args.iter().find(|word| !word.starts_with('-') && !word.contains('=')).unwrap_or(&"");
        match said.ending {
            Ending::Exit(0) if !said.cut => Ok(out),
            Ending::Exit(0) => Err(format!("`git {verb}` printed too much")),
            Ending::TimedOut => Err(format!("`git {verb}` did not end in time")),
            _ => Err(format!("`git {verb}`: {}", reason(&String::from_utf8_lossy(&said.stderr)))),
        }
    }
}

/// The environment of a program that contacts a remote: the user's own, without variables that redirect git.
pub(super) fn variables_for(env: &Env, top: &Path) -> Vec<(String, OsString)> {
    let kept = ["GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS"];
    let own = |name: &str| name.starts_with("GIT_") && !kept.contains(&name) || name == PROJECT;
    let mut variables = env.variables(|name| !own(name));
    variables.extend([variable("GIT_TERMINAL_PROMPT", "0"), variable("LC_ALL", "C"), variable(PROJECT, top)]);
    variables
}

/// A program's error message on one line: without git's hints, and without a password in an address.
pub(super) fn reason(stderr: &str) -> String {
    let is_said = |line: &&str| !line.trim().is_empty() && !line.starts_with("hint:");
    let words: Vec<&str> = stderr.lines().filter(is_said).map(str::trim).collect();
    let words = if words.is_empty() { "it failed".to_owned() } else { words.join("; ") };
    one_line(&redact(&words), LONGEST_REASON)
}
