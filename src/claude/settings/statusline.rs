//! The client's status line in a settings text: adds ours on request, removes it, and says whose it is.
//!
//! Reads text, gives text. Invariant: a foreign status line is never touched.

use super::span::{self, member, parts};
use super::{PROGRAM, Unreadable, check, style, survey};
use serde::Serialize;
use serde_json::Value;

const KEY: &str = "statusLine";

#[derive(Debug, Serialize)]
struct Shown {
    r#type: &'static str,
    command: String,
}

/// The status line of a settings text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusLine {
    None,
    Ours,
    /// Runs this other command.
    Foreign(String),
}

pub fn status_line(text: &str) -> StatusLine {
    let Some(part) = check(text).ok().and_then(|root| member(text, &root, KEY)) else {
        return StatusLine::None;
    };
    let value: Value = serde_json::from_str(&text[part.value]).unwrap_or_default();
    match value.get("command").and_then(Value::as_str) {
        Some(line) if is_ours(line) => StatusLine::Ours,
        line => StatusLine::Foreign(line.map_or_else(|| value.to_string(), str::to_owned)),
    }
}

/// The text with our status line, which runs this program.
pub fn with_status_line(text: &str, command: &str) -> Result<String, Unreadable> {
    let root = check(text)?;
    let shown = Shown { r#type: "command", command: format!("{} statusline", quoted(command)) };
    Ok(match member(text, &root, KEY) {
        None => style::append(text, &root, &root, Some(KEY), &shown),
        Some(part) => {
            let there: Option<Value> = serde_json::from_str(&text[part.value.clone()]).ok();
            if there == serde_json::to_value(&shown).ok() {
                return Ok(text.to_owned());
            }
            style::replace(text, &root, &part.value, &shown)
        }
    })
}

/// The text without our status line.
pub(super) fn without(text: &str) -> String {
    if status_line(text) != StatusLine::Ours {
        return text.to_owned();
    }
    let root = span::document(text);
    let top = parts(text, &root);
    match top.iter().rposition(|part| part.name == KEY) {
        Some(n) => style::without(text, &root, &top, n),
        None => text.to_owned(),
    }
}

/// A shell line that runs our program for its status line.
fn is_ours(line: &str) -> bool {
    let program = survey::program(line, false);
    let rest = line.rsplit_once(program).map_or("", |(_, rest)| rest);
    program.rsplit('/').next() == Some(PROGRAM)
        && rest.trim_start_matches(['\'', '"']).split_whitespace().next() == Some("statusline")
}

/// A path as a word of a shell line.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}
