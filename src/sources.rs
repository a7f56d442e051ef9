//! What tracker, memory and notes know about a prompt, asked side by side under one deadline.
//!
//! Reads the tracker's snapshot; asks nobody who could keep a prompt waiting. Invariant: a source that is late, missing or
//! broken is one line that says so, and never a failure.

use crate::env::Env;
use crate::phrase::quote;
use crate::redact::redact;
use crate::tracker::{self, snapshot::Part};
use std::path::Path;

/// Issues shown of each list.
const MOST_ISSUES: usize = 8;

/// The values of the hydrator's context that come from outside the ledger.
pub fn ask(env: &Env, project: &Path) -> Vec<(&'static str, String)> {
    let snapshot = tracker::snapshot(env, project);
    vec![
        ("tracker_note", format!("Tracker: {}", snapshot.headline(env.now_ms))),
        ("ready", listed(&snapshot.ready)),
        ("in_progress", listed(&snapshot.in_progress)),
        ("blocked", listed(&snapshot.blocked)),
        ("memory", quote("")),
        ("notes", quote("")),
    ]
}

fn listed(part: &Part) -> String {
    let line = |issue: &tracker::answer::Issue| format!("{} {}", issue.id, issue.title);
    let mut lines: Vec<String> = part.issues.iter().take(MOST_ISSUES).map(line).collect();
    if part.total > lines.len() {
        lines.push(format!("… {} more", part.total - lines.len()));
    }
    quote(&redact(&lines.join("\n")))
}
