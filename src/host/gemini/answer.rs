//! Writes a verdict, or our own failure, as Gemini CLI wants to hear it. Qwen Code reads Claude's answers.
//!
//! Invariants: a refusal is JSON, exit 2 and words on stderr together, since Gemini lets pass what it cannot read; a question is
//! a refusal, since Gemini waits for ever where no person can answer.

use crate::host::claude::wire::answer::{Answer, broken, clean};
use crate::host::table;
use crate::host::words::NOT_YET;
use crate::model::client::Client;
use crate::model::error::Failure;
use crate::model::event::EventKind;
use crate::model::verdict::{Ruling, Verdict};
use serde_json::json;

const NOT_ASKED: &str = "hint: Gemini CLI cannot ask the user about this; ask them to do it in a terminal of their own";

pub fn spell(kind: EventKind, verdict: &Verdict) -> Answer {
    let Some(row) = table::event_of(Client::Gemini, kind.row().name) else { return Answer::default() };
    let (reason, notice) = (clean(&verdict.reason), clean(&verdict.notice));
    if verdict.ruling >= Ruling::Ask && row.refuses {
        let mut told = vec![reason];
        if kind == EventKind::Stop {
            told.insert(0, NOT_YET.to_owned());
        }
        told.extend(Some(notice).filter(|notice| verdict.aloud && !notice.is_empty()));
        told.extend(matches!(verdict.ruling, Ruling::Ask | Ruling::Defer).then(|| NOT_ASKED.to_owned()));
        let told = told.join("\n");
        let stdout = format!("{}\n", json!({"decision": "deny", "reason": told}));
        return Answer { stdout, stderr: format!("{told}\n"), exit: 2 };
    }
    let context = clean(&verdict.context);
    let mut stdout = String::new();
    if !context.is_empty() && row.context {
        let own = json!({"hookEventName": row.name, "additionalContext": context});
        stdout = format!("{}\n", json!({"hookSpecificOutput": own}));
    }
    let stderr = if notice.is_empty() { String::new() } else { format!("{notice}\n") };
    Answer { stdout, stderr, exit: 0 }
}

/// The answer to an event that aops-hook itself failed on.
pub fn fail(kind: EventKind, failure: &Failure) -> Answer {
    spell(kind, &broken(kind, failure))
}
