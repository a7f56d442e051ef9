//! Reads one YAML document into a tree in which every node knows its line.
//!
//! Reads text, writes nothing. Invariants: aliases, tags and repeated keys are rejected rather than guessed
//! at; the tree is never deeper than `DEEPEST` and no mapping larger than `MOST_KEYS`, so the cost is bounded
//! by the text's length.

use granit_parser::{Event, Parser, ScalarStyle};

const DEEPEST: usize = 16;

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
    /// Every scalar as it is written; the reader gives it a type.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub line: usize,
    pub what: String,
}

impl Value {
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
        let at = |line: usize| first + line.saturating_sub(1);
        let (event, span) =
            event.map_err(|error| Fault { line: at(error.marker().line()), what: error.info() })?;
        let line = at(span.start.line());
        tree.take(event, line).map_err(|what| Fault { line, what })?;
    }
    tree.root.ok_or(Fault { line: first, what: "there is nothing here".to_owned() })
}

struct Tree {
    /// Lists and mappings that have not ended yet, each with the key whose value comes next.
    open: Vec<(Node, Option<Key>)>,
    root: Option<Node>,
}

impl Tree {
    fn take(&mut self, event: Event, line: usize) -> Result<(), String> {
        let (value, tag) = match event {
            Event::Scalar(text, style, _, tag) => {
                let nothing = style == ScalarStyle::Plain && matches!(text.as_ref(), "" | "~" | "null");
                (if nothing { Value::Nothing } else { Value::Text(text.into_owned()) }, tag)
            }
            Event::SequenceStart(_, _, tag) => (Value::List(Vec::new()), tag),
            Event::MappingStart(_, _, tag) => (Value::Map(Vec::new()), tag),
            Event::SequenceEnd | Event::MappingEnd => {
                return self.open.pop().map_or(Ok(()), |(node, _)| self.add(node));
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                return Err("aliases (`*name`) are not understood here: write the value out".to_owned());
            }
            Event::DocumentStart(..) if self.root.is_some() => {
                return Err("a second document begins here; one is expected".to_owned());
            }
            _ => return Ok(()),
        };
        let node = Node { line, value };
        if tag.is_some() {
            return Err("tags (`!name`) are not understood here".to_owned());
        }
        if !matches!(node.value, Value::List(_) | Value::Map(_)) {
            return self.add(node);
        }
        if self.open.len() == DEEPEST {
            return Err(format!("nested more than {DEEPEST} deep"));
        }
        self.open.push((node, None));
        Ok(())
    }

    fn add(&mut self, node: Node) -> Result<(), String> {
        let Some((Node { value: container, .. }, waiting)) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (container, waiting.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(pairs), Some(key)) => pairs.push((key, node)),
            (Value::Map(pairs), None) => {
                let Value::Text(name) = node.value else {
                    return Err(format!("a key must be a text, not {}", node.value.kind()));
                };
                if pairs.iter().any(|(key, _)| key.name == name) {
                    return Err(format!("`{name}` appears twice"));
                }
                if pairs.len() == MOST_KEYS {
                    return Err(format!("more than {MOST_KEYS} keys in one mapping"));
                }
                *waiting = Some(Key { line: node.line, name });
            }
            _ => {}
        }
        Ok(())
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
        assert_eq!(fault("a: 1\nb: 2\na: 3"), "3: `a` appears twice");
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
