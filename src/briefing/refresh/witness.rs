//! Shows the newest checkpoint of the log to the witnesses that the user configured: servers, and the project's repository.
//!
//! Speaks HTTP to the configured addresses, starts `git`. Invariant: only the refresher does this; no event waits for it.

use crate::briefing::memory;
use crate::config::in_force;
use crate::config::policy::Address;
use crate::config::policy::witness::WitnessGit;
use crate::proof::{ask, notes, trust};
use crate::system::env::Env;
use std::path::Path;
use std::time::Instant;

/// Whatever goes wrong is kept beside the log, and `verify` tells it.
pub(super) fn show(env: &Env, project: &str, end: Instant) {
    let Ok(in_force) = in_force::load(env, Path::new(project)) else { return };
    let witness = &in_force.policy.witness;
    if let Ok(trust) = trust::of(&in_force.policy)
        && !witness.url.is_empty()
    {
        let mut post = |url: &str, body: &str| {
            let (status, said) =
                memory::post(&Address::read(url)?, None, &[], body, end).map_err(|trouble| trouble.to_string())?;
            Ok((status, String::from_utf8_lossy(&said).into_owned()))
        };
        let _ = ask::ask(env, &witness.url, &trust, &mut post);
    }
    if witness.git == WitnessGit::Notes {
        let _ = notes::publish(env, Path::new(project));
    }
}
