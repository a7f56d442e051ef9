//! Lists the sessions of all projects, newest first.
//!
//! Reads session folders, writes nothing.

use super::table::{Cell, Table, Tone};
use super::{Command, Io, Who};
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::session::state::State;
use crate::text::time;
use clap::{Arg, ArgAction, ArgMatches};
use serde_json::{Value, json};

pub const COMMAND: Command = Command {
    name: "sessions",
    about: "List sessions, newest first",
    examples: &[
        ("aops-hook sessions", "every session on this machine: when, where, phase"),
        ("aops-hook sessions --blocked", "only those that wait for a person"),
        ("aops-hook sessions --json | jq '.[].session_id'", "for programs"),
    ],
    who: Who::Anyone,
    arguments: |command| {
        let blocked = Arg::new("blocked").long("blocked").action(ArgAction::SetTrue);
        command.arg(blocked.help("Only sessions that are blocked"))
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let mut rows: Vec<(SessionOnDisk, Option<State>)> = sessions::all(io.env)
        .into_iter()
        .rev()
        .map(|shelved| {
            let state = sessions::state(&shelved);
            (shelved, state)
        })
        .collect();
    if given.get_flag("blocked") {
        rows.retain(|(_, state)| state.as_ref().is_some_and(|state| state.state.custodiet_blocked));
    }
    if io.json {
        let rows: Vec<Value> = rows.iter().map(|(shelved, state)| row(shelved, state.as_ref())).collect();
        writeln!(io.out, "{}", Value::Array(rows))?;
        return Ok(0);
    }
    let mut table = Table::new(&["session", "began", "phase", "block", "project"]);
    for (shelved, state) in &rows {
        table.row(cells(io, shelved, state.as_ref()));
    }
    table.print(io)?;
    Ok(0)
}

fn row(shelved: &SessionOnDisk, state: Option<&State>) -> Value {
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
fn outcome(state: &State) -> Value {
    let said = state.insights.as_ref().and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let said = said.and_then(|said| said.get("outcome")?.as_str().map(str::to_owned));
    let halted = state.phase == crate::model::phase::Phase::Halted;
    json!(if halted { "failure".to_owned() } else { said.unwrap_or_else(|| "partial".to_owned()) })
}

fn cells(io: &Io, shelved: &SessionOnDisk, state: Option<&State>) -> [Cell; 5] {
    let project = shelved.path.parent().and_then(|p| p.file_name()).unwrap_or_default().to_string_lossy().into_owned();
    let Some(state) = state else {
        let unread = Cell::new("unreadable: `aops-hook verify`", Tone::Bad);
        return [shelved.session_id.as_str().into(), "".into(), unread, "".into(), project.into()];
    };
    let began = time::parse(&state.started_at).map(|ms| format!("{} ago", time::age(io.env.now_ms - ms)));
    let phase = serde_json::to_value(state.phase).ok().and_then(|p| p.as_str().map(str::to_owned)).unwrap_or_default();
    let block = if state.state.custodiet_blocked { Cell::new("blocked", Tone::Bad) } else { "".into() };
    [shelved.session_id.as_str().into(), began.unwrap_or_default().into(), phase.into(), block, project.into()]
}
