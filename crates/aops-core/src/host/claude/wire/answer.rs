//! Writes a verdict, or our own failure, in the form that each event expects; and parses one of our answers
//! as the client would, for commands that run the hook like the client.
//!
//! Writes stdout and stderr of the hook; nothing else does. Invariants: we print nothing if an event passes,
//! or in a dialog that already asks our question; a refusal uses both ways (JSON and exit 2 with the same
//! text) unless the model would read both, and every event understands it as a refusal; no escape byte and no
//! text over `LONGEST` is written; a broken hook refuses guarding events and warns on all others.

use crate::host::words::NOT_YET;
use crate::model::error::Failure;
use crate::model::event::{EventKind, EventRow, Refusal};
use crate::model::gate_id::GateId;
use crate::model::verdict::{Ruling, Verdict};
use crate::text::json::{self, Json};
use crate::text::plain::plain;
use serde_json::{Map, Value, json};
use std::io::Write;

/// The client cuts context at 10,000 characters; we stay below that and keep the end, which contains the next
/// step.
const LONGEST: usize = 9_500;

/// The client's key for the decision about a call, in answers and in its transcript.
pub const DECISION: &str = "permissionDecision";

/// What the process prints, and its exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub stdout: String,
    pub stderr: String,
    pub exit: u8,
}

pub fn spell(kind: EventKind, verdict: &Verdict) -> Answer {
    let row = kind.row();
    let mut top = Map::new();
    let mut own = Map::new();
    let mut answer = Answer::default();
    let reason = clean(&verdict.reason);
    let mut notice = clean(&verdict.notice);
    match (verdict.ruling, row.refusal) {
        // The client shows this hook's text to nobody, unless the hook fails.
        _ if verdict.aloud && kind == EventKind::SessionEnd => return spoken(&notice),
        (Ruling::Pass, _) | (Ruling::Allow, Refusal::None | Refusal::Block | Refusal::Words) => {}
        (Ruling::Deny | Ruling::Ask | Ruling::Defer, Refusal::None) => {
            notice = clean(&join(&notice, &reason));
        }
        // The question was put when the call was asked about; the person answers this dialog.
        (Ruling::Ask, Refusal::Dialog) => return answer,
        (Ruling::Allow, Refusal::Dialog) => drop(own.insert("decision".into(), json!({"behavior": "allow"}))),
        (ruling @ (Ruling::Allow | Ruling::Ask | Ruling::Defer), Refusal::Permission) => {
            permit(&mut own, ruling.name(), &reason);
        }
        (_, Refusal::Words) => return spoken(&join(&reason, &notice)),
        (Ruling::Ask | Ruling::Defer | Ruling::Deny, form) => {
            answer.exit = 2;
            let told = if verdict.aloud { join(&reason, &notice) } else { reason.clone() };
            answer.stderr = format!("{told}\n");
            refuse(form, &reason, &mut top, &mut own);
        }
    }
    let feedback = clean(&verdict.feedback);
    if !feedback.is_empty() && kind == EventKind::PostToolUse {
        refuse(Refusal::Block, &feedback, &mut top, &mut own);
    }
    if verdict.halt {
        top.insert("continue".into(), json!(false));
        // Shown to the person, like a notice.
        let shown = if reason.is_empty() { std::mem::take(&mut notice) } else { reason };
        top.insert("stopReason".into(), json!(shown));
    }
    add_beside(&mut own, row, verdict);
    if !notice.is_empty() {
        top.insert("systemMessage".into(), json!(notice));
    }
    Answer { stdout: object(row.name, top, own), ..answer }
}

/// Prints only to stderr.
fn spoken(words: &str) -> Answer {
    Answer { stderr: format!("{}\n", clean(words)), exit: 2, ..Answer::default() }
}

/// Adds what the model gets in addition to the ruling, and the input that replaces the tool's own.
fn add_beside(own: &mut Map<String, Value>, row: &EventRow, verdict: &Verdict) {
    // If the call failed, the client passes on nothing else.
    let failed = if row.kind == EventKind::PostToolUse { "" } else { &verdict.feedback };
    let context = clean(&join(failed, &verdict.context));
    if !context.is_empty() && row.context {
        own.insert("additionalContext".into(), json!(context));
    }
    if let Some(input) = verdict.input.as_deref().and_then(|input| serde_json::from_str(input).ok())
        && verdict.ruling != Ruling::Deny
    {
        own.insert("updatedInput".into(), input);
    }
}

