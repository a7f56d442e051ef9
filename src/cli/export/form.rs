//! The encoding of OTLP in JSON: attributes, times, ids, and the sender.
//!
//! Reads the machine's name. Invariants: 64-bit integers are strings; the same session gives the same ids.

use aops_core::text::sha256::sha256;
use serde_json::{Value, json};

pub(super) fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// The encoding writes 64-bit integers as strings.
pub(super) fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

pub(super) fn nanos(ms: i64) -> String {
    (i128::from(ms.max(0)) * 1_000_000).to_string()
}

pub(super) fn trace_id(session: &str) -> String {
    sha256(&[session.as_bytes()])[..32].to_owned()
}

pub(super) fn span_id(session: &str, what: &str) -> String {
    sha256(&[session.as_bytes(), b"\0", what.as_bytes()])[..16].to_owned()
}

/// The part of every request that describes us.
fn resource() -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let name = rustix::system::uname();
    let host = attribute("host.name", &name.nodename().to_string_lossy());
    let name = attribute("service.name", "aops-hook");
    json!({"attributes": [name, attribute("service.version", version), host]})
}

fn scope() -> Value {
    json!({"name": "aops-hook", "version": env!("CARGO_PKG_VERSION")})
}

/// One of OTLP's three signals: the last part of its path, and the names of the nested objects in its body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signal {
    pub(super) path: &'static str,
    nesting: [&'static str; 3],
}

pub(super) const TRACES: Signal =
    Signal { path: "traces", nesting: ["resourceSpans", "scopeSpans", "spans"] };
pub(super) const LOGS: Signal = Signal { path: "logs", nesting: ["resourceLogs", "scopeLogs", "logRecords"] };
pub(super) const METRICS: Signal =
    Signal { path: "metrics", nesting: ["resourceMetrics", "scopeMetrics", "metrics"] };

impl Signal {
    pub(super) fn body(self, items: &[Value]) -> Value {
        let [outer, inner, list] = self.nesting;
        json!({(outer): [{"resource": resource(), (inner): [{"scope": scope(), (list): items}]}]})
    }
}
