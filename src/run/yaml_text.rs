//! Writes a flat record as YAML with the same bytes on every machine, and reads it back.
//!
//! Reads nothing, writes nothing. Invariants: keys are sorted; words in capitals, numbers and `true` stand bare, every
//! other text in double quotes; what is written is read back as it was.

use crate::text::json::quoted;
use crate::text::yaml::{self, Node, Value as Yaml};
use serde_json::{Map, Value};
use std::fmt::Write;

/// The record as YAML.
pub fn write(record: &Map<String, Value>) -> String {
    let mut keys: Vec<&String> = record.keys().collect();
    keys.sort();
    let mut text = String::new();
    for key in keys {
        match &record[key] {
            Value::Array(items) if !items.is_empty() => {
                let _ = writeln!(text, "{key}:");
                for item in items {
                    let _ = writeln!(text, "  - {}", scalar(item));
                }
            }
            value => {
                let _ = writeln!(text, "{key}: {}", scalar(value));
            }
        }
    }
    text
}

fn scalar(value: &Value) -> String {
    let bare = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    match value {
        Value::String(text) if bare(text) => text.clone(),
        Value::String(text) => double_quoted(text),
        Value::Array(_) => "[]".to_owned(),
        other => other.to_string(),
    }
}

/// Quoted as in JSON; characters that YAML does not print are escaped too.
fn double_quoted(text: &str) -> String {
    let mut out = String::new();
    for c in quoted(text).chars() {
        if matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}') {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// The record in a text that a person may have edited. Each value has the type of its key in `like`: a flag, a number, a
/// list, or text.
pub fn read(text: &str, like: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let node = yaml::parse(text, 1).map_err(|fault| format!("line {}: {}", fault.line, fault.what))?;
    let Yaml::Map(pairs) = node.value else { return Err("it is not a mapping".to_owned()) };
    let mut record = Map::new();
    for (key, node) in pairs {
        let Some(kind) = like.get(&key.name) else {
            return Err(format!("line {}: the key `{}` is not known", key.line, key.name));
        };
        record.insert(key.name.clone(), value(&key.name, &node, kind)?);
    }
    match like.keys().find(|key| !record.contains_key(*key)) {
        Some(missing) => Err(format!("the key `{missing}` is missing")),
        None => Ok(record),
    }
}

fn value(key: &str, node: &Node, kind: &Value) -> Result<Value, String> {
    let odd = |what: &str| Err(format!("line {}: `{key}` must be {what}", node.line));
    match (&node.value, kind) {
        (Yaml::Nothing, _) => Ok(Value::Null),
        (Yaml::Text(text), Value::Bool(_)) => match text.as_str() {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            _ => odd("true or false"),
        },
        (Yaml::Text(text), Value::Number(_)) => text.parse::<u64>().map_or_else(|_| odd("a number"), |n| Ok(n.into())),
        (Yaml::Text(text), _) => Ok(text.clone().into()),
        (Yaml::List(items), _) => {
            items.iter().map(|item| value(key, item, &Value::Null)).collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        (Yaml::Map(_), _) => odd("a single value"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            _ => panic!("an object"),
        }
    }

    #[test]
    fn to_the_byte() {
        let record = object(json!({"run_id": "2026-x", "outcome": "PASS", "steps": ["a", "b"], "none": [],
            "n": 3, "yes": true, "word": "true", "nothing": null, "lines": "a\n\"b\": #c"}));
        let wanted = "lines: \"a\\n\\\"b\\\": #c\"\nn: 3\nnone: []\nnothing: null\noutcome: PASS\nrun_id: \"2026-x\"\nsteps:\n  - \"a\"\n  - \"b\"\nword: \"true\"\nyes: true\n";
        assert_eq!(write(&record), wanted);
        assert_eq!(read(wanted, &record).unwrap(), record);
    }

    #[test]
    fn what_is_odd_is_named() {
        let like = object(json!({"a": "x", "b": true}));
        for (text, words) in [
            ("a: x", "`b` is missing"),
            ("a: x\nb: maybe", "line 2: `b` must be true or false"),
            ("a: x\nb: true\nc: 1", "line 3: the key `c` is not known"),
            ("a: {x: 1}\nb: true", "`a` must be a single value"),
            ("- a", "not a mapping"),
            ("a: [", "line"),
        ] {
            let said = read(text, &like).unwrap_err();
            assert!(said.contains(words), "{text:?}: {said}");
        }
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in "\\PC*|[\\x00-\\u{ff}]*") {
            let record = object(json!({"a": text}));
            prop_assert_eq!(read(&write(&record), &record).unwrap(), record);
        }
    }
}
