//! Refuses a call that already ended, and an id that is used for two calls.
//!
//! Invariant: the same call in flight gets the same answer again (see [`same_answer`]); another prompt or
//! another input makes an ended id a new call, since some gateways reuse ids. Way out: make the call again
//! under an id of its own.

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

/// How this very call ended before. Another input or prompt under its id makes a new call.
pub fn ended_before<'a>(event: &Event, call: &ToolCall, context: &'a Context) -> Option<&'a Step> {
    let same = |past: &&Step| past.input_sha256 == call.input_sha256 && past.prompt_id == event.prompt_id;
    context.earlier.past.as_ref().filter(same)
}

/// The effect of the call as it was recorded: it stands in for a second execution.
fn told(result: &ToolResult) -> String {
    let lines = result.lines();
    let digest = cut(&result.sha256, 12);
    let lines = if lines.is_empty() { String::new() } else { format!(": {lines}") };
    format!("\nits result then ({} bytes, sha256 {digest}…){lines}", result.bytes)
}

/// The very prompt that was heard last: the client, or two registrations of ours, delivered it twice. It is
/// one prompt.
pub fn is_same_prompt(session: &Session, event: &Event) -> bool {
    let prompts = event.kind() == EventKind::UserPromptSubmit;
    let (Some(known), Some(id), true) = (&session.memory.prompted, &event.prompt_id, prompts) else {
        return false;
    };
    known.id == *id && known.sha256 == sha256(&[event.prompt().as_bytes()])
}

/// What was answered when the same call, still in flight, was asked first.
pub fn same_answer(session: &Session, event: &Event) -> Option<Verdict> {
    let call = event.asked_call()?;
    // A call that a run paused for is judged anew.
    let same = |open: &&OpenCall| open.input_sha256 == call.input_sha256 && !open.means.deferred;
    let open = session.open_call(&call.key).filter(same)?;
    Some(match &open.reason {
        Some(reason) => {
            Verdict { ruling: Ruling::Ask, gate: Some(GATE), reason: reason.clone(), ..Verdict::default() }
        }
        None => Verdict::pass(),
    })
}
