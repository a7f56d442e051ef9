//! A collector: takes OTLP over HTTP in its JSON encoding, and refuses what is not exactly that.

use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// One request, decoded or refused.
type Taken = Result<Body, String>;

/// What a request brought.
#[derive(Clone, Debug)]
enum Body {
    Spans(Vec<Span>),
    Logs(Vec<Record>),
    Metrics(Vec<Point>),
}

/// A log record as a program would use it.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) trace: String,
    pub(super) span: String,
    pub(super) severity: String,
    pub(super) event: String,
    pub(super) text: String,
}

/// One count of a metric.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) name: String,
    pub(super) attributes: BTreeMap<String, Value>,
    pub(super) value: f64,
}

pub(crate) struct Receiver {
    port: u16,
    taken: Arc<Mutex<Vec<Taken>>>,
    heads: Arc<Mutex<Vec<String>>>,
}

/// A span as a program would use it.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) trace: String,
    pub(super) id: String,
    pub(crate) parent: Option<String>,
    pub(super) name: String,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(crate) attributes: BTreeMap<String, Value>,
    pub(super) error: Option<String>,
    /// Traces and spans that it names beside its own.
    pub(super) links: Vec<(String, String)>,
}

// The messages of opentelemetry-proto as JSON writes them; a field it does not have is an error.

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Request {
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ResourceSpans {
    resource: Resource,
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resource {
    attributes: Vec<Pair>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScopeSpans {
    scope: Scope,
    spans: Vec<RawSpan>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scope {
    name: String,
    version: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawSpan {
    trace_id: String,
    span_id: String,
    #[serde(default)]
    parent_span_id: Option<String>,
    name: String,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Pair>,
    #[serde(default)]
    status: Option<Status>,
    #[serde(default)]
    links: Vec<Link>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Link {
    trace_id: String,
    span_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct LogsRequest {
    resource_logs: Vec<ResourceLogs>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ResourceLogs {
    #[serde(rename = "resource")]
    _resource: Resource,
    scope_logs: Vec<ScopeLogs>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ScopeLogs {
    #[serde(rename = "scope")]
    _scope: Scope,
    log_records: Vec<RawRecord>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawRecord {
    time_unix_nano: String,
    observed_time_unix_nano: String,
    severity_number: u8,
    severity_text: String,
    event_name: String,
    body: Any,
    attributes: Vec<Pair>,
    trace_id: String,
    span_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct MetricsRequest {
    resource_metrics: Vec<ResourceMetrics>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ResourceMetrics {
    #[serde(rename = "resource")]
    _resource: Resource,
    scope_metrics: Vec<ScopeMetrics>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScopeMetrics {
    #[serde(rename = "scope")]
    _scope: Scope,
    metrics: Vec<Metric>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metric {
    name: String,
    unit: String,
    sum: MetricSum,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct MetricSum {
    data_points: Vec<RawPoint>,
    aggregation_temporality: u8,
    is_monotonic: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawPoint {
    attributes: Vec<Pair>,
    start_time_unix_nano: String,
    time_unix_nano: String,
    #[serde(default)]
    as_int: Option<String>,
    #[serde(default)]
    as_double: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Status {
    code: u8,
    message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    key: String,
    value: Any,
}

#[derive(Deserialize)]
enum Any {
    #[serde(rename = "stringValue")]
    Text(String),
    /// 64-bit numbers are texts.
    #[serde(rename = "intValue")]
    Int(String),
    #[serde(rename = "doubleValue")]
    Double(f64),
    #[serde(rename = "boolValue")]
    Bool(bool),
}

impl Receiver {
    pub(super) fn new() -> Self {
        Self::at(0)
    }

    pub(crate) fn at(port: u16) -> Self {
        Self::start(port, false)
    }

    pub(super) fn refusing() -> Self {
        Self::start(0, true)
    }

    /// All log records.
    #[track_caller]
    pub(super) fn logs(&self) -> Vec<Record> {
        let all = self.taken.lock().unwrap();
        let of = |body: Body| if let Body::Logs(records) = body { records } else { Vec::new() };
        all.iter().flat_map(|taken| of(taken.clone().unwrap())).collect()
    }

    #[track_caller]
    pub(super) fn points(&self) -> Vec<Point> {
        let all = self.taken.lock().unwrap();
        let of = |body: Body| if let Body::Metrics(points) = body { points } else { Vec::new() };
        all.iter().flat_map(|taken| of(taken.clone().unwrap())).collect()
    }

    /// The heads of all requests.
    pub(super) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    fn start(port: u16, refuses: bool) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&taken);
        let heads = Arc::new(Mutex::new(Vec::new()));
        let known = Arc::clone(&heads);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(&stream, refuses, &kept, &known);
            }
        });
        Self { port, taken, heads }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All that came; a request that was not right fails here.
    #[track_caller]
    pub(crate) fn spans(&self) -> Vec<Span> {
        let of = |body: Body| if let Body::Spans(spans) = body { spans } else { Vec::new() };
        self.taken.lock().unwrap().iter().flat_map(|taken| of(taken.clone().unwrap())).collect()
    }
}

fn serve(stream: &TcpStream, refuses: bool, kept: &Mutex<Vec<Taken>>, heads: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let header = |name: &str| {
        let found = head
            .iter()
            .skip(1)
            .find_map(|line| line.split_once(':').filter(|(k, _)| k.eq_ignore_ascii_case(name)));
        found.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    heads.lock().unwrap().push(head.join("\n"));
    let taken = match head[0].as_str() {
        _ if header("content-type") != "application/json" => {
            Err(format!("not JSON: {}", header("content-type")))
        }
        "POST /v1/traces HTTP/1.1" => decode(&body).map(Body::Spans),
        "POST /v1/logs HTTP/1.1" => decode_logs(&body).map(Body::Logs),
        "POST /v1/metrics HTTP/1.1" => decode_metrics(&body).map(Body::Metrics),
        other => Err(format!("not the path of a signal: {other}")),
    };
    let (status, said) = match (&taken, refuses) {
        (Ok(_), false) => ("200 OK", json!({"partialSuccess": {}})),
        (_, true) => ("400 Bad Request", json!({"code": 3, "message": "too many"})),
        (Err(why), _) => ("400 Bad Request", json!({"code": 3, "message": why})),
    };
    kept.lock().unwrap().push(taken);
    let said = said.to_string();
    let mut stream = stream;
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{said}",
        said.len()
    );
}

fn decode(body: &[u8]) -> Result<Vec<Span>, String> {
    let request: Request = serde_json::from_slice(body).map_err(|e| e.to_string())?;
    let mut spans = Vec::new();
    for resource in request.resource_spans {
        let named = attributes(resource.resource.attributes)?;
        if named.get("service.name").is_none_or(|name| name != "aops-hook") {
            return Err("no service.name".to_owned());
        }
        for scope in resource.scope_spans {
            if scope.scope.name.is_empty() || scope.scope.version.is_empty() {
                return Err("a scope without a name".to_owned());
            }
            for raw in scope.spans {
                spans.push(span(raw)?);
            }
        }
    }
    Ok(spans)
}

fn hex(text: &str, long: usize) -> Result<String, String> {
    let good =
        text.len() == long && text.bytes().all(|b| b.is_ascii_hexdigit()) && text.bytes().any(|b| b != b'0');
    if good { Ok(text.to_owned()) } else { Err(format!("`{text}` is not {long} hex digits")) }
}

fn nanos(text: &str) -> Result<u64, String> {
    text.parse::<u64>().map_err(|e| format!("`{text}`: {e}"))
}

fn decode_logs(body: &[u8]) -> Result<Vec<Record>, String> {
    let request: LogsRequest = serde_json::from_slice(body).map_err(|e| e.to_string())?;
    let scopes = request.resource_logs.into_iter().flat_map(|resource| resource.scope_logs);
    let record = |raw: RawRecord| {
        nanos(&raw.time_unix_nano)?;
        nanos(&raw.observed_time_unix_nano)?;
        attributes(raw.attributes)?;
        let Any::Text(text) = raw.body else { return Err("a body that is not text".to_owned()) };
        if !(1..=24).contains(&raw.severity_number) {
            return Err(format!("severity {}", raw.severity_number));
        }
        let (trace, span) = (hex(&raw.trace_id, 32)?, hex(&raw.span_id, 16)?);
        Ok(Record { trace, span, severity: raw.severity_text, event: raw.event_name, text })
    };
    scopes.flat_map(|scope| scope.log_records).map(record).collect()
}

fn decode_metrics(body: &[u8]) -> Result<Vec<Point>, String> {
    let request: MetricsRequest = serde_json::from_slice(body).map_err(|e| e.to_string())?;
    let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
    let mut points = Vec::new();
    for metric in scopes.flat_map(|scope| scope.metrics) {
        if metric.sum.aggregation_temporality != 1 || !metric.sum.is_monotonic || metric.unit.is_empty() {
            return Err(format!("`{}` is no cumulative sum with a unit", metric.name));
        }
        for raw in metric.sum.data_points {
            if nanos(&raw.start_time_unix_nano)? > nanos(&raw.time_unix_nano)? {
                return Err("it ends before it begins".to_owned());
            }
            let whole = raw
                .as_int
                .map(|text| text.parse::<u32>().map(f64::from).map_err(|e| e.to_string()))
                .transpose()?;
            let value = whole.or(raw.as_double).ok_or("a point without a value")?;
            points.push(Point { name: metric.name.clone(), attributes: attributes(raw.attributes)?, value });
        }
    }
    Ok(points)
}

fn span(raw: RawSpan) -> Result<Span, String> {
    if !(1..=5).contains(&raw.kind) || raw.name.is_empty() {
        return Err(format!("kind {} of `{}`", raw.kind, raw.name));
    }
    let error = match raw.status {
        None => None,
        Some(Status { code: 2, message }) => Some(message),
        Some(Status { code, .. }) => return Err(format!("status {code}")),
    };
    Ok(Span {
        trace: hex(&raw.trace_id, 32)?,
        id: hex(&raw.span_id, 16)?,
        parent: raw.parent_span_id.map(|id| hex(&id, 16)).transpose()?,
        name: raw.name,
        from: nanos(&raw.start_time_unix_nano)?,
        to: nanos(&raw.end_time_unix_nano)?,
        attributes: attributes(raw.attributes)?,
        error,
        links: raw
            .links
            .into_iter()
            .map(|link| Ok((hex(&link.trace_id, 32)?, hex(&link.span_id, 16)?)))
            .collect::<Result<_, String>>()?,
    })
}

fn attributes(pairs: Vec<Pair>) -> Result<BTreeMap<String, Value>, String> {
    let mut found = BTreeMap::new();
    for Pair { key, value } in pairs {
        let value = match value {
            Any::Text(text) => json!(text),
            Any::Int(text) => json!(text.parse::<i64>().map_err(|e| format!("{key}: {e}"))?),
            Any::Double(n) => json!(n),
            Any::Bool(flag) => json!(flag),
        };
        if found.insert(key.clone(), value).is_some() {
            return Err(format!("`{key}` twice"));
        }
    }
    Ok(found)
}
