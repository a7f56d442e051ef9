//! The configuration that a session works with, read when it begins and again between turns.
//!
//! Reads the configuration, and stores what its hash stands for. Invariant: within a turn it stays as it is.

use super::work::starts_or_prompts;
use crate::config::in_force;
use crate::config::policy::network::NetworkMode;
use crate::config::policy::{ModeLevel, Policy};
use crate::config::texts::Reading;
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::session::fold::Session;
use std::path::Path;

/// A configuration that differs from the session's.
pub(super) struct Renewed {
    /// `None` is the shipped one.
    pub(super) policy: Option<Box<Policy>>,
    pub(super) hash: String,
    /// A mode of the network that has to wait: the session's network is made when it starts.
    pub(super) waits: Option<NetworkMode>,
}

/// The configuration from this event on, if it changed: when a session starts or a person speaks.
pub(super) fn renewed(env: &Reading, session: &Session, event: &Event) -> Result<Option<Renewed>, Failure> {
    let starts = event.kind() == EventKind::SessionStart;
    let root = Path::new(&session.memory.place.root);
    // A command can make a nearer `.aops`, which would take the project's own configuration out of force.
    let is_elsewhere = || !starts && !root.as_os_str().is_empty() && env.root() != root;
    if !starts_or_prompts(event) || is_elsewhere() {
        return Ok(None);
    }
    let chosen = session.memory.configured.mode.as_ref().and_then(|asked| asked.level);
    let known = &session.state.policy_hash;
    let (mut policy, hash) = policy_in_force(env, chosen, known)?;
    let mode = session.policy().network.mode;
    let wanted = policy.as_deref().map_or_else(NetworkMode::default, |policy| policy.network.mode);
    if hash == *known && (!starts || wanted == mode) {
        return Ok(None);
    }
    let waits = Some(wanted).filter(|_| !starts && wanted != mode);
    if waits.is_some() {
        policy.get_or_insert_default().network.mode = mode;
    }
    Ok(Some(Renewed { policy, hash, waits }))
}

/// The configuration, unless it is the shipped one, and the hash of everything in force. Stores what the hash
/// stands for, unless the hash is `known`: then it was stored before.
pub(super) fn policy_in_force(
    env: &Reading,
    chosen: Option<ModeLevel>,
    known: &str,
) -> Result<(Option<Box<Policy>>, String), Failure> {
    let in_force = in_force::load_in(env, chosen)?;
    if !env.dry_run && in_force.hash != known {
        in_force.keep(env)?;
    }
    let policy = Some(in_force.policy).filter(|policy| *policy != Policy::default());
    Ok((policy.map(Box::new), in_force.hash))
}
