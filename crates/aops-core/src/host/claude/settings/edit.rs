//! Finds the parts of a JSON document, and adds, replaces or removes one in the style of the text: line ends,
//! indentation, spaces.
//!
//! Reads checked JSON text, which may have comments; gives text. Invariant: every byte outside of the edited
//! place stays as it is.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io;
use std::ops::Range;

/// A member of an object or an item of a list.
#[derive(Debug, Clone)]
pub(super) struct JsonPart {
    /// The member's name without escapes; empty in a list.
    pub name: String,
    /// The range of name and value.
    pub whole: Range<usize>,
    pub value: Range<usize>,
}

/// Some editors put it at the beginning of a file; the client skips it.
pub(super) const BOM: char = '\u{feff}';

/// The range of the document's value.
pub(super) fn document(text: &str) -> Range<usize> {
    let start = blank_end(text, text.len() - text.trim_start_matches(BOM).len());
    start..value_end(text, start)
}

/// The parts of a list or an object; empty for any other value.
pub(super) fn parts(text: &str, container: &Range<usize>) -> Vec<JsonPart> {
    let named = match text.as_bytes().get(container.start) {
        Some(b'{') => true,
        Some(b'[') => false,
        _ => return Vec::new(),
    };
    let mut at = container.start + 1;
    let end = container.end - 1;
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

/// The last member with this name, which is the one that counts.
pub(super) fn member(text: &str, object: &Range<usize>, name: &str) -> Option<JsonPart> {
    parts(text, object).into_iter().rfind(|part| part.name == name)
}

/// The end of blanks and comments. A text that was checked as plain JSON has no comments.
fn blank_end(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        at = spaces_end(text, at);
        match comment_end(text.as_bytes(), at) {
            Some(end) => at = end,
            None => return at,
        }
    }
}

fn spaces_end(text: &str, from: usize) -> usize {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    from + text.as_bytes()[from.min(text.len())..].iter().take_while(|byte| blank(byte)).count()
}

/// The end of the comment that begins here. A line comment ends before its line end.
fn comment_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.starts_with(b"//") {
        return Some(at + rest.iter().take_while(|byte| !matches!(byte, b'\r' | b'\n')).count());
    }
    let inner = rest.strip_prefix(b"/*")?;
    Some(inner.windows(2).position(|two| two == b"*/").map_or(bytes.len(), |end| at + end + 4))
}

/// The end of the last comment in this span, if there is one. The span must contain no value.
fn last_comment(text: &str, span: Range<usize>) -> Option<usize> {
    let mut at = span.start;
    let mut last = None;
    while at < span.end {
        at = match comment_end(text.as_bytes(), at) {
            Some(end) => *last.insert(end),
            None => at + 1,
        };
    }
    last
}

/// The text with its comments replaced by blanks, so that a strict reader accepts it and every byte keeps its
/// position.
pub(super) fn without_comments(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = text.as_bytes().to_owned();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'"' {
            at = text_end(bytes, at);
        } else if let Some(end) = comment_end(bytes, at) {
            let inside = plain[at..end].iter_mut().filter(|byte| !matches!(byte, b'\r' | b'\n'));
            inside.for_each(|byte| *byte = b' ');
            at = end;
        } else {
            at += 1;
        }
    }
    String::from_utf8(plain).unwrap_or_default()
}

fn value_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    let mut depth = 0_usize;
    while at < bytes.len() {
        if let Some(end) = comment_end(bytes, at) {
            if depth == 0 {
                return at;
            }
            at = end;
            continue;
        }
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

struct Style<'a> {
    newline: &'static str,
    /// One step of indentation; `None` if everything is on one line.
    step: Option<&'a str>,
    spaced: bool,
}

impl<'a> Style<'a> {
    fn of(text: &'a str, root: &Range<usize>) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let Some(first) = parts(text, root).into_iter().next() else {
            return Self { newline, step: Some("  "), spaced: true };
        };
        let lead = &text[root.start + 1..first.whole.start];
        let step = lead.rfind('\n').map(|at| blanks(&lead[at + 1..]));
        Self { newline, step, spaced: text[first.whole.start..first.value.start].ends_with(' ') }
    }

    /// Written on lines of their own, the first of them already indented; or all on one line.
    fn write(&self, name: Option<&str>, value: &impl Serialize, indent: Option<&str>) -> String {
        let (colon, body) = match (indent, self.step) {
            (Some(indent), step) => {
                let pretty = PrettyFormatter::with_indent(step.unwrap_or("  ").as_bytes());
                (": ", print_json(value, pretty).replace('\n', &format!("{}{indent}", self.newline)))
            }
            (None, _) if self.spaced => (": ", print_json(value, Spaced)),
            (None, _) => (":", print_json(value, serde_json::ser::CompactFormatter)),
        };
        name.map_or(body.clone(), |name| format!("\"{name}\"{colon}{body}"))
    }
}

