//! The packets of a run: one at each pause, for a person to decide on, and one at its end.
//!
//! Reads nothing, writes nothing. Stored types: fields in sorted order. Invariants: a pause's digest covers
//! everything but the two fields a person may edit, and the working tree; the same packet has the same bytes.

use super::attempt::{Decision, Init, RunOutcome, Trigger};
use aops_core::text::yaml::{self, Node, Value as Yaml};
use aops_core::text::{json::quoted, sha256::sha256, stored::canonical};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// `CP_<run_id>_<step>.yaml`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    pub checkpoint_id: String,
    pub digest: String,
    pub policy_hash: String,
    pub question: String,
    pub resolution_decision: Option<Decision>,
    pub resolved: bool,
    pub run_id: String,
    pub session_id: String,
    pub step_index: u64,
    pub task_spec: TaskSpec,
    pub timestamp: String,
    pub tool_use_id: Option<String>,
    pub trigger: Trigger,
}

/// The task, and the files that belong to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TaskSpec {
    Full {
        context_refs: Vec<String>,
        task: String,
    },
    /// The form in packets of the first release.
    Plain(String),
}

impl Default for TaskSpec {
    fn default() -> Self {
        Self::Full { context_refs: Vec::new(), task: String::new() }
    }
}

impl TaskSpec {
    pub fn of(init: &Init) -> Self {
        let context_refs = init.context.iter().map(|file| file.path.clone()).collect();
        Self::Full { context_refs, task: init.task.clone() }
    }
}

/// `TP_<run_id>.yaml`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub commit_hash: String,
    pub ledger_head: String,
    pub outcome: RunOutcome,
    pub policy_hash: String,
    pub reason: String,
    pub run_id: String,
    pub steps_executed: Vec<String>,
    pub timestamp: String,
    pub workflow: String,
}

/// `<run_id>_<step>.json`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSummary {
    /// Files that the step changed.
    pub artifacts: Vec<String>,
    pub duration_ms: u64,
    /// `success`, or else the name of a [`RunOutcome`].
    pub outcome: String,
    pub step_name: String,
}

impl Pause {
    /// The packet with its digest, computed over this working tree as well.
    #[must_use]
    pub fn seal(mut self, tree: &str) -> Self {
        self.digest = self.digest_with(tree);
        self
    }

    pub fn digest_with(&self, tree: &str) -> String {
        let bare = Self { digest: String::new(), resolution_decision: None, resolved: false, ..self.clone() };
        sha256(&[canonical(&bare).as_bytes(), b"\0", tree.as_bytes()])
    }

    /// The decision; `None` unless both fields agree on it.
    pub fn decision(&self) -> Option<Decision> {
        self.resolution_decision.filter(|_| self.resolved)
    }

    /// The packet in a file, or what is wrong with it. The caller checks its digest.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut found = read_yaml(text, &to_map(&Self::default()))?;
        // A person may write `approved`.
        if let Some(Value::String(word)) = found.get_mut("resolution_decision") {
            word.make_ascii_uppercase();
        }
        serde_json::from_value(Value::Object(found)).map_err(|error| error.to_string())
    }
}

