//! Finds the block of a report: the JSON text that its agent ends it with.
//!
//! Reads nothing, writes nothing. Invariants: a fence with the info string `aops` decides alone, and what is
//! wrong with it is told; without one, the only other block with the agent's own key counts, if it ends the
//! report, then one line that names the verdict. What stands in an example or a quotation never counts.

use crate::text::json::{self, Json};

/// Why a report has no block.
#[derive(Debug)]
pub(super) enum Fault {
    NoBlock,
    Form(&'static str),
}

pub(super) const NO_BLOCK: &str = "the report has no block fenced with the info string `aops`";

/// A verdict in words.
pub(super) struct Prose<'a> {
    pub word: &'a str,
    /// It is the report's first or last line.
    pub at_border: bool,
    /// The report's list items, or its other lines if it has none.
    pub points: Vec<&'a str>,
}

/// One fence, closed or not.
struct Fence<'a> {
    /// The first word of the info string.
    label: &'a str,
    text: &'a str,
    /// What follows it; `None` if it is not closed.
    after: Option<&'a str>,
}

pub(super) fn find<'a>(report: &'a str, key: &str) -> Result<&'a str, Fault> {
    let fences = fences(report).0;
    let ours: Vec<&Fence> = fences.iter().filter(|fence| fence.label.eq_ignore_ascii_case("aops")).collect();
    match ours.as_slice() {
        [] => other(report, &fences, key).ok_or(Fault::NoBlock),
        [Fence { after: None, .. }] => Err(Fault::Form("the `aops` block is not closed")),
        [Fence { after: Some(after), text, .. }] if after.trim().is_empty() => Ok(text),
        [_] => Err(Fault::Form("something stands after the `aops` block; it must come last")),
        _ => Err(Fault::Form("the report has more than one `aops` block; it must have exactly one")),
    }
}

/// A block under another label, or an object without a fence.
fn other<'a>(report: &'a str, fences: &[Fence<'a>], key: &str) -> Option<&'a str> {
    let plain = |fence: &&Fence| fence.label.is_empty() || fence.label.eq_ignore_ascii_case("json");
    let mut blocks = fences.iter().filter(plain).filter(|fence| has_key(fence.text, key));
    if let Some(only) = blocks.next() {
        let is_last = only.after.is_some_and(|after| after.trim().is_empty());
        return Some(only.text).filter(|_| is_last && blocks.next().is_none());
    }
    let begins = report
        .match_indices('{')
        .map(|(at, _)| at)
        .filter(|at| report[..*at].is_empty() || report[..*at].ends_with('\n'));
    begins.map(|at| &report[at..]).find(|text| has_key(text, key))
}

fn has_key(text: &str, key: &str) -> bool {
    matches!(json::read(text.trim()), Ok(json @ Json::Object(_)) if json.get(key).is_some())
}

/// `Verdict: approve`, if exactly one line says such a thing.
pub(super) fn prose(report: &str) -> Option<Prose<'_>> {
    let (_, lines) = fences(report);
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.trim().is_empty()).collect();
    let quoted = |line: &str| line.trim_start().starts_with('>');
    let mut said = lines.iter().enumerate().filter(|(_, line)| !quoted(line));
    let mut said = said.by_ref().filter_map(|(at, line)| Some((at, named(line)?)));
    let (at, word) = said.next()?;
    if said.next().is_some() {
        return None;
    }
    let others =
        || lines.iter().enumerate().filter(|(n, line)| *n != at && !quoted(line)).map(|(_, line)| *line);
    let items: Vec<&str> = others().filter_map(item).collect();
    let points = if items.is_empty() { others().map(str::trim).collect() } else { items };
    Some(Prose { word, at_border: at == 0 || at + 1 == lines.len(), points })
}

/// The one word behind `Verdict:`.
fn named(line: &str) -> Option<&str> {
    let mark = |c: char| !c.is_alphanumeric();
    let (name, word) = line.split_once(':')?;
    let word = word.trim_matches(mark);
    let is_word = !word.is_empty() && word.chars().all(char::is_alphanumeric);
    (name.trim_matches(mark).eq_ignore_ascii_case("verdict") && is_word).then_some(word)
}

/// The text of `- item` and `1. item`.
fn item(line: &str) -> Option<&str> {
    let line = line.trim();
    let rest = line.strip_prefix(['-', '*']).or_else(|| {
        line.trim_start_matches(|c: char| c.is_ascii_digit())
            .strip_prefix(['.', ')'])
            .filter(|rest| rest.len() < line.len() - 1)
    })?;
    rest.strip_prefix(' ').map(str::trim).filter(|rest| !rest.is_empty())
}

/// A line with this indentation is code in Markdown, so it is not a fence.
fn is_code(line: &str) -> bool {
    let indent = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
    indent.map(|c| if c == '\t' { 4 } else { 1 }).sum::<usize>() >= 4
}

/// The fences of a report, and its lines outside of them.
fn fences(report: &str) -> (Vec<Fence<'_>>, Vec<&str>) {
    let mut found = Vec::new();
    let mut lines = Vec::new();
    let mut open: Option<(usize, &str, usize)> = None; // ticks, label, start of its text
    let mut at = 0;
    for line in report.split_inclusive('\n') {
        let text = line.trim();
        let end = at + line.len();
        let ticks = if is_code(line) { 0 } else { text.bytes().take_while(|b| *b == b'`').count() };
        match open {
            None if ticks >= 3 && !text[ticks..].contains('`') => {
                open = Some((ticks, text[ticks..].split_whitespace().next().unwrap_or_default(), end));
            }
            None => lines.push(line),
            Some((width, label, from)) if ticks >= width && text[ticks..].is_empty() => {
                found.push(Fence { label, text: &report[from..at], after: Some(&report[end..]) });
                open = None;
            }
            Some(_) => {}
        }
        at = end;
    }
    found.extend(open.map(|(_, label, from)| Fence { label, text: &report[from..], after: None }));
    (found, lines)
}
