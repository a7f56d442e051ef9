//! `sessions`: every session on this machine; `sessions gc` removes old ones.
//!
//! Reads session folders; only `gc` writes. Invariant: a session that cannot be read, or of which only the
//! exported head is left, is still listed.

mod remove;

use super::range::{self, since_option};
use super::table::{Cell, Tone};
use super::{Command, Io, flag, option, text, yes};
use aops_core::config::policy::{Folder, choose::shorten};
use aops_core::config::texts;
use aops_core::insight::collect::client_of;
use aops_core::ledger::clients::is_live;
use aops_core::ledger::heads::Head;
use aops_core::ledger::session_folder::dashed;
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::model::client::Client;
use aops_core::model::named::Stored;
use aops_core::model::outcome::SessionOutcome;
use aops_core::model::phase::Phase;
use aops_core::proof::health::{Health, QUICK};
use aops_core::session::fold::Session;
use aops_core::session::state::State;
use aops_core::system::env::boot_id;
use aops_core::text::template::one_line;
use aops_core::text::time;
use clap::ArgMatches;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "sessions",
    about: "List sessions, newest first",
    examples: &[
        (
            "aops-hook sessions",
            "every session on this machine: when, live or ended, mode, phase, where, and its prompt",
        ),
        ("aops-hook sessions --project", "only those of the project you are in"),
        ("aops-hook sessions --since 2d", "only those that were active in the last two days"),
        ("aops-hook sessions --blocked", "only those that wait for a person"),
        ("aops-hook sessions --json | jq '.[].session_id'", "for programs"),
    ],
    arguments: |row| {
        let gc = (remove::GC.arguments)(remove::GC.row());
        let project =
            option("project", "FOLDER", "Only sessions of this project; without a folder, of the one here");
        row.args([flag("blocked", "Only sessions that are blocked"), yes().global(true), since_option()])
            .arg(project.num_args(0..=1).default_missing_value(""))
            .subcommand(gc)
    },
    run: list_sessions,
};

pub(super) static VERBS: &[Command] = &[remove::GC];

fn list_sessions(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if let Some(code) = Command::run_verb("sessions", VERBS, given, io)? {
        return Ok(code);
    }
    let all = sessions::all(io.env);
    let since = range::since(given, io)?;
    let short = short_ids(&all);
    let here = given.contains_id("project").then(|| match text(given, "project") {
        Some(folder) if !folder.is_empty() => io.env.from_here(Path::new(folder)),
        _ => texts::project(io.env, &io.env.cwd),
    });
    let mut health = Health::new(io.env, QUICK);
    let row = |shelved: SessionOnDisk| Row {
        damage: health.damage(&shelved),
        short: short.get(&shelved.session_id).cloned().unwrap_or_default(),
        session: sessions::session(&shelved),
        client: client_of(io.env, &shelved.path),
        shelved,
    };
    let wanted = |row: &Row| {
        (!given.get_flag("blocked")
            || row.session.as_ref().is_some_and(|session| session.blocked().is_some()))
            && since.is_none_or(|since| changed_ms(&row.shelved) >= since)
            && here.as_ref().is_none_or(|here| row.is_in(here))
    };
    let boot = boot_id();
    let rows = all.into_iter().rev().map(row).filter(wanted).collect::<Vec<Row>>();
    let lost = lost_sessions(given, io, since, here.as_deref());
    if io.json {
        let there = rows.iter().map(|row| session_to_json(io, row, &boot));
        return io.print(there.chain(lost.iter().map(lost_to_json)).collect::<Value>());
    }
    if rows.is_empty() && lost.is_empty() {
        return if io.terminal { io.print("no session like that yet") } else { Ok(0) };
    }
    let rows = rows.iter().map(|row| session_row(io, row, &boot)).chain(lost.iter().map(lost_row));
    let mut rows: Vec<[Cell; 10]> = rows.collect();
    let mut names = [
        "session", "began", "state", "mode", "phase", "would refuse", "project", "prompt", "client", "person",
    ];
    if io.terminal {
        // On a terminal the prompt comes last, since the last column is cut to fit; in a pipe columns keep
        // their places.
        names[6..].rotate_right(2);
        for row in &mut rows {
            row[6..].rotate_right(2);
        }
    }
    io.table(names, rows)
}

