//! Finds the tracker's program, recognises its version and asks it.
//!
//! Starts it in the project's folder, in this process group; its input is empty unless an item is written.
//! Invariants: no call outlasts the budget of the whole refresh; the exit code decides, not the text.

use crate::briefing::tracker::answer::{self, Issue};
use crate::briefing::tracker::dialect::{Dialect, QUIET, recognise};
use crate::briefing::tracker::{Trouble, Why};
use crate::system::env::Env;
use crate::system::process::{Ending, Outcome, Task, run_beside};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Bytes of an answer; about ten thousand issues.
const LONGEST_ANSWER: usize = 16 << 20;
/// Asked for when all are too many.
pub(super) const FEWER: usize = 500;

pub(super) struct Tool {
    pub(super) dialect: Dialect,
    /// Name and number.
    pub(super) version: String,
    program: PathBuf,
    folder: PathBuf,
    variables: Vec<(String, OsString)>,
    end: Instant,
}

pub(super) fn trouble(why: Why, words: impl Into<String>) -> Trouble {
    Trouble { at_ms: 0, why, words: words.into() }
}

impl Tool {
    pub(super) fn find(env: &Env, project: &str, command: &str, end: Instant) -> Result<Self, Trouble> {
        let named = Path::new(command);
        let program =
            if named.is_absolute() { named.is_file().then(|| named.to_owned()) } else { env.on_path(command) };
        let program =
            program.ok_or_else(|| trouble(Why::NoTool, format!("no `{command}` here; the loop works without")))?;
        let folder = PathBuf::from(project);
        if !folder.is_dir() {
            return Err(trouble(Why::Failed, "the project's folder is not there"));
        }
        let mut variables = env.variables(super::passed_on);
        variables.retain(|(name, _)| QUIET.iter().all(|(quiet, _)| quiet != name));
        variables.extend(QUIET.map(|(name, value)| (name.to_owned(), value.into())));
        let mut tool = Self { dialect: Dialect::Bd, version: String::new(), program, folder, variables, end };
        let said = tool.start(&["--version".to_owned()], b"")?;
        let known = recognise(&String::from_utf8_lossy(&said.stdout));
        (tool.dialect, tool.version) =
            known.map_err(|words| trouble(Why::NotUnderstood, format!("`{command}` is not understood: {words}")))?;
        Ok(tool)
    }

    /// What it answers, if it says that all went well.
    pub(super) fn ask(&self, arguments: Vec<String>, input: &[u8]) -> Result<Vec<u8>, Trouble> {
        let arguments: Vec<String> = self.dialect.always().into_iter().chain(arguments).collect();
        let said = self.start(&arguments, input)?;
        if said.ending == Ending::Exit(0) {
            return Ok(said.stdout);
        }
        let stderr = String::from_utf8_lossy(&said.stderr);
        let words = answer::field(&said.stdout, "error")
            .or_else(|| stderr.lines().find(|line| !line.trim().is_empty()).map(str::to_owned))
            .unwrap_or_else(|| format!("it ended with {:?} and printed nothing", said.ending));
        let lower = stderr.to_lowercase();
        if lower.contains("no beads database found") || lower.contains(".beads directory found") {
            return Err(trouble(Why::NoDatabase, format!("`{}`: this project has no issues yet", self.version)));
        }
        Err(trouble(Why::Failed, format!("`{}` failed: {}", self.version, answer::clean(&words, 160))))
    }

    /// A list of issues; none if it is longer than we read.
    pub(super) fn issues(&self, arguments: Vec<String>) -> Result<Option<Vec<Issue>>, Trouble> {
        let said = self.ask(arguments, b"")?;
        if said.len() >= LONGEST_ANSWER {
            return Ok(None);
        }
        answer::issues(&said).map(Some).map_err(|words| self.not_understood(&words))
    }

    pub(super) fn not_understood(&self, words: &str) -> Trouble {
        trouble(Why::NotUnderstood, format!("`{}` is not understood: {words}", self.version))
    }

    fn start(&self, arguments: &[String], input: &[u8]) -> Result<Outcome, Trouble> {
        let late = || trouble(Why::TimedOut, "the tracker did not answer in time");
        let timeout = self.end.saturating_duration_since(Instant::now());
        if timeout.is_zero() {
            return Err(late());
        }
        let variables: Vec<(&str, &OsStr)> =
            self.variables.iter().map(|(name, value)| (name.as_str(), value.as_os_str())).collect();
        let task = Task {
            program: &self.program,
            args: arguments,
            folder: &self.folder,
            variables: &variables,
            input,
            timeout,
            keep: LONGEST_ANSWER,
        };
        match run_beside(&task) {
            Ok(said) if said.ending == Ending::TimedOut => Err(late()),
            Ok(said) => Ok(said),
            Err(error) => {
                let words = format!("`{}` cannot be started: {error}", self.program.display());
                Err(trouble(Why::NoTool, words))
            }
        }
    }
}
