//! Logs and metrics in addition to the spans: a record for everything worth a line in a timeline, and sums
//! for each session.
//!
//! Pure. Invariants: the same session gives the same records; a sum covers one session, from its start to its
//! last event; the labels of a metric are bounded, so no session, model or person is one of them.

use super::form::{attribute, nanos, span_id, trace_id};
use super::hosts;
use super::who::Who;
use aops_core::host::claude::usage::Sum;
use aops_core::insight::document::Insights;
use aops_core::insight::timeline::{TimelineEntry, TimelineKind};
use serde_json::{Value, json};

/// Without `prompts`, a record says only that there was a prompt, not its text.
pub(super) fn logs(session: &str, moments: &[TimelineEntry], prompts: bool) -> Vec<Value> {
    let record = |moment: &TimelineEntry| {
        let (number, text) = match moment.kind {
            TimelineKind::Refusal | TimelineKind::Rehearsed | TimelineKind::Audit => (13, "WARN"),
            TimelineKind::Failure | TimelineKind::Block => (17, "ERROR"),
            _ => (9, "INFO"),
        };
        let hidden = moment.kind == TimelineKind::Prompt && !prompts;
        json!({
            "timeUnixNano": nanos(moment.at_ms), "observedTimeUnixNano": nanos(moment.at_ms),
            "severityNumber": number, "severityText": text, "eventName": format!("aops.{}", moment.kind),
            "body": {"stringValue": if hidden { "a prompt" } else { &moment.text }},
            "attributes": [attribute("gen_ai.conversation.id", session)],
            "traceId": trace_id(session), "spanId": span_id(session, "session"),
        })
    };
    moments.iter().map(record).collect()
}

pub(super) fn metrics(insights: &Insights, who: Who, (began, end): (i64, i64)) -> Vec<Value> {
    let times = |mut point: Value| {
        point["startTimeUnixNano"] = json!(nanos(began));
        point["timeUnixNano"] = json!(nanos(end));
        point
    };
    let sum = |name: &str, unit: &str, points: Vec<Value>| {
        // Each session reports its own increment: many sessions have the same labels, and are added up.
        let sum = json!({"dataPoints": points, "aggregationTemporality": 1, "isMonotonic": true});
        json!({"name": name, "unit": unit, "sum": sum})
    };
    let point = |(about, n): (Vec<Value>, u64)| times(json!({"attributes": about, "asInt": n.to_string()}));
    let mut metrics: Vec<Value> = count(insights, who)
        .into_iter()
        .chain(hosts::counts(insights, &labels(who)))
        .filter(|(_, _, counts)| !counts.is_empty())
        .map(|(name, unit, counts)| sum(name, unit, counts.into_iter().map(point).collect()))
        .collect();
    let cost = insights.cost_usd.map(|cost| times(json!({"attributes": labels(who), "asDouble": cost})));
    metrics.extend(cost.map(|cost| sum("aops.cost", "USD", vec![cost])));
    metrics
}

/// The attributes of each count, and the count.
type Counts = Vec<(Vec<Value>, u64)>;

/// The labels of every metric; the machine is in the resource.
fn labels(who: Who) -> Vec<Value> {
    vec![attribute("aops.client", who.client.name()), attribute("gen_ai.provider.name", who.provider)]
}

/// The metrics with their units and counts.
fn count(insights: &Insights, who: Who) -> [(&'static str, &'static str, Counts); 6] {
    let with = |name: &str, value: &str| {
        let mut all = labels(who);
        all.push(attribute(name, value));
        all
    };
    let calls = &insights.tool_calls;
    let outcomes = [("completed", calls.completed), ("failed", calls.failed), ("denied", calls.denied)];
    let kinds = |sum: &Sum| {
        [
            ("input", sum.input),
            ("output", sum.output),
            ("cache_read", sum.cache_read),
            ("cache_write", sum.cache_write),
        ]
    };
    let mut used: [(&str, u64); 4] = kinds(&Sum::default());
    for sum in insights.tokens.by_model.values() {
        used.iter_mut().zip(kinds(sum)).for_each(|(all, (_, n))| all.1 = all.1.saturating_add(n));
    }
    let tokens: Counts = if insights.tokens.by_model.is_empty() {
        Vec::new()
    } else {
        used.map(|(kind, n)| (with("gen_ai.token.type", kind), n)).to_vec()
    };
    let refusals: Counts = insights.gates.iter().map(|(gate, n)| (with("aops.gate", gate), *n)).collect();
    let audits = [("drawn", insights.audits.drawn), ("done", insights.audits.done)];
    [
        ("aops.sessions", "{session}", vec![(with("aops.outcome", insights.outcome.name()), 1)]),
        (
            "aops.tool_calls",
            "{call}",
            outcomes.map(|(word, n)| (with("aops.call.outcome", word), n)).to_vec(),
        ),
        ("aops.refusals", "{refusal}", refusals),
        ("aops.audits", "{audit}", audits.map(|(word, n)| (with("aops.audit", word), n)).to_vec()),
        ("aops.tokens", "{token}", tokens),
        (
            "aops.cost.unknown",
            "{session}",
            insights.cost_usd.is_none().then(|| (labels(who), 1)).into_iter().collect(),
        ),
    ]
}
