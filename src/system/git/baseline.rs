//! The uncommitted changes that a working tree had when a session began: a path that is still the same is not the
//! session's.
//!
//! Reads sizes and times of files. Invariant: the record is bounded. 2,000 paths have a stamp each; all others are told
//! by their time of change (ctime), which no program can set.

use super::Status;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Paths with a stamp of their own.
const MOST: usize = 2000;
/// Key of the commit; no path is empty.
pub(super) const HEAD: &str = "";
/// Key of the newest change among the paths without a stamp; no path of git begins with a slash.
const REST: &str = "/";

pub(super) fn record(status: &Status) -> BTreeMap<String, String> {
    let root = Path::new(&status.root);
    let mut stamped: Vec<&String> = status.dirty.iter().collect();
    if stamped.len() > MOST {
        // A deleted file has no time of change, so it needs a stamp more than the others.
        stamped.sort_by_key(|path| fs::symlink_metadata(root.join(path)).is_ok());
    }
    let rest = stamped.split_off(stamped.len().min(MOST));
    let newest = rest.iter().map(|path| changed_at(&root.join(path))).max();
    let stamps = stamped.into_iter().map(|path| (path.clone(), stamp(&root.join(path))));
    let keys = [(HEAD, Some(status.head.clone())), (REST, newest.map(|at| at.to_string()))];
    stamps.chain(keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)))).collect()
}

/// Whether this dirty path is other than it was when the baseline was recorded.
pub(super) fn is_new(baseline: &BTreeMap<String, String>, root: &Path, path: &str) -> bool {
    let at = root.join(path);
    match baseline.get(path) {
        Some(old) => *old != stamp(&at),
        None => baseline.get(REST).and_then(|at| at.parse().ok()).is_none_or(|newest| changed_at(&at) > newest),
    }
}

/// The paths it names.
pub(super) fn paths(baseline: &BTreeMap<String, String>) -> impl Iterator<Item = &String> {
    baseline.keys().filter(|path| !path.is_empty() && *path != REST)
}

fn stamp(path: &Path) -> String {
    fs::symlink_metadata(path).map_or("gone".to_owned(), |m| format!("{}:{}.{}", m.len(), m.mtime(), m.mtime_nsec()))
}

/// In nanoseconds; of a deleted file, that of the folder it was in.
fn changed_at(path: &Path) -> i128 {
    let known = path.ancestors().find_map(|at| fs::symlink_metadata(at).ok());
    known.map_or(0, |m| i128::from(m.ctime()) * 1_000_000_000 + i128::from(m.ctime_nsec()))
}
