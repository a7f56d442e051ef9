//! Shows the newest checkpoint of the log to the witnesses that the user configured: servers, and the
//! project's repository.
//!
//! Uses HTTP with the configured addresses, starts `git`. Invariant: only the refresher does this; no event
//! waits for it.

use crate::attest;
use crate::remote::tls;
use aops_core::briefing::memory;
use aops_core::config::in_force;
use aops_core::config::policy::Address;
use aops_core::config::policy::witness::WitnessGit;
use aops_core::ledger::session_folder::dashed;
use aops_core::ledger::sessions;
use aops_core::proof::store::Store;
use aops_core::proof::{ask, notes, trust};
use aops_core::system::env::Env;
use aops_core::system::lookup;
use std::path::Path;
use std::time::Instant;

/// Failures are recorded next to the log, and `verify` reports them.
pub(super) fn show(env: &Env, project: &str, end: Instant) {
    if !matches!(Store::look(env), Ok(Some(_))) {
        return; // there is no log
    }
    let Ok(in_force) = in_force::load(env, Path::new(project)) else { return };
    let witness = &in_force.policy.witness;
    if let Ok(trust) = trust::of(&in_force.policy)
        && !witness.url.is_empty()
    {
        let mut post = |url: &str, body: &str| {
            let server = Address::of_person(url, &|name| lookup::addresses(env, name))?;
            let tls = tls::for_url(env, url)?;
            let sent = memory::post(&server, tls.as_deref(), &[], body, end);
            let (status, said) = sent.map_err(|trouble| trouble.to_string())?;
            Ok((status, String::from_utf8_lossy(&said).into_owned()))
        };
        let _ = ask::ask(env, &witness.url, &trust, &mut post);
    }
    if witness.git == WitnessGit::Notes {
        let _ = notes::publish(env, Path::new(project));
    }
    if witness.attests() {
        for found in sessions::in_project(env.projects().join(dashed(project))) {
            let _ = attest::add_cosigned(env, &found.path, &found.session_id);
        }
    }
}
