//! Finds the byte ranges of the parts of a JSON container, one level at a time.
//!
//! Reads text that `serde_json` has already found valid; writes nothing. Invariant: nothing recurses, so depth costs
//! nothing, and a span never cuts a character.

use std::ops::Range;

/// A member of an object or an item of a list.
#[derive(Debug, Clone)]
pub(super) struct JsonPart {
    /// The member's name without escapes; empty in a list.
    pub name: String,
    /// Name and value.
    pub whole: Range<usize>,
    pub value: Range<usize>,
}

/// Some editors begin a file with it; the client skips it.
pub(super) const BOM: char = '\u{feff}';

/// The one value of a document.
pub(super) fn document(text: &str) -> Range<usize> {
    let start = blank_end(text, text.len() - text.trim_start_matches(BOM).len());
    start..value_end(text, start)
}

/// The parts of a list or an object; none for any other value.
pub(super) fn parts(text: &str, container: &Range<usize>) -> Vec<JsonPart> {
    let named = match text.as_bytes().get(container.start) {
        Some(b'{') => true,
        Some(b'[') => false,
        _ => return Vec::new(),
    };
    let (mut at, end) = (container.start + 1, container.end - 1);
    let mut found = Vec::new();
    loop {
        at = blank_end(text, at);
        if at < end && text.as_bytes()[at] == b',' {
            at = blank_end(text, at + 1);
        }
        if at >= end {
            return found;
        }
        let start = at;
        let mut name = String::new();
        if named {
            at = value_end(text, at);
            name = serde_json::from_str(&text[start..at]).unwrap_or_default();
            at = blank_end(text, blank_end(text, at) + 1);
        }
        let value = at..value_end(text, at);
        at = value.end;
        found.push(JsonPart { name, whole: start..at, value });
    }
}

/// The last member of this name: the one that counts.
pub(super) fn member(text: &str, object: &Range<usize>, name: &str) -> Option<JsonPart> {
    parts(text, object).into_iter().rfind(|part| part.name == name)
}

fn blank_end(text: &str, from: usize) -> usize {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    from + text.as_bytes()[from.min(text.len())..].iter().take_while(|byte| blank(byte)).count()
}

fn value_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (start, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = text_end(bytes, at),
            b'{' | b'[' => (at, depth) = (at + 1, depth + 1),
            b'}' | b']' | b',' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => return at,
            b'}' | b']' => (at, depth) = (at + 1, depth - 1),
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

fn text_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}
