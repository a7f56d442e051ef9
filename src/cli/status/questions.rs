//! The rows of `status` about questions to a person.

use crate::cli::table::{NamedFact, Tone};
use aops_core::session::fold::Session;
use aops_core::session::question::{Question, Questions};
use aops_core::text::time;
use serde_json::{Value, json};

/// What the client is asking its user now, and what it asked before.
pub(super) fn describe_questions(session: &Session, now_ms: i64) -> Vec<NamedFact> {
    let since = |question: &Question| time::age(now_ms - time::parse(&question.since).unwrap_or(now_ms));
    let open = session.open_questions();
    let mut rows: Vec<NamedFact> = open
        .map(|(_, question)| ("asks you", format!("{} ({})", question.line, since(question)), Tone::Warn))
        .collect();
    let Questions { allowed, asked, last, refused, seen, .. } = &session.memory.questions;
    if let Some(words) = session.describe_quiet() {
        rows.push(("quiet", words, if session.is_quiet_off() { Tone::Warn } else { Tone::Plain }));
    } else if *seen > 0 {
        rows.push(("prompts", format!("{seen} seen"), Tone::Plain));
    }
    if *asked > 0 {
        let last = last.as_ref().map(|last| format!("; last {}", last.tell(160))).unwrap_or_default();
        rows.push((
            "questions",
            format!("{asked} asked, {allowed} approved, {refused} rejected{last}"),
            Tone::Plain,
        ));
    }
    rows
}

pub(super) fn to_json(session: &Session) -> Value {
    let Questions { allowed, asked, last, refused, seen, .. } = &session.memory.questions;
    let open: Vec<&Question> = session.open_questions().map(|(_, question)| question).collect();
    json!({"asked": asked, "allowed": allowed, "refused": refused, "last": last, "open": open,
    "prompts_seen": seen})
}

/// What was answered in the person's place, for the status line.
pub(super) fn describe_quiet(session: &Session) -> Option<String> {
    session.describe_quiet().map(|words| format!("quiet: {words}"))
}
