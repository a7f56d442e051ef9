//! `fleet doctor`: each requirement for machines that share a database or an engine, and how to meet it.

mod gateway;

use super::nothing_shared;
use crate::cli::table::{Cell, Tone};
use crate::cli::{Io, policy_here};
use crate::remote::database;
use aops_core::jail::enter::what_each;
use aops_core::jail::plan::Ground;
use aops_core::system::env::now_ms;
use aops_fleet::{Error, Fleet, schema};
use clap::ArgMatches;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

/// Times in ledgers and reports are those of the machines.
const MOST_SKEW_MS: i64 = 5_000;
/// Less is too little for the clones of a day.
const LEAST_FREE_MB: u64 = 1_024;

/// The name of a check, and its result or the problem.
type Row = (&'static str, Result<String, String>);

pub(super) fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let wanted = policy_here(io)?.policy.fleet;
    if wanted.url.is_none() && wanted.engine.is_none() {
        return nothing_shared();
    }
    let mut rows = wanted.url.as_ref().map(|url| database_rows(io, url)).unwrap_or_default();
    if let Some(url) = &wanted.engine {
        rows.extend(gateway::rows(io, &wanted, url));
        rows.extend([("disk", disk(io)), ("jail", jail(io))]);
    }
    show(io, &rows)
}

fn database_rows(io: &Io, url: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = vec![("password", password(io))];
    match database::open_any(io.env, url) {
        Err(error) => rows.push(("database", Err(error.to_string()))),
        Ok(mut fleet) => {
            rows.push(("database", Ok("answers".to_owned())));
            rows.extend([("tables", tables(&mut fleet)), ("clock", clock(&mut fleet))]);
        }
    }
    rows
}

fn show(io: &mut Io, rows: &[Row]) -> anyhow::Result<u8> {
    let code = u8::from(rows.iter().any(|(_, found)| found.is_err()));
    if io.json {
        let one = |(name, found): &Row| {
            let (Ok(words) | Err(words)) = found;
            json!({"check": name, "ok": found.is_ok(), "words": words})
        };
        io.print(rows.iter().map(one).collect::<Value>())?;
        return Ok(code);
    }
    let line = |(name, found): &Row| {
        let (word, tone, words) = match found {
            Ok(words) => ("ok", Tone::Good, words),
            Err(words) => ("bad", Tone::Bad, words),
        };
        [Cell::new(word, tone), (*name).into(), words.replace('\n', "; ").into()]
    };
    io.table(["", "check", "what"], rows.iter().map(line).collect())?;
    Ok(code)
}

fn password(io: &Io) -> Result<String, String> {
    let file = database::password_file(io.env);
    let shown = file.display();
    match std::fs::metadata(&file) {
        Err(_) => Ok(format!("none; if the database wants one, write it into `{shown}`")),
        Ok(known) if known.permissions().mode() & 0o077 != 0 => {
            Err(format!("others can read `{shown}`\nhint: `chmod 600` it"))
        }
        Ok(_) => Ok(format!("from `{shown}`")),
    }
}

fn tables(fleet: &mut Fleet) -> Result<String, String> {
    match fleet.version() {
        Ok(schema::VERSION) => Ok(format!("version {}", schema::VERSION)),
        Ok(found) => Err(Error::Schema { found, wanted: schema::VERSION }.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

fn clock(fleet: &mut Fleet) -> Result<String, String> {
    fleet
        .clock_skew_ms(now_ms())
        .map_err(|error| error.to_string())
        .and_then(|skew| near(skew, "the database"))
}

fn near(skew_ms: i64, whose: &str) -> Result<String, String> {
    if skew_ms.abs() > MOST_SKEW_MS {
        return Err(format!("{} s away from that of {whose}\nhint: synchronise it with NTP", skew_ms / 1000));
    }
    Ok(format!("as that of {whose}"))
}

/// Where the clones of runs are.
fn disk(io: &Io) -> Result<String, String> {
    let trees = database::trees(io.env);
    let there = trees.ancestors().find(|folder| folder.is_dir()).unwrap_or(&io.env.home);
    let found = rustix::fs::statvfs(there).map_err(|error| format!("`{}`: {error}", there.display()))?;
    let free = found.f_bavail.saturating_mul(found.f_frsize) >> 20;
    let words = format!("{free} MB are free for clones in `{}`", trees.display());
    if free < LEAST_FREE_MB {
        return Err(format!(
            "{words}\nhint: `aops-hook runs gc --older-than 7d` removes clones of runs that ended"
        ));
    }
    Ok(words)
}

fn jail(io: &Io) -> Result<String, String> {
    let each = what_each(&Ground::here(io.env, &io.env.cwd));
    let held: Vec<&str> = each.iter().filter(|(_, held)| held.is_ok()).map(|(name, _)| *name).collect();
    if held.is_empty() {
        let whys: Vec<String> = each
            .iter()
            .filter_map(|(name, held)| Some(format!("{name}: {}", held.as_ref().err()?)))
            .collect();
        return Err(format!(
            "no jail works here ({})\nhint: allow user namespaces on this system; until then \
                give steps of runs a machine or a user that has nothing to lose",
            whys.join("; ")
        ));
    }
    Ok(format!("holds steps by {}", held.join(", ")))
}
