//! Writes the context of each of our agents when it starts, and its files in `context/`.
//!
//! Reads the ledger's tail, the working tree and the transcript; writes below the session folder. Invariants:
//! a reviewer's context comes from the ledger, not from the agent under review; outside text is quoted and
//! redacted; injected text stays below the client's limit and names the file with the rest.

use crate::briefing::hits::Lead;
use crate::briefing::past;
use crate::briefing::sources::{self, Found};
use crate::briefing::tracker::{self, Item, dialect};
use crate::config::policy::Policy;
use crate::config::texts::{self, Reading};
use crate::host::claude::transcript;
use crate::ledger::open::{Ledger, Recent};
use crate::model::agent::{Agent, AgentId};
use crate::model::call::CallState;
use crate::model::debt::DebtId;
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::model::named::{Stored, join_names};
use crate::session::describe::describe_deed;
use crate::session::fact::Fact;
use crate::session::fold::Session;
use crate::session::memory::Parked;
use crate::session::prompt::Prompt;
use crate::session::state::Task;
use crate::system::env::Env;
use crate::system::git;
use crate::text::json::cut;
use crate::text::plain::{count, shell_word};
use crate::text::redact::redact;
use crate::text::template::{Phrase, one_line, quote};
use crate::text::time::timestamp;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The client cuts injected text at 10,000 characters.
const INJECTED: usize = 9_300;
/// The part of it for a context's headings and for what may be cut: turns, issues, memory and notes.
const REST: usize = 1_800;
const STEPS: &str = "workflow_steps";
/// What must fit in addition to the steps of the workflows.
const BESIDE_STEPS: [&str; 8] =
    ["cwd", "session_id", "prompt", "task", "owed", "problems", "workflows", "axioms"];
/// Limits for single parts, in bytes.
const PART: usize = 2_000;
const DIFF: usize = 60_000;
const WINDOW: usize = 60;

/// A context as it is written to its file, and the part that is injected.
#[derive(Debug)]
pub struct Brief {
    pub file: String,
    pub text: String,
    /// What the sources know, piece by piece; empty for agents that do not get it.
    pub leads: Vec<Lead>,
}

/// The context of this agent, written to `context/` and cut for injection. The sources are asked here unless
/// they were asked before.
pub fn brief(
    env: &Reading,
    ledger: &Ledger,
    event: &Event,
    agent: &Agent,
    found: Option<Found>,
) -> Result<Brief, Failure> {
    let (name, template) = match agent.id {
        AgentId::Hydrator => ("hydration", "prompt-hydrator-context.md"),
        AgentId::Critic => ("review", "critic-context.md"),
        AgentId::Custodiet => ("audit", "audit-context.md"),
        AgentId::QaVerifier => ("qa", "qa-context.md"),
        AgentId::Framework => ("reflection", "reflection-context.md"),
    };
    let session = ledger.session();
    let file = format!("{name}-{}.md", session.seq + 1);
    let path = ledger.place().path.join("context").join(&file);
    let shape = texts::template(env, template)?;
    let mut values = values(env, ledger, event, &shape, &path)?;
    let asks = shape.contains("{{notes}}") || shape.contains("{{memory}}") || shape.contains("{{ready}}");
    let found = if asks {
        found.unwrap_or_else(|| SourceQuestion::of(env, ledger, event).ask(env))
    } else {
        Found::default()
    };
    values.extend(found.values);
    let mut text = Phrase::new(template, values.clone()).fill(&shape) + "\n";
    ledger.write_context(&file, &text)?;
    // At a prompt only the file is named.
    if event.kind() == EventKind::SubagentStart
        && text.chars().count() > INJECTED
        && shape.contains(&format!("{{{{{STEPS}}}}}"))
    {
        shorten_steps(env, &path, &mut values);
        text = Phrase::new(template, values).fill(&shape) + "\n";
    }
    Ok(Brief { text: injected(&text, &path), file: path.display().to_string(), leads: found.leads })
}

