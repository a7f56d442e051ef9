//! Runs git for modules that change a repository: with an input, with variables, and with error texts.
//!
//! Starts `git` like everything in this folder. Invariant: an answer is complete, or there is a failure that
//! says why not.

use super::{LONGEST, tried};
use crate::model::error::{Code, Failure};
use crate::model::worktree::Asked;
use crate::system::env::Env;
use crate::system::process::variable;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A checkout of thousands of files with filters takes a while.
const PATIENCE: Duration = Duration::from_mins(5);

/// A repository by its git folder and working tree, so that git does not search the parent folders.
#[derive(Debug)]
pub struct Place<'a> {
    pub env: &'a Env,
    pub git: PathBuf,
    pub root: PathBuf,
}

impl Place<'_> {
    /// Git's answer.
    pub fn ask(&self, args: &[&str]) -> Result<Vec<u8>, Failure> {
        self.run(args, &[], b"")
    }

    /// The answer without the line feed at its end; `None` if git fails, as it does if nothing is found.
    pub fn line(&self, args: &[&str]) -> Option<String> {
        String::from_utf8(self.ask(args).ok()?).ok().map(|said| said.trim_end_matches('\n').to_owned())
    }

    /// The same with an input and with variables.
    pub fn run(&self, args: &[&str], more: &[(String, OsString)], input: &[u8]) -> Result<Vec<u8>, Failure> {
        self.run_in(&self.root, args, more, input)
    }

    /// The same with another folder as the working tree.
    pub fn run_in(
        &self,
        root: &Path,
        args: &[&str],
        more: &[(String, OsString)],
        input: &[u8],
    ) -> Result<Vec<u8>, Failure> {
        let mut variables = vec![variable("GIT_DIR", &self.git), variable("GIT_WORK_TREE", root)];
        variables.extend_from_slice(more);
        // A program cannot be started in a working tree that does not exist any more.
        let cwd = if root.is_dir() { root } else { &self.git };
        let wrong =
            |why: String| Failure::new(Code::StorageFailed, format!("`{}`: {why}", self.root.display()));
        match tried(self.env, cwd, args, (&variables, input), (PATIENCE, LONGEST)) {
            Ok(said) if said.cut => Err(wrong(format!("`git {}` printed too much", args[0]))),
            Ok(said) => Ok(said.stdout),
            Err(Asked::Unasked(why)) => Err(wrong(why)),
            Err(_) => Err(wrong("the repository no longer exists".to_owned())),
        }
    }
}
