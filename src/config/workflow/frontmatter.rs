//! Cuts frontmatter from body, and takes typed fields out of it.
//!
//! Reads text, writes nothing. Invariant: a field that is not asked for is a problem, so a mistyped `gates` never passes
//! for no gates.

use super::{Mention, Problem, meant};
use crate::text::yaml::{Key, Node, Value};
use std::cell::RefCell;

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

/// Everything wrong with one file.
pub(super) struct Report<'a> {
    pub(super) file: &'a str,
    problems: RefCell<Vec<Problem>>,
}

impl<'a> Report<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Self { file, problems: RefCell::default() }
    }

    pub(super) fn add(&self, line: usize, what: impl Into<String>) {
        self.problems.borrow_mut().push(Problem::new(self.file, line, what));
    }

    pub(super) fn len(&self) -> usize {
        self.problems.borrow().len()
    }

    /// By line.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        problems.sort();
        problems
    }
}

/// One mapping, from which each field is taken once.
pub(super) struct Fields<'a> {
    /// Names the mapping in a message: empty or ``` of step `x` ```.
    pub(super) of: String,
    pub(super) line: usize,
    pub(super) report: &'a Report<'a>,
    left: Vec<&'a (Key, Node)>,
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(report: &'a Report<'a>, node: &'a Node, of: &str) -> Option<Self> {
        let Value::Map(pairs) = &node.value else {
            report.add(node.line, format!("expected a mapping{of}, found {}", node.value.kind()));
            return None;
        };
        let line = pairs.first().map_or(node.line, |(key, _)| key.line);
        Some(Self { of: of.to_owned(), line, report, left: pairs.iter().collect(), asked: Vec::new() })
    }

    /// The node of a field; `None` where it is missing or empty.
    pub(super) fn node(&mut self, name: &'static str) -> Option<&'a Node> {
        self.asked.push(name);
        let at = self.left.iter().position(|(key, _)| key.name == name)?;
        let node = &self.left.remove(at).1;
        (node.value != Value::Nothing).then_some(node)
    }

    /// The line of a field; of the mapping, if the field is missing.
    pub(super) fn line_of(&self, name: &str) -> usize {
        self.left.iter().find(|(key, _)| key.name == name).map_or(self.line, |(key, _)| key.line)
    }

    /// An optional text.
    pub(super) fn mention(&mut self, name: &'static str) -> Option<Mention> {
        let node = self.node(name)?;
        match &node.value {
            Value::Text(text) if !text.trim().is_empty() => {
                return Some(Mention { to: text.trim().to_owned(), line: node.line });
            }
            Value::Text(_) => self.report.add(node.line, format!("`{name}`{} is empty", self.of)),
            _ => self.wrong_kind(name, "be a text", node),
        }
        None
    }

    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        self.mention(name).map(|mention| mention.to)
    }

    /// A text that must be there; empty, and a problem, if it is not.
    pub(super) fn required(&mut self, name: &'static str) -> Mention {
        let before = self.report.len();
        self.mention(name).unwrap_or_else(|| {
            if self.report.len() == before {
                self.report.add(self.line, format!("`{name}`{} is missing", self.of));
            }
            Mention { to: String::new(), line: self.line }
        })
    }

    /// An optional list of nodes.
    pub(super) fn nodes(&mut self, name: &'static str) -> Option<&'a [Node]> {
        let node = self.node(name)?;
        let Value::List(items) = &node.value else {
            self.wrong_kind(name, "be a list", node);
            return None;
        };
        Some(items)
    }

    /// An optional list of names, each once.
    pub(super) fn list(&mut self, name: &'static str) -> Option<Vec<Mention>> {
        let mut names: Vec<Mention> = Vec::new();
        for item in self.nodes(name)? {
            match &item.value {
                Value::Text(text) if names.iter().any(|have| have.to == *text) => {
                    self.report.add(item.line, format!("`{name}`{} has `{text}` twice", self.of));
                }
                Value::Text(text) => names.push(Mention { to: text.clone(), line: item.line }),
                _ => self.wrong_kind(name, "hold texts", item),
            }
        }
        Some(names)
    }

    /// Reports the fields that were not asked for.
    pub(super) fn end(self) {
        for (key, _) in &self.left {
            let near = meant(&key.name, self.asked.iter().copied());
            self.report.add(key.line, format!("unknown key `{}`{}{near}", key.name, self.of));
        }
    }

    pub(super) fn wrong_kind(&self, name: &str, must: &str, found: &Node) {
        let what = format!("`{name}`{} must {must}, not {}", self.of, found.value.kind());
        self.report.add(found.line, what);
    }
}

pub(super) fn plain(what: &str, given: &str) -> String {
    format!("{what} `{given}` must be of lower-case letters, digits and `-`, at most 64")
}

pub(super) fn unknown(what: &str, given: &str, known: &[&str]) -> String {
    format!("unknown {what} `{given}`; known are {}", known.join(", "))
}
