//! `export`: sessions for other programs: entries and insights as JSON lines, a CSV table, or spans for a collector.
//!
//! Reads ledgers and insights; prints, or posts to the address it is given: OTLP over HTTP in its JSON encoding, a session as
//! a trace. Names follow the semantic conventions for generative models (`gen_ai.provider.name`, `invoke_agent`,
//! `execute_tool`); other attributes are `aops.…`. Invariants: nothing leaves the machine unless a person names the address;
//! no hook calls this; the same session gives the same ids, so a collector that gets it twice stores it once.

use super::range::{self, FoundSession, since_option};
use super::{Command, Io, Refused, allowed, operand, option, refused, text};
use crate::briefing::memory;
use crate::claude::transcript::scan::phase_at;
use crate::claude::usage::Sum;
use crate::config::policy::Address;
use crate::insight::collect;
use crate::insight::document::Insights;
use crate::insight::tally::Tally;
use crate::ledger::recover::LEDGER_FILE;
use crate::model::call::CallState;
use crate::model::event::EventKind;
use crate::session::fact::{Fact, Seen, Step};
use crate::text::json::cut;
use crate::text::plain::count;
use crate::text::sha256::sha256;
use crate::text::time;
use aops_shell::verbs::Who;
use clap::ArgMatches;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

pub const COMMAND: Command = Command {
    name: "export",
    about: "Export ledgers and insights as JSON lines, CSV, or OpenTelemetry spans",
    examples: &[
        ("aops-hook export --format jsonl > all.jsonl", "every insight and every entry of every session"),
        ("aops-hook export --format csv --since 30d > sessions.csv", "one row per session"),
        ("aops-hook export --format otlp --endpoint http://127.0.0.1:4318", "spans to a collector on this machine"),
    ],
    arguments: |row| {
        let format = option("format", "FORMAT", "The output format").required(true);
        let endpoint = "The collector (OTLP over HTTP); default: $OTEL_EXPORTER_OTLP_ENDPOINT";
        row.arg(operand("session", "SESSION", "A session's id or the beginning of one; default: all"))
            .arg(format.value_parser(["jsonl", "csv", "otlp"]))
            .arg(option("endpoint", "URL", endpoint))
            .arg(since_option())
    },
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let found = range::choose(given, io)?;
    let (format, endpoint) = (text(given, "format"), text(given, "endpoint").map(str::to_owned));
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
                return refused("the collector's address is missing\nhint: `--endpoint http://127.0.0.1:4318`");
            };
            return send(io, &found, &endpoint);
        }
        _ => found.iter().try_for_each(|found| print_lines(io, found))?,
    }
    Ok(0)
}

