//! Refuses to work in other folders than the session began in.
//!
//! Reads the folders recorded at the session's start; writes nothing. Why: a project's own settings can set variables for
//! hooks, and a hook that looks elsewhere finds no block, no ledger and no rules. Way out: take the variable out of the
//! settings, or start a new session.

use super::Context;
use crate::model::event::Event;
use crate::model::verdict::Verdict;
use crate::session::fold::Session;
use crate::text::json::cut;

/// What makes it a refusal; a reader of old ledgers knows this gate by it.
pub const WHY: &str = "a session must not be moved away from its ledger";

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let began = &session.memory.folders;
    // Nothing is known of a session whose damaged ledger a person set aside: no ground to refuse on.
    if !event.kind().guarding || session.is_new() || began.is_empty() || *began == context.folders {
        return Verdict::pass();
    }
    let names = began.keys().chain(context.folders.keys());
    let moved = names.into_iter().find(|name| began.get(*name) != context.folders.get(*name));
    let name = moved.map_or("", String::as_str);
    let shown = |value: Option<&String>| value.map_or("unset".to_owned(), |v| format!("`{}`", cut(v, 200)));
    Verdict::deny(
        "guard",
        format!(
            "`{name}` is now {}, but this session began with {}: {WHY}\nhint: ask the user to take `{name}` out of the settings' `env`, or to start a new session",
            shown(context.folders.get(name)),
            shown(began.get(name)),
        ),
    )
}
