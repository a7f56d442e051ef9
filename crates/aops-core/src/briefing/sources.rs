//! Asks tracker, memory, notes and the previous session what they know about a prompt, in parallel and with
//! one deadline.
//!
//! Reads the tracker's snapshot, the notes and the newest other session, asks a memory server that is already
//! running. Invariants: a prompt never waits beyond the deadline; a source that is late, missing or broken
//! becomes one line that says so, never an error.

use crate::briefing::hits::Lead;
use crate::briefing::memory;
use crate::briefing::notes::{self, FoundNotes, Hit};
use crate::briefing::past;
use crate::briefing::tracker::{self, Issue, Part};
use crate::config::policy::{Address, Policy};
use crate::config::texts;
use crate::ledger::sessions;
use crate::model::phase::Phase;
use crate::system::env::Env;
use crate::text::json::cut;
use crate::text::redact::redact;
use crate::text::template::{one_line, quote};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

const MOST_ISSUES: usize = 8;
const MOST_NOTES: usize = 4;

/// What the sources know: values for the hydrator's context, and each piece separately.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub values: Vec<(&'static str, String)>,
    pub leads: Vec<Lead>,
}

/// One source's text for the context, and its pieces.
type Told = (String, Vec<Lead>);

/// Asks all sources. `own` is the folder of this session.
pub fn ask(env: &Env, policy: &Policy, project: &Path, own: &Path, query: &str) -> Found {
    let deadline = Instant::now() + Duration::from_millis(policy.hydration.deadline_ms);
    let query = redact(query).into_owned();
    let memory = memory(env, policy, project, &query, deadline);
    let notes = {
        let env = env.clone();
        aside(move || describe_notes(&notes::search(&env, &query, MOST_NOTES, deadline)))
    };
    let last = {
        let env = env.clone();
        let project = project.to_owned();
        let own = own.to_owned();
        aside(move || (String::new(), earlier(&env, &project, &own)))
    };
    let snapshot = tracker::snapshot(env, project);
    let (notes, of_notes) = until(&notes, deadline, "the notes were not read in time");
    let (memory, of_memory) = match memory {
        Some(answer) => until(&answer, deadline, "the memory server did not answer in time"),
        None => (quote("no memory server is configured"), Vec::new()),
    };
    let (_, last) = until(&last, deadline, "");
    let issues = [("issue in progress", &snapshot.in_progress), ("ready issue", &snapshot.ready)];
    let issues =
        issues.into_iter().flat_map(|(kind, part)| part.issues.iter().map(move |issue| (kind, issue)));
    let issues = issues.map(|(kind, Issue { id, title, .. })| Lead {
        kind,
        title: format!("{id} {title}"),
        id: Some(id.clone()),
        ..Lead::default()
    });
    Found {
        leads: issues.chain(of_notes).chain(of_memory).chain(last).collect(),
        values: vec![
            ("tracker_note", format!("Tracker: {}", snapshot.headline(env.now_ms))),
            ("ready", describe_issues(&snapshot.ready)),
            ("in_progress", describe_issues(&snapshot.in_progress)),
            ("blocked", describe_issues(&snapshot.blocked)),
            ("own", describe_issues(&snapshot.own)),
            ("recent", describe_recent(&snapshot.recent)),
            ("notes", notes),
            ("memory", memory),
        ],
    }
}

/// Runs it in a thread; an answer after the deadline is dropped.
fn aside(work: impl FnOnce() -> Told + Send + 'static) -> Receiver<Told> {
    let (done, answer) = mpsc::channel();
    thread::spawn(move || done.send(work()));
    answer
}

fn until(answer: &Receiver<Told>, deadline: Instant, late: &str) -> Told {
    let left = deadline.saturating_duration_since(Instant::now());
    answer.recv_timeout(left).unwrap_or_else(|_| (quote(late), Vec::new()))
}

/// The last task, and the results of earlier sessions.
fn earlier(env: &Env, project: &Path, own: &Path) -> Vec<Lead> {
    let last = last_task(own, !env.dry_run);
    let id = sessions::on_disk(own.to_owned()).map(|own| own.session_id).unwrap_or_default();
    let is_last = |lead: &Lead| last.as_ref().is_some_and(|last| lead.title.ends_with(&last.title));
    let before: Vec<Lead> =
        past::leads(env, project, &id).into_iter().filter(|lead| !is_last(lead)).collect();
    last.into_iter().chain(before).collect()
}

