//! OpenTelemetry: a session as a trace, posted to a collector as OTLP over HTTP in its JSON encoding.
//!
//! Reads ledgers; writes to one address. Names follow the semantic conventions for generative models (`gen_ai.provider.name`,
//! `invoke_agent`, `execute_tool`); other attributes are `aops.…`. Invariant: the same session gives the same ids, so
//! a collector that gets it twice stores it once.

use super::csv::sum;
use super::trace::{AgentSpan, CallSpan, Trace};
use super::{Found, Io};
use crate::briefing::memory;
use crate::claude::transcript::scan::phase_at;
use crate::claude::usage::Sum;
use crate::cli::{Refused, refused};
use crate::config::policy::Address;
use crate::insight::collect;
use crate::insight::document::Insights;
use crate::model::call::CallState;
use crate::text::json::cut;
use crate::text::sha256::sha256;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(20);
/// A few hundred kilobytes.
const SPANS_PER_REQUEST: usize = 500;

pub(super) fn send(io: &mut Io, found: &[Found], endpoint: &str) -> anyhow::Result<u8> {
    let url = format!("{}/v1/traces", endpoint.trim_end_matches('/').trim_end_matches("/v1/traces"));
    let server = match Address::read(&url) {
        Ok(server) => server,
        Err(why) => {
            return refused(format!(
                "{why}\nhint: send to a collector on this machine that forwards, `--endpoint http://127.0.0.1:4318`"
            ));
        }
    };
    let (mut sessions, mut sent) = (0_u64, 0_u64);
    for found in found {
        let spans = spans(io, found)?;
        for piece in spans.chunks(SPANS_PER_REQUEST) {
            post(&server, &url, piece)?;
            sent += piece.len() as u64;
        }
        sessions += u64::from(!spans.is_empty());
    }
    if io.json {
        writeln!(io.out, "{}", json!({"sessions": sessions, "spans": sent, "endpoint": url}))?;
    } else {
        writeln!(io.out, "sent {sent} spans of {sessions} sessions to {url}")?;
    }
    Ok(0)
}

