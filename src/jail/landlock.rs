//! Enters a profile with Landlock, where namespaces are forbidden: a list of folders that may be written, and nothing else.
//!
//! Changes this process alone. Invariants: reading stays free; there are no throwaway layers; what is protected inside of a
//! folder on the list is not held.

use super::plan::Ground;
use super::wishes::Wishes;
use crate::model::profile::Profile;
use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::path::PathBuf;

/// The first version that knows renaming across folders and truncation; older kernels hold less, and are told apart.
const VERSION: ABI = ABI::V3;
/// Where every program writes.
const DEVICES: &str = "/dev";

pub(super) fn enter(profile: Profile, ground: &Ground) -> Result<(), String> {
    if profile == Profile::None {
        return Ok(());
    }
    let mut wishes = Wishes::default();
    let caches = ground.caches.iter().filter(|_| profile == Profile::Work);
    let named: Vec<PathBuf> = ground.temporary.iter().chain(caches).cloned().collect();
    let mut folders = ground.free(&mut wishes, &named);
    folders.push(DEVICES.into());
    if profile == Profile::Work {
        folders.extend(wishes.look_up(&ground.project));
    }
    wishes.whole()?;
    let held = restrict(&folders).map_err(|error| format!("Landlock: {error}"))?;
    if held == RulesetStatus::FullyEnforced { Ok(()) } else { Err("Landlock is not there or too old".to_owned()) }
}

fn restrict(folders: &[PathBuf]) -> Result<RulesetStatus, landlock::RulesetError> {
    let writing = AccessFs::from_write(VERSION);
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(writing)?.create()?;
    for folder in folders {
        // It has its real path, so a link there was just put there.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(place) = openat(CWD, folder, flags, Mode::empty()) else { continue };
        rules = rules.add_rule(PathBeneath::new(place, writing))?;
    }
    Ok(rules.restrict_self()?.ruleset)
}
