//! JSON-RPC over HTTP, and what we have learnt about each server: whether it requires a session, and which
//! tools it offers.
//!
//! Reads and writes `<config>/aops/memory/<hash>.json`, private. A session is opened only when a server
//! refuses calls without one, and again when it has expired. Invariants: at most four requests for one
//! method; the file is a cache that may be missing, damaged or outdated, and nothing in it can name any tool
//! but those below.

use super::Trouble;
use super::http::{Reply, ask};
use crate::config::policy::Address;
use crate::system::env::Env;
use crate::system::files::{self, make_all};
use crate::text::json::cut;
use crate::text::plain::on_a_line;
use crate::text::sha256::sha256;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;

const PROTOCOL: &str = "2025-06-18";

pub(super) struct Client<'a> {
    server: &'a Address,
    /// The session's ID from `initialize`, empty if the server gave none; `None` if the server accepts calls
    /// without a session.
    session: Option<String>,
    deadline: Instant,
    /// It was opened for this very call, so another attempt would change nothing.
    fresh: bool,
}

/// The result of one request, or why the server refused it: a missing or an expired session.
type Response = Result<Value, Trouble>;

impl<'a> Client<'a> {
    pub(super) fn new(server: &'a Address, session: Option<String>, deadline: Instant) -> Self {
        Self { server, session, deadline, fresh: false }
    }

    pub(super) fn call(&mut self, method: &str, params: &Value) -> Result<Value, Trouble> {
        let trouble = match self.ask(method, params)? {
            Err(trouble) if !self.fresh => trouble,
            said => return said,
        };
        self.open().map_err(|other| if other == Trouble::Late { other } else { trouble })?;
        self.ask(method, params)?
    }

    /// Sends `initialize`, then the notification that we are ready.
    fn open(&mut self) -> Result<(), Trouble> {
        self.session = None;
        self.fresh = true;
        let about = json!({ "name": "aops-hook", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": about });
        let reply = self.post(&request("initialize", &params))?;
        let id = reply
            .header("mcp-session-id")
            .filter(|id| id.len() <= 256 && is_printable(id))
            .unwrap_or_default();
        let id = id.to_owned();
        understand(reply)??;
        self.session = Some(id);
        self.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(())
    }

    fn ask(&self, method: &str, params: &Value) -> Result<Response, Trouble> {
        understand(self.post(&request(method, params))?)
    }

    fn post(&self, message: &Value) -> Result<Reply, Trouble> {
        let mut headers = Vec::new();
        if let Some(id) = &self.session {
            headers.push(("MCP-Protocol-Version", PROTOCOL));
            headers.extend(Some(("Mcp-Session-Id", id.as_str())).filter(|_| !id.is_empty()));
        }
        ask(self.server, None, &headers, Some(&message.to_string()), self.deadline)
    }
}

fn request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// Only printable characters: the ID is sent back in a header and must not break out of it.
fn is_printable(id: &str) -> bool {
    id.bytes().all(|b| b.is_ascii_graphic())
}

fn understand(reply: Reply) -> Result<Response, Trouble> {
    match reply.status {
        200 => {}
        // With a session, these mean that it has expired; without one, that a session is required or that
        // nothing is there.
        400 | 404 | 405 | 406 | 409 | 422 => {
            let status = reply.status;
            let trouble = if status == 404 {
                Trouble::Missing
            } else {
                Trouble::Said(format!("answered with HTTP {status}"))
            };
            return Ok(Err(trouble));
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
        None => Ok(Ok(message["result"].clone())),
        Some(error) => {
            let words = error["message"].as_str().unwrap_or("an error without words");
            Ok(Err(Trouble::Said(format!("refused: {}", plain(words)))))
        }
    }
}

/// The answer to our request among the events so far; other events are skipped.
fn event(stream: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(stream);
    // An event is complete only when its empty line has arrived.
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

/// A server's own words: one short line, without control characters and secrets.
pub(super) fn plain(words: &str) -> String {
    let words: String = words.chars().map(on_a_line).collect();
    cut(&crate::text::redact::redact(&words), 200).to_owned()
}

/// The tools that we know how to call, the preferred one first.
const RECALL: [&str; 2] = ["retrieve_memory", "memory_search"];
const STORE: [&str; 2] = ["store_memory", "memory_store"];
/// Argument names that tools use for the number of results.
const COUNTS: [&str; 5] = ["n_results", "limit", "max_results", "top_k", "k"];

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Learnt {
    pub(super) recall: Option<RecallTool>,
    schema: u32,
    server: String,
    pub(super) session: Option<String>,
    pub(super) store: Option<StoreTool>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RecallTool {
    pub(super) count: Option<String>,
    pub(super) name: String,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct StoreTool {
    pub(super) name: String,
    /// Tags are a separate argument, not part of `metadata`.
    pub(super) tags_apart: bool,
}

pub(super) fn learn(env: &Env, client: &mut Client) -> Result<Learnt, Trouble> {
    let list = client.call("tools/list", &json!({}))?;
    let tools = list["tools"].as_array().cloned().unwrap_or_default();
    let named = |name: &&str| tools.iter().find(|tool| tool["name"] == **name);
    let find = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| Some(((*name).to_owned(), named(name)?["inputSchema"]["properties"].clone())))
    };
    let learnt = Learnt {
        recall: find(&RECALL).map(|(name, has)| RecallTool {
            count: COUNTS.into_iter().find(|n| has.get(n).is_some()).map(str::to_owned),
            name,
        }),
        schema: 1,
        server: client.server.host.clone(),
        session: client.session.clone(),
        store: find(&STORE).map(|(name, has)| StoreTool { name, tags_apart: has.get("tags").is_some() }),
    };
    save(env, client.server, &learnt);
    Ok(learnt)
}

pub(super) fn load(env: &Env, server: &Address) -> Option<Learnt> {
    let bytes = files::find(&path(env, server)).ok()?.bytes?;
    let kept: Learnt = serde_json::from_slice(&bytes).ok()?;
    let known = |name: &String, names: &[&str]| names.contains(&name.as_str());
    let recall = |tool: &RecallTool| {
        known(&tool.name, &RECALL) && tool.count.as_ref().is_none_or(|name| known(name, &COUNTS))
    };
    let sound = kept.schema == 1
        && kept.session.as_deref().is_none_or(is_printable)
        && kept.recall.as_ref().is_none_or(recall)
        && kept.store.as_ref().is_none_or(|tool| known(&tool.name, &STORE));
    sound.then_some(kept)
}

/// If saving fails, the next call merely takes longer.
fn save(env: &Env, server: &Address, learnt: &Learnt) {
    let path = path(env, server);
    let (Some(folder), Ok(kept)) = (path.parent(), serde_json::to_string(learnt)) else { return };
    if make_all(folder).is_ok()
        && let Ok(found) = files::find(&path)
    {
        let _ = found.replace(format!("{kept}\n").as_bytes(), 0o600);
    }
}

/// Saves the session if it was opened again.
pub(super) fn keep_session(env: &Env, known: Option<Learnt>, client: &Client) {
    if let Some(known) = known.filter(|known| known.session != client.session) {
        save(env, client.server, &Learnt { session: client.session.clone(), ..known });
    }
}

fn path(env: &Env, server: &Address) -> PathBuf {
    let name = sha256(&[server.host.as_bytes(), server.path.as_bytes()]);
    env.config.join("aops/memory").join(format!("{}.json", &name[..16]))
}