/// The insights, then every entry as it stands in the ledger.
fn print_lines(io: &mut Io, found: &FoundSession) -> anyhow::Result<()> {
    let insights = serde_json::to_value(found.insights(io.env)?)?;
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

type Cell = fn(&Insights) -> String;

const COLUMNS: [(&str, Cell); 26] = [
    ("session_id", |of| of.session_id.clone()),
    ("date", |of| of.date.clone()),
    ("project", |of| of.project.clone()),
    ("outcome", |of| of.outcome.clone()),
    ("summary", |of| of.summary.clone().unwrap_or_default()),
    ("workflows", |of| of.workflows_used.join(" ")),
    ("subagents", |of| of.subagents_invoked.join(" ")),
    ("subagent_count", |of| of.subagent_count.to_string()),
    ("prompts", |of| of.user_prompts.len().to_string()),
    ("criteria", |of| of.acceptance_criteria_count.to_string()),
    ("critic", |of| of.critic_verdict.clone().unwrap_or_default()),
    ("qa", |of| of.qa_verdict.clone().unwrap_or_default()),
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
    ("cost_usd", |of| of.cost_usd.map(|cost| cost.to_string()).unwrap_or_default()),
    ("stop_reason", |of| of.stop_reason.clone().unwrap_or_default()),
    ("end_reason", |of| of.end_reason.clone().unwrap_or_default()),
    ("would_refuse", |of| of.rehearsed.values().sum::<u64>().to_string()),
];

fn header() -> String {
    COLUMNS.map(|(name, _)| name).join(",")
}

fn row(insights: &Insights) -> String {
    COLUMNS.map(|(_, cell)| escape(&cell(insights))).join(",")
}

/// Over all models.
fn sum(insights: &Insights, count: fn(&Sum) -> u64) -> u64 {
    insights.tokens.by_model.values().map(count).fold(0, u64::saturating_add)
}

fn escape(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    let cell = if formula { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

const TIMEOUT: Duration = Duration::from_secs(20);
/// A few hundred kilobytes.
const SPANS_PER_REQUEST: usize = 500;

fn send(io: &mut Io, found: &[FoundSession], endpoint: &str) -> anyhow::Result<u8> {
    let url = format!("{}/v1/traces", endpoint.trim_end_matches('/').trim_end_matches("/v1/traces"));
    let hint = "hint: send to a collector on this machine that forwards, `--endpoint http://127.0.0.1:4318`";
    let server = Address::read(&url).or_else(|why| refused(format!("{why}\n{hint}")))?;
    let (mut sessions, mut sent) = (0_u64, 0_u64);
    for found in found {
        let spans = spans(io, found)?;
        for piece in spans.chunks(SPANS_PER_REQUEST) {
            post(&server, &url, piece)?;
            sent += piece.len() as u64;
        }
        sessions += u64::from(!spans.is_empty());
    }
    let value = json!({"sessions": sessions, "spans": sent, "endpoint": url});
    io.answer(&value, format!("sent {} of {} to {url}", count(sent, "span"), count(sessions, "session")))
}

fn post(server: &Address, url: &str, spans: &[Value]) -> anyhow::Result<()> {
    let resource = [attribute("service.name", "aops-hook"), attribute("service.version", env!("CARGO_PKG_VERSION"))];
    let scope = json!({"name": "aops-hook", "version": env!("CARGO_PKG_VERSION")});
    let scopes = json!([{"scope": scope, "spans": spans}]);
    let body = json!({"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": scopes}]});
    let hint = "hint: does a collector listen there for OTLP over HTTP?";
    let failed = |why: String| Refused { code: 1, words: format!("`{url}` {why}\n{hint}") };
    let (status, said) =
        memory::post(server, &body.to_string(), Instant::now() + TIMEOUT).map_err(|e| failed(e.to_string()))?;
    let said: Value = serde_json::from_slice(&said).unwrap_or_default();
    let rejected = said["partialSuccess"]["rejectedSpans"].as_str().is_some_and(|n| n != "0");
    if status != 200 || rejected {
        let words = said["partialSuccess"]["errorMessage"].as_str().or(said["message"].as_str()).unwrap_or_default();
        return Err(failed(format!("answered {status} {}", cut(words, 300))).into());
    }
    Ok(())
}

fn spans(io: &Io, found: &FoundSession) -> anyhow::Result<Vec<Value>> {
    let Some(shelved) = &found.shelved else { return Ok(Vec::new()) };
    let Trace { tally, calls, agents } = Trace::of(&shelved.path, &found.session_id)?;
    let (phases, end) = (tally.phases.clone(), tally.last_ms);
    let Some((began, _)) = phases.first().copied() else { return Ok(Vec::new()) };
    let insights = collect::finish(io.env, tally, &found.transcript, None)?;
    let writer = SpanWriter { session: &found.session_id, phases: &phases, agents: &agents, end };
    let halted = Some("halted").filter(|_| insights.outcome == "failure");
    let name = "invoke_agent claude-code";
    let mut spans = vec![writer.span("session", None, name, (began, Some(end)), session_attributes(&insights), halted)];
    let ends = phases.iter().skip(1).map(|(at, _)| *at).chain([end]);
    spans.extend(phases.iter().zip(ends).map(|((from, phase), to)| writer.phase(*from, to, phase)));
    spans.extend(agents.iter().map(|agent| writer.agent(agent)));
    spans.extend(calls.iter().enumerate().map(|(n, call)| writer.call(n, call)));
    Ok(spans)
}

struct SpanWriter<'a> {
    session: &'a str,
    phases: &'a [(i64, &'static str)],
    agents: &'a [AgentSpan],
    end: i64,
}