fn to_map<T: Serialize>(packet: &T) -> Map<String, Value> {
    match serde_json::to_value(packet) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// A record as YAML: keys are sorted; words in capitals, numbers and `true` are bare, every other text is in
/// double quotes. Reading it back gives the same record.
pub fn to_yaml<T: Serialize>(packet: &T) -> String {
    lines(&to_map(packet), "")
}

fn lines(record: &Map<String, Value>, indent: &str) -> String {
    let line = |(key, value): (&String, &Value)| match value {
        Value::Array(items) if !items.is_empty() => {
            let items: Vec<String> =
                items.iter().map(|item| format!("{indent}  - {}\n", scalar(item))).collect();
            format!("{indent}{key}:\n{}", items.concat())
        }
        Value::Object(inner) if !inner.is_empty() => {
            format!("{indent}{key}:\n{}", lines(inner, &format!("{indent}  ")))
        }
        value => format!("{indent}{key}: {}\n", scalar(value)),
    };
    record.iter().map(line).collect()
}

fn scalar(value: &Value) -> String {
    let bare = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    match value {
        Value::String(text) if bare(text) => text.clone(),
        Value::String(text) => double_quote(text),
        Value::Array(_) => "[]".to_owned(),
        other => other.to_string(),
    }
}

/// Quoted as in JSON; characters that YAML considers non-printable are escaped too.
fn double_quote(text: &str) -> String {
    let escape = |c: char| match c {
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    quoted(text).chars().map(escape).collect()
}

/// The record in a text that a person may have edited. Each value has the type of its key in `like`: a flag,
/// a number, a list, or text.
fn read_yaml(text: &str, like: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let node = yaml::parse(text, 1).map_err(|fault| format!("line {}: {}", fault.line, fault.what))?;
    let Yaml::Map(pairs) = node.value else { return Err("it is not a mapping".to_owned()) };
    record(&pairs, like)
}

fn record(pairs: &[(yaml::Key, Node)], like: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut record = Map::new();
    for (key, node) in pairs {
        let Some(kind) = like.get(&key.name) else {
            return Err(format!("line {}: the key `{}` is not known", key.line, key.name));
        };
        record.insert(key.name.clone(), value(&key.name, node, kind)?);
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
        (Yaml::Text(text), Value::Number(_)) => {
            text.parse::<u64>().map_or_else(|_| odd("a number"), |n| Ok(n.into()))
        }
        (Yaml::Text(text), _) => Ok(text.clone().into()),
        (Yaml::List(items), _) => items
            .iter()
            .map(|item| value(key, item, &Value::Null))
            .collect::<Result<Vec<_>, _>>()
            .map(Value::Array),
        (Yaml::Map(pairs), Value::Object(like)) => record(pairs, like).map(Value::Object),
        (Yaml::Map(_), _) => odd("a single value"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn pause() -> Pause {
        Pause {
            checkpoint_id: "CP_r_build".to_owned(),
            policy_hash: "p".to_owned(),
            question: "may it: run `x`?\nhint: y".to_owned(),
            run_id: "r".to_owned(),
            session_id: "s".to_owned(),
            step_index: 3,
            task_spec: TaskSpec::Full {
                context_refs: vec!["docs/spec.md".to_owned()],
                task: "do: it # now".to_owned(),
            },
            timestamp: "2026-01-13T10:00:00.123Z".to_owned(),
            tool_use_id: Some("toolu_1".to_owned()),
            ..Pause::default()
        }
        .seal("tree")
    }

    #[test]
    fn a_person_may_edit_two_fields_and_no_other() {
        let packet = pause();
        let text = to_yaml(&packet);
        assert_eq!(Pause::read(&text).unwrap(), packet);
        let decided = text
            .replace("resolved: false", "resolved: true")
            .replace("resolution_decision: null", "resolution_decision: approved");
        let read = Pause::read(&decided).unwrap();
        assert_eq!(
            (read.decision(), read.digest_with("tree")),
            (Some(Decision::Approved), packet.digest.clone())
        );
        for line in text.lines().filter(|line| !line.starts_with("resol")) {
            let change =
                if line.contains("- ") { line.replace("- ", "- 1") } else { line.replace(':', ": 1") };
            let edited = text.replace(line, &change);
            let same = Pause::read(&edited).is_ok_and(|read| read.digest_with("tree") == read.digest);
            assert!(!same, "{line}");
        }
        assert_ne!(packet.digest_with("another"), packet.digest);
    }

    /// The format of the document; and a packet of the first release, in which the task is plain text.
    #[test]
    fn a_task_is_named_with_its_files() {
        let text = to_yaml(&pause());
        let wanted = "task_spec:\n  context_refs:\n    - \"docs/spec.md\"\n  task: \"do: it # now\"\n";
        assert!(text.contains(wanted), "{text}");
        let old = Pause { task_spec: TaskSpec::Plain("do it".to_owned()), ..pause() }.seal("tree");
        let text = to_yaml(&old);
        assert!(text.contains("task_spec: \"do it\"\n"), "{text}");
        let read = Pause::read(&text).unwrap();
        assert_eq!((&read, read.digest_with("tree")), (&old, old.digest.clone()));
    }

    #[test]
    fn half_a_decision_is_none() {
        let half = Pause { resolved: true, ..pause() };
        assert_eq!(half.decision(), None);
        let half = Pause { resolution_decision: Some(Decision::Rejected), ..pause() };
        assert_eq!(half.decision(), None);
    }

    #[test]
    fn keys_are_sorted() {
        let end = End {
            commit_hash: "c".to_owned(),
            ledger_head: "l".to_owned(),
            outcome: RunOutcome::Pass,
            policy_hash: "p".to_owned(),
            reason: "all steps passed".to_owned(),
            run_id: "r".to_owned(),
            steps_executed: vec!["a".to_owned()],
            timestamp: "t".to_owned(),
            workflow: "w".to_owned(),
        };
        for text in [to_yaml(&end), to_yaml(&pause())] {
            let keys: Vec<_> = text.lines().filter(|line| !line.starts_with(' ')).collect();
            assert!(keys.is_sorted(), "{text}");
        }
    }

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
        let wanted = "lines: \"a\\n\\\"b\\\": #c\"\nn: 3\nnone: []\nnothing: null\noutcome: PASS\n\
            run_id: \"2026-x\"\nsteps:\n  - \"a\"\n  - \"b\"\nword: \"true\"\nyes: true\n";
        assert_eq!(to_yaml(&record), wanted);
        assert_eq!(read_yaml(wanted, &record).unwrap(), record);
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
            let said = read_yaml(text, &like).unwrap_err();
            assert!(said.contains(words), "{text:?}: {said}");
        }
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in "\\PC*|[\\x00-\\u{ff}]*") {
            let record = object(json!({"a": text}));
            prop_assert_eq!(read_yaml(&to_yaml(&record), &record).unwrap(), record);
        }
    }
}
