//! The network of a run: for its command steps, and for what its driver starts itself.
//!
//! Starts and ends a broker of the run's own, which ends with the driver too. Invariant: with `[network]` off
//! nothing here runs. The sessions of the run's client have networks of their own.

use super::Reporter;
use aops_core::config::policy::Policy;
use aops_core::config::policy::jail::JailLevel;
use aops_core::config::policy::network::NetworkMode;
use aops_core::jail::enter::what_holds;
use aops_core::jail::network::{self, Runs};
use aops_core::jail::plan::Ground;
use aops_core::model::error::Failure;
use aops_core::model::profile::{Hold, Profile};
use aops_core::system::env::Env;
use aops_network::list::{Refusal, spelt};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How many hosts are named when a run ends.
const MOST_NAMED: usize = 5;

pub(super) struct RunNetwork {
    folder: Option<PathBuf>,
}

impl RunNetwork {
    pub(super) fn start(env: &Env, folder: &Path, root: &Path, policy: &Policy) -> Result<Self, Failure> {
        let network = &policy.network;
        if network.mode == NetworkMode::Off || policy.jail.level == JailLevel::Off {
            return Ok(Self { folder: None });
        }
        // If the check fails, the run fails too: a command could have disturbed it to get rid of the network
        // limits.
        let held = what_holds(&Ground::here(env, root), Profile::Work);
        if held.map_err(|why| Failure::storage(folder.display(), why))?.hold != Hold::Namespaces {
            return Ok(Self { folder: None });
        }
        let own = i32::try_from(std::process::id()).ok();
        network::start(env, folder, root, network, Runs::In(own))
            .map_err(|e| Failure::storage(folder.display(), e))?;
        if let Some(held) = network::held(network, &env.home, || Some(folder.to_owned())) {
            let _ = env.told.network.set(held);
        }
        Ok(Self { folder: Some(folder.to_owned()) })
    }

    pub(super) fn end(self) {
        if let Some(folder) = self.folder {
            network::end(&folder);
        }
    }
}

/// Nobody could be asked in the meantime, so refused hosts are reported at the end of the run.
pub(super) fn tell_refused(folder: &Path, reporter: &mut dyn Reporter) {
    let counts = network::counts(folder).unwrap_or_default();
    let open = counts.rows().filter(|(.., row)| row.refused > 0 && Refusal::is_open_in_words(&row.why));
    let wanted: BTreeSet<String> = open.map(|(host, port, _)| spelt(host, port)).collect();
    if wanted.is_empty() {
        return;
    }
    let shown: Vec<&str> = wanted.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = wanted.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    reporter.told(&format!(
        "network: refused to the steps of this run: {}{more}; `aops-hook network allow HOST` allows one for \
        this project",
        shown.join(", ")
    ));
}
