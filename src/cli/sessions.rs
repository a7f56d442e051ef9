//! Lists the sessions of all projects, newest first.
//!
//! Reads session folders, writes nothing.

use super::table::{Cell, Tone};
use super::{Command, Io, flag};
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::model::phase::Phase;
use crate::session::state::State;
use crate::text::time;
use clap::ArgMatches;
use serde_json::{Value, json};

pub const COMMAND: Command = Command {
    name: "sessions",
    about: "List sessions, newest first",
    examples: &[
        ("aops-hook sessions", "every session on this machine: when, where, phase"),
        ("aops-hook sessions --blocked", "only those that wait for a person"),
        ("aops-hook sessions --json | jq '.[].session_id'", "for programs"),
    ],
    arguments: |row| row.arg(flag("blocked", "Only sessions that are blocked")),
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let all = sessions::all(io.env).into_iter().rev().map(|shelved| (sessions::state(&shelved), shelved));
    let is_blocked = |state: &Option<State>| state.as_ref().is_some_and(|state| state.state.custodiet_blocked);
    let rows: Vec<_> = all.filter(|(state, _)| !given.get_flag("blocked") || is_blocked(state)).collect();
    if io.json {
        return io.print(rows.iter().map(|(state, shelved)| to_json(shelved, state.as_ref())).collect::<Value>());
    }
    let rows = rows.iter().map(|(state, shelved)| row(io, shelved, state.as_ref())).collect();
    io.table(["session", "began", "phase", "block", "project"], rows)
}

fn to_json(shelved: &SessionOnDisk, state: Option<&State>) -> Value {
    json!({
        "session_id": shelved.session_id,
        "date": state.map(|state| &state.date),
        "folder": shelved.path,
        "phase": state.map(|state| state.phase),
        "blocked": state.is_some_and(|state| state.state.custodiet_blocked),
        "outcome": state.map(outcome),
        "ended_at": state.map(|state| &state.ended_at),
    })
}

/// From the last insights; without any, from the state.
fn outcome(state: &State) -> String {
    let said = state.insights.as_ref().and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    match said.as_ref().and_then(|said| said.get("outcome")?.as_str()) {
        _ if state.phase == Phase::Halted => "failure",
        Some(said) => said,
        None => "partial",
    }
    .to_owned()
}

fn row(io: &Io, shelved: &SessionOnDisk, state: Option<&State>) -> [Cell; 5] {
    let project = shelved.path.parent().and_then(|p| p.file_name()).unwrap_or_default().to_string_lossy().into_owned();
    let Some(state) = state else {
        let unread = Cell::new("unreadable: `aops-hook verify`", Tone::Bad);
        return [shelved.session_id.as_str().into(), "".into(), unread, "".into(), project.into()];
    };
    let began = time::parse(&state.started_at).map(|ms| format!("{} ago", time::age(io.env.now_ms - ms)));
    let block = if state.state.custodiet_blocked { "blocked" } else { "" };
    let (id, phase) = (shelved.session_id.as_str().into(), state.phase.name().into());
    [id, began.unwrap_or_default().into(), phase, Cell::new(block, Tone::Bad), project.into()]
}