pub(super) fn append(
    text: &str,
    root: &Range<usize>,
    container: &Range<usize>,
    name: Option<&str>,
    value: &impl Serialize,
) -> String {
    let style = Style::of(text, root);
    let held = parts(text, container);
    let Some((first, last)) = held.first().zip(held.last()) else {
        return append_first(text, &style, container, name, value);
    };
    let lead = &text[container.start + 1..first.whole.start];
    let own_line = lead.rfind('\n').map(|at| blanks(&lead[at + 1..]));
    // A comment on the last part's line stays with that part.
    let end = tail_end(text, last.whole.end);
    let hidden = text[last.whole.end..end].contains("//");
    let indent = own_line.or_else(|| hidden.then(|| indentation(text, last.whole.start)));
    let added = match indent {
        Some(indent) => format!("{}{indent}{}", style.newline, style.write(name, value, Some(indent))),
        None if style.spaced => format!(" {}", style.write(name, value, None)),
        None => style.write(name, value, None),
    };
    let before = &text[..last.whole.end];
    let tail = &text[last.whole.end..end];
    [before, ",", tail, &added, &text[end..]].concat()
}

/// Adds the first part of a container. Comments in it stay in front.
fn append_first(
    text: &str,
    style: &Style,
    container: &Range<usize>,
    name: Option<&str>,
    value: &impl Serialize,
) -> String {
    let inside = container.start + 1..container.end - 1;
    let comment = last_comment(text, inside.clone());
    let step = style.step.unwrap_or("  ");
    let outer = indentation(text, container.start);
    let inner = format!("{outer}{step}");
    if let Some(end) = comment {
        let body = style.write(name, value, Some(&inner));
        return splice(text, end..end, &format!("{}{inner}{body}", style.newline));
    }
    if style.step.is_none() {
        return splice(text, inside, &style.write(name, value, None));
    }
    let body = style.write(name, value, Some(&inner));
    splice(text, inside, &format!("{n}{inner}{body}{n}{outer}", n = style.newline))
}

/// The end of the comments that follow a part on its line.
fn tail_end(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut end = from;
    let mut at = from;
    loop {
        at += bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        match comment_end(bytes, at) {
            Some(next) => (at, end) = (next, next),
            None => return end,
        }
    }
}

pub(super) fn replace(
    text: &str,
    root: &Range<usize>,
    span: &Range<usize>,
    value: &impl Serialize,
) -> String {
    let line = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let lead = &text[line..span.start];
    let own_line = lead.trim().is_empty() && span.start > root.start;
    splice(text, span.clone(), &Style::of(text, root).write(None, value, own_line.then_some(lead)))
}

/// The text without one part of a container, and without the comma it needed. Comments stay.
pub(super) fn without(text: &str, container: &Range<usize>, held: &[JsonPart], n: usize) -> String {
    let own = held[n].whole.clone();
    if held.len() == 1 {
        let inside = container.start + 1..container.end - 1;
        let before = last_comment(text, inside.start..own.start);
        let behind = last_comment(text, own.end..inside.end);
        return match (before, behind) {
            (None, None) => splice(text, inside, ""),
            (before, _) => splice(text, before.unwrap_or(inside.start)..own.end, ""),
        };
    }
    if let Some(next) = held.get(n + 1) {
        let comma = blank_end(text, own.end);
        let is_plain = last_comment(text, own.end..next.whole.start).is_none();
        let end = if is_plain { next.whole.start } else { spaces_end(text, comma + 1) };
        return splice(text, own.start..end, "");
    }
    let before = held[n - 1].whole.end;
    let comma = blank_end(text, before);
    match last_comment(text, before..own.start) {
        None => splice(text, before..own.end, ""),
        Some(end) => [&text[..comma], &text[comma + 1..end.max(comma + 1)], &text[own.end..]].concat(),
    }
}

/// Whether this JSON has the same content.
pub(super) fn is(json: &str, wanted: &impl Serialize) -> bool {
    let there: Option<Value> = serde_json::from_str(&without_comments(json)).ok();
    there.is_some() && there == serde_json::to_value(wanted).ok()
}

fn splice(text: &str, span: Range<usize>, new: &str) -> String {
    [&text[..span.start], new, &text[span.end..]].concat()
}

fn blanks(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

fn indentation(text: &str, at: usize) -> &str {
    blanks(&text[text[..at].rfind('\n').map_or(0, |at| at + 1)..at])
}

fn print_json(value: &impl Serialize, form: impl Formatter) -> String {
    let mut out = Vec::new();
    // Writing plain structs into memory cannot fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut out, form));
    String::from_utf8(out).unwrap_or_default()
}

/// Writes one line with a space after every comma and colon.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }
}
