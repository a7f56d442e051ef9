//! Writes a verdict in the form that Copilot CLI expects.
//!
//! Invariants: a call is refused by JSON together with exit 2, since text on stderr is dropped; a prompt and
//! the end of a turn are refused by JSON alone; text for the model is at the top level, except before a call.

use super::read::{is_native, untranslate};
use super::row::ROW;
use crate::host::claude::wire::answer::{Answer, clean, join, line, object};
use crate::host::words::NOT_YET;
use crate::model::event::EventKind;
use crate::model::verdict::{Ruling, Verdict};
use serde_json::{Map, json};

/// `payload`: the event that is answered.
pub fn spell(kind: EventKind, verdict: &Verdict, payload: &[u8]) -> Answer {
    let Some(row) = ROW.event(kind.row().name) else { return Answer::default() };
    let reason = clean(&verdict.reason);
    let notice = clean(&verdict.notice);
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
        let (place, name) =
            if is_native(payload) { (&mut top, "modifiedArgs") } else { (&mut own, "updatedInput") };
        place.insert("permissionDecision".into(), json!("allow"));
        place.insert(name.into(), input);
    }
    Answer { stdout: object(row.name, top, own), stderr: line(&join(&notice, &unheard)), exit: 0 }
}

fn refuse(kind: EventKind, verdict: &Verdict, reason: &str, notice: &str) -> Answer {
    let told =
        if verdict.aloud && !notice.is_empty() { format!("{reason}\n{notice}") } else { reason.to_owned() };
    let mut top = Map::new();
    let exit = if kind == EventKind::PreToolUse { 2 } else { 0 };
    if kind == EventKind::PreToolUse {
        // In Copilot's own form: with exit 2 it reads no other.
        top.insert("permissionDecision".into(), json!("deny"));
        top.insert("permissionDecisionReason".into(), json!(told));
    } else {
        let reason = if kind == EventKind::Stop { format!("{NOT_YET}\n{told}") } else { told.clone() };
        top.insert("decision".into(), json!("block"));
        top.insert("reason".into(), json!(reason));
    }
    Answer { stdout: object("", top, Map::new()), stderr: line(&told), exit }
}
