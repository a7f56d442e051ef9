//! The last snapshot of the tracker, and how it is described in a prompt.
//!
//! Pure but for the stored form, which carries its version. Invariant: a list never looks complete when it is not, and
//! its age is always shown.

use super::answer::Issue;
use crate::text::time;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// The version of the stored form.
pub const SCHEMA: u32 = 1;

/// Issues kept of each list.
const KEPT: usize = 20;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub schema: u32,
    pub project: String,
    /// When the lists were taken; none are there otherwise.
    pub taken_ms: Option<i64>,
    /// Name and version.
    pub tool: Option<String>,
    pub ready: Part,
    pub blocked: Part,
    pub in_progress: Part,
    /// Why the last look brought nothing.
    pub trouble: Option<Trouble>,
    /// Queued items that the tracker does not have yet.
    pub waiting: usize,
}

/// One list: how long it was, and its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub total: usize,
    /// `total` is all there is.
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
    /// None was ever taken, or none that we can read.
    pub fn none(project: &str, why: Why, words: &str) -> Self {
        let trouble = Some(Trouble { at_ms: 0, why, words: words.to_owned() });
        Self { schema: SCHEMA, project: project.to_owned(), trouble, ..Self::default() }
    }

    /// The look before this one failed: its lists stay, unless there is nothing any more that they could be about.
    #[must_use]
    pub fn after(self, trouble: Trouble, waiting: usize) -> Self {
        match trouble.why {
            Why::TimedOut | Why::Failed => Self { trouble: Some(trouble), waiting, ..self },
            _ => Self { trouble: Some(trouble), waiting, ..Self::none(&self.project, Why::NotYet, "") },
        }
    }

    /// One line: what is there and how old it is, or why nothing is.
    pub fn headline(&self, now_ms: i64) -> String {
        let mut line = match (self.taken_ms, &self.trouble) {
            (Some(taken), trouble) => {
                let tool = self.tool.as_deref().unwrap_or("tracker");
                let (ready, blocked) = (self.ready.count(), self.blocked.count());
                let busy = self.in_progress.count();
                let age = time::age(now_ms - taken);
                let late = trouble.as_ref().map(|t| format!("; trouble: {}", t.words)).unwrap_or_default();
                format!("`{tool}`, as of {age} ago: {ready} ready, {blocked} blocked, {busy} in progress{late}")
            }
            (None, Some(trouble)) => trouble.words.clone(),
            (None, None) => "not asked yet".to_owned(),
        };
        if self.waiting > 0 {
            let _ = write!(line, "; {} of our own still to be written", self.waiting);
        }
        line
    }

    /// The whole of it as markdown, at most so many issues of each list.
    pub fn text(&self, now_ms: i64, most: usize) -> String {
        let mut text = format!("Tracker: {}\n", self.headline(now_ms));
        let parts = [("In progress", &self.in_progress), ("Ready", &self.ready), ("Blocked", &self.blocked)];
        for (name, part) in parts.into_iter().filter(|(_, part)| part.total > 0) {
            let _ = writeln!(text, "\n{name}:");
            for issue in part.issues.iter().take(most) {
                let _ = writeln!(text, "- {}", line(issue));
            }
            let left = part.total - part.issues.len().min(most);
            if left > 0 {
                let _ = writeln!(text, "- {left} more{}", if part.complete { "" } else { ", at least" });
            }
        }
        text
    }
}

fn line(issue: &Issue) -> String {
    let priority = issue.priority.map(|p| format!(" P{p}")).unwrap_or_default();
    let waits: Vec<String> = issue.blocked_by.iter().map(|id| format!("`{id}`")).collect();
    let waits = if waits.is_empty() { String::new() } else { format!(" (waits for {})", waits.join(", ")) };
    format!("`{}`{priority} {}: {}{waits}", issue.id, issue.kind, issue.title)
}
