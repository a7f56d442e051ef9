//! Enters a profile with Landlock, where namespaces are forbidden: a list of folders that may be written, and nothing else.
//!
//! Changes this process alone. Invariants: reading stays free; there are no throwaway layers; what is protected inside of a
//! folder on the list is not held.

use super::plan::Ground;
use super::wishes::Wishes;
use crate::model::profile::Profile;
use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus,
};
use std::path::{Path, PathBuf};

/// The first version that knows renaming across folders and truncation; older kernels hold less, and are told apart.
const VERSION: ABI = ABI::V3;
/// Where every program writes.
const DEVICES: &str = "/dev";

pub(super) fn enter(profile: Profile, ground: &Ground) -> Result<(), String> {
    if profile == Profile::None {
        return Ok(());
    }
    let mut wishes = Wishes::default();
    let mut folders = ground.free(&mut wishes, &ground.temporary);
    folders.push(DEVICES.into());
    if profile == Profile::Work {
        folders.push(ground.project.clone());
        folders.extend(ground.caches.iter().cloned());
    }
    let held = restrict(&folders).map_err(|error| format!("Landlock: {error}"))?;
    if held == RulesetStatus::FullyEnforced { Ok(()) } else { Err("Landlock is not there or too old".to_owned()) }
}

fn restrict(folders: &[PathBuf]) -> Result<RulesetStatus, landlock::RulesetError> {
    let writing = AccessFs::from_write(VERSION);
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(writing)?.create()?;
    for folder in folders {
        let Ok(place) = PathFd::new(folder) else { continue };
        let rights = if Path::is_dir(folder) { writing } else { AccessFs::from_file(VERSION) & writing };
        rules = rules.add_rule(PathBeneath::new(place, rights))?;
    }
    Ok(rules.restrict_self()?.ruleset)
}
