//! Refuses everything in a blocked session, and ends the turn.
//!
//! Reads the block flag; writes nothing. Invariant: `Stop`, `SubagentStop` and `SessionEnd` always pass, so
//! no turn is trapped in a session that may do nothing. Way out: a person runs `aops-hook clear-block`.

use super::Context;
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::verdict::Verdict;
use crate::session::fold::Session;
use crate::text::json::cut;

const GATE: GateId = GateId::Block;

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let Some(reason) = session.blocked() else { return name_blocked_beside(context) };
    let words = words(&session.state.session_id, reason);
    match event.kind() {
        kind if kind.row().guarding => Verdict::halt(GATE, words),
        EventKind::SessionStart => Verdict::context(GATE, &words).join(Verdict::notice(GATE, words)),
        _ => Verdict::pass(),
    }
}

/// A new session is not blocked; the user is told which other session is.
fn name_blocked_beside(context: &Context) -> Verdict {
    let blocked = context.start().into_iter().flat_map(|start| &start.blocked_beside);
    let lines: Vec<String> = blocked.map(|(id, reason)| words(id, reason)).collect();
    if lines.is_empty() { Verdict::pass() } else { Verdict::notice(GATE, lines.join("\n")) }
}

fn words(id: &str, reason: &str) -> String {
    let id = cut(id, 128);
    let reason = cut(reason, 2000);
    format!(
        "session `{id}` is blocked: {reason}\nhint: a person can lift it with `aops-hook clear-block {id}` in a terminal of their own"
    )
}
