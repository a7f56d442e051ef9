//! `fleet doctor`: each thing that must hold before machines can share a database, and what to do where it does not.

use super::url;
use crate::cli::Io;
use crate::cli::table::{Cell, Tone};
use crate::system::database;
use crate::system::env::now_ms;
use aops_fleet::{Error, Fleet, schema};
use clap::ArgMatches;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

/// Leases are judged by the database's clock alone; times in ledgers are those of machines.
const MOST_SKEW_MS: i64 = 5_000;

struct Row {
    name: &'static str,
    trouble: bool,
    words: String,
}

pub(super) fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let url = url(io)?;
    let mut rows = vec![password(io)];
    match database::open_any(io.env, &url) {
        Err(error) => rows.push(bad("database", error.to_string())),
        Ok(mut fleet) => {
            rows.push(good("database", "answers".to_owned()));
            rows.extend([tables(&mut fleet), clock(&mut fleet)]);
        }
    }
    let code = u8::from(rows.iter().any(|row| row.trouble));
    if io.json {
        let one = |row: &Row| json!({"check": row.name, "ok": !row.trouble, "words": row.words});
        io.print(rows.iter().map(one).collect::<Value>())?;
        return Ok(code);
    }
    let line = |row: &Row| {
        let (word, tone) = if row.trouble { ("bad", Tone::Bad) } else { ("ok", Tone::Good) };
        [Cell::new(word, tone), row.name.into(), row.words.replace('\n', "; ").into()]
    };
    io.table(["", "check", "what"], rows.iter().map(line).collect())?;
    Ok(code)
}

fn good(name: &'static str, words: String) -> Row {
    Row { name, trouble: false, words }
}

fn bad(name: &'static str, words: String) -> Row {
    Row { name, trouble: true, words }
}

fn password(io: &Io) -> Row {
    let file = database::password_file(io.env);
    let shown = file.display();
    match std::fs::metadata(&file) {
        Err(_) => good("password", format!("none; if the database wants one, write it into `{shown}`")),
        Ok(known) if known.permissions().mode() & 0o077 != 0 => {
            bad("password", format!("others can read `{shown}`\nhint: `chmod 600` it"))
        }
        Ok(_) => good("password", format!("from `{shown}`")),
    }
}

fn tables(fleet: &mut Fleet) -> Row {
    match fleet.version() {
        Ok(schema::VERSION) => good("tables", format!("version {}", schema::VERSION)),
        Ok(found) => bad("tables", Error::Schema { found, wanted: schema::VERSION }.to_string()),
        Err(error) => bad("tables", error.to_string()),
    }
}

fn clock(fleet: &mut Fleet) -> Row {
    match fleet.clock_skew_ms(now_ms()) {
        Ok(skew) if skew.abs() > MOST_SKEW_MS => {
            let words = format!("{} s away from the database's\nhint: set it by NTP", skew / 1000);
            bad("clock", words)
        }
        Ok(_) => good("clock", "as the database's".to_owned()),
        Err(error) => bad("clock", error.to_string()),
    }
}
