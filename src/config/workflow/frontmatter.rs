//! Cuts frontmatter from body, and takes typed fields out of it.
//!
//! Reads text, writes nothing. Invariant: a field nobody asked for is a problem, so a mistyped `gates` never passes for
//! no gates.

use super::{Mention, Problem, meant};
use crate::text::yaml::{Key, Node, Value};

/// The YAML between the two `---` lines, the body after them, and the body's first line.
pub(super) fn split(text: &str) -> Option<(&str, &str, usize)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let mut at = lines.next().filter(|line| line.trim_end() == "---")?.len();
    let start = at;
    for (n, line) in lines.enumerate() {
        if line.trim_end() == "---" {
            return Some((&text[start..at], &text[at + line.len()..], n + 3));
        }
        at += line.len();
    }
    None
}

/// One mapping, from which each field is taken once.
pub(super) struct Fields<'a> {
    /// What to call the mapping in a message: ``` `` ``` or ``` of step `x` ```.
    pub(super) of: String,
    pub(super) line: usize,
    file: &'a str,
    left: Vec<&'a (Key, Node)>,
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(file: &'a str, node: &'a Node, of: &str, problems: &mut Vec<Problem>) -> Option<Self> {
        let Value::Map(pairs) = &node.value else {
            let what = format!("expected a mapping{of}, found {}", node.value.kind());
            problems.push(Problem::new(file, node.line, what));
            return None;
        };
        let line = pairs.first().map_or(node.line, |(key, _)| key.line);
        Some(Self { of: of.to_owned(), line, file, left: pairs.iter().collect(), asked: Vec::new() })
    }

    /// The node of a field; `None` where it is missing or empty.
    pub(super) fn node(&mut self, name: &'static str) -> Option<&'a Node> {
        self.asked.push(name);
        let at = self.left.iter().position(|(key, _)| key.name == name)?;
        let node = &self.left.remove(at).1;
        (node.value != Value::Nothing).then_some(node)
    }

    /// Where a field is written; where the mapping begins, if it is not.
    pub(super) fn line_of(&self, name: &str) -> usize {
        self.left.iter().find(|(key, _)| key.name == name).map_or(self.line, |(key, _)| key.line)
    }

    /// A text, where there is one.
    pub(super) fn mention(&mut self, name: &'static str, problems: &mut Vec<Problem>) -> Option<Mention> {
        let node = self.node(name)?;
        match &node.value {
            Value::Text(text) if !text.trim().is_empty() => {
                Some(Mention { to: text.trim().to_owned(), line: node.line })
            }
            Value::Text(_) => self.wrong(node.line, format!("`{name}`{} is empty", self.of), problems),
            other => {
                let what = format!("`{name}`{} must be a text, not {}", self.of, other.kind());
                self.wrong(node.line, what, problems)
            }
        }
    }

    pub(super) fn text(&mut self, name: &'static str, problems: &mut Vec<Problem>) -> Option<String> {
        self.mention(name, problems).map(|mention| mention.to)
    }

    /// A text that must be there; empty, and a problem, if it is not.
    pub(super) fn required(&mut self, name: &'static str, problems: &mut Vec<Problem>) -> Mention {
        let before = problems.len();
        self.mention(name, problems).unwrap_or_else(|| {
            if problems.len() == before {
                let what = format!("`{name}`{} is missing", self.of);
                problems.push(Problem::new(self.file, self.line, what));
            }
            Mention { to: String::new(), line: self.line }
        })
    }

    /// A list of names, each once; `None` where there is no list.
    pub(super) fn list(&mut self, name: &'static str, problems: &mut Vec<Problem>) -> Option<Vec<Mention>> {
        let node = self.node(name)?;
        let Value::List(items) = &node.value else {
            let what = format!("`{name}`{} must be a list, not {}", self.of, node.value.kind());
            return self.wrong(node.line, what, problems);
        };
        let mut names: Vec<Mention> = Vec::new();
        for item in items {
            match &item.value {
                Value::Text(text) if names.iter().any(|have| have.to == *text) => {
                    let what = format!("`{name}`{} has `{text}` twice", self.of);
                    problems.push(Problem::new(self.file, item.line, what));
                }
                Value::Text(text) => names.push(Mention { to: text.clone(), line: item.line }),
                other => {
                    let what = format!("`{name}`{} must hold texts, not {}", self.of, other.kind());
                    problems.push(Problem::new(self.file, item.line, what));
                }
            }
        }
        Some(names)
    }

    /// What was never asked for is unknown.
    pub(super) fn end(self, problems: &mut Vec<Problem>) {
        for (key, _) in &self.left {
            let near = meant(&key.name, self.asked.iter().copied());
            let what = format!("unknown key `{}`{}{near}", key.name, self.of);
            problems.push(Problem::new(self.file, key.line, what));
        }
    }

    fn wrong<T>(&self, line: usize, what: String, problems: &mut Vec<Problem>) -> Option<T> {
        problems.push(Problem::new(self.file, line, what));
        None
    }
}

pub(super) fn plain(what: &str, given: &str) -> String {
    format!("{what} `{given}` must be of lower-case letters, digits and `-`, at most 64")
}

pub(super) fn unknown(what: &str, given: &str, known: &[&str]) -> String {
    format!("unknown {what} `{given}`; known are {}", known.join(", "))
}
