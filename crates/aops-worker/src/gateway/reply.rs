//! What the gateway answers, and how it is written.
//!
//! Writes one answer to a stream. Invariant: every answer forbids a browser to load or frame anything from
//! elsewhere, and to keep it.

use crate::client::Answer;
use serde_json::{Value, json};
use std::io::{self, Write};

/// A status and its body.
pub(super) type Said = (u16, Value);

/// Sent with every answer.
const HEADERS: &str = "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; \
    require-trusted-types-for 'script'\r\n\
    x-content-type-options: nosniff\r\nreferrer-policy: no-referrer\r\n\
    cross-origin-resource-policy: same-origin\r\ncross-origin-opener-policy: same-origin\r\n\
    cache-control: no-store\r\nconnection: close\r\n";

#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    pub(super) body: String,
}

impl Reply {
    pub(super) fn file(kind: &'static str, body: &str) -> Self {
        Self { status: 200, kind, body: body.to_owned() }
    }

    pub(super) fn write(&self, mut to: impl Write) -> io::Result<()> {
        let Self { status, kind, body } = self;
        let word = if *status < 400 { "OK" } else { "Refused" };
        let long = body.len();
        write!(
            to,
            "HTTP/1.1 {status} {word}\r\ncontent-type: {kind}\r\ncontent-length: {long}\r\n{HEADERS}\r\n{body}"
        )
    }
}

impl From<Said> for Reply {
    fn from((status, said): Said) -> Self {
        match said {
            Value::String(body) => Self { status, kind: "text/plain; version=0.0.4; charset=utf-8", body },
            said => Self { status, kind: "application/json", body: said.to_string() },
        }
    }
}

/// The head of an answer that goes on.
pub(super) fn begin_events(mut to: impl Write) -> io::Result<()> {
    write!(to, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-accel-buffering: no\r\n{HEADERS}\r\n")
}

pub(super) fn problem(status: u16, words: &str) -> Said {
    (status, json!({"message": words}))
}

/// What the engine answered.
pub(super) fn passed(said: io::Result<Answer>) -> Said {
    match said {
        Ok(Answer { status, json: Value::Null, text }) if !text.is_empty() => {
            (status, json!({"message": text}))
        }
        Ok(Answer { status, json, .. }) => (status, json),
        Err(error) => problem(503, &format!("the engine does not answer: {error}")),
    }
}

pub(super) fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
