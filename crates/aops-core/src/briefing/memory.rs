//! Asks a memory server that is already running what it remembers, and tells it what to remember.
//!
//! Speaks MCP over plain HTTP with the standard library's sockets: one POST if the server allows that,
//! otherwise `initialize` first. Reads the settings that contain the user's answer about a project's servers.
//! Invariants: no name is ever looked up; a project's file can name only loopback addresses, and does not
//! approve itself; no redirect is followed; every step ends by the deadline; an answer is bounded before it
//! is stored, and redacted before it leaves this module.

mod http;
mod rpc;
mod answer;

use crate::config::policy::Address;
use crate::system::env::Env;
use crate::system::files;
use crate::system::wire::Encrypt;
use rpc::{Client, Learnt};
use serde_json::{Value, json};
use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Instant;

const MOST: usize = 8;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The deadline passed.
    Late,
    /// No server listens there, or it does not have such a tool.
    Missing,
    /// Any other trouble, as text for a person.
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

/// One POST of JSON to any address. Returns the status and the answer's body.
pub fn post(
    server: &Address,
    tls: Option<&dyn Encrypt>,
    headers: &[(&str, &str)],
    body: &str,
    deadline: Instant,
) -> Result<(u16, Vec<u8>), Trouble> {
    whole(http::ask(server, tls, headers, Some(body), deadline)?)
}

/// One GET. Returns the status and the answer's body.
pub fn get(
    server: &Address,
    tls: Option<&dyn Encrypt>,
    deadline: Instant,
) -> Result<(u16, Vec<u8>), Trouble> {
    whole(http::ask(server, tls, &[], None, deadline)?)
}

fn whole(reply: http::Reply) -> Result<(u16, Vec<u8>), Trouble> {
    let status = reply.status;
    let (body, _) = reply.read_until(|_| None::<()>)?;
    Ok((status, body))
}

