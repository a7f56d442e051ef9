//! Landlock: a list of writable folders, used where namespaces are forbidden. In every jail it also forbids
//! changing mounts, and in jails that change nothing it forbids signals to outside processes.
//!
//! Changes this process alone. Invariants: everything but the keys can be read; there are no throwaway
//! layers; protected files inside of a folder on the list can be written.

use super::kernel::open_at;
use super::plan::Ground;
use super::wishes::Wishes;
use crate::model::profile::Profile;
use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use std::fs;
use std::path::{Path, PathBuf};

/// The first version that controls truncation and renaming across folders. Older kernels confine less, and
/// are recognised as such.
const VERSION: ABI = ABI::V3;
/// Programs of every kind write to devices.
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
    let keys = wishes.settle(&ground.guards.keys);
    wishes.whole()?;
    let held = restrict(&folders, &around(&keys)).map_err(|error| format!("Landlock: {error}"))?;
    if held == RulesetStatus::FullyEnforced {
        Ok(())
    } else {
        Err("Landlock is not there or too old".to_owned())
    }
}

fn restrict(written: &[PathBuf], read: &[PathBuf]) -> Result<RulesetStatus, RulesetError> {
    let writing = AccessFs::from_write(VERSION);
    let reading = AccessFs::ReadFile;
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let mut rules = ruleset.handle_access(writing)?.handle_access(reading)?.create()?;
    for folder in written {
        rules = allow(rules, folder, writing)?;
    }
    for place in read {
        rules = allow(rules, place, reading.into())?;
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// Callers pass real paths, so a symlink found here was put there just now, and is skipped.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match open_at(path) {
        Ok(place) => rules.add_rule(PathBeneath::new(place, access)),
        Err(_) => Ok(rules),
    }
}

/// Everything that exists except for this folder: its siblings and those of each folder above it. Landlock
/// can only allow, so what is created in one of those folders later cannot be read.
fn around(folder: &Path) -> Vec<PathBuf> {
    let mut beside = Vec::new();
    for (inside, above) in folder.ancestors().zip(folder.ancestors().skip(1)) {
        let items = fs::read_dir(above).into_iter().flatten().flatten();
        let real = items.filter(|item| item.file_type().is_ok_and(|kind| !kind.is_symlink()));
        beside.extend(real.map(|item| item.path()).filter(|path| path != inside));
    }
    beside
}

/// From here on no mount can be made, moved or removed, not even in new namespaces: the jail consists of
/// mounts, and without them nothing is confined. In profiles that may change nothing, no signal and no
/// abstract socket reaches an outside process. Kernels before 5.19 cannot forbid mounts this way, those
/// before 6.12 cannot forbid signals.
pub(super) fn lock(changes_nothing: bool, no_new_privileges: bool) -> Result<(), String> {
    // Landlock refuses changes of mounts as soon as it handles any right. We handle these two and allow them
    // everywhere.
    let rights = AccessFs::Refer | AccessFs::MakeBlock;
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let Ok(ruleset) = ruleset.handle_access(rights) else { return Ok(()) };
    let top = open_at(Path::new("/")).map_err(|error| format!("`/`: {error}"))?;
    let enter = || {
        let ruleset = ruleset.set_compatibility(CompatLevel::BestEffort);
        let scoped =
            if changes_nothing { ruleset.scope(Scope::Signal | Scope::AbstractUnixSocket)? } else { ruleset };
        scoped
            .create()?
            .add_rule(PathBeneath::new(top, rights))?
            .no_new_privs(no_new_privileges)
            .restrict_self()
    };
    enter().map(drop).map_err(|error: RulesetError| format!("border for mounts and signals: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_the_keys_lies_around_them() {
        let held = tempfile::tempdir().unwrap();
        let root = held.path().canonicalize().unwrap();
        for folder in ["home/.claude/aops/keys", "home/.claude/aops/log", "home/.ssh", "project"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("home/.claude.json"), "{}").unwrap();
        std::os::unix::fs::symlink("keys", root.join("home/.claude/aops/link")).unwrap();
        let mut found = around(&root.join("home/.claude/aops/keys"));
        found.retain(|path| path.starts_with(&root));
        found.sort();
        let wanted = ["home/.claude/aops/log", "home/.claude.json", "home/.ssh", "project"]
            .map(|name| root.join(name));
        let mut wanted = wanted.to_vec();
        wanted.sort();
        assert_eq!(found, wanted);
        // What does not exist yet has no name that could be allowed.
        assert!(around(&root.join("gone/keys")).contains(&root.join("home")));
    }
}
