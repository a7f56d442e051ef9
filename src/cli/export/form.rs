//! The encoding of OTLP in JSON: attributes, times, ids, and who speaks.
//!
//! Pure. Invariants: 64-bit integers are texts; the same session gives the same ids.

use crate::text::sha256::sha256;
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

/// What all requests say of us.
pub(super) fn resource() -> Value {
    let version = env!("CARGO_PKG_VERSION");
    json!({"attributes": [attribute("service.name", "aops-hook"), attribute("service.version", version)]})
}

pub(super) fn scope() -> Value {
    json!({"name": "aops-hook", "version": env!("CARGO_PKG_VERSION")})
}
