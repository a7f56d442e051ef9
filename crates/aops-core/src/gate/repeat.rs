//! Refuses a call that already ended, and an ID that is used for two calls.
//!
//! Invariants: the same call, while in flight, gets the same answer again (see [`same_answer`]); with another
//! prompt or another input an ended ID is a new call, since some gateways reuse IDs. Way out: make the call
//! again under a new ID.

use super::Context;
use crate::model::call::{ToolCall, ToolResult};
use crate::model::error::Code;
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fact::Step;
use crate::session::fold::Session;
use crate::session::memory::OpenCall;
use crate::text::json::cut;
use crate::text::sha256::sha256;

const GATE: GateId = GateId::Repeat;

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let Some(call) = event.asked_call() else { return Verdict::pass() };
    if let Some(open) = session.open_call(&call.key) {
        if open.input_sha256 == call.input_sha256 {
            return Verdict::pass();
        }
        let code = Code::ConcurrentExecution;
        let id = cut(&call.key.id, 100);
        return Verdict::deny(
            GATE,
            format!(
                "{}: call `{id}` is still running with another input\nhint: {}",
                code.name(),
                code.way_out()
            ),
        );
    }
    let Some(past) = ended_before(event, call, context) else { return Verdict::pass() };
    let why = past.reason.as_deref().map(|why| format!(" ({})", cut(why, 600))).unwrap_or_default();
    Verdict::deny(
        GATE,
        format!(
            "call `{}` already ended: {}{why}{}\nhint: make the call again under an id of its own",
            cut(&call.key.id, 100),
            past.to.name(),
            past.ended().result.as_ref().map(told).unwrap_or_default(),
        ),
    )
}

/// How this very call ended before. With another input or prompt its ID belongs to a new call.
pub fn ended_before<'a>(event: &Event, call: &ToolCall, context: &'a Context) -> Option<&'a Step> {
    let same = |past: &&Step| past.input_sha256 == call.input_sha256 && past.prompt_id == event.prompt_id;
    context.earlier.past.as_ref().filter(same)
}

/// The recorded result of the call, given instead of executing it again.
fn told(result: &ToolResult) -> String {
    let lines = result.lines();
    let digest = cut(&result.sha256, 12);
    let lines = if lines.is_empty() { String::new() } else { format!(": {lines}") };
    format!("\nits result then ({} bytes, sha256 {digest}…){lines}", result.bytes)
}

/// The same prompt as last time: the client, or two registrations of ours, delivered it twice. It counts
/// once.
pub fn is_same_prompt(session: &Session, event: &Event) -> bool {
    let prompts = event.kind() == EventKind::UserPromptSubmit;
    let (Some(known), Some(id), true) = (&session.memory.prompted, &event.prompt_id, prompts) else {
        return false;
    };
    known.id == *id && known.sha256 == sha256(&[event.prompt().as_bytes()])
}

/// The answer that the same call got when it was first asked about and is still in flight.
pub fn same_answer(session: &Session, event: &Event) -> Option<Verdict> {
    let call = event.asked_call()?;
    // A call for which a run paused is judged again.
    let same = |open: &&OpenCall| open.input_sha256 == call.input_sha256 && !open.means.deferred;
    let open = session.open_call(&call.key).filter(same)?;
    Some(match &open.reason {
        Some(reason) => {
            Verdict { ruling: Ruling::Ask, gate: Some(GATE), reason: reason.clone(), ..Verdict::default() }
        }
        None => Verdict::pass(),
    })
}