/// A session as it is listed.
struct Row {
    /// What is wrong with its ledger.
    damage: Option<String>,
    short: String,
    shelved: SessionOnDisk,
    session: Option<Session>,
    client: Client,
}

impl Row {
    /// Whether it began in this folder or below it.
    fn is_in(&self, folder: &Path) -> bool {
        let root = self
            .session
            .as_ref()
            .map(|session| session.memory.place.root.as_str())
            .filter(|root| !root.is_empty());
        let named =
            || self.shelved.path.parent().and_then(|p| p.file_name()).unwrap_or_default().to_string_lossy();
        let dashed = || dashed(&folder.to_string_lossy());
        root.map_or_else(|| named().starts_with(&dashed()), |root| Path::new(root).starts_with(folder))
    }
}

pub(super) fn changed_ms(shelved: &SessionOnDisk) -> i64 {
    let since = shelved.changed.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Who worked, according to the insights; the present user if the session has none yet.
fn person(io: &Io, session: Option<&Session>) -> Option<String> {
    let said = session.and_then(|session| insights(&session.state));
    let said = said.and_then(|said| said.get("person")?.as_str().map(str::to_owned));
    said.or_else(|| io.env.user.person.clone())
}

fn session_to_json(io: &Io, row: &Row, boot: &str) -> Value {
    let Row { damage, short, shelved, session, client } = row;
    let session = session.as_ref();
    let state = session.map(|session| &*session.state);
    json!({
        "client": client.name(), "person": person(io, session),
        "damage": damage, "short": short, "live": session.is_some_and(|session| is_live(session, boot)),
        "project": session.map(|session| &session.memory.place.root),
        "started_at": state.map(|state| &state.started_at),
        "changed_at": time::timestamp(changed_ms(shelved)),
        "prompt": state.and_then(|state| state.hydration.original_prompt.as_ref()),
        "session_id": shelved.session_id, "folder": shelved.path,
        "date": state.map(|state| &state.date), "phase": state.map(|state| state.phase),
        "blocked": state.is_some_and(|state| state.state.custodiet_blocked),
        "outcome": state.map(outcome), "ended_at": state.map(|state| &state.ended_at),
        "lost": false, "mode": session.map(|session| session.policy().mode.level()),
        "rehearsed": state.map(rehearsed),
    })
}

/// The requested sessions of which only the exported head is left.
fn lost_sessions(given: &ArgMatches, io: &Io, since: Option<i64>, here: Option<&Path>) -> Vec<Head> {
    let mut lost = sessions::lost(io.env);
    lost.retain(|head| {
        (!given.get_flag("blocked") || head.blocked)
            && since.is_none_or(|since| time::parse(&head.ts).is_some_and(|then| then >= since))
            && here.is_none_or(|here| head.project.starts_with(&dashed(&here.to_string_lossy())))
    });
    lost
}

fn lost_to_json(head: &Head) -> Value {
    json!({
        "client": null, "person": null, "damage": "its folder is missing", "short": head.session_id,
        "live": false,
        "project": null, "started_at": null, "changed_at": head.ts, "prompt": null,
        "session_id": head.session_id, "folder": null,
        "date": head.ts.get(..10), "phase": head.blocked.then_some(Phase::Halted),
        "blocked": head.blocked, "outcome": head.blocked.then_some(SessionOutcome::Failure.name()),
        "ended_at": null,
        "lost": true, "mode": null, "rehearsed": null,
    })
}

fn lost_row(head: &Head) -> [Cell; 10] {
    let gone =
        if head.blocked { "lost, blocked: `aops-hook verify ID`" } else { "lost: `aops-hook verify ID`" };
    let empty = || Cell::from("");
    let id = head.session_id.as_str().into();
    let project = head.project.as_str().into();
    let gone = Cell::new(gone, Tone::Bad);
    [id, empty(), gone, empty(), empty(), empty(), project, empty(), empty(), empty()]
}

fn insights(state: &State) -> Option<Value> {
    state.insights.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok())
}

/// In dollars, according to the last insights.
pub(super) fn cost(state: &State) -> Option<f64> {
    insights(state)?.get("cost_usd")?.as_f64()
}

