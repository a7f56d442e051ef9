//! Tells the person, once per session and never the model, how to skip the loop.
//!
//! Invariant: it is said at the first refusal that a waiver would have prevented, and only if a person gives
//! the prompts.

use super::Context;
use crate::model::event::Event;
use crate::model::gate_id::GateId;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fold::Session;

pub const WORDS: &str = "aops-hook blocked a step of this task and told the model what to do first\n\
                         hint: start a prompt with `.` to skip the loop for that task; change the default with `aops-hook mode`";

/// Gates that a prompt can waive.
const WAIVABLE: [GateId; 3] = [GateId::Sandbox, GateId::Audit, GateId::Checks];

pub fn is_told(session: &Session, event: &Event, context: &Context, verdict: &Verdict) -> bool {
    let by_loop = verdict.ruling == Ruling::Deny && verdict.gate.is_some_and(|gate| WAIVABLE.contains(&gate));
    let by_worker = event.asked_call().is_some() && event.by_our_agent().is_none();
    by_loop && by_worker && context.stage.is_none() && !session.memory.told.way_out
}
