//! JSON-RPC over HTTP: one request, one result, with a session where the server wants one.
//!
//! Writes to and reads from sockets through `http`. A session is opened only when a server refuses without, and is
//! opened again when it has expired. Invariant: at most four requests for one method.

use super::Trouble;
use super::http::{Reply, post};
use crate::config::policy::Address;
use crate::text::json::cut;
use serde_json::{Value, json};
use std::time::Instant;

const PROTOCOL: &str = "2025-06-18";

/// How a server wants to be spoken to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Session {
    /// Straight away.
    #[default]
    None,
    /// After `initialize`, with this id if it gave one.
    Open(Option<String>),
}

pub(super) struct Client<'a> {
    server: &'a Address,
    pub(super) session: Session,
    deadline: Instant,
    /// It was opened for this call: another attempt would change nothing.
    fresh: bool,
}

/// What one request came to.
enum Said {
    Result(Value),
    /// No session, or one that has expired.
    Refused(Trouble),
}

impl<'a> Client<'a> {
    pub(super) fn new(server: &'a Address, session: Option<Session>, deadline: Instant) -> Self {
        Self { server, session: session.unwrap_or_default(), deadline, fresh: false }
    }

    /// The result of one method.
    pub(super) fn call(&mut self, method: &str, params: &Value) -> Result<Value, Trouble> {
        match self.ask(method, params)? {
            Said::Result(result) => Ok(result),
            Said::Refused(trouble) if self.fresh => Err(trouble),
            Said::Refused(trouble) => {
                self.open().map_err(|other| if other == Trouble::Late { other } else { trouble })?;
                match self.ask(method, params)? {
                    Said::Result(result) => Ok(result),
                    Said::Refused(trouble) => Err(trouble),
                }
            }
        }
    }

    /// `initialize`, then the note that we are ready.
    fn open(&mut self) -> Result<(), Trouble> {
        (self.session, self.fresh) = (Session::None, true);
        let about = json!({ "name": "aops-hook", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": about });
        let reply = self.post(&request("initialize", &params))?;
        let id = reply.header("mcp-session-id").filter(|id| is_header(id)).map(str::to_owned);
        if let Said::Refused(trouble) = understand(reply)? {
            return Err(trouble);
        }
        self.session = Session::Open(id);
        self.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(())
    }

    fn ask(&self, method: &str, params: &Value) -> Result<Said, Trouble> {
        understand(self.post(&request(method, params))?)
    }

    fn post(&self, message: &Value) -> Result<Reply, Trouble> {
        let mut headers = Vec::new();
        if let Session::Open(id) = &self.session {
            headers.push(("MCP-Protocol-Version", PROTOCOL));
            headers.extend(id.iter().map(|id| ("Mcp-Session-Id", id.as_str())));
        }
        post(self.server, &headers, &message.to_string(), self.deadline)
    }
}

fn request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// Printable: what a server gave goes back as a header and must not end it.
fn is_header(id: &str) -> bool {
    !id.is_empty() && id.len() <= 256 && id.bytes().all(|b| b.is_ascii_graphic())
}

fn understand(reply: Reply) -> Result<Said, Trouble> {
    match reply.status {
        200 => {}
        // With a session these mean that it has expired; without, that one is wanted, or that nothing is there.
        400 | 404 | 405 | 406 | 409 | 422 => {
            let status = reply.status;
            let trouble =
                if status == 404 { Trouble::Missing } else { Trouble::Said(format!("answered with HTTP {status}")) };
            return Ok(Said::Refused(trouble));
        }
        401 | 403 => return Err(Trouble::Said("wants a login, which we do not have".to_owned())),
        300..400 => return Err(Trouble::Said("points to another address, which is not followed".to_owned())),
        status => return Err(Trouble::Said(format!("answered with HTTP {status}"))),
    }
    let kind = reply.header("content-type").unwrap_or_default().to_ascii_lowercase();
    let message = if kind.starts_with("text/event-stream") {
        reply.read_until(event)?.1
    } else {
        let (text, _) = reply.read_until(|_| None::<()>)?;
        serde_json::from_slice(&text).ok().filter(is_answer)
    };
    let message = message.ok_or_else(|| Trouble::Said("sent no MCP answer".to_owned()))?;
    match message.get("error") {
        None => Ok(Said::Result(message["result"].clone())),
        Some(error) => {
            let words = error["message"].as_str().unwrap_or("an error without words");
            Ok(Said::Refused(Trouble::Said(format!("refused: {}", plain(words)))))
        }
    }
}

/// The answer to our request among the events so far; others are passed over.
fn event(stream: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(stream);
    // The last event is not whole before its empty line.
    let whole = &text[..text.rfind("\n\n").or(text.rfind("\r\n\r\n"))?];
    let events = whole.split("\n\n").flat_map(|event| event.split("\r\n\r\n"));
    let parsed = events.filter_map(|event| {
        let data: Vec<&str> = event.lines().filter_map(|line| line.strip_prefix("data:")).collect();
        serde_json::from_str(&data.join("\n")).ok()
    });
    parsed.into_iter().find(is_answer)
}

fn is_answer(message: &Value) -> bool {
    message["id"] == 1 && (message.get("result").is_some() || message.get("error").is_some())
}

/// A server's own words: one short line, without what a terminal would obey, and without secrets.
pub(super) fn plain(words: &str) -> String {
    let words: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    cut(&crate::text::redact::redact(&words), 200).to_owned()
}
