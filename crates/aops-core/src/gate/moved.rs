//! Refuses to work with other folders than those the session began with.
//!
//! Why: a project's own settings can set variables for hooks, and a hook that looks elsewhere finds no block,
//! no ledger and no rules. Way out: remove the variable from the settings, or start a new session.

use super::Context;
use crate::model::event::Event;
use crate::model::gate_id::GateId;
use crate::model::verdict::Verdict;
use crate::session::fold::Session;
use crate::text::json::cut;

/// Part of every refusal; `replay` recognises this gate in old ledgers by it.
pub const WHY: &str = "a session must not be moved away from its ledger";

pub fn judge(session: &Session, event: &Event, context: &Context) -> Verdict {
    let began = &session.memory.watched.folders;
    // If a person set a damaged ledger aside, its session has no recorded folders to compare with.
    if !event.kind().row().guarding || session.is_new() || began.is_empty() || *began == context.folders {
        return Verdict::pass();
    }
    let names = began.keys().chain(context.folders.keys());
    let moved = names.into_iter().find(|name| began.get(*name) != context.folders.get(*name));
    let name = moved.map_or("", String::as_str);
    let shown = |value: Option<&String>| value.map_or("unset".to_owned(), |v| format!("`{}`", cut(v, 200)));
    Verdict::deny(
        GateId::Guard,
        format!(
            "`{name}` is now {}, but this session began with {}: {WHY}\nhint: ask the user to take `{name}` out of the settings' `env`, or to start a new session",
            shown(context.folders.get(name)),
            shown(began.get(name)),
        ),
    )
}
