//! `sessions`: every session on this machine; `sessions gc` removes old ones.
//!
//! Reads session folders; only `gc` writes. Invariant: a session that cannot be read is listed all the same.

mod remove;

use super::table::{Cell, Tone};
use super::{Command, Io, allowed, flag, who_may, yes};
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::model::phase::Phase;
use crate::proof::health::{Health, QUICK};
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
    let wanted = all.filter(|(session, _)| !given.get_flag("blocked") || is_blocked(session));
    let mut health = Health::new(io.env, QUICK);
    let rows: Vec<_> = wanted.map(|(session, shelved)| (health.damage(&shelved), session, shelved)).collect();
    if io.json {
        let value = |(damage, session, shelved): &Listed| {
            let mut value = session_to_json(shelved, session.as_ref());
            value["damage"] = json!(damage);
            value
        };
        return io.print(rows.iter().map(value).collect::<Value>());
    }
    let rows = rows.iter().map(|(damage, session, shelved)| {
        // A session that cannot be read says so already.
        let damaged = damage.as_ref().and(session.as_ref());
        let mut row = session_row(io, shelved, session.as_ref());
        if damaged.is_some() {
            row[3] = Cell::new("damaged: `aops-hook verify`", Tone::Bad);
        }
        row
    });
    let rows = rows.collect();
    io.table(["session", "began", "mode", "phase", "block", "would refuse", "project"], rows)
}

/// What is wrong with it, what is known of it, where it is.
type Listed = (Option<String>, Option<Session>, SessionOnDisk);

fn session_to_json(shelved: &SessionOnDisk, session: Option<&Session>) -> Value {
    let state = session.map(|session| &session.state);
    json!({
        "session_id": shelved.session_id, "folder": shelved.path,
        "date": state.map(|state| &state.date), "phase": state.map(|state| state.phase),
        "blocked": state.is_some_and(|state| state.state.custodiet_blocked),
        "outcome": state.map(outcome), "ended_at": state.map(|state| &state.ended_at),
        "mode": session.map(|session| session.policy().mode.level()), "rehearsed": state.map(rehearsed),
    })
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
