//! The issue tracker: its content when it was last asked, how we describe it, and what we want to write to
//! it.
//!
//! Reads and writes only files below `<config>/aops/tracker/`. A prompt reads the snapshot, which costs one
//! open and one read; asking the tracker itself is the refresher's work. Invariants: nothing here starts a
//! process or waits for one; a list never looks complete when it is not, and its age is always shown.

pub mod dialect;
pub mod queue;

pub use dialect::Issue;
pub use queue::{Item, enqueue};

use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::files;
use crate::text::sha256::sha256;
use crate::text::time;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

pub const SCHEMA: u32 = 1;

const KEPT: usize = 20;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub schema: u32,
    pub project: String,
    /// When the lists were fetched; `None` if there are none.
    pub taken_ms: Option<i64>,
    pub tool: Option<String>,
    pub ready: Part,
    pub blocked: Part,
    pub in_progress: Part,
    /// The user's own open issues.
    #[serde(default)]
    pub own: Part,
    /// The latest changes, including closed issues.
    #[serde(default)]
    pub recent: Part,
    /// Why the last attempt failed.
    pub trouble: Option<Trouble>,
    /// Number of open issues that we filed ourselves; they are in none of the lists.
    #[serde(default)]
    pub ours: usize,
    /// Number of queued items that the tracker does not have yet.
    pub waiting: usize,
}

/// One list: its full length, and its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub total: usize,
    /// `total` is the real total.
    pub complete: bool,
    pub issues: Vec<Issue>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    pub at_ms: i64,
    pub why: Why,
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    NotYet,
    NoTool,
    NoDatabase,
    NotUnderstood,
    TimedOut,
    Failed,
}

impl Part {
    pub fn of(mut issues: Vec<Issue>, complete: bool) -> Self {
        let total = issues.len();
        issues.truncate(KEPT);
        Self { total, complete, issues }
    }

    fn count(&self) -> String {
        format!("{}{}", self.total, if self.complete { "" } else { " or more" })
    }
}

impl Snapshot {
    /// No snapshot was ever taken, or none that we can read.
    pub fn none(project: &str, why: Why, words: &str) -> Self {
        let trouble = Some(Trouble { at_ms: 0, why, words: words.to_owned() });
        Self { schema: SCHEMA, project: project.to_owned(), trouble, ..Self::default() }
    }

    /// After a failed attempt: the earlier lists stay, unless the tracker no longer exists.
    #[must_use]
    pub fn after(self, trouble: Trouble, waiting: usize) -> Self {
        match trouble.why {
            Why::TimedOut | Why::Failed => Self { trouble: Some(trouble), waiting, ..self },
            _ => Self { trouble: Some(trouble), waiting, ..Self::none(&self.project, Why::NotYet, "") },
        }
    }

    /// One line: what is there and how old it is, or why nothing is there.
    pub fn headline(&self, now_ms: i64) -> String {
        let mut line = match (self.taken_ms, &self.trouble) {
            (Some(taken), trouble) => {
                let tool = self.tool.as_deref().unwrap_or("tracker");
                let ready = self.ready.count();
                let blocked = self.blocked.count();
                let busy = self.in_progress.count();
                let age = time::age(now_ms - taken);
                let late = trouble.as_ref().map(|t| format!("; trouble: {}", t.words)).unwrap_or_default();
                format!(
                    "`{tool}`, as of {age} ago: {ready} ready, {blocked} blocked, {busy} in progress{late}"
                )
            }
            (None, Some(trouble)) => trouble.words.clone(),
            (None, None) => "not asked yet".to_owned(),
        };
        if self.ours > 0 {
            let _ = write!(line, "; {} filed by aops-hook left out", self.ours);
        }
        if self.waiting > 0 {
            let _ = write!(line, "; {} of our own still to be written", self.waiting);
        }
        line
    }
}

/// Our own files are under 20 KB.
const LARGEST: usize = 256 << 10;

pub fn folder(env: &Env) -> PathBuf {
    env.config.join("aops/tracker")
}

/// A project's name in file names.
pub fn project_hash(project: &str) -> String {
    sha256(&[project.as_bytes()])[..16].to_owned()
}

pub fn snapshot_file(env: &Env, project: &str) -> PathBuf {
    folder(env).join(format!("{}.json", project_hash(project)))
}

/// The tracker's content when it was last asked. Never fails, never waits.
pub fn snapshot(env: &Env, project: &Path) -> Snapshot {
    let project = project.to_string_lossy();
    let none = |words: &str| Snapshot::none(&project, Why::NotYet, words);
    let mut bytes = vec![0; 32 << 10];
    let read = files::open(snapshot_file(env, &project)).and_then(|mut file| fill(&mut file, &mut bytes));
    match read {
        Ok(long) => serde_json::from_slice::<Snapshot>(&bytes[..long])
            .ok()
            .filter(|found| found.schema == SCHEMA && found.project == project)
            .unwrap_or_else(|| none("the last snapshot cannot be read; the next one replaces it")),
        Err(error) if error.kind() == ErrorKind::NotFound => none("not asked yet"),
        Err(error) => none(&format!("the last snapshot cannot be read: {error}")),
    }
}

/// One read is enough for files that we wrote ourselves; only a longer file needs more.
fn fill(file: &mut File, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
    let long = file.read(bytes)?;
    if long < bytes.len() {
        return Ok(long);
    }
    file.take((LARGEST - long) as u64).read_to_end(bytes)?;
    Ok(bytes.len())
}

/// Replaces the old snapshot.
pub fn keep(env: &Env, snapshot: &Snapshot) -> Result<(), Failure> {
    let path = snapshot_file(env, &snapshot.project);
    let text = serde_json::to_vec(snapshot).map_err(|e| Failure::storage(path.display(), e))?;
    queue::write(&path, &text)
}

#[cfg(test)]
mod tests;
