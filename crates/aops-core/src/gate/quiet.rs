//! Answers in the person's place if no gate objects, and reports when the jail hindered such a line.
//!
//! Reads the verdict of all gates and what was observed about the call; writes nothing. Invariants: an answer
//! is given only if every gate was silent; the person is told about the first one in a session, and when they
//! end.

use super::Context;
use crate::model::event::{Event, EventKind};
use crate::model::gate_id::GateId;
use crate::model::verdict::{Ruling, Verdict};
use crate::session::fact::Quieted;
use crate::session::fold::Session;
use crate::text::json;

const GATE: GateId = GateId::Quiet;

/// The answer to a call about which every gate was silent.
pub fn answer(session: &Session, quiet: &Quieted) -> Verdict {
    let is_first = session.memory.questions.quiet.is_none();
    let level = quiet.level.name();
    let notice = if is_first {
        format!(
            "commands that the jail contains are approved for you (`[quiet] allow` is `{level}`); `aops-hook quiet off` stops that"
        )
    } else {
        String::new()
    };
    Verdict { ruling: Ruling::Allow, gate: Some(GATE), notice, ..Verdict::pass() }
}

/// After an answered command: what hindered it, or that the proof of its jail is missing. At the session's
/// end: the count.
pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    if event.kind() == EventKind::SessionEnd {
        return at_end(session, event, context);
    }
    let is_end = matches!(event.kind(), EventKind::PostToolUse | EventKind::PostToolUseFailure);
    let open = event.call().filter(|_| is_end).and_then(|call| session.open_call(&call.key));
    if open.is_none_or(|open| open.means.quiet.is_none()) {
        return Verdict::pass();
    }
    let Some(end) = context.end() else { return Verdict::pass() };
    if end.unproven {
        let words = "a command was approved for you, but there is no proof that it ran in the jail: nothing more is approved in this session";
        return Verdict::notice(GATE, words);
    }
    if end.recorded.under.hindered {
        let words = "this ran without network and could not write to `.git` or outside of the project, because nobody was asked; if it failed for that reason, run it again and the user is asked";
        return Verdict::context(GATE, words);
    }
    Verdict::pass()
}

/// At this event the client shows a hook's words only as those of a failed hook, hence the addition "nothing
/// failed". After `/clear` and `/resume` its screen stays in use, and we must not print over it.
fn at_end(session: &Session, event: &Event, context: &Context) -> Verdict {
    let reason = json::read(&event.about).ok().and_then(|about| about.text_of("reason"));
    let goes_on = reason.is_some_and(|reason| matches!(reason.as_str(), "clear" | "resume"));
    match session.describe_quiet().filter(|_| context.attended && !goes_on) {
        Some(words) => {
            let words = format!("quiet: {words} (a count, nothing failed)");
            Verdict { aloud: true, ..Verdict::notice(GATE, words) }
        }
        None => Verdict::pass(),
    }
}
