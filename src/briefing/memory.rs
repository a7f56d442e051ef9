//! Asks a memory server that is already running what it remembers, and tells it what to remember.
//!
//! Speaks MCP over plain HTTP with the standard library's sockets: one POST where the server allows that, else
//! `initialize` first. Keeps what it learnt of a server in `<config>/aops/memory/`. Invariants: no name is ever looked
//! up; a project's file can name loopback only; no redirect is followed; every step ends by the deadline, whatever the
//! server does; an answer is bounded before it is kept, and redacted before it leaves here.

mod body;
mod http;
mod rpc;
mod answer;
mod learnt;
mod server;

pub use server::{Named, is_approved, of_project};

use crate::config::policy::Address;
use crate::system::env::Env;
use learnt::Learnt;
use rpc::Client;
use serde_json::{Value, json};
use std::fmt;
use std::time::Instant;

/// Memories asked for.
const MOST: usize = 8;

/// Something the server remembers.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    pub text: String,
    /// As the server gives it; servers differ in what it means.
    pub score: Option<f64>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The deadline came first.
    Late,
    /// No server listens there, or it has no such tool.
    Missing,
    /// Something else, in words for a person.
    Said(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Trouble::Late => f.write_str("did not answer in time"),
            Trouble::Missing => f.write_str("is not there"),
            Trouble::Said(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for Trouble {}

/// One POST of JSON to any address: the status, and the answer's body.
pub fn post(server: &Address, body: &str, deadline: Instant) -> Result<(u16, Vec<u8>), Trouble> {
    let reply = http::post(server, &[], body, deadline)?;
    let status = reply.status;
    let (body, _) = reply.read_until(|_| None::<()>)?;
    Ok((status, body))
}

/// What the server remembers about this, the best first.
pub fn recall(env: &Env, server: &Address, query: &str, deadline: Instant) -> Result<Vec<Memory>, Trouble> {
    // Servers log what they are asked.
    let query = crate::text::redact::redact(query);
    let query = crate::text::json::cut(&query, 4_000);
    let result = call(env, server, deadline, |learnt| {
        let tool = learnt.recall.as_ref()?;
        let mut arguments = json!({ "query": query });
        if let Some(name) = &tool.count {
            arguments[name.as_str()] = MOST.into();
        }
        Some((tool.name.clone(), arguments))
    })?;
    answer::memories(&result, MOST).map_err(Trouble::Said)
}

/// Stores a text on the server.
pub fn store(env: &Env, server: &Address, text: &str, tags: &[&str], deadline: Instant) -> Result<(), Trouble> {
    let clean = crate::text::redact::redact(text);
    let result = call(env, server, deadline, |learnt| {
        let tool = learnt.store.as_ref()?;
        let mut arguments = json!({ "content": clean });
        if tool.tags_apart {
            arguments["tags"] = json!(tags);
        } else {
            arguments["metadata"] = json!({ "tags": tags, "type": "note" });
        }
        Some((tool.name.clone(), arguments))
    })?;
    answer::refusal(&result).map_or(Ok(()), |words| Err(Trouble::Said(words)))
}

/// One call of a tool. What was learnt may be out of date: then we learn again, once.
fn call(
    env: &Env,
    server: &Address,
    deadline: Instant,
    choose: impl Fn(&Learnt) -> Option<(String, Value)>,
) -> Result<Value, Trouble> {
    let known = learnt::load(env, server);
    let mut client = Client::new(server, known.as_ref().map(|known| known.session.clone()), deadline);
    if let Some((tool, arguments)) = known.as_ref().and_then(&choose) {
        let result = client.call("tools/call", &json!({ "name": tool, "arguments": arguments }));
        match result {
            Ok(result) if !answer::is_unknown_tool(&result) => {
                learnt::keep_session(env, server, known, &client);
                return Ok(result);
            }
            Ok(_) | Err(Trouble::Said(_)) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    let learnt = learnt::learn(&mut client)?;
    learnt::save(env, server, &learnt);
    let (tool, arguments) = choose(&learnt).ok_or(Trouble::Missing)?;
    client.call("tools/call", &json!({ "name": tool, "arguments": arguments }))
}
