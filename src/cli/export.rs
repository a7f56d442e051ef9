//! `export`: sessions for other programs: entries and insights as JSON lines, a CSV table, or spans for a
//! collector.
//!
//! Reads ledgers and insights; prints, or posts to the given address: OTLP over HTTP in its JSON encoding, a
//! session as a trace. Names follow the semantic conventions for generative models (`gen_ai.provider.name`,
//! `invoke_agent`, `execute_tool`, `run_guardrail`); other attributes are `aops.…`.
//! Invariants: nothing leaves the machine unless a person names the address; no hook calls this; the same
//! session gives the same ids, so a collector that gets it twice stores it once.

mod form;
mod hosts;
mod send;
mod who;
mod signals;
mod trace;

use super::range::{self, FoundSession, since_option};
use super::{Command, Io, allowed, operand, option, refused, text};
use aops_core::host::claude::usage::Sum;
use aops_core::insight::document::Insights;
use aops_core::ledger::recover::LEDGER_FILE;
use aops_core::system::files;
use aops_core::text::plain::count;
use aops_core::text::plain::is_plain;
use aops_shell::verbs::Who;
use clap::{ArgAction, ArgMatches};
use form::{LOGS, METRICS, TRACES};
use send::{Collector, headers};
use serde_json::json;
use std::io::{BufRead, BufReader};
use trace::tell;

