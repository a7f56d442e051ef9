//! Our file below `hooks/`, as Copilot CLI reads it: it is ours alone.
//!
//! Gives text, reads text. Invariant: what is registered follows from the table.

use crate::host::claude::settings::quoted;
use crate::host::table;
use crate::model::client::Client;
use serde_json::{Map, Value, json};

/// The text of the file that runs this program.
pub fn file(program: &str) -> String {
    let events = table::registered(Client::Copilot).map(|row| {
        let command = format!("{} {} {} {}", quoted(program), row.name, Client::OPTION, Client::Copilot.name());
        (row.name.to_owned(), json!([{"type": "command", "command": command, "timeoutSec": row.timeout}]))
    });
    let all: Map<String, Value> = events.collect();
    let text = serde_json::to_string_pretty(&json!({"version": 1, "hooks": all})).unwrap_or_default();
    text + "\n"
}

/// The line that such a file runs before a call.
pub fn command(text: &str) -> Option<String> {
    let all: Value = serde_json::from_str(text).ok()?;
    Some(all["hooks"]["PreToolUse"][0]["command"].as_str()?.to_owned())
}

/// The settings switch every hook off.
pub fn switches_off(settings: &str) -> bool {
    serde_json::from_str::<Value>(settings).is_ok_and(|all| all["disableAllHooks"] == true)
}
