//! `verify --all`: every session, the log over all of them, and whether the log knows of a session that is gone.
//!
//! Reads sessions, records and log; writes nothing. Progress goes to stderr where that is a terminal.

use super::{check as check_session, prove};
use crate::cli::table::Tone;
use crate::cli::{Io, merge};
use crate::ledger::entry::Line;
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::proof::append::{EVENTS, LOG};
use crate::proof::check::{self, Examined, Trust};
use crate::proof::store::Store;
use crate::proof::tier::{self, Account, Level};
use crate::text::plain::count;
use crate::text::sha256::Sum;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write, stderr};

/// What is known of one session.
struct Row {
    id: String,
    value: Value,
    level: Level,
    damage: Option<String>,
}

/// `remote`: git notes were asked for, and come from the remote.
pub(super) fn verify(trust: &Trust, remote: Option<bool>, io: &mut Io) -> anyhow::Result<u8> {
    let mut log = check::examine(io.env, trust)?;
    if let (Some(log), Some(store)) = (&mut log, Store::look(io.env)?) {
        let odd = store.odd_tiles(&log.leaves);
        log.faults
            .extend(odd.first().map(|tile| format!("{} tiles are not what the leaves say, `{tile}` first", odd.len())));
    }
    let all = sessions::all(io.env);
    let mut rows = Vec::new();
    for (at, found) in all.iter().enumerate() {
        progress(at, all.len());
        rows.push(look(io, log.as_ref(), found)?);
    }
    progress(all.len(), all.len());
    let lost = log.as_ref().map(|log| lost(io, log, &all)).transpose()?.unwrap_or_default();
    let damaged = rows.iter().filter(|row| row.damage.is_some()).count();
    let faults = log.as_ref().map(|log| log.faults.clone()).unwrap_or_default();
    let ok = damaged == 0 && faults.is_empty() && lost.is_empty();
    if io.json {
        let values: Vec<&Value> = rows.iter().map(|row| &row.value).collect();
        let seen = log.as_ref().map_or(0, |log| log.seen);
        let git = remote.map(|remote| json!({"checkpoints": seen, "remote": remote}));
        io.print(
            json!({"ok": ok, "sessions": values, "log": log.as_ref().map(log_to_json), "lost": lost, "git": git}),
        )?;
    } else {
        print(io, &rows, log.as_ref(), &lost)?;
        if let (Some(remote), Some(log)) = (remote, &log) {
            let from = if remote { "as the remote has them" } else { "in this copy alone: no remote answered" };
            writeln!(io.out, "git notes: {} of this log, {from}", count(log.seen, "checkpoint"))?;
        }
    }
    Ok(if ok { 0 } else { 4 })
}

fn progress(at: usize, all: usize) {
    if stderr().is_terminal() {
        let end = if at == all { "\r\x1b[K" } else { "" };
        let _ = write!(stderr(), "\r{at} of {all} sessions{end}");
    }
}

fn look(io: &Io, log: Option<&Examined>, found: &SessionOnDisk) -> anyhow::Result<Row> {
    let mut checked = check_session(io.env, found, false);
    let digests = log.map(|_| tier::digests(&found.path)).transpose()?;
    let tier = prove(io, log.zip(digests), found, &mut checked)?;
    let damage = checked.failure.as_ref().map(ToString::to_string);
    let value = json!({
        "session_id": found.session_id, "ok": damage.is_none(), "entries": checked.session.seq,
        "code": checked.failure.as_ref().map(|failure| failure.code.name()), "seq": checked.seq,
    });
    Ok(Row { id: found.session_id.clone(), value: merge(value, tier.to_json()), level: tier.level, damage })
}

/// Sessions of which the log has entries that are nowhere else.
fn lost(io: &Io, log: &Examined, all: &[SessionOnDisk]) -> anyhow::Result<Vec<Value>> {
    let Some(store) = Store::look(io.env)? else { return Ok(Vec::new()) };
    let mut account = Account::new(log);
    for found in all {
        account.add(&tier::digests(&found.path)?);
    }
    let events = store.text(EVENTS)?.unwrap_or_default();
    let own = events.lines().filter_map(|line| Sum::read(Line::read(line.as_bytes())?.digest));
    account.add(&own.collect::<Vec<_>>());
    let name = |trace: String| if trace.is_empty() || trace == LOG { None } else { Some(trace) };
    Ok(account.lost(&store).into_iter().map(|(trace, n)| json!({"session_id": name(trace), "entries": n})).collect())
}

fn log_to_json(log: &Examined) -> Value {
    json!({
        "origin": log.origin, "leaves": log.leaves.len(), "signed": log.signed, "seals": log.seals,
        "sealed_from": log.sealed_from, "witnessed": log.witnessed.as_ref().map(|seen| seen.size),
        "witnesses": log.witnessed.as_ref().map(|seen| &seen.names), "why_not_signed": log.unsigned,
        "why_not_witnessed": log.unwitnessed, "faults": log.faults,
    })
}

fn print(io: &mut Io, rows: &[Row], log: Option<&Examined>, lost: &[Value]) -> anyhow::Result<()> {
    for Row { id, damage, .. } in rows {
        if let Some(damage) = damage {
            writeln!(io.out, "{} {id}: {damage}", Tone::Bad.paint("damaged:", io))?;
        }
    }
    for gone in lost {
        let id = gone["session_id"].as_str().unwrap_or("a session that nothing names");
        writeln!(
            io.out,
            "{} {id}: {} in the log and nowhere else",
            Tone::Bad.paint("lost:", io),
            count(gone["entries"].as_u64().unwrap_or_default(), "entry")
        )?;
    }
    let of_level = |level: Level| rows.iter().filter(|row| row.damage.is_none() && row.level == level).count();
    let [intact, sealed, witnessed] = Level::ALL.map(of_level);
    let damaged = rows.len() - intact - sealed - witnessed;
    let all = count(rows.len(), "session");
    writeln!(io.out, "{all}: {witnessed} witnessed, {sealed} sealed, {intact} intact, {damaged} damaged")?;
    match log {
        Some(log) => print_log(io, log),
        None => Ok(writeln!(io.out, "no log: `aops-hook key init` makes the key that signs it")?),
    }
}

fn print_log(io: &mut Io, log: &Examined) -> anyhow::Result<()> {
    for fault in &log.faults {
        writeln!(io.out, "{} the log: {fault}", Tone::Bad.paint("damaged:", io))?;
    }
    writeln!(
        io.out,
        "log {}: {}, {} of them signed, {}",
        log.origin,
        count(log.leaves.len(), "entry"),
        log.signed,
        count(log.seals, "seal")
    )?;
    for why in log.unsigned.iter().chain(&log.unwitnessed) {
        writeln!(io.out, "note: {why}")?;
    }
    if !log.faults.is_empty() {
        writeln!(io.out, "hint: `aops-hook key rotate --new-log` sets the log aside and begins another")?;
    }
    Ok(())
}
