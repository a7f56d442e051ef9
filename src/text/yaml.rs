//! Reads one YAML document into a tree in which every node knows its line.
//!
//! Reads text, writes nothing. Invariants: aliases, tags and repeated keys are refused rather than guessed at; the tree is
//! never deeper than `DEEPEST` and no mapping larger than `MOST_KEYS`, so no text can cost more than its length.

use granit_parser::{Event, Parser, ScalarStyle, Span};

/// Nested deeper than this, a text is not one of ours.
const DEEPEST: usize = 16;

/// More keys than this in one mapping, and it is a table of something else.
const MOST_KEYS: usize = 64;

/// One value and the line it begins on, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub line: usize,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing after the colon, `~` or `null`.
    Nothing,
    /// Every scalar as it is written; what it means is its reader's business.
    Text(String),
    List(Vec<Node>),
    /// In the order of the text.
    Map(Vec<(Key, Node)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub line: usize,
    pub name: String,
}

/// Why a text is no document of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub line: usize,
    pub what: String,
}

impl Value {
    /// What to call it in a message.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Nothing => "nothing",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

/// The document in `text`, whose first line is line `first` of the file.
pub fn parse(text: &str, first: usize) -> Result<Node, Fault> {
    let mut tree = Tree { open: Vec::new(), root: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let what = error.info();
            Fault { line: first + error.marker().line().saturating_sub(1), what }
        })?;
        tree.take(event, &span).map_err(|what| Fault { line: line(&span, first), what })?;
    }
    let mut root = tree.root.ok_or(Fault { line: first, what: "there is nothing here".to_owned() })?;
    shift(&mut root, first - 1);
    Ok(root)
}

fn line(span: &Span, first: usize) -> usize {
    first + span.start.line().saturating_sub(1)
}

/// A list or mapping that has not ended yet.
struct Open {
    node: Node,
    key: Option<Key>,
}

struct Tree {
    open: Vec<Open>,
    root: Option<Node>,
}

impl Tree {
    fn take(&mut self, event: Event, span: &Span) -> Result<(), String> {
        let line = span.start.line();
        match event {
            Event::Scalar(text, style, _, tag) => {
                let plain = style == ScalarStyle::Plain;
                let nothing = plain && matches!(text.as_ref(), "" | "~" | "null");
                let value = if nothing { Value::Nothing } else { Value::Text(text.into_owned()) };
                untagged(tag.is_some())?;
                self.add(Node { line, value })
            }
            Event::SequenceStart(_, _, tag) => {
                self.begin(Node { line, value: Value::List(Vec::new()) }, tag.is_some())
            }
            Event::MappingStart(_, _, tag) => {
                self.begin(Node { line, value: Value::Map(Vec::new()) }, tag.is_some())
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => self.add(open.node),
                None => Ok(()),
            },
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                Err("aliases (`*name`) are not understood here: write the value out".to_owned())
            }
            Event::DocumentStart(..) if self.root.is_some() => {
                Err("a second document begins here; one is expected".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, node: Node, tagged: bool) -> Result<(), String> {
        untagged(tagged)?;
        if self.open.len() == DEEPEST {
            return Err(format!("nested more than {DEEPEST} deep"));
        }
        self.open.push(Open { node, key: None });
        Ok(())
    }

    fn add(&mut self, node: Node) -> Result<(), String> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut open.node.value, open.key.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(pairs), Some(key)) => pairs.push((key, node)),
            (Value::Map(pairs), None) => {
                let Value::Text(name) = node.value else {
                    return Err(format!("a key must be a text, not {}", node.value.kind()));
                };
                if pairs.iter().any(|(key, _)| key.name == name) {
                    return Err(format!("`{name}` is there twice"));
                }
                if pairs.len() == MOST_KEYS {
                    return Err(format!("more than {MOST_KEYS} keys in one mapping"));
                }
                open.key = Some(Key { line: node.line, name });
            }
            _ => {}
        }
        Ok(())
    }
}

fn untagged(tagged: bool) -> Result<(), String> {
    if tagged { Err("tags (`!name`) are not understood here".to_owned()) } else { Ok(()) }
}

/// Moves every line number by what stands before the document.
fn shift(node: &mut Node, by: usize) {
    node.line += by;
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| shift(item, by)),
        Value::Map(pairs) => {
            for (key, value) in pairs {
                key.line += by;
                shift(value, by);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fault(text: &str) -> String {
        let fault = parse(text, 1).unwrap_err();
        format!("{}: {}", fault.line, fault.what)
    }

    #[test]
    fn every_node_knows_its_line() {
        let root = parse("id: a\nsteps:\n  - id: one\n    needs: [x, y]\n", 2).unwrap();
        let Value::Map(pairs) = root.value else { panic!("a mapping") };
        let lines: Vec<_> =
            pairs.iter().map(|(key, value)| (key.name.as_str(), key.line, value.line)).collect();
        assert_eq!(lines, [("id", 2, 2), ("steps", 3, 4)]);
        let Value::List(steps) = &pairs[1].1.value else { panic!("a list") };
        let Value::Map(step) = &steps[0].value else { panic!("a mapping") };
        assert_eq!((step[1].0.name.as_str(), step[1].0.line), ("needs", 5));
    }

    #[test]
    fn nothing_is_told_from_a_text() {
        let Value::Map(pairs) = parse("a:\nb: ~\nc: \"\"\nd: null\ne: 'null'", 1).unwrap().value else {
            panic!("a mapping")
        };
        let kinds: Vec<_> = pairs.iter().map(|(_, node)| node.value.kind()).collect();
        assert_eq!(kinds, ["nothing", "nothing", "a text", "nothing", "a text"]);
    }

    #[test]
    fn refused_with_a_line() {
        assert_eq!(fault("a: 1\nb: 2\na: 3"), "3: `a` is there twice");
        assert_eq!(
            fault("a: &x 1\nb: *x"),
            "2: aliases (`*name`) are not understood here: write the value out"
        );
        assert_eq!(fault("a: !!str 1"), "1: tags (`!name`) are not understood here");
        assert_eq!(fault("a: 1\n---\nb: 1"), "2: a second document begins here; one is expected");
        assert_eq!(fault("? [a]\n: 1"), "1: a key must be a text, not a list");
        assert_eq!(fault(""), "1: there is nothing here");
        assert_eq!(
            fault(&("[".repeat(DEEPEST + 1) + &"]".repeat(DEEPEST + 1))),
            "1: nested more than 16 deep"
        );
        let many: Vec<_> = (0..=MOST_KEYS).map(|n| format!("k{n}: 1\n")).collect();
        assert_eq!(fault(&many.concat()), "65: more than 64 keys in one mapping");
        assert!(fault("a: 1\n b: 2").starts_with("2: "), "{}", fault("a: 1\n b: 2"));
        assert!(fault("a: [1, 2\nb: 3").starts_with("2: "), "{}", fault("a: [1, 2\nb: 3"));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "[-a-z:{}\\[\\]!&*#'\"|>?%@, \n\t]{0,200}") {
            let _ = parse(&text, 1);
        }
    }
}
