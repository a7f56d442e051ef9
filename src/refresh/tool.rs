//! Asks the tracker's program, and writes queued items with it: each item once, even if a process is killed
//! in between.
//!
//! Starts it in the project's folder, in this process group. Invariants: no call outlasts the budget of the
//! whole refresh; the exit code decides, not the text; the tracker is asked for an item's key before the item
//! is written, under one lock that its process inherits: a write that outlives its worker ends before the
//! next worker asks.

use super::lock_file;
use aops_core::briefing::refresh::passed_on;
use aops_core::briefing::tracker::dialect::{self, Dialect, QUIET, recognise};
use aops_core::briefing::tracker::queue::{self, Queued};
use aops_core::briefing::tracker::{self, Issue, Item, Trouble, Why};
use aops_core::system::env::Env;
use aops_core::system::process::program::{Identity, Program};
use aops_core::system::process::{Ending, Outcome, Task, run_beside};
use rustix::io::{FdFlags, fcntl_setfd};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The maximum size of an answer; about ten thousand issues.
const LONGEST_ANSWER: usize = 16 << 20;
/// How many are requested if the full list is too long.
pub(super) const FEWER: usize = 500;

const BETWEEN_READS: Duration = Duration::from_millis(100);

pub(super) struct Tool {
    pub(super) dialect: Dialect,
    pub(super) version: String,
    program: Program,
    folder: PathBuf,
    variables: Vec<(String, OsString)>,
    end: Instant,
}

fn trouble(why: Why, words: impl Into<String>) -> Trouble {
    Trouble { at_ms: 0, why, words: words.into() }
}

impl Tool {
    pub(super) fn find(env: &Env, project: &str, command: &str, end: Instant) -> Result<Self, Trouble> {
        let named = Path::new(command);
        let missing = || trouble(Why::NoTool, format!("no `{command}` here; the loop works without it"));
        let identity = if named.is_absolute() { Identity::At(named) } else { Identity::OnPath(command) };
        let program = Program::find(env, identity).ok().filter(|_| !named.is_absolute() || named.is_file());
        let program = program.ok_or_else(missing)?;
        let folder = PathBuf::from(project);
        if !folder.is_dir() {
            return Err(trouble(Why::Failed, "the project's folder does not exist"));
        }
        let mut variables = env.variables(passed_on);
        variables.retain(|(name, _)| QUIET.iter().all(|(quiet, _)| quiet != name));
        variables.extend(QUIET.map(|(name, value)| (name.to_owned(), value.into())));
        let mut tool = Self { dialect: Dialect::Bd, version: String::new(), program, folder, variables, end };
        let said = tool.start(&["--version".to_owned()])?;
        let known = recognise(&String::from_utf8_lossy(&said.stdout));
        (tool.dialect, tool.version) = known.map_err(|words| {
            trouble(Why::NotUnderstood, format!("`{command}` is not understood: {words}"))
        })?;
        Ok(tool)
    }

    /// The answer, if the exit code says success.
    fn ask(&self, arguments: Vec<String>) -> Result<Vec<u8>, Trouble> {
        let arguments: Vec<String> = self.dialect.always().into_iter().chain(arguments).collect();
        let said = self.start(&arguments)?;
        if said.ending == Ending::Exit(0) {
            return Ok(said.stdout);
        }
        let stderr = String::from_utf8_lossy(&said.stderr);
        let words = dialect::field(&said.stdout, "error")
            .or_else(|| stderr.lines().find(|line| !line.trim().is_empty()).map(str::to_owned))
            .unwrap_or_else(|| format!("it ended with {:?} and printed nothing", said.ending));
        let lower = stderr.to_lowercase();
        if lower.contains("no beads database found") || lower.contains(".beads directory found") {
            return Err(trouble(
                Why::NoDatabase,
                format!("`{}`: this project has no issues yet", self.version),
            ));
        }
        Err(trouble(Why::Failed, format!("`{}` failed: {}", self.version, dialect::clean(&words, 160))))
    }