/// The verdict on an event in which aops-hook itself failed: a guarding event is refused.
pub fn broken(kind: EventKind, failure: &Failure) -> Verdict {
    let row = kind.row();
    let way_out = failure.code.way_out();
    if row.guarding {
        let words = format!(
            "aops-hook is broken and blocks until it is fixed (no rule was broken): {failure}\nhint: {way_out}"
        );
        return Verdict::deny(GateId::Failure, words);
    }
    let name = if row.name.is_empty() { "an unknown event".to_owned() } else { format!("`{}`", row.name) };
    let words = format!("aops-hook is broken and let {name} go unrecorded: {failure}\nhint: {way_out}");
    Verdict::notice(GateId::Failure, &words)
}

/// The answer to an event in which aops-hook itself failed.
pub fn fail(kind: EventKind, failure: &Failure) -> Answer {
    let verdict = broken(kind, failure);
    let mut answer = spell(kind, &verdict);
    if verdict.ruling == Ruling::Deny {
        return answer;
    }
    if matches!(kind, EventKind::WorktreeCreate | EventKind::Other) {
        answer.stdout.clear(); // the client would read text on stdout as a path
    }
    answer.stderr = format!("{}\n", clean(&verdict.notice));
    answer
}

/// The answer if Claude Code sends bytes without an event name: refused in the one form that every event
/// understands.
pub fn fail_unnamed(failure: &Failure) -> Answer {
    let words = format!(
        "aops-hook is broken and blocks until it is fixed (no rule was broken): {failure}\nhint: {}; `aops-hook --help` lists the commands",
        failure.code.way_out()
    );
    Answer { stderr: format!("{}\n", clean(&words)), exit: 2, ..Answer::default() }
}

/// The answer to a foreign client: the call passes, and we say so.
pub fn stand_aside() -> Answer {
    let words = "aops-hook: not an event of Claude Code: passed, not judged, not recorded (`aops-hook --help` lists the commands)\n";
    Answer { stderr: words.to_owned(), ..Answer::default() }
}

/// Writes the answer. A refusal that cannot be written to stdout still ends with exit 2; any other answer to
/// a guarding event that cannot be written becomes a refusal.
pub fn deliver(kind: EventKind, answer: &Answer) -> u8 {
    let said = |mut to: Box<dyn Write>, text: &str| {
        text.is_empty() || to.write_all(text.as_bytes()).and_then(|()| to.flush()).is_ok()
    };
    let heard = said(Box::new(std::io::stdout().lock()), &answer.stdout) || !kind.row().guarding;
    // Some clients treat exit 2 as a refusal only if there is text on stderr.
    let words = if heard || !answer.stderr.is_empty() {
        &answer.stderr
    } else {
        "aops-hook: the answer could not be written\n"
    };
    said(Box::new(std::io::stderr().lock()), words);
    if heard { answer.exit } else { 2 }
}

fn permit(own: &mut Map<String, Value>, decision: &str, reason: &str) {
    own.insert(DECISION.into(), json!(decision));
    own.insert("permissionDecisionReason".into(), json!(reason));
}

fn refuse(form: Refusal, reason: &str, top: &mut Map<String, Value>, own: &mut Map<String, Value>) {
    match form {
        Refusal::Permission => permit(own, "deny", reason),
        Refusal::Dialog => {
            drop(own.insert("decision".into(), json!({"behavior": "deny", "message": reason})));
        }
        Refusal::Block => {
            top.insert("decision".into(), json!("block"));
            top.insert("reason".into(), json!(reason));
        }
        Refusal::None | Refusal::Words => {}
    }
}

/// The object on stdout: keys that every event may have, and the event's own.
pub fn object(event: &str, mut top: Map<String, Value>, mut own: Map<String, Value>) -> String {
    if !own.is_empty() {
        own.insert("hookEventName".into(), json!(event));
        top.insert("hookSpecificOutput".into(), Value::Object(own));
    }
    if top.is_empty() { String::new() } else { format!("{}\n", Value::Object(top)) }
}

