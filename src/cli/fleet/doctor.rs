//! `fleet doctor`: each requirement for machines that share a database, and how to meet it.

use super::url;
use crate::cli::Io;
use crate::cli::table::{Cell, Tone};
use crate::remote::database;
use aops_core::system::env::now_ms;
use aops_fleet::{Error, Fleet, schema};
use clap::ArgMatches;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

/// Leases use only the database's clock; times in ledgers are those of the machines.
const MOST_SKEW_MS: i64 = 5_000;

/// The name of a check, and its result or the problem.
type Row = (&'static str, Result<String, String>);

pub(super) fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let url = url(io)?;
    let mut rows: Vec<Row> = vec![("password", password(io))];
    match database::open_any(io.env, &url) {
        Err(error) => rows.push(("database", Err(error.to_string()))),
        Ok(mut fleet) => {
            rows.push(("database", Ok("answers".to_owned())));
            rows.extend([("tables", tables(&mut fleet)), ("clock", clock(&mut fleet))]);
        }
    }
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
    match fleet.clock_skew_ms(now_ms()) {
        Ok(skew) if skew.abs() > MOST_SKEW_MS => {
            Err(format!("{} s away from the database's\nhint: set it by NTP", skew / 1000))
        }
        Ok(_) => Ok("as the database's".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
