//! `sessions`: every session on this machine; `sessions gc` removes old ones.
//!
//! Reads session folders; only `gc` writes. Invariant: a session that cannot be read, or of which only the exported head is left,
//! is listed all the same.

mod remove;

use super::table::{Cell, Tone};
use super::{Command, Io, allowed, flag, who_may, yes};
use crate::ledger::heads::Head;
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::model::phase::Phase;
use crate::session::fold::Session;
use crate::session::state::State;
use crate::text::time;
use clap::ArgMatches;
use serde_json::{Value, json};

pub const COMMAND: Command = Command {
    name: "sessions",
    about: "List sessions, newest first",
    examples: &[
        ("aops-hook sessions", "every session on this machine: when, where, mode, phase"),
        ("aops-hook sessions --blocked", "only those that wait for a person"),
        ("aops-hook sessions --json | jq '.[].session_id'", "for programs"),
    ],
    arguments: |row| {
        let gc = (remove::GC.arguments)(remove::GC.row());
        row.args([flag("blocked", "Only sessions that are blocked"), yes().global(true)]).subcommand(gc)
    },
    run: list_sessions,
};

pub(super) static VERBS: &[Command] = &[remove::GC];

fn list_sessions(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if let Some((verb, given)) = Command::find(VERBS, given) {
        let name = format!("sessions {}", verb.name);
        allowed(&name, who_may(&name), io)?;
        return (verb.run)(given, io);
    }
    let all = sessions::all(io.env).into_iter().rev().map(|shelved| (sessions::session(&shelved), shelved));
    let is_blocked = |session: &Option<Session>| session.as_ref().is_some_and(|session| session.blocked().is_some());
    let rows: Vec<_> = all.filter(|(session, _)| !given.get_flag("blocked") || is_blocked(session)).collect();
    let mut lost = sessions::lost(io.env);
    lost.retain(|head| head.blocked || !given.get_flag("blocked"));
    if io.json {
        let there = rows.iter().map(|(session, shelved)| session_to_json(shelved, session.as_ref()));
        return io.print(there.chain(lost.iter().map(lost_to_json)).collect::<Value>());
    }
    let there = rows.iter().map(|(session, shelved)| session_row(io, shelved, session.as_ref()));
    let rows = there.chain(lost.iter().map(lost_row)).collect();
    io.table(["session", "began", "mode", "phase", "block", "would refuse", "project"], rows)
}

fn session_to_json(shelved: &SessionOnDisk, session: Option<&Session>) -> Value {
    let state = session.map(|session| &session.state);
    json!({
        "session_id": shelved.session_id, "folder": shelved.path,
        "date": state.map(|state| &state.date), "phase": state.map(|state| state.phase),
        "blocked": state.is_some_and(|state| state.state.custodiet_blocked),
        "outcome": state.map(outcome), "ended_at": state.map(|state| &state.ended_at),
        "lost": false, "mode": session.map(|session| session.policy().mode.level()), "rehearsed": state.map(rehearsed),
    })
}

/// A session of which only the exported head is left.
fn lost_to_json(head: &Head) -> Value {
    json!({"session_id": head.session_id, "folder": null, "date": head.ts.get(..10), "blocked": head.blocked, "lost": true})
}

fn lost_row(head: &Head) -> [Cell; 7] {
    let gone = Cell::new("lost: `aops-hook verify ID`", Tone::Bad);
    let block = Cell::new(if head.blocked { "blocked" } else { "" }, Tone::Bad);
    [head.session_id.as_str().into(), "".into(), "".into(), gone, block, "".into(), head.project.as_str().into()]
}

fn insights(state: &State) -> Option<Value> {
    state.insights.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok())
}

/// What the rehearsed mode would have refused, by gate, as the last insights have it.
fn rehearsed(state: &State) -> Value {
    insights(state).and_then(|said| said.get("rehearsed").cloned()).unwrap_or_else(|| json!({}))
}

/// From the last insights; without any, from the state.
fn outcome(state: &State) -> String {
    let said = insights(state);
    match said.as_ref().and_then(|said| said.get("outcome")?.as_str()) {
        _ if state.phase == Phase::Halted => "failure",
        Some(said) => said,
        None => "partial",
    }
    .to_owned()
}

fn session_row(io: &Io, shelved: &SessionOnDisk, session: Option<&Session>) -> [Cell; 7] {
    let project = shelved.path.parent().and_then(|p| p.file_name()).unwrap_or_default().to_string_lossy().into_owned();
    let id: Cell = shelved.session_id.as_str().into();
    let Some(session) = session else {
        let unread = Cell::new("unreadable: `aops-hook verify`", Tone::Bad);
        return [id, "".into(), "".into(), unread, "".into(), "".into(), project.into()];
    };
    let state = &session.state;
    let began = time::parse(&state.started_at).map(|ms| format!("{} ago", time::age(io.env.now_ms - ms)));
    let block = if state.state.custodiet_blocked { "blocked" } else { "" };
    let would = rehearsed(state).as_object().map_or(0, |gates| gates.values().filter_map(Value::as_u64).sum::<u64>());
    let would = if would == 0 { String::new() } else { would.to_string() };
    let (mode, phase) = (session.policy().mode.level().word().into(), state.phase.name().into());
    let (block, would) = (Cell::new(block, Tone::Bad), Cell::new(&would, Tone::Warn));
    [id, began.unwrap_or_default().into(), mode, phase, block, would, project.into()]
}
