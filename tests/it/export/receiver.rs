//! A collector: takes OTLP over HTTP in its JSON encoding, and refuses what is not exactly that.

use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// One request, decoded or refused.
type Taken = Result<Vec<Span>, String>;

pub(super) struct Receiver {
    port: u16,
    taken: Arc<Mutex<Vec<Taken>>>,
}

/// A span as a program would use it.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) name: String,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) attributes: BTreeMap<String, Value>,
    pub(super) error: Option<String>,
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
        Self::start(false)
    }

    pub(super) fn refusing() -> Self {
        Self::start(true)
    }

    fn start(refuses: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&taken);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(&stream, refuses, &kept);
            }
        });
        Self { port, taken }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All that came; a request that was not right fails here.
    #[track_caller]
    pub(super) fn spans(&self) -> Vec<Span> {
        self.taken.lock().unwrap().iter().flat_map(|taken| taken.clone().unwrap()).collect()
    }
}

fn serve(stream: &TcpStream, refuses: bool, kept: &Mutex<Vec<Taken>>) {
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
        let found =
            head.iter().skip(1).find_map(|line| line.split_once(':').filter(|(k, _)| k.eq_ignore_ascii_case(name)));
        found.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let taken = if head[0] != "POST /v1/traces HTTP/1.1" {
        Err(format!("not the path of traces: {}", head[0]))
    } else if header("content-type") != "application/json" {
        Err(format!("not JSON: {}", header("content-type")))
    } else {
        decode(&body)
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

fn span(raw: RawSpan) -> Result<Span, String> {
    let hex = |text: &str, long: usize| {
        let good = text.len() == long && text.bytes().all(|b| b.is_ascii_hexdigit()) && text.bytes().any(|b| b != b'0');
        if good { Ok(text.to_owned()) } else { Err(format!("`{text}` is not {long} hex digits")) }
    };
    let nanos = |text: &str| text.parse::<u64>().map_err(|e| format!("`{text}`: {e}"));
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
