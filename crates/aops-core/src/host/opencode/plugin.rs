//! The plugin in OpenCode's folder: one file, with nothing but our code.
//!
//! Gives text, reads text. Invariant: it differs between machines only in the path of our program.

use super::row::ROW;
use crate::host::claude::settings::quoted;
use crate::text::json;
use serde_json::Value;

const TEXT: &str = include_str!("plugin.js");
/// The name of an administrator's copy, in our own folder.
pub const MANAGED: &str = "opencode.js";
const PROGRAM: &str = "\"@PROGRAM@\"";

/// The text of the plugin that starts this program.
pub fn file(program: &str) -> String {
    TEXT.replacen(PROGRAM, &json::quoted(program), 1)
}

/// The line with which such a plugin asks about a call.
pub fn command(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("const PROGRAM = "))?;
    let program: String = serde_json::from_str(line.trim_end_matches(';')).ok()?;
    Some(format!("{} PreToolUse{}", quoted(&program), ROW.client.option()))
}

/// An administrator's settings that list only the plugin at this address.
pub fn list(address: &str) -> String {
    format!("{{\n  \"plugin\": [\n    \"{address}\"\n  ]\n}}\n")
}

/// These settings list the plugin at this address.
pub fn lists(text: &str, address: &str) -> bool {
    let known: Value = serde_json::from_str(text).unwrap_or_default();
    known["plugin"].as_array().is_some_and(|list| list.iter().any(|one| one == address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_again() {
        let text = file("/a b/aops-hook");
        assert!(text.contains("const PROGRAM = \"/a b/aops-hook\";"));
        assert_eq!(command(&text).as_deref(), Some("'/a b/aops-hook' PreToolUse --client opencode"));
    }
}
