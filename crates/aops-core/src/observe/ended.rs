//! Gathers what the gates need to know about the end of a call.
//!
//! Reads the working tree, guarded files and the jail's proof, each only for the calls that need it.
//! Invariant: a call that was never asked about adds nothing here.

use crate::config::texts::{Library, Reading};
use crate::gate::{Context, EndContext};
use crate::ledger::open::Ledger;
use crate::model::call::Effect;
use crate::model::event::{Event, EventKind};
use crate::observe::by_user::saves;
use crate::observe::{draw, evidence, growth, hosts, jailed, keeping, plan, quiet, tampering, verified};
use crate::session::fact::Under;
use crate::tool::table::{self, ToolTouches};

/// The results of a call that is still open.
pub(super) fn end(env: &Reading, ledger: &Ledger, event: &Event, context: &Context) -> EndContext {
    let session = ledger.session();
    let mut ended = EndContext::default();
    let call = event.call();
    let Some(open) = call.and_then(|call| session.open_call(&call.key)) else { return ended };
    ended.tracked = open.means.effect == Some(Effect::Tracker) || !open.means.tracks.is_empty();
    let kept = keeping::of_ended(env, session, event, open);
    let hosts;
    (hosts, ended.served) = hosts::reached(env, session, &ledger.place().path, event);
    let (jailed, unproven) = jailed::proof(env, &ledger.place().path, session, event, open);
    ended.unproven = unproven;
    let changes = open.means.effect.is_some_and(Effect::is_write);
    let recorded = &mut ended.recorded;
    recorded.drawn = draw::draw(session, event, open, context);
    recorded.rejected = changes && call.is_some_and(evidence::is_rejected);
    recorded.under = Under {
        hindered: quiet::is_hindered(event, open),
        hosts,
        kept,
        offline: jailed.as_ref().is_some_and(|proof| jailed::is_offline(session, event, proof)),
        jailed,
    };
    let is_same = verified::is_unchanged(env, session, event, open)
        || growth::is_idle(env, session, event, open)
        || open.means.effect == Some(Effect::Close) && verified::fetches(env, event);
    let measured = &mut recorded.measured;
    measured.unchanged = is_same;
    if is_same {
        recorded.drawn = None;
    } else if open.means.effect == Some(Effect::Write) && open.means.grows.is_none() {
        growth::of_tree(env, session, event, open, measured);
        if measured.grown.as_ref() == Some(&session.memory.progress.weight.grown) && !measured.moved {
            // It is not work, so it draws no audit.
            recorded.drawn = None;
        }
    }
    if event.kind() == EventKind::PostToolUse {
        recorded.plan = plan::approved(env, session, event, || Library::workflow_gates(env)).map(Box::new);
    }
    // A line may do more than its text shows.
    let runs_line = call.is_some_and(|call| {
        matches!(table::tool(&call.key.tool).touches, ToolTouches::Line | ToolTouches::PowerShell)
    });
    if (runs_line || changes) && !session.memory.watched.marks.is_empty() {
        let edited = call.and_then(|call| saves(event, call));
        tampering::look(env, ledger, event, edited.as_deref(), &mut ended);
    }
    ended
}
