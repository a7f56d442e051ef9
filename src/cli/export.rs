//! `export`: sessions for other programs: entries and insights as JSON lines, a CSV table, or spans for a collector.
//!
//! Reads ledgers and insights; prints, or posts to the address it is given. Invariant: nothing leaves the machine unless a
//! person names the address; no hook calls this.

mod csv;
mod trace;
mod otlp;

use super::range::{self, Found, since, since_argument};
use super::{Command, Io, Who, refused};
use crate::insight::collect;
use crate::insight::document::Insights;
use crate::ledger::recover::LEDGER_FILE;
use clap::{Arg, ArgMatches};
use serde_json::json;
use std::fs::File;
use std::io::{BufRead, BufReader};

pub const COMMAND: Command = Command {
    name: "export",
    about: "Export ledgers and insights as JSON lines, CSV, or OpenTelemetry spans",
    examples: &[
        ("aops-hook export --format jsonl > all.jsonl", "every insight and every entry of every session"),
        ("aops-hook export --format csv --since 30d > sessions.csv", "one row per session"),
        ("aops-hook export --format otlp --endpoint http://127.0.0.1:4318", "spans to a collector on this machine"),
    ],
    who: Who::Anyone,
    arguments: |command| {
        let format = Arg::new("format").long("format").value_name("FORMAT").required(true);
        let endpoint = Arg::new("endpoint").long("endpoint").value_name("URL");
        since_argument(
            command
                .arg(
                    Arg::new("session")
                        .value_name("SESSION")
                        .help("A session's id or the beginning of one; default: all"),
                )
                .arg(format.value_parser(["jsonl", "csv", "otlp"]).help("The output format"))
                .arg(endpoint.help("The collector (OTLP over HTTP); default: $OTEL_EXPORTER_OTLP_ENDPOINT")),
        )
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let since = since(given, io)?;
    let found = match given.get_one::<String>("session") {
        Some(name) => vec![range::pick(io.env, Some(name))?],
        None => range::all(io.env, since),
    };
    let format = given.get_one::<String>("format").map_or("jsonl", String::as_str);
    let endpoint = given.get_one::<String>("endpoint").cloned();
    if endpoint.is_some() && format != "otlp" {
        return refused("`--endpoint` works only with spans\nhint: add `--format otlp`");
    }
    match format {
        "csv" => {
            writeln!(io.out, "{}", csv::header())?;
            for found in &found {
                let row = csv::row(&insights(io, found)?);
                writeln!(io.out, "{row}")?;
            }
        }
        "otlp" => {
            let named = || io.env.variables(|name| name == "OTEL_EXPORTER_OTLP_ENDPOINT").pop();
            let endpoint = endpoint.or_else(|| named().map(|(_, url)| url.to_string_lossy().into_owned()));
            let Some(endpoint) = endpoint else {
                return refused("the collector's address is missing\nhint: `--endpoint http://127.0.0.1:4318`");
            };
            return otlp::send(io, &found, &endpoint);
        }
        _ => {
            for found in &found {
                print_lines(io, found)?;
            }
        }
    }
    Ok(0)
}

fn insights(io: &Io, found: &Found) -> anyhow::Result<Insights> {
    Ok(match &found.shelved {
        Some(shelved) => {
            collect::finish(io.env, collect::tally(&shelved.path, &found.session_id)?, &found.transcript, None)?
        }
        None => collect::of_transcript(io.env, &found.transcript, &found.session_id)?,
    })
}

/// The insights, then every entry as it stands in the ledger.
fn print_lines(io: &mut Io, found: &Found) -> anyhow::Result<()> {
    let insights = serde_json::to_value(insights(io, found)?)?;
    writeln!(io.out, "{}", json!({"kind": "insights", "session_id": found.session_id, "insights": insights}))?;
    let Some(shelved) = &found.shelved else { return Ok(()) };
    let mut reader = BufReader::new(File::open(shelved.path.join(LEDGER_FILE))?);
    let mut line = String::new();
    let id = crate::text::json::quoted(&found.session_id);
    while reader.read_line(&mut line)? > 0 {
        // A torn last line is not an entry.
        if let Some(entry) = line.strip_suffix('\n') {
            writeln!(io.out, "{{\"kind\":\"entry\",\"session_id\":{id},\"entry\":{entry}}}")?;
        }
        line.clear();
    }
    Ok(())
}
