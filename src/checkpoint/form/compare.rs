//! The differences between two checkpoints apart from their files: loop, agents, gates, time.
//!
//! Pure. One item per value that differs, named by its path.

use super::Checkpoint;
use crate::text::time;
use serde_json::Value;

/// One value that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// `orchestrator.sandbox`, `agents.critic.status`.
    pub at: String,
    pub old: Value,
    pub new: Value,
}

/// All differences in order of their paths. [`delta`](crate::checkpoint::tree::delta) compares the files.
pub fn compare(old: &Checkpoint, new: &Checkpoint) -> Vec<Difference> {
    let mut found = Vec::new();
    let parts = |one: &Checkpoint| {
        [
            ("agents", serde_json::to_value(&one.agents)),
            ("governance", serde_json::to_value(&one.governance)),
            ("orchestrator", serde_json::to_value(&one.orchestrator)),
            ("phase", serde_json::to_value(one.phase)),
            ("type", serde_json::to_value(one.kind)),
            ("version", serde_json::to_value(one.version)),
        ]
        .map(|(name, value)| (name, value.unwrap_or_default()))
    };
    for ((name, old), (_, new)) in parts(old).into_iter().zip(parts(new)) {
        walk(name.to_owned(), &old, &new, &mut found);
    }
    found
}

fn walk(at: String, old: &Value, new: &Value, found: &mut Vec<Difference>) {
    match (old, new) {
        (old, new) if old == new => {}
        (Value::Object(a), Value::Object(b)) => {
            let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let of = |map: &serde_json::Map<String, Value>| map.get(name).cloned().unwrap_or_default();
                walk(format!("{at}.{name}"), &of(a), &of(b), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if named(a) && named(b) => {
            let map = |list: &[Value]| {
                let name = |one: &Value| one["name"].as_str().unwrap_or_default().to_owned();
                Value::Object(list.iter().map(|one| (name(one), one.clone())).collect())
            };
            walk(at, &map(a), &map(b), found);
        }
        _ => found.push(Difference { at, old: old.clone(), new: new.clone() }),
    }
}

/// A list of named objects is compared by name.
fn named(list: &[Value]) -> bool {
    list.iter().all(|one| one["name"].is_string())
}

/// Milliseconds from one to the other.
pub fn between(old: &Checkpoint, new: &Checkpoint) -> i64 {
    let at = |one: &Checkpoint| time::parse(&one.timing.created_at).unwrap_or_default();
    at(new) - at(old)
}

/// Tokens of all agents.
pub fn tokens(one: &Checkpoint) -> u64 {
    one.agents.iter().map(|agent| agent.tokens).sum()
}
