//! Our file below `hooks/`, in the form that Copilot CLI reads. It contains only our entries.
//!
//! Gives text, reads text. Invariant: the registration is derived from the row.

use super::row::ROW;
use crate::host::claude::settings::quoted;
use serde_json::{Map, Value, json};

/// The text of the file that runs this program.
pub fn file(program: &str) -> String {
    file_with(program, str::to_owned)
}

/// The same for an administrator's folder, in which events need Copilot's own names.
pub fn managed(program: &str) -> String {
    file_with(program, |name| match name {
        "UserPromptSubmit" => "userPromptSubmitted".to_owned(),
        "Stop" => "agentStop".to_owned(),
        other => other[..1].to_lowercase() + &other[1..],
    })
}

fn file_with(program: &str, named: fn(&str) -> String) -> String {
    let events = ROW.registered().map(|row| {
        let command = format!("{} {}{}", quoted(program), row.name, ROW.client.option());
        (named(row.name), json!([{"type": "command", "command": command, "timeoutSec": row.timeout}]))
    });
    let all: Map<String, Value> = events.collect();
    let text = serde_json::to_string_pretty(&json!({"version": 1, "hooks": all})).unwrap_or_default();
    text + "\n"
}

/// The line that such a file runs before a call, whether a person's or an administrator's.
pub fn command(text: &str) -> Option<String> {
    let all: Value = serde_json::from_str(text).ok()?;
    let line = |name: &str| all["hooks"][name][0]["command"].as_str();
    Some(line("PreToolUse").or_else(|| line("preToolUse"))?.to_owned())
}

/// The settings switch every hook off.
pub fn switches_off(settings: &str) -> bool {
    serde_json::from_str::<Value>(settings).is_ok_and(|all| all["disableAllHooks"] == true)
}