/// What the previous session was about.
fn last_task(own: &Path, notes: bool) -> Option<Lead> {
    let state = sessions::newest_beside(own, notes)?;
    let task = state.task?;
    let over = matches!(state.phase, Phase::Done | Phase::Idle) || task.waiver.is_some();
    let open = if over { "" } else { " (not finished)" };
    // A leading dot was an instruction for us.
    let intent = task.intent?;
    let intent = intent.trim_start_matches(|c: char| c == '.' || c.is_whitespace());
    let title = format!("{}{open}", one_line(intent, 240));
    (!intent.is_empty()).then(|| Lead { kind: "last task here", title, ..Lead::default() })
}

/// The user's memory server, or the one in the project's own `.mcp.json`, which must be on this machine and
/// allowed by the user for the client; or why the named one is not asked.
pub fn server(env: &Env, policy: &Policy, project: &Path) -> Option<Result<Address, String>> {
    if let Some(url) = policy.memory.server.as_deref() {
        return Some(Address::read(url).map_err(|wanted| format!("`memory.server` is not {wanted}")));
    }
    let found = memory::of_project(
        &texts::read_text(&project.join(".mcp.json"), Some(texts::Bounds::of(env, project))).ok()??,
    );
    let named = found.into_iter().next()?;
    if memory::is_approved(env, project, &named.name) {
        return Some(Ok(named.address));
    }
    let name = one_line(&named.name, 60);
    Some(Err(format!("the server `{name}` of `.mcp.json` is not approved by the user")))
}

fn memory(
    env: &Env,
    policy: &Policy,
    project: &Path,
    query: &str,
    deadline: Instant,
) -> Option<Receiver<Told>> {
    Some(match server(env, policy, project)? {
        Ok(address) => ask_server(env, address, query, deadline),
        Err(words) => aside(move || (quote(&words), Vec::new())),
    })
}

fn ask_server(env: &Env, server: Address, query: &str, deadline: Instant) -> Receiver<Told> {
    let env = env.clone();
    let query = query.to_owned();
    aside(move || match memory::recall(&env, &server, &query, deadline) {
        Ok(memories) => {
            let lead =
                |memory: &String| Lead { kind: "memory", text: one_line(memory, 400), ..Lead::default() };
            let lines = memories.iter().map(|m| format!("- {}", one_line(m, 400))).collect::<Vec<_>>();
            (quote(&lines.join("\n")), memories.iter().map(lead).collect())
        }
        Err(trouble) => (quote(&format!("the memory server {trouble}")), Vec::new()),
    })
}

fn describe_notes(found: &FoundNotes) -> Told {
    let mut lines = Vec::new();
    for hit in &found.hits {
        lines.push(format!("{} ({})", hit.path.display(), one_line(&hit.title, 100)));
        lines
            .extend(hit.lines.iter().map(|line| format!("  {}: {}", line.number, one_line(&line.text, 200))));
    }
    if !found.complete {
        lines.push("(cut off by the deadline)".to_owned());
    }
    let lead = |hit: &Hit| {
        let title = format!("{} ({})", hit.path.display(), one_line(&hit.title, 100));
        let text = hit.lines.iter().map(|line| line.text.trim()).collect::<Vec<_>>().join(" / ");
        Lead { kind: "note", title, text, id: None }
    };
    (quote(&redact(&lines.join("\n"))), found.hits.iter().map(lead).collect())
}

/// To whom the issue belongs, and what it waits for.
fn about_issue(issue: &Issue) -> String {
    let whose = (!issue.assignee.is_empty()).then(|| format!("of {}", issue.assignee));
    let waits = (!issue.blocked_by.is_empty()).then(|| format!("waits for {}", issue.blocked_by.join(", ")));
    let about: Vec<String> = whose.into_iter().chain(waits).collect();
    if about.is_empty() { String::new() } else { format!(" ({})", about.join("; ")) }
}

/// The latest changes: day, state, issue.
fn describe_recent(part: &Part) -> String {
    let line = |issue: &Issue| {
        format!("{} {} {} {}", cut(&issue.updated_at, 10), issue.status, issue.id, issue.title)
    };
    quote(&redact(&part.issues.iter().map(line).collect::<Vec<_>>().join("\n")))
}

fn describe_issues(part: &Part) -> String {
    let line = |issue: &Issue| format!("{} {}{}", issue.id, issue.title, about_issue(issue));
    let mut lines: Vec<String> = part.issues.iter().take(MOST_ISSUES).map(line).collect();
    if part.total > lines.len() {
        lines.push(format!("… {} more", part.total - lines.len()));
    }
    quote(&redact(&lines.join("\n")))
}