fn post(server: &Address, url: &str, spans: &[Value]) -> anyhow::Result<()> {
    let resource = [text("service.name", "aops-hook"), text("service.version", env!("CARGO_PKG_VERSION"))];
    let scope = json!({"name": "aops-hook", "version": env!("CARGO_PKG_VERSION")});
    let body = json!({"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{"scope": scope, "spans": spans}]}]});
    let failed = |why: String| Refused {
        code: 1,
        words: format!("`{url}` {why}\nhint: does a collector listen there for OTLP over HTTP?"),
    };
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

fn spans(io: &Io, found: &Found) -> anyhow::Result<Vec<Value>> {
    let Some(shelved) = &found.shelved else { return Ok(Vec::new()) };
    let Trace { tally, calls, agents } = Trace::of(&shelved.path, &found.session_id)?;
    let (phases, end) = (tally.phases.clone(), tally.last_ms);
    let Some((began, _)) = phases.first().copied() else { return Ok(Vec::new()) };
    let insights = collect::finish(io.env, tally, &found.transcript, None)?;
    let writer = SpanWriter { session: &found.session_id, phases: &phases, agents: &agents, end };
    let root = Span {
        id: writer.id("session"),
        parent: String::new(),
        name: "invoke_agent claude-code".to_owned(),
        from: began,
        to: end,
        attributes: session_attributes(&insights),
        error: (insights.outcome == "failure").then(|| "halted".to_owned()),
    };
    let mut spans = vec![root];
    let ends = phases.iter().skip(1).map(|(at, _)| *at).chain([end]);
    spans.extend(phases.iter().zip(ends).map(|((from, phase), to)| writer.phase(*from, to, phase)));
    spans.extend(agents.iter().map(|agent| writer.agent(agent)));
    spans.extend(calls.iter().enumerate().map(|(n, call)| writer.call(n, call)));
    Ok(spans.iter().map(|span| writer.write(span)).collect())
}

struct Span {
    id: String,
    /// Empty for the session itself.
    parent: String,
    name: String,
    from: i64,
    to: i64,
    attributes: Vec<Value>,
    error: Option<String>,
}

/// Makes the spans of one session.
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

    fn phase_id(&self, began: i64) -> String {
        self.id(&format!("phase {began}"))
    }

    /// The phase at this time, or the session.
    fn parent_at(&self, ms: i64) -> String {
        let after = self.phases.partition_point(|(began, _)| *began <= ms);
        after.checked_sub(1).map_or_else(|| self.id("session"), |at| self.phase_id(self.phases[at].0))
    }

    fn conversation(&self) -> Value {
        text("gen_ai.conversation.id", self.session)
    }

    fn phase(&self, from: i64, to: i64, phase: &str) -> Span {
        let attributes = vec![text("aops.phase", phase), self.conversation()];
        let (id, parent) = (self.phase_id(from), self.id("session"));
        Span { id, parent, name: format!("phase {phase}"), from, to, attributes, error: None }
    }

    fn agent(&self, agent: &AgentSpan) -> Span {
        let attributes = vec![
            text("gen_ai.operation.name", "invoke_agent"),
            text("gen_ai.provider.name", "anthropic"),
            text("gen_ai.agent.name", &agent.kind),
            text("gen_ai.agent.id", &agent.id),
            self.conversation(),
        ];
        Span {
            id: self.id(&format!("agent {}", agent.id)),
            parent: self.parent_at(agent.from_ms),
            name: format!("invoke_agent {}", agent.kind),
            from: agent.from_ms,
            to: agent.to_ms.unwrap_or(self.end),
            attributes,
            error: None,
        }
    }

    fn call(&self, n: usize, call: &CallSpan) -> Span {
        let mut attributes = vec![
            text("gen_ai.operation.name", "execute_tool"),
            text("gen_ai.tool.name", &call.tool),
            text("gen_ai.tool.type", if call.tool.starts_with("mcp__") { "extension" } else { "function" }),
            text("gen_ai.tool.call.id", &call.id),
            self.conversation(),
            text("aops.phase", phase_at(self.phases, call.from_ms)),
            text("aops.call.state", call.state.name()),
        ];
        attributes.extend(call.gate.as_ref().map(|gate| text("aops.gate", gate)));
        let error = match call.state {
            CallState::Failed => Some("tool_error"),
            CallState::Denied => Some("denied"),
            _ => None,
        };
        attributes.extend(error.map(|kind| text("error.type", kind)));
        let by_agent = call.agent_id.as_ref().filter(|id| self.agents.iter().any(|agent| agent.id == **id));
        Span {
            id: self.id(&format!("call {n} {}", call.id)),
            parent: by_agent.map_or_else(|| self.parent_at(call.from_ms), |id| self.id(&format!("agent {id}"))),
            name: format!("execute_tool {}", call.tool),
            from: call.from_ms,
            to: call.to_ms.unwrap_or(self.end),
            attributes,
            error: error.map(|kind| call.reason.clone().unwrap_or_else(|| kind.to_owned())),
        }
    }

    fn write(&self, span: &Span) -> Value {
        let nanos = |ms: i64| (i128::from(ms.max(0)) * 1_000_000).to_string();
        let mut value = json!({
            "traceId": sha256(&[self.session.as_bytes()])[..32], "spanId": span.id, "name": span.name, "kind": 1,
            "startTimeUnixNano": nanos(span.from), "endTimeUnixNano": nanos(span.to.max(span.from)),
            "attributes": span.attributes,
        });
        if !span.parent.is_empty() {
            value["parentSpanId"] = json!(span.parent);
        }
        if let Some(error) = &span.error {
            value["status"] = json!({"code": 2, "message": cut(error, 500)});
        }
        value
    }
}

fn session_attributes(insights: &Insights) -> Vec<Value> {
    let sum = |count: fn(&Sum) -> u64| sum(insights, count);
    let mut attributes = vec![
        text("gen_ai.operation.name", "invoke_agent"),
        text("gen_ai.provider.name", "anthropic"),
        text("gen_ai.agent.name", "claude-code"),
        text("gen_ai.conversation.id", &insights.session_id),
        // The conventions count cached tokens as input.
        number("gen_ai.usage.input_tokens", sum(|sum| sum.input + sum.cache_read + sum.cache_write)),
        number("gen_ai.usage.output_tokens", sum(|sum| sum.output)),
        number("gen_ai.usage.cache_read.input_tokens", sum(|sum| sum.cache_read)),
        number("gen_ai.usage.cache_creation.input_tokens", sum(|sum| sum.cache_write)),
        text("aops.outcome", &insights.outcome),
        text("aops.project", &insights.project),
    ];
    let most = insights.tokens.by_model.iter().max_by_key(|(_, sum)| sum.tokens());
    attributes.extend(most.map(|(model, _)| text("gen_ai.request.model", model)));
    attributes.extend(insights.workflows_used.last().map(|workflow| text("aops.workflow", workflow)));
    attributes.extend(insights.cost_usd.map(|cost| json!({"key": "aops.cost_usd", "value": {"doubleValue": cost}})));
    attributes
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// The encoding writes 64-bit integers as strings.
fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}