/// Shortens the steps of every workflow to the space that the other parts leave.
fn shorten_steps(env: &Reading, path: &Path, values: &mut Values) {
    let beside: usize =
        values.iter().filter(|(name, _)| BESIDE_STEPS.contains(name)).map(|(_, text)| text.len()).sum();
    let room = INJECTED.saturating_sub(beside + REST);
    let steps = texts::workflow_steps(env, room);
    if let Some((_, told)) = values.iter_mut().find(|(name, _)| *name == STEPS) {
        *told = format!("{steps}\n(each step is described in `{}`)", path.display());
    }
}

/// A question to the sources that no longer needs the ledger.
#[derive(Debug)]
pub struct SourceQuestion {
    own: PathBuf,
    policy: Policy,
    project: PathBuf,
    prompt: String,
}

impl SourceQuestion {
    pub fn of(env: &Reading, ledger: &Ledger, event: &Event) -> Self {
        let session = ledger.session();
        Self {
            own: ledger.place().path.clone(),
            policy: session.policy().clone(),
            project: env.root().to_owned(),
            prompt: prompt(session, event),
        }
    }

    pub fn ask(&self, env: &Env) -> Found {
        sources::ask(env, &self.policy, &self.project, &self.own, &self.prompt)
    }
}

/// The prompt that this event is about, after those that still wait for a plan.
fn prompt(session: &Session, event: &Event) -> String {
    let before = session.state.hydration.original_prompt.as_deref();
    match event.prompt() {
        "" => before.unwrap_or_default().to_owned(),
        next => Prompt::join(before.filter(|_| session.is_unanswered()), next),
    }
}

fn injected(text: &str, path: &Path) -> String {
    if text.chars().count() <= INJECTED {
        return text.to_owned();
    }
    let head: String = text.chars().take(INJECTED - 200).collect();
    format!("{head}\n\n(trimmed here; the whole context is in `{}`)", path.display())
}

