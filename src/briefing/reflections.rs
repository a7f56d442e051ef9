//! Queues reflections and the learnings of an analysis for the tracker.
//!
//! Reads an agent's report, writes the tracker's queue. Invariant: the same text about the same session is one item,
//! however often it is queued; without a tracker nothing is queued.

use crate::briefing::tracker::{self, Item, Why};
use crate::insight::tally::says_something;
use crate::model::error::Failure;
use crate::session::agent_report::AgentReport;
use crate::system::env::Env;
use crate::text::template::one_line;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// Learnings of one analysis that are taken over.
const MOST: usize = 10;

/// The seven fields, and the name each has for people.
const FIELDS: [(&str, &str); 7] = [
    ("request", "Request"),
    ("guidance_received", "Guidance received"),
    ("followed", "Followed"),
    ("outcome", "Outcome"),
    ("accomplishment", "Accomplishment"),
    ("root_cause", "Root cause"),
    ("proposed_change", "Proposed change"),
];

/// A reflection, and the change it proposes as an issue of its own.
pub fn reflected(env: &Env, project: &Path, session_id: &str, finding: &AgentReport) -> Result<(), Failure> {
    if !tracked(env, project) {
        return Ok(());
    }
    let said = |name: &str| finding.reflection.get(name).map_or("", String::as_str).trim();
    let mut body = format!("Session: {session_id}\n\n");
    for (name, title) in FIELDS {
        let _ = writeln!(body, "**{title}**: {}", said(name));
    }
    let about = [said("accomplishment"), said("request")].into_iter().find(|text| says_something(text));
    let title = format!("Reflection: {}", one_line(about.unwrap_or("a session"), 120));
    put(env, project, title, body, "chore", 4, "aops-reflection")?;
    let change = said("proposed_change");
    if !says_something(change) {
        return Ok(());
    }
    let body = format!("Session: {session_id}\n\n{change}\n\nRoot cause: {}\n", said("root_cause"));
    put(env, project, format!("Learning: {}", one_line(change, 120)), body, "task", 3, "aops-learning")
}

/// What an analysis observed, an issue each.
pub fn observed(env: &Env, project: &Path, session_id: &str, observations: &Value) -> Result<(), Failure> {
    if !tracked(env, project) {
        return Ok(());
    }
    for observation in observations.as_array().into_iter().flatten().take(MOST) {
        let text = |name: &str| observation.get(name).and_then(Value::as_str).unwrap_or_default();
        let lesson = observation.as_str().unwrap_or_else(|| text("lesson"));
        if says_something(lesson) {
            let body = format!("Session: {session_id}\n\n{lesson}\n\nEvidence: {}\n", text("evidence"));
            put(env, project, format!("Learning: {}", one_line(lesson, 120)), body, "task", 3, "aops-learning")?;
        }
    }
    Ok(())
}

/// There is a tracker, or the refresher has not looked yet.
fn tracked(env: &Env, project: &Path) -> bool {
    let known = tracker::snapshot(env, project);
    known.tool.is_some() || known.trouble.as_ref().is_some_and(|trouble| trouble.why == Why::NotYet)
}

fn put(
    env: &Env,
    project: &Path,
    title: String,
    body: String,
    kind: &str,
    priority: u8,
    label: &str,
) -> Result<(), Failure> {
    let (kind, labels) = (kind.to_owned(), vec![label.to_owned()]);
    tracker::enqueue(env, project, Item::Issue { title, body, kind, priority, labels }).map(drop)
}
