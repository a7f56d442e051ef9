//! `Driver`: what the driver of one run holds, and how it records.
//!
//! Appends to the attempt ledger; writes the client's settings and agents into the run's folder.

use super::pause::run_folder;
use super::prepare::Prepared;
use crate::config::in_force;
use crate::model::error::Failure;
use crate::run::artifacts::Artifacts;
use crate::run::attempt::Deed;
use crate::run::client::Kit;
use crate::run::state::RunState;
use crate::run::status::POLICY_CHANGED;
use crate::system::env::Env;
use crate::system::files::make_all;
use crate::text::sha256::sha256;
use std::fs::File;
use std::path::PathBuf;

pub(super) struct Driver {
    pub(super) env: Env,
    pub(super) root: PathBuf,
    pub(super) artifacts: Artifacts,
    pub(super) run: RunState,
    pub(super) prepared: Prepared,
    /// The run's folder, below the client's.
    pub(super) folder: PathBuf,
    pub(super) kit: Kit,
    /// The call that a person approved, and their note: for the first step after a resume.
    pub(super) approved: Option<String>,
    pub(super) note: Option<String>,
    _lock: File,
}

impl Driver {
    pub(super) fn new(
        env: Env,
        root: PathBuf,
        (artifacts, lock): (Artifacts, File),
        run: RunState,
        prepared: Prepared,
    ) -> Result<Self, Failure> {
        let folder = run_folder(&env, &run.run_id);
        make_all(&folder)?;
        let kit = Kit::write(&env, &prepared.texts, &folder).map_err(|e| Failure::storage(folder.display(), e))?;
        let (approved, note) = (None, None);
        Ok(Self { env, root, artifacts, run, prepared, folder, kit, approved, note, _lock: lock })
    }

    pub(super) fn append(&mut self, deed: Deed) -> Result<(), Failure> {
        let told = self.artifacts.append(&self.run.run_id, deed)?;
        self.run.apply(&told);
        Ok(())
    }

    /// Why the policy is not the one the run began with, if so.
    pub(super) fn policy_changed(&self) -> Option<String> {
        let now = in_force::load(&self.env, &self.root).map(|now| now.hash);
        describe_policy_change(&self.run.init.policy_hash, now)
    }
}

fn describe_policy_change(began_with: &str, now: Result<String, Failure>) -> Option<String> {
    match now {
        Ok(now) if now == began_with => None,
        Ok(now) => {
            let short = |hash: &str| hash.chars().take(12).collect::<String>();
            Some(format!("{POLICY_CHANGED}: the policy hash was {} and is {}", short(began_with), short(&now)))
        }
        Err(failure) => Some(format!("{POLICY_CHANGED}: {}", failure.what)),
    }
}

/// Random bytes as hex digits, two for each byte.
pub(super) fn random_hex(bytes: usize) -> Result<String, Failure> {
    let mut all = [0_u8; 32];
    crate::system::random::fill(&mut all).map_err(|e| Failure::storage("the system's random bytes", e))?;
    Ok(sha256(&[&all])[..bytes * 2].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash comes from a file: it may have any length.
    #[test]
    fn a_policy_change_is_described_whatever_the_hashes_are() {
        let hash = "0123456789abcdef";
        assert_eq!(describe_policy_change(hash, Ok(hash.to_owned())), None);
        let told = describe_policy_change("", Ok(hash.to_owned())).unwrap();
        assert_eq!(told, "POLICY_CHANGED_MID_RUN: the policy hash was  and is 0123456789ab");
        let told = describe_policy_change("zwölfzwölfzw", Ok("short".to_owned())).unwrap();
        assert_eq!(told, "POLICY_CHANGED_MID_RUN: the policy hash was zwölfzwölfzw and is short");
    }
}
