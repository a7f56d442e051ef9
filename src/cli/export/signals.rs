//! Logs and metrics beside the spans: a record for everything that is worth a line in a timeline, and sums of each session.
//!
//! Pure. Invariants: the same session gives the same records; a sum counts from the session's start to its last event.

use super::form::{attribute, nanos, span_id, trace_id};
use super::hosts;
use aops_core::host::claude::usage::Sum;
use aops_core::insight::document::Insights;
use aops_core::insight::timeline::{TimelineEntry, TimelineKind};
use serde_json::{Value, json};

pub(super) fn logs(session: &str, moments: &[TimelineEntry]) -> Vec<Value> {
    let record = |moment: &TimelineEntry| {
        let (number, text) = match moment.kind {
            TimelineKind::Refusal | TimelineKind::Rehearsed | TimelineKind::Audit => (13, "WARN"),
            TimelineKind::Failure | TimelineKind::Block => (17, "ERROR"),
            _ => (9, "INFO"),
        };
        json!({
            "timeUnixNano": nanos(moment.at_ms), "observedTimeUnixNano": nanos(moment.at_ms),
            "severityNumber": number, "severityText": text, "eventName": format!("aops.{}", moment.kind),
            "body": {"stringValue": moment.text},
            "attributes": [attribute("gen_ai.conversation.id", session)],
            "traceId": trace_id(session), "spanId": span_id(session, "session"),
        })
    };
    moments.iter().map(record).collect()
}

pub(super) fn metrics(insights: &Insights, (began, end): (i64, i64)) -> Vec<Value> {
    let times = |mut point: Value| {
        point["startTimeUnixNano"] = json!(nanos(began));
        point["timeUnixNano"] = json!(nanos(end));
        point
    };
    let sum = |name: &str, unit: &str, points: Vec<Value>| {
        // Cumulative, and it only grows.
        let sum = json!({"dataPoints": points, "aggregationTemporality": 2, "isMonotonic": true});
        json!({"name": name, "unit": unit, "sum": sum})
    };
    let point = |(about, n): (Vec<Value>, u64)| times(json!({"attributes": about, "asInt": n.to_string()}));
    let mut metrics: Vec<Value> = count(insights)
        .into_iter()
        .chain(hosts::counts(insights))
        .filter(|(_, _, counts)| !counts.is_empty())
        .map(|(name, unit, counts)| sum(name, unit, counts.into_iter().map(point).collect()))
        .collect();
    let session = attribute("gen_ai.conversation.id", &insights.session_id);
    let cost = insights.cost_usd.map(|cost| times(json!({"attributes": [session], "asDouble": cost})));
    metrics.extend(cost.map(|cost| sum("aops.cost", "USD", vec![cost])));
    metrics
}

/// The attributes of each count, and the count.
type Counts = Vec<(Vec<Value>, u64)>;

/// What is counted, in which unit.
fn count(insights: &Insights) -> [(&'static str, &'static str, Counts); 5] {
    let session = || attribute("gen_ai.conversation.id", &insights.session_id);
    let with = |name: &str, value: &str| vec![session(), attribute(name, value)];
    let calls = &insights.tool_calls;
    let outcomes = [("completed", calls.completed), ("failed", calls.failed), ("denied", calls.denied)];
    let kinds = |sum: &Sum| {
        [("input", sum.input), ("output", sum.output), ("cache_read", sum.cache_read), ("cache_write", sum.cache_write)]
    };
    let by_model = insights.tokens.by_model.iter();
    let tokens: Counts = by_model
        .flat_map(|(model, sum)| {
            kinds(sum).map(|(kind, n)| {
                let about = [session(), attribute("gen_ai.request.model", model), attribute("gen_ai.token.type", kind)];
                (about.to_vec(), n)
            })
        })
        .collect();
    let refusals: Counts = insights.gates.iter().map(|(gate, n)| (with("aops.gate", gate), *n)).collect();
    let audits = [("drawn", insights.audits.drawn), ("done", insights.audits.done)];
    [
        ("aops.sessions", "{session}", vec![(with("aops.outcome", insights.outcome.name()), 1)]),
        ("aops.tool_calls", "{call}", outcomes.map(|(word, n)| (with("aops.call.outcome", word), n)).to_vec()),
        ("aops.refusals", "{refusal}", refusals),
        ("aops.audits", "{audit}", audits.map(|(word, n)| (with("aops.audit", word), n)).to_vec()),
        ("aops.tokens", "{token}", tokens),
    ]
}