/// What the rehearsed mode would have blocked, by gate, according to the last insights.
fn rehearsed(state: &State) -> Value {
    insights(state).and_then(|said| said.get("rehearsed").cloned()).unwrap_or_else(|| json!({}))
}

/// From the last insights; without any, from the state.
fn outcome(state: &State) -> Stored<SessionOutcome> {
    let said = insights(state);
    match said.as_ref().and_then(|said| said.get("outcome")?.as_str()) {
        _ if state.phase == Phase::Halted => SessionOutcome::Failure.into(),
        Some(said) => Stored::of(said),
        None => SessionOutcome::Partial.into(),
    }
}

/// The shortest prefixes, of at least eight characters, that distinguish these ids.
fn short_ids(all: &[SessionOnDisk]) -> BTreeMap<String, String> {
    let ids: BTreeSet<&str> = all.iter().map(|one| one.session_id.as_str()).collect();
    let ids: Vec<Vec<char>> = ids.into_iter().map(|id| id.chars().collect()).collect();
    let same = |a: &[char], b: &[char]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let short = |n: usize| {
        let id = &ids[n];
        let before = n.checked_sub(1).map_or(0, |n| same(id, &ids[n]));
        let after = ids.get(n + 1).map_or(0, |next| same(id, next));
        id.iter().take((before.max(after) + 1).max(8)).collect::<String>()
    };
    (0..ids.len()).map(|n| (ids[n].iter().collect(), short(n))).collect()
}

/// The project's folder as people write it; if it is unknown, the client's name for it.
fn project(io: &Io, shelved: &SessionOnDisk, session: Option<&Session>) -> String {
    let root = session.map(|session| session.memory.place.root.as_str()).filter(|root| !root.is_empty());
    let Some(root) = root else {
        return shelved
            .path
            .parent()
            .and_then(|p| p.file_name())
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
    };
    let shown = shorten(Folder { path: root, home: &io.env.home.to_string_lossy() });
    let long = shown.chars().count();
    match io.width {
        Some(width) if long > width / 3 => {
            let end: String = shown.chars().skip(long - width / 3 + 1).collect();
            format!("…{end}")
        }
        _ => shown,
    }
}

fn session_row(io: &Io, row: &Row, boot: &str) -> [Cell; 10] {
    let Row { damage, short, shelved, session, client } = row;
    let project = project(io, shelved, session.as_ref());
    let id: Cell = short.as_str().into();
    // On a terminal, only the unusual is worth a column.
    let client = Cell::from(if io.terminal && !client.is_registered_by_name() { "" } else { client.name() });
    let who =
        person(io, session.as_ref()).filter(|who| !io.terminal || io.env.user.person.as_ref() != Some(who));
    let who = who.unwrap_or_default();
    let Some(session) = session else {
        let unread = Cell::new("unreadable: `aops-hook verify`", Tone::Bad);
        return [
            id,
            "".into(),
            unread,
            "".into(),
            "".into(),
            "".into(),
            project.into(),
            "".into(),
            client,
            who.into(),
        ];
    };
    let state = &session.state;
    let began = time::parse(&state.started_at).map(|ms| time::age(io.env.now_ms - ms)).unwrap_or_default();
    let (word, tone) = match (&state.ended_at, is_live(session, boot)) {
        (Some(_), _) => ("ended", Tone::Quiet),
        (None, true) => ("live", Tone::Good),
        (None, false) => ("left", Tone::Plain),
    };
    let state_cell = match session.blocked() {
        _ if damage.is_some() => Cell::new("damaged: `aops-hook verify`", Tone::Bad),
        Some(_) => Cell::new(format!("{word}, blocked"), Tone::Bad),
        None => Cell::new(word, tone),
    };
    let would =
        rehearsed(state).as_object().map_or(0, |gates| gates.values().filter_map(Value::as_u64).sum::<u64>());
    let would = if would == 0 { String::new() } else { would.to_string() };
    let mode = session.policy().mode.level().name().into();
    let phase = state.phase.name().into();
    let prompt = one_line(state.hydration.original_prompt.as_deref().unwrap_or_default().trim(), 120);
    let would = Cell::new(&would, Tone::Warn);
    [id, began.into(), state_cell, mode, phase, would, project.into(), prompt.into(), client, who.into()]
}
