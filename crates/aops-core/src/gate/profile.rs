//! Decides how a shell command is jailed.
//!
//! Reads the session and what the call does; writes nothing. Invariant: a command is confined to reading or
//! to a throwaway layer only where changes would otherwise be refused.

use super::jail::{is_on, leaves, runs_shell, tries};
use super::{Context, sandbox};
use crate::model::call::Effect;
use crate::model::event::Event;
use crate::model::profile::Profile;
use crate::session::fold::Session;

/// The profile for this call's command; `None` if it is not jailed.
pub fn of_call(session: &Session, event: &Event, context: &Context) -> Option<Profile> {
    let call = event.call()?;
    let seen = context.call()?;
    if !is_on(session) || !runs_shell(call) {
        return None;
    }
    if let Some(quiet) = &seen.quiet {
        return Some(quiet.recorded.level.profile());
    }
    let trial = session.memory.client.jail.as_ref().is_some_and(|jail| jail.trial);
    let reviews = event.by_our_agent().is_some();
    Some(match seen.does.effect {
        effect if leaves(seen) && (effect == Effect::Read || !reviews) => Profile::None,
        Effect::Read if reviews || sandbox::is_held(session, event, context) => Profile::Read,
        Effect::Write | Effect::Close | Effect::Spawn if reviews && trial => Profile::Trial,
        _ if tries(session, context) && sandbox::is_held(session, event, context) => Profile::Trial,
        _ => Profile::Work,
    })
}
