//! Holds the guard's word against each event: calls, changed settings, and what a write turned out to have done.
//!
//! Reads what the context says the call reaches, or what the settings file now says; writes nothing. Invariant: reading is
//! free. Way out: a person edits the file or runs the verb in a terminal of their own.

use super::{Context, guard};
use crate::claude::disarm;
use crate::model::event::Event;
use crate::model::verdict::Verdict;
use crate::session::fold::Session;
use crate::text::template::one_line;

const GATE: &str = "guard";

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    match event.name.as_str() {
        "PreToolUse" | "PermissionRequest" => context
            .reach
            .as_ref()
            .map_or_else(Verdict::pass, |(protected, reach)| guard::judge(protected, reach)),
        "ConfigChange" => config_change(session, event, context),
        "PostToolUse" | "PostToolUseFailure" => after_write(context),
        _ => Verdict::pass(),
    }
}

fn config_change(session: &Session, event: &Event, context: &Context) -> Verdict {
    let Some(text) = &context.settings else { return Verdict::pass() };
    let held = session.memory.held.get(&event.file_path).map_or(&[][..], Vec::as_slice);
    let Some(why) = disarm::disarms(text, held) else { return Verdict::pass() };
    let path = one_line(&event.file_path, 200);
    let words = format!(
        "the change of `{path}` is not applied to this session: {why}\nhint: a person who wants our hooks gone ends the session and runs `aops-hook uninstall`"
    );
    Verdict::deny(GATE, words)
}

/// Too late to refuse: a line can hide what it does. What it did is told, and being switched off is a block.
fn after_write(context: &Context) -> Verdict {
    if let Some(why) = &context.disarmed {
        return Verdict::notice(GATE, format!("the session is blocked: {}", one_line(why, 400)));
    }
    if context.changed.is_empty() {
        return Verdict::pass();
    }
    let paths = one_line(&context.changed.join(", "), 400);
    Verdict::notice(GATE, format!("changed while a tool call ran: {paths}\nhint: look whether that was you"))
}
