//! The row of `status` about the administrator's bundle.

use crate::cli::table::{NamedFact, Tone};
use aops_core::config::bundle;
use aops_core::system::env::Env;

/// The administrator's bundle that this machine runs.
pub(super) fn describe_bundle(env: &Env) -> Option<NamedFact> {
    match bundle::installed(env) {
        Ok(found) => {
            found.map(|(bundle, _)| ("bundle", format!("{} {}", bundle.name, bundle.version), Tone::Plain))
        }
        Err(problem) => Some(("bundle", problem.to_string(), Tone::Bad)),
    }
}