impl SpanWriter<'_> {
    fn id(&self, what: &str) -> String {
        sha256(&[self.session.as_bytes(), b"\0", what.as_bytes()])[..16].to_owned()
    }

    /// What is the phase at this time, or the session.
    fn parent_at(&self, ms: i64) -> String {
        let after = self.phases.partition_point(|(began, _)| *began <= ms);
        after.checked_sub(1).map_or_else(|| "session".to_owned(), |at| format!("phase {}", self.phases[at].0))
    }

    fn phase(&self, from: i64, to: i64, phase: &str) -> Value {
        let attributes = vec![attribute("aops.phase", phase)];
        let (what, name) = (format!("phase {from}"), format!("phase {phase}"));
        self.span(&what, Some("session"), &name, (from, Some(to)), attributes, None)
    }

    fn agent(&self, agent: &AgentSpan) -> Value {
        let attributes = vec![
            attribute("gen_ai.operation.name", "invoke_agent"),
            attribute("gen_ai.provider.name", "anthropic"),
            attribute("gen_ai.agent.name", &agent.kind),
            attribute("gen_ai.agent.id", &agent.id),
        ];
        let (what, name) = (format!("agent {}", agent.id), format!("invoke_agent {}", agent.kind));
        self.span(&what, Some(&self.parent_at(agent.from_ms)), &name, (agent.from_ms, agent.to_ms), attributes, None)
    }

    fn call(&self, n: usize, call: &CallSpan) -> Value {
        let (id, tool, last) = (&call.first.call.id, &call.first.call.tool, &call.last);
        let mut attributes = vec![
            attribute("gen_ai.operation.name", "execute_tool"),
            attribute("gen_ai.tool.name", tool),
            attribute("gen_ai.tool.type", if tool.starts_with("mcp__") { "extension" } else { "function" }),
            attribute("gen_ai.tool.call.id", id),
            attribute("aops.phase", phase_at(self.phases, call.from_ms)),
            attribute("aops.call.state", last.to.name()),
        ];
        let ended = call.to_ms.map(|_| last);
        attributes.extend(ended.and_then(|last| last.gate.as_ref()).map(|gate| attribute("aops.gate", gate)));
        let would = call.first.rehearsed.as_ref();
        attributes.extend(would.map(|would| attribute("aops.rehearsed.gate", &would.gate)));
        let error = match last.to {
            CallState::Failed => Some("tool_error"),
            CallState::Denied => Some("denied"),
            _ => None,
        };
        attributes.extend(error.map(|kind| attribute("error.type", kind)));
        let by_agent = call.first.agent_id.as_ref().filter(|id| self.agents.iter().any(|agent| agent.id == **id));
        let parent = by_agent.map_or_else(|| self.parent_at(call.from_ms), |id| format!("agent {id}"));
        let (what, name) = (format!("call {n} {id}"), format!("execute_tool {tool}"));
        let error = error.map(|kind| last.reason.as_deref().unwrap_or(kind));
        self.span(&what, Some(&parent), &name, (call.from_ms, call.to_ms), attributes, error)
    }

    /// One span. What has no end ends with the session; the session itself has no parent.
    fn span(
        &self,
        what: &str,
        parent: Option<&str>,
        name: &str,
        (from, to): (i64, Option<i64>),
        mut attributes: Vec<Value>,
        error: Option<&str>,
    ) -> Value {
        attributes.push(attribute("gen_ai.conversation.id", self.session));
        let nanos = |ms: i64| (i128::from(ms.max(0)) * 1_000_000).to_string();
        let mut value = json!({
            "traceId": sha256(&[self.session.as_bytes()])[..32], "spanId": self.id(what), "name": name, "kind": 1,
            "startTimeUnixNano": nanos(from), "endTimeUnixNano": nanos(to.unwrap_or(self.end).max(from)),
            "attributes": attributes,
        });
        if let Some(parent) = parent {
            value["parentSpanId"] = json!(self.id(parent));
        }
        if let Some(error) = error {
            value["status"] = json!({"code": 2, "message": cut(error, 500)});
        }
        value
    }
}

