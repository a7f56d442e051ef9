//! Looks at what a call has done: whether it changed what guards the session, and whether an audit is drawn for it.
//!
//! Reads the guarded files' metadata and the system's randomness, both only after a write. Invariant: without randomness
//! the audit is drawn.

use crate::config::policy::Level;
use crate::gate::{Context, EndContext, is_waived};
use crate::model::call::Effect;
use crate::model::event::Event;
use crate::observe::tampering::{self, Trip};
use crate::session::fold::Session;
use crate::session::state::OpenCall;
use crate::system::env::Env;

pub(super) fn look(env: &Env, session: &Session, event: &Event, context: &Context) -> EndContext {
    let mut ended = EndContext::default();
    let call = event.call.as_ref();
    let Some(open) = call.and_then(|call| session.open_call(&call.key)) else { return ended };
    ended.drawn = draw(session, event, open, context);
    ended.tracked = open.effect == Some(Effect::Tracker);
    if open.effect.is_some_and(Effect::is_write) && !session.memory.marks.is_empty() {
        find_tampering(env, session, event, &mut ended);
    }
    ended
}

fn find_tampering(env: &Env, session: &Session, event: &Event, ended: &mut EndContext) {
    let protected = tampering::protected(env, event);
    let marks = tampering::marks(&protected);
    let old = &session.memory.marks;
    let is_changed = |(path, mark): &(&String, &String)| old.get(path.as_str()).is_some_and(|was| was != *mark);
    let changed: Vec<String> = marks.iter().filter(is_changed).map(|(path, _)| path.clone()).collect();
    match tampering::judge(&changed, &session.memory.held, &protected.binaries) {
        Some(Trip::Disarmed(path, why)) => {
            ended.disarmed = Some(format!("`{path}` changed while a tool call ran: {why}"));
        }
        Some(Trip::Changed(paths)) => ended.changed = paths,
        None => {}
    }
    ended.marks = Some(marks);
}

/// Whether an audit is drawn for this write; nothing where none can be.
fn draw(session: &Session, event: &Event, open: &OpenCall, context: &Context) -> Option<bool> {
    let policy = session.policy();
    if event.by_our_agent().is_some()
        || !open.effect.is_some_and(Effect::is_write)
        || policy.gates.audit == Level::Off
        || session.state.audit.due
        || is_waived(session, context, "audit")
    {
        return None;
    }
    let late = session.memory.progress.writes_since_draw + 1 >= policy.audit.at_least_every;
    Some(is_drawn(random(), policy.audit.rate.in_millionths(), late))
}

/// `rate`: draws in a million writes. A write that is `late` is drawn at any rate but zero.
fn is_drawn(random: Option<u32>, rate: u32, late: bool) -> bool {
    let by_lot = random.is_none_or(|random| (u64::from(random) * 1_000_000) >> 32 < u64::from(rate));
    rate > 0 && (late || by_lot)
}

fn random() -> Option<u32> {
    let mut bytes = [0_u8; 4];
    crate::system::random::fill(&mut bytes).ok()?;
    Some(u32::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_randomness_the_audit_is_drawn_unless_the_rate_is_zero() {
        let half = 500_000;
        assert!(is_drawn(None, half, false) && is_drawn(None, 1, false) && !is_drawn(None, 0, false));
        assert!(is_drawn(Some(0), half, false) && !is_drawn(Some(u32::MAX), half, false));
        assert!(is_drawn(Some(u32::MAX), half, true) && !is_drawn(Some(0), 0, true));
    }
}
