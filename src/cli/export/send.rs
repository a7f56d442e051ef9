//! Posts OTLP over HTTP in its JSON encoding to a collector: its address, the headers of each request, and
//! its answer.
//!
//! Resolves host names, opens connections. Invariants: data is sent only to the address that a person named;
//! a certificate is always checked; a header's value is never printed.

use super::form::{Signal, TRACES};
use crate::cli::http::unescape;
use crate::cli::{Io, Refused, refused};
use crate::remote::tls;
use aops_core::briefing::memory;
use aops_core::config::policy::Address;
use aops_core::system::lookup;
use aops_core::system::wire::Encrypt;
use aops_core::text::json::cut;
use serde_json::Value;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(20);

pub(super) struct Collector {
    /// The URL without the path of a signal.
    base: String,
    /// The address for traces.
    address: Address,
    headers: Vec<(String, String)>,
    tls: Option<Box<dyn Encrypt>>,
}

impl Collector {
    pub(super) fn find(io: &Io, endpoint: &str, headers: Vec<(String, String)>) -> anyhow::Result<Self> {
        let base = endpoint.trim_end_matches('/').trim_end_matches("/v1/traces").to_owned();
        let tls = tls::for_url(io.env, &base).or_else(refused)?;
        let hint = "hint: `--endpoint https://collector.example.org` or `--endpoint http://127.0.0.1:4318`";
        let look_up = |name: &str| lookup::addresses(io.env, name);
        let address = Address::of_person(&format!("{base}/v1/traces"), &look_up);
        let address = address.or_else(|why| refused(format!("{why}\n{hint}")))?;
        Ok(Self { base, address, headers, tls })
    }

    pub(super) fn url(&self, signal: Signal) -> String {
        format!("{}/v1/{}", self.base, signal.path)
    }

    fn address(&self, signal: Signal) -> Address {
        let below = self.address.path.trim_end_matches("/v1/traces");
        Address { path: format!("{below}/v1/{}", signal.path), ..self.address.clone() }
    }

    /// Sends one body. `false`: the collector does not accept this signal.
    pub(super) fn post(&self, signal: Signal, body: &Value) -> anyhow::Result<bool> {
        let url = self.url(signal);
        let server = self.address(signal);
        let hint = "hint: is a collector listening there for OTLP over HTTP?";
        let failed = |why: String| Refused { code: 1, words: format!("`{url}` {why}\n{hint}") };
        let headers: Vec<(&str, &str)> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let sent =
            memory::post(&server, self.tls.as_deref(), &headers, &body.to_string(), Instant::now() + TIMEOUT);
        let (status, said) = sent.map_err(|e| failed(e.to_string()))?;
        if status == 404 && signal.path != TRACES.path {
            return Ok(false);
        }
        let said: Value = serde_json::from_slice(&said).unwrap_or_default();
        let partial = &said["partialSuccess"];
        let counts = ["rejectedSpans", "rejectedLogRecords", "rejectedDataPoints"];
        let rejected = counts.iter().any(|name| partial[*name].as_str().is_some_and(|n| n != "0"));
        if status != 200 || rejected {
            let words = partial["errorMessage"].as_str().or(said["message"].as_str()).unwrap_or_default();
            return Err(failed(format!("answered {status} {}", cut(words, 300))).into());
        }
        Ok(true)
    }
}

/// The headers of the command line, or else those of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value`, separated by
/// commas.
pub(super) fn headers<'a>(
    io: &Io,
    given: impl Iterator<Item = &'a String>,
) -> anyhow::Result<Vec<(String, String)>> {
    let mut texts: Vec<String> = given.cloned().collect();
    if texts.is_empty() {
        let named = io.env.variables(|name| name == "OTEL_EXPORTER_OTLP_HEADERS").pop();
        let named = named.map(|(_, value)| value.to_string_lossy().into_owned()).unwrap_or_default();
        texts = named
            .split(',')
            .filter(|text| !text.trim().is_empty())
            .map(|text| unescape(text.trim()))
            .collect();
    }
    texts.iter().map(|text| header(text)).collect()
}

fn header(text: &str) -> anyhow::Result<(String, String)> {
    let plain = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    let pair = text.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
    match pair.filter(|(name, value)| plain(name) && !value.contains(['\r', '\n', '\0'])) {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => refused("a header is `NAME=VALUE`\nhint: `--header 'authorization=Bearer …'`"),
    }
}
