//! The answers for our plugin in OpenCode: a refusal is exit 2 with its reason on stderr, everything else one
//! JSON object.
//!
//! Invariant: every exit code but 0 refuses, so a hook that crashes refuses, too.

use crate::host::claude::wire::answer::{Answer, clean, line, object, told};
use crate::model::event::EventKind;
use crate::model::verdict::{Ruling, Verdict};
use serde_json::{Map, Value, json};

const NOT_ASKED: &str =
    "hint: OpenCode cannot ask the user about this; ask them to do it in a terminal of their own";

pub fn spell(kind: EventKind, verdict: &Verdict) -> Answer {
    if verdict.ruling >= Ruling::Ask {
        let stderr = format!("{}\n", told(kind, verdict, NOT_ASKED));
        return Answer { stderr, exit: 2, ..Answer::default() };
    }
    let mut said = Map::new();
    let context = clean(&verdict.context);
    if !context.is_empty() {
        said.insert("context".into(), json!(context));
    }
    if let Some(input) = verdict.input.as_deref().and_then(started) {
        said.insert("input".into(), input);
    }
    Answer { stdout: object("", said, Map::new()), stderr: line(&clean(&verdict.notice)), exit: 0 }
}

/// The input that starts one of our agents, in the form of the tool `task`.
fn started(input: &str) -> Option<Value> {
    let mut input: Value = serde_json::from_str(input).ok()?;
    input.as_object_mut()?.remove("run_in_background");
    Some(input)
}
