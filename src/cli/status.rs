//! Shows the state of a session.
//!
//! Reads one session and the project's working tree, writes nothing. Invariant: one screen; a row that has nothing to say
//! is not there.

use super::table::Tone;
use super::{Command, Io, Who, session, session_argument, standing};
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::model::error::{Code, Failure};
use crate::session::fold::Session;
use crate::session::state::{Sandbox, State, Subagent};
use crate::text::template::one_line;
use crate::text::time;
use clap::ArgMatches;

pub const COMMAND: Command = Command {
    name: "status",
    about: "Show the state of a session: phase, sandbox, what is owed, audit, block, waivers",
    examples: &[
        ("aops-hook status", "the newest session of this project"),
        ("aops-hook status 3f2a --json", "the session whose id begins with 3f2a, for a program"),
    ],
    who: Who::Anyone,
    arguments: session_argument,
    run,
};

type Row = (&'static str, String, Tone);

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let shelved = session(given, io)?;
    let session = match sessions::session(&shelved) {
        Some(session) => session,
        None => rebuilt(io, &shelved)?,
    };
    let project = standing::folder(io.env, &shelved, &session);
    let baseline = sessions::baseline(&shelved, &session);
    let owed = standing::owed(io.env, &session, project.as_deref().zip(baseline.as_ref()));
    if io.json {
        writeln!(io.out, "{}", standing::value(io.env, &session, &owed))?;
        return Ok(0);
    }
    let mut rows = vec![("session", session.state.session_id.clone(), Tone::Plain)];
    rows.extend(course(&session));
    rows.extend(demands(&session, &owed));
    rows.extend(waived(io, &session));
    rows.extend(agents(&session.state));
    rows.extend(times(io, &session.state));
    rows.push(("folder", shelved.path.display().to_string(), Tone::Quiet));
    for (name, words, tone) in rows {
        let words = super::table::clean(&words).into_owned();
        writeln!(io.out, "{name:9} {}", tone.paint(&words, io))?;
    }
    Ok(0)
}

/// The state file is derived: without it the ledger says the same.
fn rebuilt(io: &Io, shelved: &SessionOnDisk) -> Result<Session, Failure> {
    let checked = sessions::check(io.env, shelved)?;
    let empty = checked.session.is_new().then(|| Failure::new(Code::RecoveryFailed, "the ledger is empty"));
    checked.failure.or(empty).map_or(Ok(checked.session), Err)
}

/// Where the loop is and what it is about.
fn course(session: &Session) -> Vec<Row> {
    let state = &session.state;
    let mut rows = Vec::new();
    if let Some(reason) = session.blocked() {
        let words = format!("{reason}  (clear it with `aops-hook clear-block {}`)", state.session_id);
        rows.push(("blocked", words, Tone::Bad));
    }
    rows.push(("phase", standing::phase(state.phase).to_owned(), Tone::Strong));
    let (words, tone) = match state.sandbox {
        _ if session.blocked().is_some() => ("shut: nothing passes until the block is lifted", Tone::Plain),
        _ if session.policy().mode.observe => {
            ("observed: changes pass, and what would be refused is shown", Tone::Plain)
        }
        Sandbox::Open => ("open", Tone::Good),
        Sandbox::Shut => ("shut: reading is free, changes wait for the loop", Tone::Plain),
    };
    rows.push(("sandbox", words.to_owned(), tone));
    if let Some(task) = &state.task {
        let intent = one_line(task.intent.as_deref().unwrap_or("no intent"), 200);
        let changes = if task.writes == 1 { "change" } else { "changes" };
        rows.push(("task", format!("{}: {intent} ({} {changes})", task.n, task.writes), Tone::Plain));
    }
    if let Some(workflow) = &state.state.current_workflow {
        let gates = &session.memory.progress.gates;
        let gates = if gates.is_empty() { String::new() } else { format!(" (wants {})", gates.join(", ")) };
        rows.push(("workflow", format!("{workflow}{gates}"), Tone::Plain));
    }
    rows
}

/// What the loop wants next.
fn demands(session: &Session, owed: &[String]) -> Vec<Row> {
    let state = &session.state;
    let mut rows = Vec::new();
    if session.blocked().is_some() {
        rows.push(("waits for", "a person".to_owned(), Tone::Warn));
    } else if state.state.hydration_pending {
        rows.push(("waits for", "`prompt-hydrator`".to_owned(), Tone::Warn));
    } else if standing::phase(state.phase) == "review" {
        rows.push(("waits for", "`critic`".to_owned(), Tone::Warn));
    }
    if owed.is_empty() {
        rows.push(("owed", "nothing".to_owned(), Tone::Plain));
    } else {
        let refused = match state.stop.refusals {
            0 => String::new(),
            1 => " (stop refused once)".to_owned(),
            n => format!(" (stop refused {n} times)"),
        };
        rows.push(("owed", format!("{}{refused}", owed.join(", ")), Tone::Warn));
    }
    let audit = &state.audit;
    let counts = format!("{} drawn, {} done", audit.drawn, audit.done);
    match (audit.due, session.memory.progress.auditing) {
        (true, true) => rows.push(("audit", format!("under way; {counts}"), Tone::Plain)),
        (true, false) => {
            let words = format!("due since {} changes: start `custodiet`; {counts}", audit.writes_since);
            rows.push(("audit", words, Tone::Warn));
        }
        (false, _) => rows.push(("audit", counts, Tone::Plain)),
    }
    rows
}

fn waived(io: &Io, session: &Session) -> Vec<Row> {
    let row = |words| ("waived", words, Tone::Warn);
    let by_prompt = session.state.task.as_ref().and_then(|task| task.waiver.as_deref()).map(|waiver| {
        let by = if waiver == "command" { "a slash command" } else { "its prompt" };
        row(format!("the whole loop, for this task, by {by}"))
    });
    let by_person = standing::waivers(io.env, session).into_iter().map(|waiver| {
        row(format!("{} for {} more: {}", waiver.gate, standing::left(io.env, waiver), one_line(&waiver.reason, 160)))
    });
    by_prompt.into_iter().chain(by_person).collect()
}

fn agents(state: &State) -> Option<Row> {
    let said = |(name, agent): (&String, &Subagent)| match &agent.verdict {
        Some(verdict) => format!("{name} {verdict}"),
        None => name.clone(),
    };
    let said: Vec<String> = state.subagents.iter().map(said).collect();
    (!said.is_empty()).then(|| ("agents", said.join(", "), Tone::Plain))
}

fn times(io: &Io, state: &State) -> Vec<Row> {
    let age = |ts: &str| time::parse(ts).map(|ms| time::age(io.env.now_ms - ms)).unwrap_or_default();
    let todos = &state.main_agent;
    let mut rows = Vec::new();
    if todos.todos_total > 0 {
        let words = format!("{} of {}", todos.todos_completed, todos.todos_total);
        rows.push(("todos", words, Tone::Plain));
    }
    rows.push(("began", format!("{} ({} ago)", state.started_at, age(&state.started_at)), Tone::Plain));
    rows.extend(state.ended_at.clone().map(|ended| ("ended", ended, Tone::Plain)));
    rows
}
