//! What tracker, memory and notes know about a prompt, asked side by side under one deadline.
//!
//! Reads the tracker's snapshot and the notes, asks a memory server that already runs. Invariants: a prompt never
//! waits beyond the deadline; a source that is late, missing or broken becomes one line that says so, never an error.

use crate::briefing::memory;
use crate::briefing::notes::{self, FoundNotes};
use crate::briefing::tracker::{self, Issue, Part};
use crate::config::policy::{Address, Policy};
use crate::config::texts;
use crate::system::env::Env;
use crate::text::redact::redact;
use crate::text::template::{one_line, quote};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

const MOST_ISSUES: usize = 8;
const MOST_NOTES: usize = 4;

/// The values of the hydrator's context that come from outside the ledger.
pub fn ask(env: &Env, policy: &Policy, project: &Path, query: &str) -> Vec<(&'static str, String)> {
    let deadline = Instant::now() + Duration::from_millis(policy.hydration.deadline_ms);
    let query = redact(query).into_owned();
    let memory = memory(env, policy, project, &query, deadline);
    let notes = {
        let (env, query) = (env.clone(), query);
        aside(move || describe_notes(&notes::search(&env, &query, MOST_NOTES, deadline)))
    };
    let snapshot = tracker::snapshot(env, project);
    let notes = until(&notes, deadline, "the notes were not read in time");
    let memory = match memory {
        Some(answer) => until(&answer, deadline, "the memory server did not answer in time"),
        None => quote("no memory server is configured"),
    };
    vec![
        ("tracker_note", format!("Tracker: {}", snapshot.headline(env.now_ms))),
        ("ready", describe_issues(&snapshot.ready)),
        ("in_progress", describe_issues(&snapshot.in_progress)),
        ("blocked", describe_issues(&snapshot.blocked)),
        ("notes", notes),
        ("memory", memory),
    ]
}

/// Runs in a thread; an answer after the deadline is dropped.
fn aside(work: impl FnOnce() -> String + Send + 'static) -> Receiver<String> {
    let (done, answer) = mpsc::channel();
    thread::spawn(move || done.send(work()));
    answer
}

fn until(answer: &Receiver<String>, deadline: Instant, late: &str) -> String {
    let left = deadline.saturating_duration_since(Instant::now());
    answer.recv_timeout(left).unwrap_or_else(|_| quote(late))
}

/// The user's server, or the one of the project's own `.mcp.json`, which may only be on this machine and only where the
/// user let the client use it.
fn memory(env: &Env, policy: &Policy, project: &Path, query: &str, deadline: Instant) -> Option<Receiver<String>> {
    if let Some(url) = policy.memory.server.as_deref() {
        return Some(match Address::read(url) {
            Ok(address) => ask_server(env, address, query, deadline),
            Err(wanted) => aside(move || quote(&format!("`memory.server` is not {wanted}"))),
        });
    }
    let found = memory::of_project(&texts::read_text(&project.join(".mcp.json"), Some(project)).ok()??);
    let named = found.into_iter().next()?;
    if memory::is_approved(env, project, &named.name) {
        return Some(ask_server(env, named.address, query, deadline));
    }
    let name = one_line(&named.name, 60);
    Some(aside(move || quote(&format!("the server `{name}` of `.mcp.json` is not approved by the user"))))
}

fn ask_server(env: &Env, server: Address, query: &str, deadline: Instant) -> Receiver<String> {
    let (env, query) = (env.clone(), query.to_owned());
    aside(move || match memory::recall(&env, &server, &query, deadline) {
        Ok(memories) => {
            quote(&memories.iter().map(|m| format!("- {}", one_line(m, 400))).collect::<Vec<_>>().join("\n"))
        }
        Err(trouble) => quote(&format!("the memory server {trouble}")),
    })
}

fn describe_notes(found: &FoundNotes) -> String {
    let mut lines = Vec::new();
    for hit in &found.hits {
        lines.push(format!("{} ({})", hit.path.display(), one_line(&hit.title, 100)));
        lines.extend(hit.lines.iter().map(|line| format!("  {}: {}", line.number, one_line(&line.text, 200))));
    }
    if !found.complete {
        lines.push("(cut off by the deadline)".to_owned());
    }
    quote(&redact(&lines.join("\n")))
}

fn describe_issues(part: &Part) -> String {
    let line = |issue: &Issue| format!("{} {}", issue.id, issue.title);
    let mut lines: Vec<String> = part.issues.iter().take(MOST_ISSUES).map(line).collect();
    if part.total > lines.len() {
        lines.push(format!("… {} more", part.total - lines.len()));
    }
    quote(&redact(&lines.join("\n")))
}