fn session_attributes(insights: &Insights) -> Vec<Value> {
    let sum = |count: fn(&Sum) -> u64| sum(insights, count);
    let mut attributes = vec![
        attribute("gen_ai.operation.name", "invoke_agent"),
        attribute("gen_ai.provider.name", "anthropic"),
        attribute("gen_ai.agent.name", "claude-code"),
        // The conventions count cached tokens as input.
        number("gen_ai.usage.input_tokens", sum(|sum| sum.input + sum.cache_read + sum.cache_write)),
        number("gen_ai.usage.output_tokens", sum(|sum| sum.output)),
        number("gen_ai.usage.cache_read.input_tokens", sum(|sum| sum.cache_read)),
        number("gen_ai.usage.cache_creation.input_tokens", sum(|sum| sum.cache_write)),
        attribute("aops.outcome", &insights.outcome),
        attribute("aops.project", &insights.project),
    ];
    let would = insights.rehearsed.values().sum::<u64>();
    attributes.extend((would > 0).then(|| number("aops.rehearsed.refusals", would)));
    let most = insights.tokens.by_model.iter().max_by_key(|(_, sum)| sum.tokens());
    attributes.extend(most.map(|(model, _)| attribute("gen_ai.request.model", model)));
    attributes.extend(insights.workflows_used.last().map(|workflow| attribute("aops.workflow", workflow)));
    attributes.extend(insights.cost_usd.map(|cost| json!({"key": "aops.cost_usd", "value": {"doubleValue": cost}})));
    attributes
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// The encoding writes 64-bit integers as strings.
fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

/// A call: its first and its newest entry, and when it began and ended.
struct CallSpan {
    first: Step,
    last: Step,
    from_ms: i64,
    to_ms: Option<i64>,
}

struct AgentSpan {
    id: String,
    kind: String,
    from_ms: i64,
    to_ms: Option<i64>,
}

/// The calls and agents of a session with their times, from its ledger.
#[derive(Default)]
struct Trace {
    tally: Tally,
    calls: Vec<CallSpan>,
    agents: Vec<AgentSpan>,
}

impl Trace {
    fn of(folder: &Path, session_id: &str) -> std::io::Result<Self> {
        let mut trace = Self { tally: Tally::new(), ..Self::default() };
        collect::entries(&folder.join(LEDGER_FILE), |line, fact| {
            let at_ms = time::parse(line.ts).unwrap_or(0);
            match fact {
                Fact::Call(step) => trace.add_call(at_ms, step),
                Fact::Event(seen) => trace.add_agent(at_ms, seen),
                _ => {}
            }
            trace.tally.add(session_id, line, fact);
        })?;
        Ok(trace)
    }

    fn add_call(&mut self, at_ms: i64, step: &Step) {
        if step.to == CallState::Pending {
            self.calls.push(CallSpan { first: step.clone(), last: step.clone(), from_ms: at_ms, to_ms: None });
            return;
        }
        let open = |call: &&mut CallSpan| call.to_ms.is_none() && call.first.call.id == step.call.id;
        if let Some(call) = self.calls.iter_mut().rev().find(open) {
            call.last = step.clone();
            call.to_ms = step.to.is_terminal().then_some(at_ms);
        }
    }

    fn add_agent(&mut self, at_ms: i64, seen: &Seen) {
        let Some(id) = &seen.agent_id else { return };
        match EventKind::of(&seen.event) {
            EventKind::SubagentStart => {
                let kind = seen.agent_type.as_deref().unwrap_or("subagent");
                let kind = crate::model::agent::bare(kind).to_owned();
                self.agents.push(AgentSpan { id: id.clone(), kind, from_ms: at_ms, to_ms: None });
            }
            EventKind::SubagentStop => {
                if let Some(agent) = self.agents.iter_mut().rev().find(|agent| agent.id == *id) {
                    agent.to_ms = Some(at_ms);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells() {
        assert_eq!(escape("a,\"b\"\nc"), "\"a,\"\"b\"\"\nc\"");
        assert_eq!((escape("=1+1"), escape("-5"), escape("plain")), ("'=1+1".into(), "-5".into(), "plain".into()));
        assert_eq!(row(&Insights::new()).split(',').count(), COLUMNS.len());
    }
}