pub const COMMAND: Command = Command {
    name: "export",
    about: "Export ledgers and insights as JSON lines, CSV, or OpenTelemetry spans, logs and metrics",
    examples: &[
        ("aops-hook export --format jsonl > all.jsonl", "every insight and every entry of every session"),
        ("aops-hook export --format csv --since 30d > sessions.csv", "one row per session"),
        (
            "aops-hook export --format otlp --endpoint http://127.0.0.1:4318",
            "spans, logs and metrics to a collector on this machine",
        ),
        (
            "aops-hook export --format otlp --endpoint https://otlp.example.org --header \
            'authorization=Bearer x'",
            "the same to another machine, encrypted",
        ),
    ],
    arguments: |row| {
        let format = option("format", "FORMAT", "The output format").required(true);
        let endpoint = "The collector (OTLP over HTTP or HTTPS); default: $OTEL_EXPORTER_OTLP_ENDPOINT";
        let header = "A header of each request, may be given again; default: $OTEL_EXPORTER_OTLP_HEADERS";
        row.arg(operand("session", "SESSION", "A session's id or the beginning of one; default: all"))
            .arg(format.value_parser(["jsonl", "csv", "otlp"]))
            .arg(option("endpoint", "URL", endpoint))
            .arg(option("header", "NAME=VALUE", header).action(ArgAction::Append))
            .arg(since_option())
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let found = range::choose(given, io)?;
    let format = text(given, "format");
    let endpoint = text(given, "endpoint").map(str::to_owned);
    if format == Some("otlp") {
        allowed("export", Who::OutsideClient, io)?;
    }
    if endpoint.is_some() && format != Some("otlp") {
        return refused("`--endpoint` works only with spans\nhint: add `--format otlp`");
    }
    match format {
        Some("csv") => {
            writeln!(io.out, "{}", header())?;
            for found in &found {
                let row = row(&found.insights(io.env)?);
                writeln!(io.out, "{row}")?;
            }
        }
        Some("otlp") => {
            let named = || io.env.variables(|name| name == "OTEL_EXPORTER_OTLP_ENDPOINT").pop();
            let endpoint = endpoint.or_else(|| named().map(|(_, url)| url.to_string_lossy().into_owned()));
            let Some(endpoint) = endpoint else {
                return refused(
                    "the collector's address is missing\nhint: `--endpoint http://127.0.0.1:4318`",
                );
            };
            let headers = headers(io, given.get_many::<String>("header").into_iter().flatten())?;
            return send(io, &found, &endpoint, headers);
        }
        _ => found.iter().try_for_each(|found| print_lines(io, found))?,
    }
    Ok(0)
}

/// Prints the insights, then every entry exactly as it is in the ledger.
fn print_lines(io: &mut Io, found: &FoundSession) -> anyhow::Result<()> {
    let insights = serde_json::to_value(found.insights(io.env)?)?;
    writeln!(
        io.out,
        "{}",
        json!({"kind": "insights", "session_id": found.session_id, "insights": insights})
    )?;
    let Some(shelved) = &found.shelved else { return Ok(()) };
    let mut reader = BufReader::new(files::open(shelved.path.join(LEDGER_FILE))?);
    let mut line = String::new();
    let id = aops_core::text::json::quoted(&found.session_id);
    while reader.read_line(&mut line)? > 0 {
        // A truncated last line is not an entry.
        if let Some(entry) = line.strip_suffix('\n') {
            writeln!(io.out, "{{\"kind\":\"entry\",\"session_id\":{id},\"entry\":{entry}}}")?;
        }
        line.clear();
    }
    Ok(())
}

type Cell = fn(&Insights) -> String;

const COLUMNS: [(&str, Cell); 29] = [
    ("session_id", |of| of.session_id.clone()),
    ("date", |of| of.date.clone()),
    ("project", |of| of.project.clone()),
    ("outcome", |of| of.outcome.to_string()),
    ("summary", |of| of.summary.clone().unwrap_or_default()),
    ("workflows", |of| of.workflows_used.join(" ")),
    ("subagents", |of| of.subagents_invoked.join(" ")),
    ("subagent_count", |of| of.subagent_count.to_string()),
    ("prompts", |of| of.user_prompts.len().to_string()),
    ("criteria", |of| of.acceptance_criteria_count.to_string()),
    ("critic", |of| of.critic_verdict.clone().unwrap_or_default().to_string()),
    ("qa", |of| of.qa_verdict.clone().unwrap_or_default().to_string()),
    ("refusals", |of| of.gates.values().sum::<u64>().to_string()),
    ("custodiet_blocks", |of| of.custodiet_blocks.to_string()),
    ("audits_drawn", |of| of.audits.drawn.to_string()),
    ("audits_done", |of| of.audits.done.to_string()),
    ("calls_completed", |of| of.tool_calls.completed.to_string()),
    ("calls_failed", |of| of.tool_calls.failed.to_string()),
    ("calls_denied", |of| of.tool_calls.denied.to_string()),
    ("files_changed", |of| of.files_changed.len().to_string()),
    ("input_tokens", |of| sum(of, |sum| sum.input + sum.cache_read + sum.cache_write).to_string()),
    ("output_tokens", |of| sum(of, |sum| sum.output).to_string()),
    ("cost_usd", |of| of.cost_usd.map_or_else(|| "unknown".to_owned(), |cost| cost.to_string())),
    ("stop_reason", |of| of.stop_reason.clone().unwrap_or_default()),
    ("end_reason", |of| of.end_reason.clone().unwrap_or_default()),
    ("would_refuse", |of| of.rehearsed.values().sum::<u64>().to_string()),
    ("client", |of| of.client.clone()),
    ("person", |of| of.person.clone().unwrap_or_default()),
    ("waivers", |of| of.waivers.join("; ")),
];

fn header() -> String {
    COLUMNS.map(|(name, _)| name).join(",")
}

fn row(insights: &Insights) -> String {
    COLUMNS.map(|(_, cell)| escape(&cell(insights))).join(",")
}

/// The sum over all models.
fn sum(insights: &Insights, count: fn(&Sum) -> u64) -> u64 {
    insights.tokens.by_model.values().map(count).fold(0, u64::saturating_add)
}

fn escape(cell: &str) -> String {
    let cell: String = cell.chars().map(|c| if is_plain(c) { c } else { '·' }).collect();
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    let cell = if formula { format!("'{cell}") } else { cell };
    if cell.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

/// This many spans are a few hundred kilobytes.
const PER_REQUEST: usize = 500;

fn send(
    io: &mut Io,
    found: &[FoundSession],
    endpoint: &str,
    headers: Vec<(String, String)>,
) -> anyhow::Result<u8> {
    let collector = Collector::find(io, endpoint, headers)?;
    let mut sessions = 0_u64;
    let mut sent = [0_u64; 3];
    let mut takes = [true; 3];
    for found in found {
        let Some(told) = tell(io, found)? else { continue };
        sessions += 1;
        let bodies = [(TRACES, told.spans), (LOGS, told.logs), (METRICS, told.metrics)];
        for (n, (signal, all)) in bodies.into_iter().enumerate() {
            for piece in all.chunks(PER_REQUEST) {
                takes[n] = takes[n] && collector.post(signal, &signal.body(piece))?;
                sent[n] += if takes[n] { piece.len() as u64 } else { 0 };
            }
        }
    }
    let [spans, logs, metrics] = sent;
    let url = collector.url(TRACES);
    let value =
        json!({"sessions": sessions, "spans": spans, "logs": logs, "metrics": metrics, "endpoint": url});
    let spans = count(spans, "span");
    let logs = count(logs, "log record");
    let metrics = count(metrics, "metric");
    let words = format!("sent {spans}, {logs} and {metrics} of {} to {url}", count(sessions, "session"));
    io.answer(&value, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells() {
        assert_eq!(escape("a,\"b\"\nc"), "\"a,\"\"b\"\"\nc\"");
        assert_eq!(
            (escape("=1+1"), escape("-5"), escape("plain")),
            ("'=1+1".into(), "-5".into(), "plain".into())
        );
        assert_eq!(escape("a\u{202e}b\u{9b}2J\r"), "a·b·2J·");
        assert_eq!(row(&Insights::new()).split(',').count(), COLUMNS.len());
    }
}
