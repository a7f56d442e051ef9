//! Reads a tool's input: the few fields that matter, or every string in it.

use crate::command_line::Word;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// The fields of built-in tools that name files or commands.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Fields<'a> {
    #[serde(borrow, default)]
    pub(super) file_path: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) notebook_path: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) path: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) command: Option<Cow<'a, str>>,
}

/// Keys under which a string is a command line.
const COMMANDS: [&str; 8] =
    ["command", "cmd", "commandline", "command_line", "script", "code", "shell", "line"];

/// A string of the input.
pub(super) struct Text {
    pub(super) value: String,
    /// Its key says it is a command line.
    pub(super) is_command: bool,
}

/// Every string at any depth; `None` if the text is beyond the parser (too deep, lone surrogates).
pub(super) fn strings(input: &str) -> Option<Vec<Text>> {
    let root: Value = serde_json::from_str(input).ok()?;
    let mut waiting = vec![(root, false)];
    let mut all = Vec::new();
    while let Some((value, is_command)) = waiting.pop() {
        match value {
            Value::String(value) => all.push(Text { value, is_command }),
            Value::Array(items) => waiting.extend(items.into_iter().map(|item| (item, is_command))),
            Value::Object(fields) => {
                for (key, value) in fields {
                    let is_command = COMMANDS.contains(&key.to_ascii_lowercase().as_str());
                    waiting.push((value, is_command));
                    all.push(Text { value: key, is_command: false });
                }
            }
            _ => {}
        }
    }
    Some(all)
}

/// Every string literal in text that is nearly JSON, read leniently.
pub(super) fn literals(input: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut chars = input.chars();
    while chars.any(|c| c == '"') {
        let mut text = String::new();
        while let Some(c) = chars.next() {
            match c {
                '"' => break,
                '\\' => match chars.next() {
                    Some('u') => {
                        let code: String = chars.by_ref().take(4).collect();
                        let value = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
                        text.push(value.unwrap_or('\u{fffd}'));
                    }
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(other) => text.push(other),
                    None => {}
                },
                _ => text.push(c),
            }
        }
        all.push(text);
    }
    all
}

/// A string as a path: a `file:` address without its scheme, `~` filled in.
pub(super) fn path(text: &str, home: &str) -> Word {
    let text = text.trim();
    let text = text.strip_prefix("file://").unwrap_or(text);
    match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => Word::of(&format!("{home}{rest}")),
        _ => Word::of(text),
    }
}
