//! Writes the reflection on a task from the ledger if no agent has to write it.
//!
//! Reads session and context; writes nothing. Invariant: it says only what the ledger proves; an agent's own
//! reflection is never replaced.

use super::{Context, is_waived};
use crate::config::policy::{Level, ModeLevel};
use crate::model::debt::DebtId;
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::phase::Phase;
use crate::session::fold::Session;
use crate::text::redact::redact;
use crate::text::template::one_line;
use std::collections::BTreeMap;

/// The seven fields, if a task of mode `loop` ends now and owes nothing.
pub fn written(
    session: &Session,
    context: &Context,
    owed: &[Stored<DebtId>],
) -> Option<BTreeMap<String, String>> {
    let state = &session.state;
    let progress = &session.memory.progress;
    let task = state.task.as_ref().filter(|task| task.writes > 0 && task.waiver.is_none())?;
    let over = matches!(state.phase, Phase::Done | Phase::Halted | Phase::Hydrate);
    let ours = session.mode() == ModeLevel::Loop && session.policy().gates.reflect != Level::Off;
    if !owed.is_empty()
        || over
        || !ours
        || progress.proven.reflected
        || is_waived(session, context, GateId::Reflect)
    {
        return None;
    }
    let (files, lines) = progress.weight.grown.count();
    let many = |n: u64, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let done = match files {
        0 => many(task.writes, "change"),
        _ => format!("{}, {}", many(files, "file"), many(lines, "line")),
    };
    let tested = if progress.proven.tested {
        "; the tests of `evidence.test` passed after the last change"
    } else {
        ""
    };
    let verified = if progress.proven.verified { "; verified" } else { "" };
    let intent = redact(task.intent.as_deref().unwrap_or_default()).into_owned();
    let fields = [
        ("request", one_line(&intent, 300)),
        (
            "guidance_received",
            state.state.current_workflow.clone().unwrap_or_else(|| "none: a small edit".to_owned()),
        ),
        ("followed", if progress.friction { "Partial: some calls were blocked" } else { "Yes" }.to_owned()),
        ("outcome", "success".to_owned()),
        ("accomplishment", format!("{} ({done}{verified}{tested})", one_line(&intent, 200))),
        ("root_cause", "none".to_owned()),
        ("proposed_change", "none".to_owned()),
    ];
    Some(fields.map(|(name, text)| (name.to_owned(), text)).into())
}
