//! OpenTelemetry: a session as a trace, posted to a collector as OTLP over HTTP in its JSON encoding.
//!
//! Reads ledgers; writes to one address. Names follow the semantic conventions for generative models (`gen_ai.provider.name`,
//! `invoke_agent`, `execute_tool`); what they have no name for is `aops.…`. Invariant: the same session gives the same
//! ids, so sending it twice is sending it once.

use super::trace::Trace;
use super::{Found, Io};
use crate::briefing::memory;
use crate::claude::transcript::scan::phase_at;
use crate::claude::usage::Sum;
use crate::cli::{Refused, refused};
use crate::config::policy::Address;
use crate::insight::collect;
use crate::insight::document::Insights;
use crate::model::call::CallState;
use crate::text::sha256::sha256;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);
/// Spans in one request: a few hundred kilobytes.
const MOST: usize = 500;

pub(super) fn send(io: &mut Io, found: &[Found], endpoint: &str) -> anyhow::Result<u8> {
    let url = format!("{}/v1/traces", endpoint.trim_end_matches('/').trim_end_matches("/v1/traces"));
    let server = match Address::read(&url) {
        Ok(server) => server,
        Err(why) => {
            return refused(format!(
                "{why}\nhint: let a collector on this machine pass it on, `--endpoint http://127.0.0.1:4318`"
            ));
        }
    };
    let (mut sessions, mut sent) = (0_u64, 0_u64);
    for found in found {
        let spans = spans(io, found)?;
        for piece in spans.chunks(MOST) {
            post(&server, &url, piece)?;
            sent += piece.len() as u64;
        }
        sessions += u64::from(!spans.is_empty());
    }
    if io.json {
        writeln!(io.out, "{}", json!({"sessions": sessions, "spans": sent, "endpoint": url}))?;
    } else {
        writeln!(io.out, "{sent} spans of {sessions} sessions are at {url}")?;
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
    let (status, said) = memory::post(server, &body.to_string(), Instant::now() + PATIENCE)
        .map_err(|e| failed(e.to_string()))?;
    let said: Value = serde_json::from_slice(&said).unwrap_or_default();
    let rejected = said["partialSuccess"]["rejectedSpans"].as_str().is_some_and(|n| n != "0");
    if status != 200 || rejected {
        let words =
            said["partialSuccess"]["errorMessage"].as_str().or(said["message"].as_str()).unwrap_or_default();
        return Err(failed(format!("answered {status} {}", crate::text::json::cut(words, 300))).into());
    }
    Ok(())
}

fn spans(io: &Io, found: &Found) -> anyhow::Result<Vec<Value>> {
    let Some(shelved) = &found.shelved else { return Ok(Vec::new()) };
    let Trace { tally, calls, agents } = Trace::of(&shelved.path, &found.session_id)?;
    let (phases, end) = (tally.phases.clone(), tally.last_ms);
    let Some((began, _)) = phases.first().copied() else { return Ok(Vec::new()) };
    let insights = collect::finish(io.env, tally, &found.transcript, None)?;
    let trace = Ids { session: &found.session_id };
    let root = trace.span("session");
    let mut spans = vec![trace.write(&Span {
        id: &root,
        parent: "",
        name: "invoke_agent claude-code".to_owned(),
        from: began,
        to: end,
        attributes: of_session(&insights),
        error: (insights.outcome == "failure").then(|| "halted".to_owned()),
    })];
    let phase_id = |began: i64| trace.span(&format!("phase {began}"));
    let ends = phases.iter().skip(1).map(|(at, _)| *at).chain([end]);
    for ((from, phase), to) in phases.iter().zip(ends) {
        let attributes = vec![text("aops.phase", phase), text("gen_ai.conversation.id", &found.session_id)];
        let (id, name) = (phase_id(*from), format!("phase {phase}"));
        spans.push(trace.write(&Span {
            id: &id,
            parent: &root,
            name,
            from: *from,
            to,
            attributes,
            error: None,
        }));
    }
    let at = |ms: i64| {
        let after = phases.partition_point(|(began, _)| *began <= ms);
        after.checked_sub(1).map_or_else(|| root.clone(), |at| phase_id(phases[at].0))
    };
    for agent in &agents {
        let attributes = vec![
            text("gen_ai.operation.name", "invoke_agent"),
            text("gen_ai.provider.name", "anthropic"),
            text("gen_ai.agent.name", &agent.kind),
            text("gen_ai.agent.id", &agent.id),
            text("gen_ai.conversation.id", &found.session_id),
        ];
        let (id, parent) = (trace.span(&format!("agent {}", agent.id)), at(agent.from_ms));
        let name = format!("invoke_agent {}", agent.kind);
        let to = agent.to_ms.unwrap_or(end);
        spans.push(trace.write(&Span {
            id: &id,
            parent: &parent,
            name,
            from: agent.from_ms,
            to,
            attributes,
            error: None,
        }));
    }
    for (n, call) in calls.iter().enumerate() {
        let mut attributes = vec![
            text("gen_ai.operation.name", "execute_tool"),
            text("gen_ai.tool.name", &call.tool),
            text("gen_ai.tool.type", if call.tool.starts_with("mcp__") { "extension" } else { "function" }),
            text("gen_ai.tool.call.id", &call.id),
            text("gen_ai.conversation.id", &found.session_id),
            text("aops.phase", phase_at(&phases, call.from_ms)),
            text("aops.call.state", call.state.name()),
        ];
        attributes.extend(call.gate.as_ref().map(|gate| text("aops.gate", gate)));
        let error = match call.state {
            CallState::Failed => Some("tool_error"),
            CallState::Denied => Some("denied"),
            _ => None,
        };
        attributes.extend(error.map(|kind| text("error.type", kind)));
        let of_agent = call.agent_id.as_ref().filter(|id| agents.iter().any(|agent| agent.id == **id));
        let parent = of_agent.map_or_else(|| at(call.from_ms), |id| trace.span(&format!("agent {id}")));
        let (id, name) =
            (trace.span(&format!("call {n} {}", call.id)), format!("execute_tool {}", call.tool));
        let error = error.map(|kind| call.reason.clone().unwrap_or_else(|| kind.to_owned()));
        let to = call.to_ms.unwrap_or(end);
        spans.push(trace.write(&Span {
            id: &id,
            parent: &parent,
            name,
            from: call.from_ms,
            to,
            attributes,
            error,
        }));
    }
    Ok(spans)
}

fn of_session(insights: &Insights) -> Vec<Value> {
    let sum =
        |count: fn(&Sum) -> u64| insights.tokens.by_model.values().map(count).fold(0, u64::saturating_add);
    let mut attributes = vec![
        text("gen_ai.operation.name", "invoke_agent"),
        text("gen_ai.provider.name", "anthropic"),
        text("gen_ai.agent.name", "claude-code"),
        text("gen_ai.conversation.id", &insights.session_id),
        // By the conventions the input is all of it, cached or not.
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
    attributes.extend(
        insights.cost_usd.map(|cost| json!({"key": "aops.cost_usd", "value": {"doubleValue": cost}})),
    );
    attributes
}

struct Span<'a> {
    id: &'a str,
    parent: &'a str,
    name: String,
    from: i64,
    to: i64,
    attributes: Vec<Value>,
    error: Option<String>,
}

struct Ids<'a> {
    session: &'a str,
}

impl Ids<'_> {
    fn span(&self, what: &str) -> String {
        sha256(&[self.session.as_bytes(), b"\0", what.as_bytes()])[..16].to_owned()
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
            value["status"] = json!({"code": 2, "message": crate::text::json::cut(error, 500)});
        }
        value
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// 64-bit numbers are texts in this encoding.
fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}
