//! Calls whose end no event reported: whether they were made, and whether they draw an audit.
//!
//! Reads the files of edits, and only if an event settles such calls.

use crate::gate::Context;
use crate::gate::settle::has_begun;
use crate::model::event::{Event, EventKind};
use crate::observe::{draw, growth};
use crate::session::fold::Session;
use crate::session::memory::OpenCall;
use crate::system::env::Env;

pub(super) fn look(env: &Env, session: &Session, event: &Event, context: &mut Context) {
    let settles = matches!(event.kind(), EventKind::PostToolBatch | EventKind::Stop | EventKind::StopFailure)
        || matches!(
            event.kind(),
            EventKind::UserPromptSubmit | EventKind::SessionEnd | EventKind::SubagentStop
        );
    let begun = |open: &&OpenCall| settles && has_begun(open, event, context);
    let unended: Vec<&OpenCall> = session.memory.calls.iter().filter(begun).collect();
    let made = unended.iter().filter(|open| growth::is_made(env, session, event, open));
    context.earlier.made = made.map(|open| open.call.id.clone()).collect();
    let counts =
        |open: &&OpenCall| open.means.grows.is_none() || context.earlier.made.contains(&open.call.id);
    if let Some(open) = unended.into_iter().find(counts) {
        context.earlier.drawn = draw::draw(session, event, open, context);
    }
}