type Values = Vec<(&'static str, String)>;

fn values(
    env: &Reading,
    ledger: &Ledger,
    event: &Event,
    shape: &str,
    path: &Path,
) -> Result<Values, Failure> {
    let session = ledger.session();
    let state = &session.state;
    let course = &session.memory.progress;
    let list = |items: &[String]| {
        quote(&items.iter().map(|item| format!("- {}", one_line(item, 500))).collect::<Vec<_>>().join("\n"))
    };
    let text = |text: Option<&String>| quote(cut(&redact(text.map_or("", String::as_str)), PART));
    let or_none = |names: String| if names.is_empty() { "none".to_owned() } else { names };
    let mut values = vec![
        ("at", timestamp(env.now_ms)),
        ("session_id", state.session_id.clone()),
        ("cwd", one_line(&event.cwd, 300)),
        ("phase", state.phase.name().to_owned()),
        ("sandbox", session.state.sandbox.name().to_owned()),
        ("prompt", quote(&redact(&prompt(session, event)))),
        ("task", task(session)),
        ("parked", parked(session)),
        ("owed", or_none(join_names(&state.stop.owed))),
        ("problems", list(&course.plan.problems)),
        ("issues", list(&course.plan.problems)),
        ("workflow", state.state.current_workflow.clone().unwrap_or_else(|| "none".to_owned())),
        ("gates", or_none(join_names(&course.plan.gates))),
        ("intent", text(state.hydration.hydrated_intent.as_ref())),
        ("criteria", list(&state.hydration.acceptance_criteria)),
        ("steps", list(&course.plan.steps)),
        ("round", (course.proven.rounds + 1).to_string()),
        ("rounds", "3".to_owned()),
        ("waivers", waivers(session)),
        ("evidence", evidence(session)),
        ("axioms", texts::axioms_text(env)),
        ("workflows", texts::workflows_text(env)),
    ];
    values.extend(pointers(env, session, env.root(), shape));
    values.extend(costly_values(env, ledger, event, shape, path)?);
    Ok(values)
}

/// Where an agent finds more: the transcript, the current issue, earlier sessions; and where it can write
/// more.
fn pointers(env: &Env, session: &Session, project: &Path, shape: &str) -> Values {
    let wants = |name: &str| shape.contains(&format!("{{{{{name}}}}}"));
    let mut values = Vec::new();
    if wants("transcript") {
        // The gates recognise our program by this name, and a jail starts exactly this program.
        values.push(("transcript", format!("aops-hook transcript {}", session.state.session_id)));
    }
    if wants("tracked") {
        values.push(("tracked", tracked(env, session, project)));
    }
    if wants("past") {
        let (past, friction) = past::last_sessions(env, project, &session.state.session_id);
        values.extend([("past", past), ("past_friction", friction)]);
    }
    values
}

/// The current issue and how to comment on it, in one line.
fn tracked(env: &Env, session: &Session, project: &Path) -> String {
    let policy = session.policy();
    let snapshot = tracker::snapshot(env, project);
    if policy.tracker.is_none() || snapshot.tool.is_none() {
        return "no tracker is in use here".to_owned();
    }
    let Some(id) = session.memory.progress.closing.issues.last().map(|issue| issue.id.as_str()) else {
        return "this task is not a tracked issue".to_owned();
    };
    let lists = [&snapshot.in_progress, &snapshot.own, &snapshot.ready, &snapshot.blocked];
    let mut issues = lists.into_iter().flat_map(|part| &part.issues);
    let title = issues
        .find(|issue| issue.id == id)
        .map(|issue| format!(" ({})", one_line(&redact(&issue.title), 160)));
    let title = title.unwrap_or_default();
    let program = shell_word(&policy.tracker.command);
    let comment = dialect::comment(snapshot.tool.as_deref().unwrap_or_default(), id);
    format!("this task is issue `{id}`{title}; to comment on it: `{program} {comment}`")
}

/// Values for which git, the ledger or the transcript must be read, so only if the text has a place for them.
fn costly_values(
    env: &Reading,
    ledger: &Ledger,
    event: &Event,
    shape: &str,
    path: &Path,
) -> Result<Values, Failure> {
    let session = ledger.session();
    let wants = |name: &str| shape.contains(&format!("{{{{{name}}}}}"));
    let mut values = Vec::new();
    let mut trimmed = String::new();
    if wants("files") || wants("diff") {
        let (files, diff) = git::diff(env, Path::new(&event.cwd), &ledger.baseline()?);
        values.push(("files", quote(cut(&redact(&files), PART * 2))));
        values.push(("diff", quote(cut(&redact(&diff), DIFF))));
        if diff.len() > DIFF {
            let file = path.display();
            trimmed = format!(
                "The diff is cut; `git diff` in the working folder shows all of it. The whole context is in `{file}`."
            );
        }
    }
    values.push(("trimmed", trimmed));
    if wants(STEPS) {
        values.push((STEPS, texts::workflow_steps(env, usize::MAX)));
    }
    if wants("workflow_text") {
        let id = session.state.state.current_workflow.as_deref().unwrap_or_default();
        let text = texts::workflow_text(env, id).unwrap_or_else(|| "(there is none)".to_owned());
        values.push(("workflow_text", quote(cut(&text, PART * 2))));
    }
    if wants("events") {
        values.extend(window(&ledger.recent()));
    }
    if wants("turns") {
        values.push(("turns", quote(&redact(&transcript::last_turns(&event.transcript_path, PART)))));
    }
    if wants("critic") {
        values.extend(verdicts(session, &ledger.recent()));
    }
    Ok(values)
}

fn window(recent: &[Recent]) -> Vec<(&'static str, String)> {
    let last = &recent[recent.len().saturating_sub(WINDOW)..];
    let number = |entry: Option<&Recent>| entry.map_or("0".to_owned(), |entry| entry.seq.to_string());
    let line = |entry: &Recent| {
        format!(
            "{} {} {} {}",
            entry.seq,
            entry.ts.get(11..19).unwrap_or(""),
            entry.kind,
            describe_deed(&entry.fact, 200)
        )
    };
    let is_drawn = |fact: &Fact| matches!(fact, Fact::Call(step) if step.ended().drawn == Some(true));
    let drawn = recent.iter().rev().find(|entry| is_drawn(&entry.fact));
    vec![
        ("first_event", number(last.first())),
        ("last_event", number(last.last())),
        ("events", quote(&redact(&last.iter().map(line).collect::<Vec<_>>().join("\n")))),
        ("drawn_at", number(drawn)),
    ]
}

fn verdicts(session: &Session, recent: &[Recent]) -> Vec<(&'static str, String)> {
    let of = |name: &str| {
        session
            .state
            .subagents
            .get(name)
            .and_then(|agent| agent.said().cloned())
            .unwrap_or_else(|| "none".to_owned())
    };
    let prompts: Vec<String> = recent
        .iter()
        .filter_map(|entry| match &entry.fact {
            Fact::Event(seen) if seen.kind() == EventKind::UserPromptSubmit => {
                seen.words("prompt").map(|prompt| one_line(&prompt, 500))
            }
            _ => None,
        })
        .collect();
    let audit = &session.state.audit;
    vec![
        ("critic", of("critic")),
        ("qa", of("qa-verifier")),
        ("audits", format!("{} drawn, {} done", audit.drawn, audit.done)),
        ("refusals", count_by(recent, refusing_gate)),
        ("failed_calls", count_by(recent, failed_tool)),
        ("prompts", quote(&prompts.join("\n"))),
    ]
}

/// The number of entries with each name: `sandbox 2, qa 1`.
fn count_by(recent: &[Recent], name: fn(&Fact) -> Option<&str>) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    recent
        .iter()
        .filter_map(|entry| name(&entry.fact))
        .for_each(|name| *counts.entry(name).or_default() += 1);
    let words: Vec<String> =
        counts.iter().map(|(name, count)| format!("{} {count}", one_line(name, 60))).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

fn refusing_gate(fact: &Fact) -> Option<&str> {
    match fact {
        Fact::Call(step) if step.to == CallState::Denied => step.gate.as_ref().map(Stored::name),
        Fact::Event(seen) => match (&seen.said, seen.owed()) {
            (Some(said), Some(owed)) if said.refuses() => owed.first().map(DebtId::gate_name),
            (Some(said), None) if said.refuses() => Some(said.gate.name()),
            _ => None,
        },
        _ => None,
    }
}

fn failed_tool(fact: &Fact) -> Option<&str> {
    match fact {
        Fact::Call(step) if step.to == CallState::Failed => Some(&step.call.tool),
        _ => None,
    }
}

fn task(session: &Session) -> String {
    let unnamed = |task: &&Task| task.writes == 0 && task.intent.as_deref().is_none_or(str::is_empty);
    let Some(task) = session.state.task.as_ref().filter(|task| !unnamed(task)) else {
        return "none".to_owned();
    };
    let intent = one_line(task.intent.as_deref().unwrap_or("no intent"), 300);
    format!(
        "{intent} (workflow `{}`, {} changes so far)",
        session.state.state.current_workflow.as_deref().unwrap_or("none"),
        task.writes
    )
}

/// The tasks that the person interrupted, with the numbers that `aops-hook task` shows.
fn parked(session: &Session) -> String {
    let tell = |(n, task): (u64, &Parked)| {
        let about =
            task.intent.as_deref().or(task.hydration.original_prompt.as_deref()).unwrap_or("no intent");
        let files = one_line(&task.paths.join(", "), 200);
        let files = if files.is_empty() { String::new() } else { format!(": {files}") };
        format!("- parked {n}: {} ({}{files})", one_line(about, 300), count(task.files, "changed file"))
    };
    let lines: Vec<String> = (1..).zip(session.memory.parked.iter().rev()).map(tell).collect();
    if lines.is_empty() { "none".to_owned() } else { format!("\n{}", lines.join("\n")) }
}

fn waivers(session: &Session) -> String {
    let mut all: Vec<String> = session
        .memory
        .progress
        .waivers
        .iter()
        .map(|w| format!("{}: {}", w.gate, one_line(&w.reason, 100)))
        .collect();
    all.extend(session.state.task.as_ref().and_then(|task| Some(task.waiver.as_ref()?.to_string())));
    if all.is_empty() { "none".to_owned() } else { all.join("; ") }
}

/// What the ledger knows about the command of `evidence.test`.
fn evidence(session: &Session) -> String {
    match (&session.policy().evidence.test, session.memory.progress.proven.tested) {
        (None, _) => "no command is set in `evidence.test`".to_owned(),
        (Some(test), true) => format!("`{}` succeeded after the last change", one_line(test, 200)),
        (Some(test), false) => {
            format!("`{}` was not seen to succeed after the last change", one_line(test, 200))
        }
    }
}

/// How many calls ended this way.
fn count_calls(recent: &[Recent], end: &str) -> String {
    recent.iter().filter(|e| matches!(&e.fact, Fact::Call(step) if step.to.name() == end)).count().to_string()
}

/// `halt-report.md` of a session that custodiet just blocked: what happened, and how a person can continue.
pub fn halt_report(env: &Reading, ledger: &Ledger, event: &Event) -> Result<(), Failure> {
    let session = ledger.session();
    let recent = ledger.recent();
    let block = recent.iter().rev().find_map(|entry| match &entry.fact {
        Fact::Block(block) => Some((entry.seq, block.by.clone())),
        _ => None,
    });
    let (entry, by) = block.unwrap_or((session.seq, "a person".to_owned()));
    let baseline = ledger.baseline()?;
    let tree = ledger.owed(env, Path::new(&event.cwd))?;
    let (files, _) = git::diff(env, Path::new(&event.cwd), &baseline);
    let mut values = vec![
        ("at", timestamp(env.now_ms)),
        ("session_id", session.state.session_id.clone()),
        ("by", by),
        ("violation", quote(session.blocked().unwrap_or_default())),
        ("intent", one_line(session.state.hydration.hydrated_intent.as_deref().unwrap_or("none"), 300)),
        ("workflow", session.state.state.current_workflow.clone().unwrap_or_else(|| "none".to_owned())),
        ("phase", session.state.phase.name().to_owned()),
        ("completed", count_calls(&recent, "COMPLETED")),
        ("failed", count_calls(&recent, "FAILED")),
        ("denied", count_calls(&recent, "DENIED")),
        ("files", quote(cut(&redact(&files), PART))),
        ("uncommitted", quote(&tree.uncommitted.join("\n"))),
        ("cwd", one_line(&event.cwd, 300)),
        ("entry", entry.to_string()),
        ("folder", ledger.place().path.display().to_string()),
    ];
    values.extend(window(&recent));
    let text = Phrase::new("halt-report.md", values).fill(&texts::template(env, "halt-report.md")?) + "\n";
    ledger.write_beside("halt-report.md", &text)?;
    queue_halt_issue(env, env.root(), session.blocked().unwrap_or_default(), text)
}

/// Queues an issue with the report if the project has a tracker.
fn queue_halt_issue(env: &Env, project: &Path, violation: &str, body: String) -> Result<(), Failure> {
    if env.dry_run || tracker::snapshot(env, project).tool.is_none() {
        return Ok(());
    }
    let title = format!("Halt: {}", one_line(violation, 120));
    let labels = vec!["aops-halt".to_owned()];
    tracker::enqueue(env, project, Item::Issue { title, body, kind: "bug".to_owned(), priority: 1, labels })?;
    Ok(())
}
