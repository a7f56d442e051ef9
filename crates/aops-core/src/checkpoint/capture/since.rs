//! What changed in a tree since a checkpoint, and whether a single path is ignored.
//!
//! Reads the tree, the store's cache and blobs; writes nothing but the list of tracked files. Invariants: a
//! file that did not change since it was captured is not read; files that the checkpoint left out, or that
//! git ignores, never count as changed.

use super::rules::{Rules, is_hidden_by, on_disk, rules_of};
use super::walk::walk;
use super::{Limits, TreeEntry};
use crate::checkpoint::store::Store;
use crate::checkpoint::tree::{Artifacts, File, find, is_foreign, missing, name};
use crate::model::error::Failure;
use crate::system::env::{Env, boot_id};
use crate::system::files;
use crate::text::sha256::{Sum, sha256};
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file that differs from the checkpoint.
#[derive(Debug)]
pub struct Change {
    pub path: String,
    /// `None` if the file did not exist then, or does not exist now.
    pub was: Option<Sum>,
    pub is: Option<Sum>,
    /// Its present content; empty if it was deleted or is too large to be read.
    pub content: Vec<u8>,
    /// When it last changed, in nanoseconds since 1970: the `ctime`, which no program can set. For a deleted
    /// file, that of its folder.
    pub at: i64,
}

/// Larger files are compared only by their stat.
const LARGEST: u64 = 8 << 20;