/// A line for stderr.
pub fn line(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{text}\n") }
}

/// The text of a refusal for a client that cannot ask; `not_asked` replaces the question.
pub fn told(kind: EventKind, verdict: &Verdict, not_asked: &str) -> String {
    let reason = clean(&verdict.reason);
    let notice = clean(&verdict.notice);
    let begin = (kind == EventKind::Stop).then_some(NOT_YET);
    let notice = Some(notice.as_str()).filter(|notice| verdict.aloud && !notice.is_empty());
    let end = matches!(verdict.ruling, Ruling::Ask | Ruling::Defer).then_some(not_asked);
    begin.into_iter().chain([reason.as_str()]).chain(notice).chain(end).collect::<Vec<_>>().join("\n")
}

pub fn join(first: &str, second: &str) -> String {
    [first, second].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Without control and direction-changing characters; a long text is shortened in its middle.
pub fn clean(text: &str) -> String {
    let text = plain(text).into_owned();
    let long = text.chars().count();
    if long <= LONGEST {
        return text;
    }
    let head: String = text.chars().take(LONGEST / 2).collect();
    let tail: String = text.chars().skip(long - LONGEST / 2 + 20).collect();
    format!("{head} … {tail}")
}

/// What the client understands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    pub refused: bool,
    /// A person must decide.
    pub asks: bool,
    /// Why it was refused or asked about.
    pub reason: String,
    /// For the model, in addition to the ruling.
    pub context: String,
    pub notice: String,
    pub ends_turn: bool,
}

/// The meaning of an answer: what the hook printed, and its exit code.
pub fn hear(stdout: &str, stderr: &str, exit: i32) -> Heard {
    let mut heard = Heard { refused: exit == 2, ..Heard::default() };
    let Ok(json) = json::read(stdout) else {
        stderr.trim_end().clone_into(&mut heard.reason);
        return heard;
    };
    let own = json.get("hookSpecificOutput");
    let of_own = |name: &str| own.and_then(|own: &Json| own.text_of(name));
    let dialog = own.and_then(|own| own.get("decision"));
    heard.asks = matches!(of_own(DECISION).as_deref(), Some("ask" | "defer"));
    let reason = of_own("permissionDecisionReason").or_else(|| dialog?.text_of("message"));
    heard.reason = reason.or_else(|| json.text_of("reason")).unwrap_or_default();
    heard.context = of_own("additionalContext").unwrap_or_default();
    heard.notice = json.text_of("systemMessage").unwrap_or_default();
    heard.ends_turn = matches!(json.get("continue"), Some(Json::Bool(false)));
    heard
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::event::EVENTS;

    #[test]
    fn every_refusal_is_heard() {
        for kind in EVENTS.iter().filter(|kind| kind.refusal != Refusal::None) {
            let answer = spell(
                kind.kind,
                &Verdict::halt(GateId::Guard, "no\nhint: y").join(Verdict::notice(GateId::Guard, "told")),
            );
            let heard = hear(&answer.stdout, &answer.stderr, answer.exit.into());
            let both = Heard {
                refused: true,
                reason: "no\nhint: y".to_owned(),
                notice: "told".to_owned(),
                ends_turn: true,
                ..Heard::default()
            };
            let words = Heard { refused: true, reason: "no\nhint: y\ntold".to_owned(), ..Heard::default() };
            let wanted = if kind.refusal == Refusal::Words { words } else { both };
            assert_eq!(heard, wanted, "{}", kind.name);
        }
    }

    #[test]
    fn silence_context_and_questions() {
        let pre = crate::model::event::EventKind::PreToolUse;
        assert_eq!(hear("", "", 0), Heard::default());
        let context = spell(pre, &Verdict::context(GateId::Guard, "know this"));
        assert_eq!(hear(&context.stdout, "", 0).context, "know this");
        let ask = Verdict {
            ruling: Ruling::Ask,
            gate: Some(GateId::Guard),
            reason: "may it?".to_owned(),
            ..Verdict::default()
        };
        let heard = hear(&spell(pre, &ask).stdout, "", 0);
        assert!(heard.asks && !heard.refused && heard.reason == "may it?", "{heard:?}");
    }
}
