//! Says where a session stands.
//!
//! Reads one session, writes nothing.

use super::table::Tone;
use super::{Command, Desk, Who, session, session_argument};
use crate::failure::{Code, Failure};
use crate::moment;
use crate::shelf::{self, Shelved};
use crate::state::State;
use clap::ArgMatches;
use serde_json::{Value, json};

pub const COMMAND: Command = Command {
    name: "status",
    about: "Say where a session stands: phase, block, calls in flight",
    examples: &[
        ("aops-hook status", "the newest session of this project"),
        ("aops-hook status 3f2a --json", "the session whose id begins with 3f2a, for a program"),
    ],
    who: Who::Anyone,
    arguments: session_argument,
    run,
};

fn run(given: &ArgMatches, desk: &mut Desk) -> anyhow::Result<u8> {
    let shelved = session(given, desk)?;
    let state = match shelf::state(&shelved) {
        Some(state) => state,
        None => rebuilt(desk, &shelved)?,
    };
    if desk.json {
        writeln!(desk.out, "{}", value(&state))?;
        return Ok(0);
    }
    print(desk, &state)?;
    writeln!(desk.out, "{:9} {}", "folder", shelved.path.display())?;
    Ok(0)
}

/// The state file is derived: without it the ledger says the same.
fn rebuilt(desk: &Desk, shelved: &Shelved) -> Result<State, Failure> {
    let checked = shelf::check(desk.env, shelved)?;
    let empty = checked.session.is_new().then(|| Failure::new(Code::RecoveryFailed, "the ledger is empty"));
    checked.failure.or(empty).map_or(Ok(checked.session.state), Err)
}

fn value(state: &State) -> Value {
    json!({
        "session_id": state.session_id,
        "phase": state.phase,
        "sandbox": state.sandbox,
        "blocked": state.state.custodiet_blocked,
        "block_reason": state.state.custodiet_block_reason,
        "owed": state.stop.owed,
        "audit": state.audit,
        "task": state.task,
        "waivers": [],
    })
}

fn print(desk: &mut Desk, state: &State) -> anyhow::Result<()> {
    let age = |ts: &str| moment::parse(ts).map(|ms| moment::age(desk.env.now_ms - ms)).unwrap_or_default();
    let began = format!("{} ({} ago)", state.started_at, age(&state.started_at));
    let ended = state.ended_at.as_deref().unwrap_or("still running").to_owned();
    let todos = format!("{} of {}", state.main_agent.todos_completed, state.main_agent.todos_total);
    let phase = serde_json::to_value(state.phase)
        .ok()
        .and_then(|p| p.as_str().map(str::to_owned))
        .unwrap_or_default();
    let mut rows = vec![("session", state.session_id.clone(), Tone::Plain), ("phase", phase, Tone::Strong)];
    if state.state.custodiet_blocked {
        let reason = state.state.custodiet_block_reason.as_deref().unwrap_or("no reason given");
        let words = format!("{reason}  (`aops-hook clear-block {}` lifts it)", state.session_id);
        rows.push(("blocked", words, Tone::Bad));
    }
    rows.extend([("began", began, Tone::Plain), ("ended", ended, Tone::Plain)]);
    if state.main_agent.todos_total > 0 {
        rows.push(("todos", todos, Tone::Plain));
    }
    let agents: Vec<&str> = state.subagents.keys().map(String::as_str).collect();
    if !agents.is_empty() {
        rows.push(("agents", agents.join(", "), Tone::Plain));
    }
    for (name, words, tone) in rows {
        let words = super::table::clean(&words).into_owned();
        let words = tone.paint(&words, desk).into_owned();
        writeln!(desk.out, "{name:9} {words}")?;
    }
    Ok(())
}
