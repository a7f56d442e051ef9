//! Extracts memories from a tool's result, in the forms that servers use.
//!
//! Reads nothing, writes nothing. A result is JSON with a list of memories, or a numbered text, or some other
//! text. Invariant: whatever the result, only a limited number of memories of limited size, redacted.

use super::rpc::plain;
use crate::text::json::cut;
use crate::text::plain::on_a_line;
use crate::text::redact::redact;
use serde_json::Value;

const LONGEST: usize = 2_000;
const LISTS: [&str; 4] = ["memories", "results", "items", "matches"];
/// Labels of lines about a memory in a numbered text.
const ABOUT: [&str; 8] =
    ["Relevance Score", "Score", "Similarity", "Hash", "Created", "Tags", "Timestamp", "Type"];
const TEXTS: [&str; 4] = ["content", "text", "memory", "document"];

/// The memories, or the server's refusal.
pub(super) fn memories(result: &Value, most: usize) -> Result<Vec<String>, String> {
    if let Some(words) = refusal(result) {
        return Err(words);
    }
    let text = text(result);
    let parsed = result.get("structuredContent").cloned().or_else(|| serde_json::from_str(&text).ok());
    let found = parsed.as_ref().and_then(read_list).unwrap_or_else(|| read_numbered(&text));
    Ok(found.into_iter().filter(|memory| !memory.is_empty()).take(most).collect())
}

pub(super) fn refusal(result: &Value) -> Option<String> {
    let text = text(result);
    let parsed: Option<Value> = serde_json::from_str(&text).ok();
    let inside = parsed.as_ref().and_then(|value| value["error"].as_str());
    let refused = result["isError"] == true || inside.is_some();
    refused.then(|| format!("refused: {}", plain(inside.unwrap_or(&text))))
}

/// Some servers say this in a text instead of an error.
pub(super) fn is_unknown_tool(result: &Value) -> bool {
    refusal(result).is_some_and(|words| words.to_ascii_lowercase().contains("unknown tool"))
}

fn text(result: &Value) -> String {
    let parts = result["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> =
        parts.filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n")
}

/// `{"memories": [{"content": …, "similarity_score": …}]}`; the memory may be one level deeper.
fn read_list(value: &Value) -> Option<Vec<String>> {
    let value = value.get("result").unwrap_or(value);
    let list = value.as_array().or_else(|| LISTS.iter().find_map(|name| value[name].as_array()))?;
    let one = |item: &Value| {
        let text =
            TEXTS.iter().find_map(|name| item[name].as_str().or_else(|| item[name]["content"].as_str()));
        text.or(item.as_str()).map(clean)
    };
    Some(list.iter().filter_map(one).collect())
}

/// `1. text`, `Memory 1:` and the like; each memory continues to the next number, without the lines about
/// itself.
fn read_numbered(text: &str) -> Vec<String> {
    let mut found: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        if let Some(first) = begins(line) {
            found.push(vec![first]);
            continue;
        }
        // Text above the first number describes the list.
        let Some(lines) = found.last_mut() else { continue };
        match line.trim().split_once(": ") {
            Some(("Content", value)) => lines.push(value),
            Some((name, _)) if ABOUT.contains(&name) => {}
            _ => lines.push(line.trim()),
        }
    }
    if found.is_empty() && !text.to_ascii_lowercase().starts_with("no ") {
        found.push(text.lines().collect());
    }
    found.into_iter().map(|lines| clean(lines.join("\n").trim().trim_matches('-').trim())).collect()
}

/// The text after the number on a memory's first line.
fn begins(line: &str) -> Option<&str> {
    let after = |rest: &'_ str| rest.find(|c: char| !c.is_ascii_digit()).filter(|long| (1..4).contains(long));
    if let Some(rest) = line.strip_prefix("Memory ") {
        return rest[after(rest)?..].strip_prefix(':').map(str::trim);
    }
    line[after(line)?..].strip_prefix(". ")
}

fn clean(text: &str) -> String {
    let clean = redact(text);
    cut(&clean, LONGEST).chars().map(|c| if c == '\n' { c } else { on_a_line(c) }).collect()
}