/// What the server remembers about this, the best first.
pub fn recall(env: &Env, server: &Address, query: &str, deadline: Instant) -> Result<Vec<String>, Trouble> {
    // Servers log the questions that they get.
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

pub fn store(
    env: &Env,
    server: &Address,
    text: &str,
    tags: &[&str],
    deadline: Instant,
) -> Result<(), Trouble> {
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

/// One call of a tool. What we learnt about the server may be outdated: then we learn it again, once.
fn call(
    env: &Env,
    server: &Address,
    deadline: Instant,
    choose: impl Fn(&Learnt) -> Option<(String, Value)>,
) -> Result<Value, Trouble> {
    let known = rpc::load(env, server);
    let mut client = Client::new(server, known.as_ref().and_then(|known| known.session.clone()), deadline);
    if let Some((tool, arguments)) = known.as_ref().and_then(&choose) {
        let result = client.call("tools/call", &json!({ "name": tool, "arguments": arguments }));
        match result {
            Ok(result) if !answer::is_unknown_tool(&result) => {
                rpc::keep_session(env, known, &client);
                return Ok(result);
            }
            Ok(_) | Err(Trouble::Said(_)) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    let learnt = rpc::learn(env, &mut client)?;
    let (tool, arguments) = choose(&learnt).ok_or(Trouble::Missing)?;
    client.call("tools/call", &json!({ "name": tool, "arguments": arguments }))
}

const LARGEST: u64 = 16 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub name: String,
    pub address: Address,
}

/// The servers in this text: those on loopback HTTP whose name suggests a memory.
pub fn of_project(mcp_json: &str) -> Vec<Named> {
    let Ok(file) = serde_json::from_str::<Value>(mcp_json) else { return Vec::new() };
    let entries = file["mcpServers"].as_object().into_iter().flatten();
    let named = entries.filter(|(name, _)| name.to_ascii_lowercase().contains("memory"));
    let http = named.filter(|(_, entry)| matches!(entry["type"].as_str(), Some("http" | "streamable-http")));
    let found = http.filter_map(|(name, entry)| {
        Some(Named { name: name.clone(), address: Address::read(entry["url"].as_str()?).ok()? })
    });
    found.filter(|named| named.address.is_loopback()).collect()
}

/// Whether the user allowed the client to use this server of the project.
pub fn is_approved(env: &Env, project: &Path, name: &str) -> bool {
    let own = [
        read(&env.config.join("settings.json")),
        read(&project.join(".claude/settings.local.json")),
        read_project_state(env, project),
    ];
    let lists = |settings: &Value, key: &str| {
        settings[key].as_array().is_some_and(|names| names.iter().any(|listed| *listed == name))
    };
    let shared = read(&project.join(".claude/settings.json"));
    if own.iter().chain([&shared]).any(|settings| lists(settings, "disabledMcpjsonServers")) {
        return false;
    }
    own.iter().any(|settings| {
        settings["enableAllProjectMcpServers"] == true || lists(settings, "enabledMcpjsonServers")
    })
}

/// What the client itself remembers about this project.
fn read_project_state(env: &Env, project: &Path) -> Value {
    let beside = env.config == env.home.join(".claude");
    let file = if beside { env.home.join(".claude.json") } else { env.config.join(".claude.json") };
    let known = read(&file);
    known
        .get("projects")
        .and_then(|all| all.get(project.to_string_lossy().as_ref()))
        .cloned()
        .unwrap_or_default()
}

fn read(path: &Path) -> Value {
    let small = fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
    let text = small.then(|| files::read(path).ok()).flatten();
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_names_loopback_only() {
        let file = r#"{"mcpServers": {
            "memory": {"type": "http", "url": "http://127.0.0.1:8765/mcp"},
            "Team-Memory": {"type": "http", "url": "http://10.0.0.1:8765/mcp"},
            "memory-names": {"type": "http", "url": "http://memory.local:8765/mcp"},
            "memory-stdio": {"command": "memory", "args": []},
            "other": {"type": "http", "url": "http://127.0.0.1:9999/mcp"}
        }}"#;
        let address = Address::read("http://127.0.0.1:8765/mcp").unwrap();
        assert_eq!(of_project(file), [Named { name: "memory".to_owned(), address }]);
        for odd in ["", "[]", "{\"mcpServers\": []}", "{\"mcpServers\": {\"memory\": 3}}"] {
            assert_eq!(of_project(odd), []);
        }
    }

    #[test]
    fn only_the_user_approves() {
        let world = tempfile::tempdir().unwrap();
        let home = world.path().join("home");
        let project = world.path().join("project");
        for folder in [home.join(".claude"), project.join(".claude")] {
            fs::create_dir_all(folder).unwrap();
        }
        let env = Env { config: home.join(".claude"), home: home.clone(), ..Env::default() };
        let user = home.join(".claude/settings.json");
        let local = project.join(".claude/settings.local.json");
        let shared = project.join(".claude/settings.json");
        let kept = home.join(".claude.json");
        let put = |file: &Path, says: &Value| fs::write(file, says.to_string()).unwrap();
        let asked = || is_approved(&env, &project, "memory");
        let all = json!({"enableAllProjectMcpServers": true});
        let one = json!({"enabledMcpjsonServers": ["memory"]});
        assert!(!asked(), "no answer of the user is recorded");
        put(&shared, &all);
        assert!(!asked(), "a repository does not approve itself");
        for file in [&user, &local] {
            for says in [&all, &one] {
                put(file, says);
                assert!(asked(), "{says} in {}", file.display());
            }
            put(file, &json!({"enabledMcpjsonServers": ["other"], "enableAllProjectMcpServers": "yes"}));
            assert!(!asked());
        }
        put(&kept, &json!({"projects": {project.to_str().unwrap(): one}}));
        assert!(asked(), "as the client remembers it");
        put(&shared, &json!({"disabledMcpjsonServers": ["memory"]}));
        assert!(!asked(), "a denial anywhere counts");
    }
}
