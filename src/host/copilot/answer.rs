//! Writes a verdict, or our own failure, as Copilot CLI wants to hear it.
//!
//! Invariants: a call is refused by JSON and exit 2 together, since words on stderr are dropped; a prompt and the end of a turn
//! by JSON alone; what is told to the model stands at the top, except before a call.

use super::read::{is_native, untranslate};
use crate::host::claude::wire::answer::{Answer, broken, clean};
use crate::host::table::{self, HostEvent};
use crate::host::words::NOT_YET;
use crate::model::client::Client;
use crate::model::error::Failure;
use crate::model::event::EventKind;
use crate::model::verdict::{Ruling, Verdict};
use serde_json::{Map, Value, json};

/// `payload`: the event that is answered.
pub fn spell(kind: EventKind, verdict: &Verdict, payload: &[u8]) -> Answer {
    let Some(row) = table::event_of(Client::Copilot, kind.row().name) else { return Answer::default() };
    let (reason, notice) = (clean(&verdict.reason), clean(&verdict.notice));
    if verdict.ruling >= Ruling::Ask && row.refuses {
        return refuse(kind, verdict, &reason, &notice);
    }
    let unheard = if verdict.ruling >= Ruling::Ask { reason } else { String::new() };
    let mut own = Map::new();
    let mut top = Map::new();
    let context = clean(&verdict.context);
    if !context.is_empty() && row.context {
        let place = if kind == EventKind::PreToolUse && !is_native(payload) { &mut own } else { &mut top };
        place.insert("additionalContext".into(), json!(context));
    }
    if let Some(input) = verdict.input.as_deref().and_then(|input| untranslate(input, payload)) {
        let (place, name) = if is_native(payload) { (&mut top, "modifiedArgs") } else { (&mut own, "updatedInput") };
        place.insert("permissionDecision".into(), json!("allow"));
        place.insert(name.into(), input);
    }
    let told = [notice, unheard].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    Answer { stdout: object(row, top, own), stderr: line(&told), exit: 0 }
}

fn refuse(kind: EventKind, verdict: &Verdict, reason: &str, notice: &str) -> Answer {
    let told = if verdict.aloud && !notice.is_empty() { format!("{reason}\n{notice}") } else { reason.to_owned() };
    let row = table::event_of(Client::Copilot, kind.row().name);
    let mut top = Map::new();
    let exit = if kind == EventKind::PreToolUse { 2 } else { 0 };
    if kind == EventKind::PreToolUse {
        // In its own form: beside exit 2 it reads no other.
        top.insert("permissionDecision".into(), json!("deny"));
        top.insert("permissionDecisionReason".into(), json!(told));
    } else {
        let reason = if kind == EventKind::Stop { format!("{NOT_YET}\n{told}") } else { told.clone() };
        top.insert("decision".into(), json!("block"));
        top.insert("reason".into(), json!(reason));
    }
    let stdout = row.map(|row| object(row, top, Map::new())).unwrap_or_default();
    Answer { stdout, stderr: line(&told), exit }
}

fn object(row: &HostEvent, mut top: Map<String, Value>, mut own: Map<String, Value>) -> String {
    if !own.is_empty() {
        own.insert("hookEventName".into(), json!(row.name));
        top.insert("hookSpecificOutput".into(), Value::Object(own));
    }
    if top.is_empty() { String::new() } else { format!("{}\n", Value::Object(top)) }
}

fn line(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{text}\n") }
}

/// The answer to an event that aops-hook itself failed on.
pub fn fail(kind: EventKind, failure: &Failure) -> Answer {
    let verdict = broken(kind, failure);
    spell(kind, &verdict, b"")
}
