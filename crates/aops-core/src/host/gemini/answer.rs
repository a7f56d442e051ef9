//! Writes a verdict in the form that Gemini CLI expects. Qwen Code understands Claude's answers.
//!
//! Invariants: a refusal is JSON, exit 2 and text on stderr together, since Gemini lets calls pass if it
//! cannot read the answer; a question becomes a refusal, since Gemini waits forever if no person can answer.

use super::row::GEMINI;
use crate::host::claude::wire::answer::{Answer, clean, line, object, told};
use crate::model::event::EventKind;
use crate::model::verdict::{Ruling, Verdict};
use serde_json::{Map, json};

const NOT_ASKED: &str =
    "hint: Gemini CLI cannot ask the user about this; ask them to do it in a terminal of their own";

pub fn spell(kind: EventKind, verdict: &Verdict) -> Answer {
    let Some(row) = GEMINI.event(kind.row().name) else { return Answer::default() };
    if verdict.ruling >= Ruling::Ask && row.refuses {
        let told = told(kind, verdict, NOT_ASKED);
        let stdout = format!("{}\n", json!({"decision": "deny", "reason": told}));
        return Answer { stdout, stderr: format!("{told}\n"), exit: 2 };
    }
    let mut own = Map::new();
    let context = clean(&verdict.context);
    if !context.is_empty() && row.context {
        own.insert("additionalContext".into(), json!(context));
    }
    Answer { stdout: object(row.name, Map::new(), own), stderr: line(&clean(&verdict.notice)), exit: 0 }
}
