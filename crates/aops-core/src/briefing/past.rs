//! The results of a project's last sessions, for the agent that reflects and for a prompt about the same
//! topic.
//!
//! Reads the newest insights files; writes nothing. Invariants: files are read newest first, and only a
//! limited number; their content was redacted when it was written; a file that cannot be read is skipped.

use crate::briefing::hits::Lead;
use crate::insight::collect;
use crate::insight::document::{Insights, describe_counts};
use crate::insight::tally::says_something;
use crate::system::env::Env;
use crate::text::json::cut;
use crate::text::template::{one_line, quote};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// At most this many sessions are described.
const MOST: usize = 5;
/// At most this many sessions are compared with a prompt, and this many files read.
const MOST_LEADS: usize = 30;
const MOST_FILES: usize = 60;
/// Longest field, in bytes.
const FIELD: usize = 200;

/// Their reflections, one line each, newest first; and their refusals by gate, added up.
pub fn last_sessions(env: &Env, project: &Path, own: &str) -> (String, String) {
    let found = read(env, project, own, MOST);
    let mut gates: BTreeMap<String, u64> = BTreeMap::new();
    for (gate, n) in found.iter().flat_map(|insights| &insights.gates) {
        *gates.entry(gate.clone()).or_default() += n;
    }
    let friction = if gates.is_empty() { "none".to_owned() } else { one_line(&describe_counts(&gates), 300) };
    let lines: Vec<String> = found.iter().map(describe).collect();
    (if lines.is_empty() { quote("none") } else { quote(&lines.join("\n")) }, friction)
}

/// Topics and results of earlier sessions of this project, newest first, each as a lead for a prompt.
pub fn leads(env: &Env, project: &Path, own: &str) -> Vec<Lead> {
    let told = |insights: &Insights| {
        let summary = insights.summary.as_deref().filter(|summary| says_something(summary))?;
        let learnt = insights.accomplishments.iter().chain(&insights.proposed_changes);
        let learnt = learnt.filter(|text| says_something(text) && text.as_str() != summary);
        let text = learnt.map(|text| one_line(cut(text, FIELD), FIELD)).collect::<Vec<_>>().join("; ");
        let title = format!("{} {}", insights.date, one_line(cut(summary, FIELD), FIELD));
        Some(Lead { kind: "earlier session here", title, text, id: None })
    };
    read(env, project, own, MOST_LEADS).iter().filter_map(told).collect()
}

/// The newest insights of other sessions of this project.
fn read(env: &Env, project: &Path, own: &str, most: usize) -> Vec<Insights> {
    let name = project.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut files: Vec<_> =
        fs::read_dir(collect::folder(env)).into_iter().flatten().flatten().map(|file| file.path()).collect();
    // Names begin with the day.
    files.sort_by(|a, b| b.cmp(a));
    let read = |path: &PathBuf| serde_json::from_value::<Insights>(collect::kept(path)?).ok();
    let is_wanted = |insights: &Insights| insights.project == name && insights.session_id != own;
    let mut found: Vec<Insights> = files.iter().take(MOST_FILES).filter_map(read).filter(is_wanted).collect();
    found.sort_by(|a, b| b.started_at.cmp(&a.started_at));
    found.truncate(most);
    found
}

/// `2026-11-17 success: greets the world; cause: no test; change: write the test first; refusals: qa 1`
fn describe(insights: &Insights) -> String {
    let said = |name: &str| {
        let text = insights.reflection.as_ref()?.get(name).filter(|text| says_something(text))?;
        Some(one_line(cut(text, FIELD), FIELD))
    };
    let about = insights.summary.as_deref().map(|text| one_line(cut(text, FIELD), FIELD)).unwrap_or_default();
    let cause = said("root_cause").map(|text| format!("; cause: {text}")).unwrap_or_default();
    let change = said("proposed_change").map(|text| format!("; change: {text}")).unwrap_or_default();
    let counts = describe_counts(&insights.gates);
    let gates = if counts.is_empty() { counts } else { format!("; refusals: {}", one_line(&counts, FIELD)) };
    format!("{} {}: {about}{cause}{change}{gates}", insights.date, insights.outcome)
}
