//! What is kept of a tool's result: its digest, its size, its first and last lines.
//!
//! Reads nothing but its arguments. Invariants: the digest is that of the bytes that the client sent, so no
//! copy is needed; lines are redacted before they are cut; a result that is too long, or not a string, has no
//! lines.

use crate::model::call::ToolResult;
use crate::model::event::EventKind;
use crate::text::json::{self, Json, cut};
use crate::text::redact::redact;
use crate::text::sha256::sha256;
use std::borrow::Cow;

/// How many bytes of each end are kept, and the longest text that is examined.
const END: usize = 240;
const LONGEST: usize = 512 << 10;

/// The result in the event `document`, which was parsed as `json`.
pub fn of(kind: EventKind, document: &str, json: &Json) -> Option<ToolResult> {
    let name = match kind {
        EventKind::PostToolUse => "tool_response",
        EventKind::PostToolUseFailure => "error",
        _ => return None,
    };
    let whole = json::member(document, name)?;
    let text = if whole.len() <= LONGEST { said(json.get(name)?) } else { Cow::Borrowed("") };
    Some(kept(whole, &text))
}

/// The same for another client's result and its text.
pub fn kept(whole: &str, text: &str) -> ToolResult {
    let text = if whole.len() <= LONGEST { text } else { "" };
    let text = redact(text.trim_matches(['\n', '\r', ' ']));
    let (head, tail) = ends(&text);
    ToolResult {
        bytes: whole.len() as u64,
        head: head.to_owned(),
        sha256: sha256(&[whole.as_bytes()]),
        tail: tail.to_owned(),
    }
}

/// What a tool printed or found, if it is text.
pub(super) fn said<'a>(result: &Json<'a>) -> Cow<'a, str> {
    match result {
        Json::Text(_) => result.text().unwrap_or_default(),
        Json::List(blocks) => join(blocks.iter().filter_map(|block| block.get("text")?.text())),
        Json::Object(_) => {
            let printed = ["stdout", "stderr"].into_iter().filter_map(|name| result.get(name)?.text());
            let printed = join(printed.filter(|text| !text.is_empty()));
            if !printed.is_empty() {
                return printed;
            }
            let file = result.get("file").and_then(|file| file.get("content"));
            let found = file.or_else(|| result.get("content")).or_else(|| result.get("result"));
            // An edit returns the whole file; its path is in the input.
            let found = found.filter(|_| result.get("filePath").is_none());
            found.filter(|found| !matches!(found, Json::Object(_))).map(said).unwrap_or_default()
        }
        _ => Cow::Borrowed(""),
    }
}

fn join<'a>(mut texts: impl Iterator<Item = Cow<'a, str>>) -> Cow<'a, str> {
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |all, text| Cow::Owned(format!("{all}\n{text}")))
}

/// The first and the last lines; the latter are empty if the former are the whole text.
fn ends(text: &str) -> (&str, &str) {
    if text.len() <= END {
        return (text, "");
    }
    let head = cut(text, END);
    let head = head.rfind('\n').map_or(head, |at| &head[..at]);
    let rest = &text[head.len()..];
    let tail = &rest[rest.ceil_char_boundary(rest.len().saturating_sub(END))..];
    let whole_line = rest.len() == tail.len();
    let tail = tail.find('\n').filter(|_| !whole_line).map_or(tail, |at| &tail[at + 1..]);
    (head, tail.trim_start_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(kind: EventKind, document: &str) -> Option<ToolResult> {
        of(kind, document, &json::read(document).unwrap())
    }

    #[test]
    fn a_result_has_its_digest_and_its_ends() {
        let output = (1..=200).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\\n");
        let response = format!(r#"{{"stdout":"{output}","stderr":"","interrupted":false}}"#);
        let document = format!(r#"{{"tool_name":"Bash","tool_response":{response},"duration_ms":3}}"#);
        let found = result(EventKind::PostToolUse, &document).unwrap();
        assert_eq!((found.bytes, &found.sha256), (response.len() as u64, &sha256(&[response.as_bytes()])));
        assert!(found.head.starts_with("line 1\nline 2\n") && found.head.len() <= END, "{found:?}");
        assert!(found.tail.starts_with("line ") && found.tail.ends_with("\nline 200"), "{found:?}");
    }

    #[test]
    fn every_form_of_a_result_is_read() {
        for (response, head) in [
            (r#"{"stdout":"one","stderr":"two"}"#, "one\ntwo"),
            (
                r#"[{"type":"text","text":"echo"},{"type":"image"},{"type":"text","text":"more"}]"#,
                "echo\nmore",
            ),
            (r#""just text""#, "just text"),
            (r#"{"type":"text","file":{"filePath":"/a","content":"inside"}}"#, "inside"),
            (r#"{"content":[{"type":"text","text":"of an agent"}]}"#, "of an agent"),
            (r#"{"mode":"content","content":"a.rs:1:x"}"#, "a.rs:1:x"),
            (r#"{"type":"create","filePath":"/a","content":"the file"}"#, ""),
            (r#"{"content":{"odd":1}}"#, ""),
            ("7", ""),
            ("null", ""),
        ] {
            let found =
                result(EventKind::PostToolUse, &format!(r#"{{"tool_response": {response} }}"#)).unwrap();
            assert_eq!((found.head.as_str(), found.tail.as_str()), (head, ""), "{response}");
            assert_eq!(found.sha256, sha256(&[response.as_bytes()]), "{response}");
        }
        assert_eq!(result(EventKind::PreToolUse, r#"{"tool_response": 1}"#), None);
        assert_eq!(result(EventKind::PostToolUse, r#"{"tool_name": "Bash"}"#), None);
        let failed =
            result(EventKind::PostToolUseFailure, r#"{"error": "Exit code 1\nno such file"}"#).unwrap();
        assert_eq!(failed.head, "Exit code 1\nno such file");
    }

    #[test]
    fn a_secret_is_in_neither_end() {
        let key = format!("sk-ant-{}", "A1b2C3d4E5f6G7h8I9j0".repeat(20));
        let filler = "x ".repeat(400);
        for output in
            [key.clone(), format!("{key} {filler}"), format!("{filler}{key}"), format!("{filler}\n{key}\n")]
        {
            let document = serde_json::json!({"tool_response": {"stdout": output}}).to_string();
            let found = result(EventKind::PostToolUse, &document).unwrap();
            assert!(!found.head.contains("A1b2") && !found.tail.contains("A1b2"), "{found:?}");
        }
        let long = serde_json::json!({"tool_response": "y".repeat(LONGEST)}).to_string();
        let found = result(EventKind::PostToolUse, &long).unwrap();
        assert_eq!((found.head.as_str(), found.bytes), ("", LONGEST as u64 + 2));
    }
}
