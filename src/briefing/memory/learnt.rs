//! Caches which tools a server offers.
//!
//! Reads and writes `<config>/aops/memory/<hash>.json`, private. Invariants: the file is a cache that may be missing,
//! damaged or out of date; nothing in it can name a tool other than those below.

use super::Trouble;
use super::rpc::{Client, Session};
use crate::config::policy::Address;
use crate::system::env::Env;
use crate::system::files::{self, make_all};
use crate::text::sha256::sha256;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The tools we know how to call, the preferred first.
const RECALL: [&str; 2] = ["retrieve_memory", "memory_search"];
const STORE: [&str; 2] = ["store_memory", "memory_store"];
/// How a tool may call the number of results.
const COUNTS: [&str; 5] = ["n_results", "limit", "max_results", "top_k", "k"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Learnt {
    pub(super) session: Session,
    pub(super) recall: Option<Recall>,
    pub(super) store: Option<Store>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recall {
    pub(super) name: String,
    pub(super) count: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Store {
    pub(super) name: String,
    /// Tags are an argument of their own, not part of `metadata`.
    pub(super) tags_apart: bool,
}

/// Ask the server.
pub(super) fn learn(client: &mut Client) -> Result<Learnt, Trouble> {
    let list = client.call("tools/list", &json!({}))?;
    let tools = list["tools"].as_array().cloned().unwrap_or_default();
    let named = |name: &&str| tools.iter().find(|tool| tool["name"] == **name);
    let find = |names: &[&str]| {
        names.iter().find_map(|name| Some(((*name).to_owned(), named(name)?["inputSchema"]["properties"].clone())))
    };
    Ok(Learnt {
        session: client.session.clone(),
        recall: find(&RECALL).map(|(name, has)| Recall {
            name,
            count: COUNTS.into_iter().find(|n| has.get(n).is_some()).map(str::to_owned),
        }),
        store: find(&STORE).map(|(name, has)| Store { name, tags_apart: has.get("tags").is_some() }),
    })
}

pub(super) fn load(env: &Env, server: &Address) -> Option<Learnt> {
    let bytes = files::find(&path(env, server)).ok()?.bytes?;
    let kept: Value = serde_json::from_slice(&bytes).ok()?;
    let known =
        |value: &Value, names: &[&str]| names.iter().find(|name| value == **name).map(|name| (*name).to_owned());
    let count = known(&kept["recall"]["count"], &COUNTS);
    let session = match &kept["session"] {
        Value::Null => Session::None,
        Value::String(id) => {
            Session::Open(Some(id.clone()).filter(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_graphic())))
        }
        _ => return None,
    };
    (kept["schema"] == 1).then(|| Learnt {
        session,
        recall: known(&kept["recall"]["name"], &RECALL).map(|name| Recall { name, count }),
        store: known(&kept["store"]["name"], &STORE)
            .map(|name| Store { name, tags_apart: kept["store"]["tags_apart"] == true }),
    })
}

/// A failure to keep it costs time at the next call and nothing else.
pub(super) fn save(env: &Env, server: &Address, learnt: &Learnt) {
    let session = match &learnt.session {
        Session::None => Value::Null,
        Session::Open(id) => id.clone().unwrap_or_default().into(),
    };
    let kept = json!({
        "schema": 1,
        "server": server.host,
        "session": session,
        "recall": learnt.recall.as_ref().map(|tool| json!({ "name": tool.name, "count": tool.count })),
        "store": learnt.store.as_ref().map(|tool| json!({ "name": tool.name, "tags_apart": tool.tags_apart })),
    });
    let path = path(env, server);
    let Some(folder) = path.parent() else { return };
    if make_all(folder).is_ok()
        && let Ok(found) = files::find(&path)
    {
        let _ = found.replace(format!("{kept}\n").as_bytes(), 0o600);
    }
}

/// The session may have been opened anew.
pub(super) fn keep_session(env: &Env, server: &Address, known: Option<Learnt>, client: &Client) {
    if let Some(known) = known.filter(|known| known.session != client.session) {
        save(env, server, &Learnt { session: client.session.clone(), ..known });
    }
}

fn path(env: &Env, server: &Address) -> PathBuf {
    let name = sha256(&[server.host.as_bytes(), server.path.as_bytes()]);
    env.config.join("aops/memory").join(format!("{}.json", &name[..16]))
}
