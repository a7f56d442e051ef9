//! Finds what keeps Gemini CLI and Qwen Code from running hooks in `settings.json`.
//!
//! Reads a text, writes nothing.

use crate::host::claude::settings::Grammar;
use serde_json::Value;

/// The settings switch every hook off.
pub fn switches_off(text: &str) -> bool {
    let all: Value = serde_json::from_str(&Grammar::Commented.plain(text)).unwrap_or_default();
    all["hooksConfig"]["enabled"] == false
        || all["disableAllHooks"] == true
        || all["tools"]["enableHooks"] == false
}
