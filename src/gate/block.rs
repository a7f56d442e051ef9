//! Refuses everything in a blocked session, and ends the turn.
//!
//! Reads the block flag; writes nothing. Invariant: `Stop`, `SubagentStop` and `SessionEnd` always pass, so nobody is
//! trapped in a session that may do nothing. Way out: a person runs `aops-hook clear-block`.

use super::Context;
use crate::model::event::Event;
use crate::model::verdict::Verdict;
use crate::session::fold::Session;
use crate::text::json::cut;

const GATE: &str = "block";

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let Some(reason) = session.blocked() else { return beside(event, context) };
    let words = words(&session.state.session_id, reason);
    if event.kind().guarding {
        return Verdict::halt(GATE, words);
    }
    if event.name == "SessionStart" {
        return Verdict::context(GATE, &words).join(Verdict::notice(GATE, words));
    }
    Verdict::pass()
}

/// A new session is free, and says which one is not.
fn beside(event: &Event, context: &Context) -> Verdict {
    if event.name != "SessionStart" {
        return Verdict::pass();
    }
    let lines: Vec<String> = context.blocked_beside.iter().map(|(id, reason)| words(id, reason)).collect();
    if lines.is_empty() { Verdict::pass() } else { Verdict::notice(GATE, lines.join("\n")) }
}

fn words(id: &str, reason: &str) -> String {
    let (id, reason) = (cut(id, 128), cut(reason, 2000));
    format!(
        "session `{id}` is blocked: {reason}\nhint: a person can lift it with `aops-hook clear-block {id}` in a terminal of their own"
    )
}