    /// A list of issues; `None` if it is longer than we read.
    pub(super) fn issues(&self, arguments: Vec<String>) -> Result<Option<Vec<Issue>>, Trouble> {
        let said = self.ask(arguments)?;
        if said.len() >= LONGEST_ANSWER {
            return Ok(None);
        }
        dialect::issues(&said).map(Some).map_err(|words| self.not_understood(&words))
    }

    pub(super) fn not_understood(&self, words: &str) -> Trouble {
        trouble(Why::NotUnderstood, format!("`{}` is not understood: {words}", self.version))
    }

    fn start(&self, arguments: &[String]) -> Result<Outcome, Trouble> {
        let late = || trouble(Why::TimedOut, "the tracker did not answer in time");
        let timeout = self.end.saturating_duration_since(Instant::now());
        if timeout.is_zero() {
            return Err(late());
        }
        let task = Task::new(&self.program, arguments, &self.folder, &self.variables, timeout);
        match run_beside(&Task { keep: LONGEST_ANSWER, ..task }) {
            Ok(said) if said.ending == Ending::TimedOut => Err(late()),
            Ok(said) => Ok(said),
            Err(error) => {
                let words = format!("`{}` cannot be started: {error}", self.program);
                Err(trouble(Why::NoTool, words))
            }
        }
    }
}

/// How long to wait for an earlier write; after that the queue waits for the next look.
const PATIENCE: Duration = Duration::from_secs(4);

pub(super) fn drain(env: &Env, project: &str, tool: &Tool) -> Result<(), Trouble> {
    let due = |queued: &Queued| queued.next_ms <= env.now_ms;
    let items: Vec<Queued> = queue::waiting(env, project).into_iter().filter(due).collect();
    if items.is_empty() {
        return Ok(());
    }
    let storage = |words: String| trouble(Why::Failed, words);
    let Some(_held) = only_writer(env, project).map_err(|e| storage(e.to_string()))? else {
        return Err(storage("an earlier write in the tracker is still under way".to_owned()));
    };
    for queued in items {
        let kept = match deliver(&queued, tool)? {
            Ok(id) => queue::finish(env, &queued, &id),
            Err(reason) => queue::refuse(env, queued, &reason),
        };
        kept.map_err(|e| storage(e.to_string()))?;
    }
    Ok(())
}

/// A lock that every program we start inherits.
fn only_writer(env: &Env, project: &str) -> Result<Option<File>, aops_core::model::error::Failure> {
    let path = tracker::folder(env).join(format!("{}.write", tracker::project_hash(project)));
    let file = lock_file(&path)?;
    let end = Instant::now() + PATIENCE;
    while file.try_lock().is_err() {
        if Instant::now() >= end {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(10));
    }
    let inherited = fcntl_setfd(&file, FdFlags::empty());
    inherited.map_err(|e| aops_core::model::error::Failure::storage(path.display(), e))?;
    Ok(Some(file))
}

/// Looks for the item, and writes it if it is missing; if the answer contains no id, looks again. Returns the
/// id, or why the tracker refused the item; an error means that the tracker itself is failing.
fn deliver(queued: &Queued, tool: &Tool) -> Result<Result<String, String>, Trouble> {
    let Item::Issue { title, body, kind, priority, labels } = &queued.item;
    let search = || {
        let said = match tool.ask(tool.dialect.find(&queued.key)) {
            // `mb` may read a file that another process is writing.
            Err(Trouble { why: Why::Failed, .. }) => {
                thread::sleep(BETWEEN_READS);
                tool.ask(tool.dialect.find(&queued.key))?
            }
            said => said?,
        };
        dialect::holding(&said, &queued.mark()).map_err(|words| tool.not_understood(&words))
    };
    let refused = |trouble: Trouble| match trouble.why {
        Why::Failed => Ok(Err(trouble.words)),
        _ => Err(trouble),
    };
    match search() {
        Ok(Some(id)) => return Ok(Ok(id)),
        Ok(None) => {}
        Err(trouble) => return refused(trouble),
    }
    let made = tool.ask(tool.dialect.create(title, &queued.marked(body), kind, *priority, labels));
    match made.map(|said| dialect::id(&said)) {
        Ok(Ok(id)) => Ok(Ok(id)),
        Ok(Err(words)) => Ok(search()?.ok_or(words)),
        Err(trouble) => refused(trouble),
    }
}
