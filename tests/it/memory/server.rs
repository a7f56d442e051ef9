//! A small MCP server on loopback, with the habits of real ones and the vices of bad ones.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    Json,
    /// Other messages come before the answer, and the stream stays open after it.
    Events,
    /// In chunks of a few bytes, with the length left out.
    Chunked,
    /// Refuses without `initialize`, then wants its session's id.
    Sessions,
    /// The same, by a JSON-RPC error, and without an id.
    Greeting,
    NotFound,
    Silent,
    /// One byte at a time, for ever.
    Drips,
    DripsHead,
    Huge,
    HugeHead,
    WrongContent,
    NotHttp,
    HangsUp,
    CutShort,
    Login,
    Broken,
}

/// What one request was.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) params: Value,
    pub(crate) session: Option<String>,
    pub(crate) head: String,
}

pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) asked: Arc<Mutex<Vec<Asked>>>,
    shared: Arc<Shared>,
}

struct Shared {
    habit: Habit,
    /// Names of the two tools.
    tools: Mutex<[&'static str; 2]>,
    result: Mutex<Value>,
    /// What was stored; where it remembers, a search finds that.
    stored: Mutex<Option<Vec<String>>>,
    session: Mutex<String>,
    over: AtomicBool,
}

impl Server {
    pub(crate) fn start(habit: Habit) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            habit,
            tools: Mutex::new(["memory_search", "memory_store"]),
            result: Mutex::new(text("Found 1 memories\n\n1. the wombat sleeps\n   Hash: 1\n   Created: now")),
            stored: Mutex::new(None),
            session: Mutex::new("first".to_owned()),
            over: AtomicBool::new(false),
        });
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (ours, log) = (Arc::clone(&shared), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ours.over.load(Ordering::Relaxed) {
                    return;
                }
                let (ours, log) = (Arc::clone(&ours), Arc::clone(&log));
                std::thread::spawn(move || serve(&ours, &log, stream));
            }
        });
        Self { port, asked, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    pub(crate) fn with_tools(self, tools: [&'static str; 2]) -> Self {
        *self.shared.tools.lock().unwrap() = tools;
        self
    }

    pub(crate) fn answering(self, result: Value) -> Self {
        *self.shared.result.lock().unwrap() = result;
        self
    }

    /// It finds what it was told to store.
    pub(crate) fn remembering(self) -> Self {
        *self.shared.stored.lock().unwrap() = Some(Vec::new());
        self
    }

    pub(crate) fn stored(&self) -> Vec<String> {
        self.shared.stored.lock().unwrap().clone().unwrap_or_default()
    }

    /// Old sessions are no longer known.
    pub(crate) fn forget_sessions(&self) {
        "second".clone_into(&mut self.shared.session.lock().unwrap());
    }

    pub(crate) fn rename_tools(&self, tools: [&'static str; 2]) {
        *self.shared.tools.lock().unwrap() = tools;
    }

    /// The methods asked since the last look.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.asked.lock().unwrap().drain(..).map(|asked| asked.method).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

pub(crate) fn text(words: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": words }], "isError": false })
}

fn serve(shared: &Shared, log: &Mutex<Vec<Asked>>, mut stream: TcpStream) {
    let Some((head, body)) = receive(&stream) else { return };
    let header = |name: &str| {
        let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(name));
        line.and_then(|line| Some(line.split_once(':')?.1.trim().to_owned()))
    };
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    let session = header("mcp-session-id:");
    log.lock().unwrap().push(Asked {
        method: method.clone(),
        params: message["params"].clone(),
        session: session.clone(),
        head: head.clone(),
    });
    if misbehave(shared.habit, &mut stream) {
        return;
    }
    if message.get("id").is_none() {
        let _ = stream.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
        return;
    }
    let current = shared.session.lock().unwrap().clone();
    let greeted = header("mcp-protocol-version:").is_some();
    let (status, extra, answer) = match (shared.habit, method.as_str()) {
        (_, "initialize") => (
            "200 OK",
            format!("Mcp-Session-Id: {current}\r\n"),
            json!({ "result": { "protocolVersion": "2025-06-18" } }),
        ),
        (Habit::Sessions, _) if session.is_none() => {
            ("400 Bad Request", String::new(), json!({ "error": { "message": "Missing session ID" } }))
        }
        (Habit::Sessions, _) if session != Some(current) => {
            ("404 Not Found", String::new(), json!({ "error": { "message": "Session not found" } }))
        }
        (Habit::Greeting, _) if !greeted => (
            "200 OK",
            String::new(),
            json!({ "error": { "code": -32602, "message": "Received request before initialization was complete" } }),
        ),
        (_, "tools/list") => ("200 OK", String::new(), json!({ "result": { "tools": tools(shared) } })),
        (_, "tools/call") => ("200 OK", String::new(), call(shared, &message["params"])),
        _ => ("200 OK", String::new(), json!({ "error": { "code": -32601, "message": "Method not found" } })),
    };
    let extra = if shared.habit == Habit::Greeting { String::new() } else { extra };
    send(shared.habit, &mut stream, status, &extra, answer);
}

fn tools(shared: &Shared) -> Value {
    let [recall, store] = *shared.tools.lock().unwrap();
    let old = recall == "retrieve_memory";
    let asks = if old {
        json!({ "query": {}, "n_results": {} })
    } else {
        json!({ "query": {}, "mode": {}, "limit": {} })
    };
    let keeps =
        if old { json!({ "content": {}, "tags": {} }) } else { json!({ "content": {}, "metadata": {} }) };
    json!([
        { "name": "memory_delete", "inputSchema": {} },
        { "name": recall, "inputSchema": { "type": "object", "properties": asks } },
        { "name": store, "inputSchema": { "type": "object", "properties": keeps } },
    ])
}

fn call(shared: &Shared, params: &Value) -> Value {
    let known = *shared.tools.lock().unwrap();
    if let Some(stored) = shared.stored.lock().unwrap().as_mut() {
        if params["name"] == known[1] {
            stored.push(params["arguments"]["content"].as_str().unwrap().to_owned());
            return json!({ "result": text("stored") });
        }
        let memories: Vec<Value> = stored.iter().map(|memory| json!({ "content": memory })).collect();
        return json!({ "result": text(&json!({ "memories": memories }).to_string()) });
    }
    if known.iter().any(|tool| params["name"] == *tool) {
        return json!({ "result": *shared.result.lock().unwrap() });
    }
    let name = params["name"].as_str().unwrap_or_default();
    json!({ "result": text(&format!("{{\"error\": \"Unknown tool: {name}\"}}")) })
}

fn send(habit: Habit, stream: &mut TcpStream, status: &str, extra: &str, mut answer: Value) {
    answer["jsonrpc"] = json!("2.0");
    answer["id"] = json!(1);
    let head = format!("HTTP/1.1 {status}\r\n{extra}");
    let bytes = match habit {
        Habit::Events => format!(
            "{head}Content-Type: text/event-stream\r\n\r\n: hello\r\n\r\nevent: message\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}}\n\nevent: message\ndata: {answer}\n\n"
        ),
        Habit::Chunked => {
            let text = answer.to_string();
            let pieces = text
                .as_bytes()
                .chunks(7)
                .map(|piece| format!("{:x};x=y\r\n{}\r\n", piece.len(), String::from_utf8_lossy(piece)));
            format!(
                "{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
                pieces.collect::<String>()
            )
        }
        Habit::CutShort => {
            format!("{head}Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{answer}")
        }
        _ => format!(
            "{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{answer}",
            answer.to_string().len()
        ),
    };
    let _ = stream.write_all(bytes.as_bytes());
    if habit == Habit::Events {
        std::thread::sleep(Duration::from_secs(20));
    }
}

/// True when the habit has dealt with the request in its own way.
fn misbehave(habit: Habit, stream: &mut TcpStream) -> bool {
    let mut say = |text: &str| stream.write_all(text.as_bytes()).is_ok();
    match habit {
        Habit::NotFound => say("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        Habit::Login => say("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"),
        Habit::Broken => say("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"),
        Habit::WrongContent => {
            say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>")
        }
        Habit::NotHttp => say("SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        Habit::HangsUp => true,
        Habit::Silent => {
            std::thread::sleep(Duration::from_secs(20));
            true
        }
        Habit::Drips => {
            say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n");
            while say(" ") {
                std::thread::sleep(Duration::from_millis(20));
            }
            true
        }
        Habit::DripsHead => {
            say("HTTP/1.1 200 OK\r\nX: ");
            while say("x") {
                std::thread::sleep(Duration::from_millis(20));
            }
            true
        }
        Habit::Huge => {
            say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n\"");
            while say(&"x".repeat(60_000)) {}
            true
        }
        Habit::HugeHead => {
            say("HTTP/1.1 200 OK\r\n");
            while say(&format!("X: {}\r\n", "x".repeat(6_000))) {}
            true
        }
        _ => false,
    }
}

fn receive(stream: &TcpStream) -> Option<(String, Vec<u8>)> {
    let mut from = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if from.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let long = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok())?;
    let mut body = vec![0; long];
    from.read_exact(&mut body).ok()?;
    Some((head, body))
}
