//! What answers an agent of a step: a model that has one line of work done, once.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does its work however often it is begun, and says so.
const LINE: &str =
    r#"sleep 0.3; { grep -qsx "$AOPS_STEP" work || echo "$AOPS_STEP" >> work; } && echo it is made"#;

pub(crate) struct Agents {
    pub(crate) url: String,
    /// How many conversations were begun.
    pub(crate) begun: Arc<AtomicUsize>,
}

/// Stands in for the client, and calls the hooks as it does.
pub(crate) fn client() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/fake_client.py"))
}

impl Agents {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let begun = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&begun);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let count = Arc::clone(&count);
                thread::spawn(move || converse(&stream, &count));
            }
        });
        Self { url, begun }
    }
}

/// Until the client hangs up.
fn converse(stream: &TcpStream, count: &AtomicUsize) -> Option<()> {
    let mut from = BufReader::new(stream);
    let mut to = stream;
    loop {
        let mut long = 0;
        let mut line = String::new();
        while from.read_line(&mut line).ok()? > 2 {
            let length = line.to_ascii_lowercase();
            let length = length.strip_prefix("content-length:").and_then(|length| length.trim().parse().ok());
            long = length.unwrap_or(long);
            line.clear();
        }
        if long == 0 {
            return None;
        }
        let mut body = vec![0; long];
        from.read_exact(&mut body).ok()?;
        let asked: Value = serde_json::from_slice(&body).ok()?;
        let said = answer(&asked, count).to_string();
        write!(to, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{said}", said.len()).ok()?;
    }
}

fn answer(asked: &Value, count: &AtomicUsize) -> Value {
    let messages = asked["messages"].to_string();
    let number = messages.len();
    let content = if messages.contains("\"it is made\"") {
        json!([{"type": "text", "text": "Built."}])
    } else {
        if !messages.contains("tool_result") {
            count.fetch_add(1, Ordering::SeqCst);
        }
        let id = format!("toolu_{number}");
        json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": LINE, "description": "work"}}])
    };
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0});
    json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "claude-fake-1",
        "content": content, "stop_reason": "end_turn", "usage": usage})
}
