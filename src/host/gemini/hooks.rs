//! Our entries in `settings.json`, as Gemini CLI and Qwen Code read them: as Claude's, with times in milliseconds.
//!
//! Reads text, gives text. Invariant: foreign settings stay as they are; what is registered follows from the table.

use crate::host::claude::settings::{Group, Hook, Unreadable, quoted, register_all};
use crate::host::table;
use crate::model::client::Client;
use serde_json::Value;

/// The text with our entries, which run this program.
pub fn register(client: Client, text: &str, program: &str) -> Result<String, Unreadable> {
    let group = |event: &str| {
        let row = table::registered(client).find(|row| row.name == event)?;
        let hook = Hook {
            r#type: "command",
            command: format!("{} {} {} {}", quoted(program), row.ours, Client::OPTION, client.name()),
            timeout: row.timeout * 1000,
            ..Hook::default()
        };
        Some(Group { hooks: [hook] })
    };
    register_all(text, table::registered(client).map(|row| row.name), &group)
}

/// The settings switch every hook off.
pub fn switches_off(text: &str) -> bool {
    let all: Value = serde_json::from_str(text).unwrap_or_default();
    all["hooksConfig"]["enabled"] == false || all["disableAllHooks"] == true || all["tools"]["enableHooks"] == false
}
