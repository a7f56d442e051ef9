//! `verify --all`: every session, the log over all of them, and whether the log knows of a session that is
//! gone.
//!
//! Reads sessions, records and log; writes nothing. Progress goes to stderr if that is a terminal.

use super::print_wrong;
use crate::cli::table::Tone;
use crate::cli::{Io, merge};
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::proof::check::{self, Examined, Trust};
use aops_core::proof::judge;
use aops_core::proof::tier::{self, Level, Lost};
use aops_core::text::plain::count;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write, stderr};

/// What is known about one session.
struct Row {
    id: String,
    value: Value,
    level: Option<Level>,
    damage: Option<String>,
    gone: Vec<String>,
}

/// `remote`: git notes were requested, and come from the remote.
pub(super) fn verify(trust: &Trust, remote: Option<bool>, io: &mut Io) -> anyhow::Result<u8> {
    let log = check::examine(io.env, trust);
    let all = sessions::all(io.env);
    let mut rows = Vec::new();
    let mut gone = judge::gone(io.env, log.as_ref());
    for (at, found) in all.iter().enumerate() {
        progress(at, all.len());
        rows.push(look(io, log.as_ref(), found));
    }
    progress(all.len(), all.len());
    gone.extend(rows.iter().flat_map(|row| row.gone.clone()));
    gone.sort();
    gone.dedup();
    let lost = judge::lost(io.env, log.as_ref(), &all);
    let damaged = rows.iter().filter(|row| row.damage.is_some()).count();
    let faults = log.as_ref().map(|log| log.faults.clone()).unwrap_or_default();
    let ok = damaged == 0 && faults.is_empty() && lost.is_empty() && gone.is_empty();
    if io.json {
        let values: Vec<&Value> = rows.iter().map(|row| &row.value).collect();
        let seen = log.as_ref().map_or(0, |log| log.seen);
        let git = remote.map(|remote| json!({"checkpoints": seen, "remote": remote}));
        let lost: Vec<Value> =
            lost.iter().map(|(id, n, _)| json!({"session_id": id, "entries": n})).collect();
        let log = log.as_ref().map(log_to_json);
        io.print(json!({"ok": ok, "sessions": values, "log": log, "lost": lost, "gone": gone, "git": git}))?;
    } else {
        print(io, &rows, log.as_ref(), &lost, &gone)?;
        if let (Some(remote), Some(log)) = (remote, &log) {
            let from =
                if remote { "as the remote has them" } else { "in this copy alone: no remote answered" };
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

fn look(io: &Io, log: Option<&Examined>, found: &SessionOnDisk) -> Row {
    let checked = judge::check(io.env, found, false);
    let digests = tier::digests(&found.path).unwrap_or_default();
    let mut judged = judge::of_session(io.env, log, digests, found, checked);
    judged.faults = log.map(|log| log.faults.clone()).unwrap_or_default();
    let damage = judged.checked.failure.as_ref().map(ToString::to_string);
    let value = json!({
        "session_id": found.session_id, "ok": damage.is_none(), "entries": judged.checked.session.seq,
        "code": judged.checked.failure.as_ref().map(|failure| failure.code.name()), "seq": judged.checked.seq,
    });
    let value = merge(value, judged.to_json());
    let level = judged.level();
    Row { id: found.session_id.clone(), value, level, damage, gone: judged.gone }
}

fn log_to_json(log: &Examined) -> Value {
    json!({
        "origin": log.origin, "leaves": log.leaves.len(), "signed": log.signed, "seals": log.seals,
        "sealed_from": log.sealed_from, "witnessed": log.witnessed.as_ref().map(|seen| seen.size),
        "witnesses": log.witnessed.as_ref().map(|seen| &seen.names), "why_not_signed": log.unsigned,
        "why_not_witnessed": log.unwitnessed, "faults": log.faults,
    })
}

fn print(
    io: &mut Io,
    rows: &[Row],
    log: Option<&Examined>,
    lost: &[Lost],
    gone: &[String],
) -> anyhow::Result<()> {
    for Row { id, damage, .. } in rows {
        if let Some(damage) = damage {
            writeln!(io.out, "{} {id}: {damage}", Tone::Bad.paint("damaged:", io))?;
        }
    }
    for (id, entries, who) in lost {
        let id = id.as_deref().unwrap_or("a session that nothing names");
        let word = Tone::Bad.paint("lost:", io);
        let entries = count(*entries, "entry");
        writeln!(io.out, "{word} {id}: {entries} in {who} and nowhere else")?;
    }
    print_wrong(io, &[], gone)?;
    let of_level = |level: Level| rows.iter().filter(|row| row.level == Some(level)).count();
    let [intact, sealed, witnessed] = Level::ALL.map(of_level);
    let damaged = rows.iter().filter(|row| row.damage.is_some()).count();
    let all = count(rows.len(), "session");
    let rest = rows.len() - intact - sealed - witnessed - damaged;
    let rest = if rest > 0 { format!(", {rest} without a tier") } else { String::new() };
    writeln!(
        io.out,
        "{all}: {witnessed} witnessed, {sealed} sealed, {intact} intact, {damaged} damaged{rest}"
    )?;
    match log {
        Some(log) => print_log(io, log),
        None if !gone.is_empty() => Ok(()),
        None => Ok(writeln!(io.out, "no log: `aops-hook key init` makes the key that signs it")?),
    }
}

fn print_log(io: &mut Io, log: &Examined) -> anyhow::Result<()> {
    for fault in &log.faults {
        writeln!(io.out, "{} the log: {fault}", Tone::Bad.paint("damaged:", io))?;
    }
    if log.origin.is_empty() {
        return Ok(());
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
    // Some faults name their own way out.
    if log.faults.iter().any(|fault| !fault.contains("`aops-hook ")) {
        writeln!(io.out, "hint: `aops-hook key rotate --new-log` sets the log aside and begins another")?;
    }
    Ok(())
}
