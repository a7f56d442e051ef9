//! The first entry of a ledger, and the policy in force that it carries.
//!
//! Reads the configuration; keeps a copy of what is in force, so that a later one can be compared with it.

use crate::config::in_force;
use crate::config::policy::Policy;
use crate::model::error::Failure;
use crate::session::fact::Opened;
use crate::system::env::{Env, boot_id};
use std::path::Path;

/// The first entry of a ledger that begins now, in this folder.
pub fn first_entry(env: &Env, cwd: &Path, project: String) -> Result<Opened, Failure> {
    let (policy, policy_hash) = policy_in_force(env, cwd)?;
    Ok(Opened {
        binary: env!("CARGO_PKG_VERSION").to_owned(),
        boot: boot_id(),
        folders: env.folders.iter().cloned().collect(),
        format: 1,
        policy,
        policy_hash,
        previous: None,
        project,
    })
}

/// The configuration, where it is not the shipped one, and the hash of everything in force.
pub(super) fn policy_in_force(env: &Env, cwd: &Path) -> Result<(Option<Box<Policy>>, String), Failure> {
    let in_force = in_force::load(env, cwd)?;
    if !env.dry_run {
        in_force.keep(env)?;
    }
    let policy = Some(in_force.policy).filter(|policy| *policy != Policy::default());
    Ok((policy.map(Box::new), in_force.hash))
}
