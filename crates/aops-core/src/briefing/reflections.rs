//! Queues reflections and the learnings of an analysis for the tracker.
//!
//! Reads an agent's report, writes the tracker's queue. Invariants: the same text about the same session is
//! one item, however often it is queued; without a tracker nothing is queued.

use crate::briefing::tracker::{self, Item, Why};
use crate::insight::tally::says_something;
use crate::model::error::Failure;
use crate::session::agent_report::AgentReport;
use crate::session::reflection::to_markdown;
use crate::system::env::Env;
use crate::text::template::one_line;
use serde_json::Value;
use std::path::Path;

/// At most this many learnings of one analysis are queued.
const MOST: usize = 10;
/// At most this many patterns of one reflection are queued.
const MOST_PATTERNS: usize = 3;

/// How an issue is filed: kind, priority and label.
type Filing = (&'static str, u8, &'static str);
const REFLECTION: Filing = ("task", 4, "aops-reflection");
const LEARNING: Filing = ("task", 3, "aops-learning");
const IMPROVEMENT: Filing = ("feature", 3, "aops-improvement");

/// Queues a reflection, the patterns in it as tasks, and the change that it proposes as a feature.
pub fn queue_reflection(
    env: &Env,
    project: &Path,
    session_id: &str,
    finding: &AgentReport,
) -> Result<(), Failure> {
    let said = |name: &str| finding.reflection.get(name).map_or("", String::as_str).trim();
    let body = format!("Session: {session_id}\n\n{}", to_markdown(&finding.reflection));
    let about = [said("accomplishment"), said("request")].into_iter().find(|text| says_something(text));
    put(
        env,
        project,
        &format!("Reflection: {}", one_line(about.unwrap_or("a session"), 120)),
        body,
        REFLECTION,
    )?;
    for pattern in finding.patterns.iter().filter(|pattern| says_something(pattern)).take(MOST_PATTERNS) {
        let body = format!("Session: {session_id}\n\n{pattern}\n");
        put(env, project, &format!("Learning: {}", one_line(pattern, 120)), body, LEARNING)?;
    }
    let change = said("proposed_change");
    if !says_something(change) {
        return Ok(());
    }
    let body = format!("Session: {session_id}\n\n{change}\n\nRoot cause: {}\n", said("root_cause"));
    put(env, project, &format!("Improvement: {}", one_line(change, 120)), body, IMPROVEMENT)
}

/// Queues the observations of an analysis, one issue each.
pub fn queue_learnings(
    env: &Env,
    project: &Path,
    session_id: &str,
    observations: &Value,
) -> Result<(), Failure> {
    for observation in observations.as_array().into_iter().flatten().take(MOST) {
        let text = |name: &str| observation.get(name).and_then(Value::as_str).unwrap_or_default();
        let lesson = observation.as_str().unwrap_or_else(|| text("lesson"));
        if says_something(lesson) {
            let body = format!("Session: {session_id}\n\n{lesson}\n\nEvidence: {}\n", text("evidence"));
            put(env, project, &format!("Learning: {}", one_line(lesson, 120)), body, LEARNING)?;
        }
    }
    Ok(())
}

/// Only if there is a tracker, or the refresher has not looked for one yet.
fn put(
    env: &Env,
    project: &Path,
    title: &str,
    body: String,
    (kind, priority, label): Filing,
) -> Result<(), Failure> {
    let known = tracker::snapshot(env, project);
    if known.tool.is_none() && !known.trouble.as_ref().is_some_and(|trouble| trouble.why == Why::NotYet) {
        return Ok(());
    }
    let title = title.to_owned();
    let kind = kind.to_owned();
    let labels = vec![label.to_owned()];
    tracker::enqueue(env, project, Item::Issue { title, body, kind, priority, labels }).map(drop)
}
