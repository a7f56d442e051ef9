//! Gives a call an identity if its client gives none.
//!
//! Reads the session's open calls and the length of its ledger; writes nothing. Invariants: each call that is
//! asked about gets its own identity, since the ledger grows with each; its end is matched by agent, tool and
//! input to the oldest call that is still running, or if we replaced the input, by agent and tool.

use crate::ledger::open::Ledger;
use crate::model::call::ToolCall;
use crate::model::client::Ability;
use crate::model::event::{Event, EventKind};
use crate::session::memory::OpenCall;
use crate::system::env::Env;

/// The event with an identity for its call; `None` if it has one.
pub(super) fn made(env: &Env, ledger: &Ledger, event: &Event) -> Option<Event> {
    let call = event.call().filter(|_| !env.host.can(Ability::NamesCalls))?;
    let asked = matches!(event.kind(), EventKind::PreToolUse | EventKind::PermissionRequest);
    let id = if asked { None } else { running(ledger, event, call) };
    let id = id.unwrap_or_else(|| format!("made-{}-{}", ledger.length(), &call.input_sha256[..12]));
    let mut event = event.clone();
    if let Some(call) = event.call_mut() {
        call.key.id = id;
    }
    Some(event)
}

/// The oldest running call that may be this one.
fn running(ledger: &Ledger, event: &Event, call: &ToolCall) -> Option<String> {
    let open = &ledger.session().memory.calls;
    let same = |one: &&OpenCall| one.agent_id == event.agent_id && one.call.tool == call.key.tool;
    let mut equal = open.iter().filter(same).filter(|one| one.input_sha256 == call.input_sha256);
    let found = equal.next().or_else(|| open.iter().find(same));
    found.map(|one| one.call.id.clone())
}