/// All files that were added, changed or removed since this capture, sorted by path.
pub fn changed_since(
    env: &Env,
    store: &Store,
    then: &Artifacts,
    limits: &Limits,
) -> Result<Vec<Change>, Failure> {
    let walked = walk(env, store, limits, &[])?;
    let cached = store.cached(&boot_id());
    let known: BTreeMap<&str, _> = cached.known().map(|known| (known.path, known)).collect();
    let of_files =
        |entry: &&TreeEntry| entry.kind != FileType::Directory && find(&then.left_out, &entry.path).is_none();
    let mut changes = Vec::new();
    let mut now = Vec::new();
    for entry in walked.entries.iter().filter(of_files) {
        now.push(File { path: entry.path.clone(), ..File::default() });
        let old = find(&then.files, &entry.path);
        let was = old.map(|file| file.sha256);
        let same = known.get(entry.path.as_str()).filter(|known| known.stamp == entry.stamp);
        let same_size = entry.stamp.size > LARGEST && old.is_some_and(|file| file.size == entry.stamp.size);
        if was.is_some() && same.map(|known| Sum(known.sha256)) == was || same_size {
            continue;
        }
        limits.check()?;
        let content = content(store, entry);
        let is = Sum::of(&content);
        if was != Some(is) {
            let at = entry.stamp.changed;
            changes.push(Change { path: entry.path.clone(), was, is: Some(is), content, at });
        }
    }
    let unread = |path: &str| find(&walked.left_out, path).is_some();
    let gone = missing(&now, &then.files).filter(|file| !unread(&file.path));
    changes.extend(gone.map(|file| {
        let path = file.path.clone();
        let was = Some(file.sha256);
        let at = changed_at(&store.root, &path);
        Change { path, was, is: None, content: Vec::new(), at }
    }));
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

/// When this path of a tree last changed, in nanoseconds since 1970; for a deleted file, when the nearest
/// existing folder did.
pub fn changed_at(root: &Path, path: &str) -> i64 {
    let known = on_disk(root, path).ancestors().find_map(|place| fs::symlink_metadata(place).ok());
    known.map_or(i64::MAX, |about| about.ctime() * 1_000_000_000 + about.ctime_nsec())
}

/// One digest of all files: names, contents, and whether each is executable.
pub fn tree_digest(env: &Env, store: &Store, limits: &Limits) -> Result<String, Failure> {
    let walked = walk(env, store, limits, &[])?;
    let cached = store.cached(&boot_id());
    let known: BTreeMap<&str, _> = cached.known().map(|known| (known.path, known)).collect();
    let mut all = Vec::new();
    for entry in walked.entries.iter().filter(|entry| entry.kind != FileType::Directory) {
        limits.check()?;
        let same = known.get(entry.path.as_str()).filter(|known| known.stamp == entry.stamp);
        let sum = same.map_or_else(|| Sum::of(&content(store, entry)).0, |known| known.sha256);
        all.extend_from_slice(entry.path.as_bytes());
        all.extend_from_slice(&[0, u8::from(entry.mode & 0o100 != 0)]);
        all.extend_from_slice(&sum);
    }
    Ok(sha256(&[&all]))
}

/// The content of a file, the target of a link, or for a large file its stat.
fn content(store: &Store, entry: &TreeEntry) -> Vec<u8> {
    let place = on_disk(&store.root, &entry.path);
    match entry.kind {
        FileType::Symlink => {
            fs::read_link(place).map(|target| target.as_os_str().as_bytes().to_vec()).unwrap_or_default()
        }
        FileType::RegularFile if entry.stamp.size <= LARGEST => files::read(place).unwrap_or_default(),
        _ => format!("{:?}", entry.stamp).into_bytes(),
    }
}

/// Whether git would ignore this path of a tree, or it lies in git's own folder or in our store.
pub fn is_ignored(root: &Path, path: &str) -> bool {
    is_ignored_by(root, path, true)
}

/// The same by the rules that the tree had at this capture: one that came since hides nothing.
pub fn was_ignored(store: &Store, path: &str, then: &Artifacts) -> bool {
    let rules = rules_of(store, &then.files);
    rules.is_ok_and(|rules| is_hidden_by(&rules, path)) || is_ignored_by(&store.root, path, false)
}

/// `own`: the tree's own ignore files count, not only the repository's and the user's lists.
fn is_ignored_by(root: &Path, path: &str, own: bool) -> bool {
    if is_foreign(path) {
        return true;
    }
    let path = name::bytes(path);
    let mut rules = Rules::above(root);
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    for end in [0].into_iter().chain(ends) {
        let folder = &path[..end];
        if end > 0 && rules.hide(folder, true) {
            return true;
        }
        let place = on_disk(root, &name::text(folder));
        let ignore = own && place.join(".gitignore").exists();
        let repository = place.join(".git").exists();
        rules = Rules::of(&rules, root, folder, ignore, repository);
    }
    rules.hide(&path, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::capture::capture;
    use crate::system::git::tests::repository;

    #[test]
    fn changes_since_a_checkpoint() {
        let (_home, env) = repository();
        let put = |path: &str, text: &str| {
            fs::create_dir_all(env.cwd.join(path).parent().unwrap()).unwrap();
            fs::write(env.cwd.join(path), text).unwrap();
        };
        put(".gitignore", "target/\n*.log\n");
        put("kept", "kept\n");
        put("changed", "one\n");
        put("removed", "gone\n");
        let store = Store::open(&env, &env.cwd).unwrap();
        let then = capture(&env, &store, &Limits::none(), &[], &[]).unwrap();
        assert!(changed_since(&env, &store, &then, &Limits::none()).unwrap().is_empty());
        put("changed", "two\n");
        put("new", "new\n");
        put("target/out", "ignored\n");
        put("deep/a.log", "ignored\n");
        fs::remove_file(env.cwd.join("removed")).unwrap();
        std::os::unix::fs::symlink("kept", env.cwd.join("link")).unwrap();
        let changes = changed_since(&env, &store, &then, &Limits::none()).unwrap();
        let found: Vec<_> =
            changes.iter().map(|one| (one.path.as_str(), one.was.is_some(), one.is.is_some())).collect();
        let want =
            [("changed", true, true), ("link", false, true), ("new", false, true), ("removed", true, false)];
        assert_eq!(found, want);
        assert_eq!(changes[0].content, b"two\n");
        for (path, want) in [
            ("target/out", true),
            ("deep/a.log", true),
            ("deep/a.txt", false),
            (".git/config", true),
            ("new", false),
        ] {
            assert_eq!(is_ignored(&env.cwd, path), want, "{path}");
        }
    }
}
