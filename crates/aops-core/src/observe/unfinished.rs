//! What an unattended session could not do.
//!
//! Reads the end of the ledger; writes nothing.

use crate::gate::LastRefusal;
use crate::ledger::open::Recent;
use crate::model::call::{CallState, Effect};
use crate::model::event::EventKind;
use crate::session::fact::Fact;

/// The main agent's last refusal since the last prompt, if nothing was done after it.
pub(super) fn refusal(recent: &[Recent]) -> Option<LastRefusal> {
    let mut refused = None;
    let mut acting = Vec::new();
    for entry in recent {
        match &entry.fact {
            Fact::Event(seen) if seen.kind() == EventKind::UserPromptSubmit => refused = None,
            Fact::Call(step) if step.agent_id.is_none() => {
                if step.effect().is_some_and(|effect| effect.is_write() || effect == Effect::Spawn) {
                    acting.push(&step.call);
                }
                if let (CallState::Denied, Some(gate)) = (step.to, &step.gate) {
                    let last = |why: &String| LastRefusal {
                        gate: gate.clone(),
                        rule: step.rule().map(str::to_owned),
                        why: why.clone(),
                    };
                    refused = step.reason.as_ref().map(last);
                } else if step.to == CallState::Completed && acting.contains(&&step.call) {
                    refused = None;
                }
            }
            _ => {}
        }
    }
    refused
}
