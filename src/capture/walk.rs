//! The tree as git would list it: what is not ignored, and what is tracked all the same.
//!
//! Reads folders and ignore files, side by side in several threads. Invariants: no link is followed; no `.git` and nothing
//! of ours is entered; the list is sorted and names everything once.

use super::{Limits, Sight, SightKind};
use crate::env::Env;
use crate::failure::Failure;
use crate::git;
use crate::tree::{self, LeftOut, name};
use crate::vault::Vault;
use crate::vault::cache::Outside;
use ignore::{WalkBuilder, WalkState};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

pub(super) struct Walked {
    pub(super) sights: Vec<Sight>,
    pub(super) left_out: Vec<LeftOut>,
}

pub(super) fn walk(env: &Env, vault: &Vault, limits: &Limits, besides: &[String]) -> Result<Walked, Failure> {
    let root = &vault.root;
    let (mut sights, left_out) = thread::scope(|scope| {
        // Asked while we walk.
        let in_git = root.ancestors().any(|folder| folder.join(".git").exists());
        let tracked = in_git.then(|| scope.spawn(|| git::tracked_though_ignored(env, root)));
        let (mut sights, left_out) = seen(root, limits);
        let tracked = tracked.and_then(|asked| asked.join().ok()).unwrap_or_default();
        sights.extend(tracked.iter().filter_map(|path| look(root, &name::text(path))));
        (sights, left_out)
    });
    limits.check()?;
    sights.extend(besides.iter().filter_map(|path| look(root, path)));
    sights.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    sights.dedup_by(|a, b| a.path == b.path);
    Ok(Walked { sights, left_out })
}

fn seen(root: &Path, limits: &Limits) -> (Vec<Sight>, Vec<LeftOut>) {
    let own = root.to_owned();
    let walker = WalkBuilder::new(root)
        .hidden(false)
        .ignore(false)
        .require_git(false)
        .threads(thread::available_parallelism().map_or(2, |n| n.get().min(8)))
        .filter_entry(move |entry| relative(&own, entry.path()).is_none_or(|path| !tree::is_foreign(&path)))
        .build_parallel();
    let (send, found) = mpsc::channel();
    walker.run(|| {
        let (send, mut n) = (send.clone(), 0_u32);
        Box::new(move |entry| {
            n += 1;
            if n.is_multiple_of(256) && limits.check().is_err() {
                return WalkState::Quit;
            }
            let sight = match entry {
                Ok(entry) => match (relative(root, entry.path()), entry.metadata()) {
                    (Some(path), Ok(about)) => Ok(sight(path, &about)),
                    _ => return WalkState::Continue, // the root itself, or gone already
                },
                Err(error) => Err(error),
            };
            if send.send(sight).is_err() { WalkState::Quit } else { WalkState::Continue }
        })
    });
    drop(send);
    let (mut sights, mut left_out) = (Vec::new(), Vec::new());
    for one in found {
        match one {
            Ok(sight) => sights.push(sight),
            Err(error) => left_out.extend(unreadable(root, &error)),
        }
    }
    (sights, left_out)
}

/// A folder that cannot be listed.
fn unreadable(root: &Path, error: &ignore::Error) -> Option<LeftOut> {
    fn path(error: &ignore::Error) -> Option<&PathBuf> {
        match error {
            ignore::Error::WithPath { path, .. } => Some(path),
            ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path(err),
            _ => None,
        }
    }
    let reason = error.io_error().map(|e| format!("cannot be read: {}", e.kind()))?;
    Some(LeftOut { path: relative(root, path(error)?)?, reason, size: 0 })
}

/// The path from the root, as text; `None` for the root itself.
fn relative(root: &Path, path: &Path) -> Option<String> {
    let bytes = path.strip_prefix(root).ok()?.as_os_str().as_bytes();
    (!bytes.is_empty()).then(|| name::text(bytes).into_owned())
}

/// Where a path of the tree is on the disk.
pub(super) fn on_disk(root: &Path, path: &str) -> PathBuf {
    root.join(OsStr::from_bytes(&name::bytes(path)))
}

/// What is at this path, if nothing but folders leads there.
fn look(root: &Path, path: &str) -> Option<Sight> {
    if tree::is_foreign(path) {
        return None;
    }
    let place = on_disk(root, path);
    let above = place.ancestors().skip(1).take_while(|above| *above != root);
    let led = above.into_iter().all(|above| fs::symlink_metadata(above).is_ok_and(|about| about.is_dir()));
    let about = fs::symlink_metadata(&place).ok().filter(|_| led)?;
    Some(sight(path.to_owned(), &about))
}

fn sight(path: String, about: &Metadata) -> Sight {
    let kind = match about.file_type() {
        kind if kind.is_file() => SightKind::File,
        kind if kind.is_dir() => SightKind::Folder,
        kind if kind.is_symlink() => SightKind::Link,
        _ => SightKind::Other,
    };
    Sight { path, mode: about.mode() & 0o7777, kind, outside: Outside::of(about) }
}

/// Every path at and below this one, ignored or not, foreign or not; nothing where only a link leads there.
pub fn everything_below(root: &Path, path: &str) -> Vec<String> {
    if look(root, path).is_none() {
        return Vec::new();
    }
    let walker = WalkBuilder::new(on_disk(root, path)).standard_filters(false).build();
    walker.flatten().filter_map(|entry| relative(root, entry.path())).collect()
}
