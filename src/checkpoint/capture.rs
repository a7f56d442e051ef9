//! Captures a working tree: walks it as git would list it, and puts the content of changed files into the store.
//!
//! Reads the tree, writes the store's blobs and cache. Invariants: ignored files are left out unless they are tracked; every
//! file that cannot or may not be kept is listed as left out; a file that did not change since the last time is not read.

mod rules;
mod tracked;
mod walk;
mod content;

pub use walk::{Walked, everything_below, walk};

use crate::checkpoint::store::Store;
use crate::checkpoint::store::cache::FileStamp;
use crate::checkpoint::tree::{Artifacts, Folder, LeftOut, find};
use crate::config::policy::Policy;
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use std::time::Instant;

/// How much may be kept, and by when.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of one file, and of all together.
    pub file: u64,
    pub tree: u64,
    /// Fail at this moment. The cache keeps what was read, so the next try is faster.
    pub until: Option<Instant>,
    /// Force every blob to the disk before returning.
    pub sync: bool,
}

impl Limits {
    pub fn of(policy: &Policy) -> Self {
        Self {
            file: policy.checkpoint.max_file_mb << 20,
            tree: policy.checkpoint.max_tree_mb << 20,
            until: None,
            sync: true,
        }
    }

    /// For an archive: everything is kept.
    pub fn none() -> Self {
        Self { file: u64::MAX, tree: u64::MAX, until: None, sync: true }
    }

    fn check(&self) -> Result<(), Failure> {
        if self.until.is_some_and(|until| Instant::now() > until) {
            return Err(Failure::new(Code::TimedOut, "the tree is too large to be kept while a session waits"));
        }
        Ok(())
    }
}

/// A path of the tree with its stat.
#[derive(Clone, Debug)]
pub struct TreeEntry {
    pub path: String,
    pub mode: u32,
    pub kind: EntryKind,
    pub stamp: FileStamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Folder,
    Link,
    /// A socket, a pipe, a device.
    Other,
}

/// Captures the tree. `besides`: paths to keep even where they are ignored; `alone`: paths to leave out.
pub fn capture(
    env: &Env,
    store: &Store,
    limits: &Limits,
    besides: &[String],
    alone: &[LeftOut],
) -> Result<Artifacts, Failure> {
    keep(store, limits, walk(env, store, limits, besides)?, alone)
}

/// The second half of a capture: puts the contents of a walked tree into the store.
pub fn keep(
    store: &Store,
    limits: &Limits,
    Walked { mut entries, mut left_out }: Walked,
    alone: &[LeftOut],
) -> Result<Artifacts, Failure> {
    let mut kept = Artifacts::default();
    let plain = |entry: &TreeEntry| {
        entry.kind == EntryKind::File && entry.stamp.size <= limits.file && find(alone, &entry.path).is_none()
    };
    let others: Vec<TreeEntry> = entries.extract_if(.., |entry| !plain(entry)).collect();
    for entry in others {
        let out =
            |reason: &str| LeftOut { path: entry.path.clone(), reason: reason.to_owned(), size: entry.stamp.size };
        if find(alone, &entry.path).is_some() {
            left_out.push(out("left out before"));
            continue;
        }
        match entry.kind {
            EntryKind::Folder => kept.folders.push(Folder { mode: entry.mode, path: entry.path }),
            EntryKind::Other => left_out.push(out("neither file, folder nor link")),
            EntryKind::Link => match content::link(store, entry) {
                Ok(file) => kept.files.push(file),
                Err(out) => left_out.push(out),
            },
            EntryKind::File => left_out.push(out("larger than `checkpoint.max_file_mb`")),
        }
    }
    left_out.extend(content::too_much(&mut entries, limits.tree));
    let content::Kept { mut files, mut lost, late } = content::keep(store, entries, limits)?;
    left_out.append(&mut lost);
    if late {
        limits.check()?;
    }
    files.append(&mut kept.files);
    kept.files = files;
    kept.left_out = left_out;
    kept.sort();
    kept.files.dedup_by(|a, b| a.path == b.path);
    kept.left_out.dedup_by(|a, b| a.path == b.path);
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::git::tests::{repository, track_many};

    /// Tracked and ignored: only git's list names it.
    #[test]
    fn an_ignored_file_at_the_end_of_a_long_list_is_kept() {
        let (_home, env) = repository();
        std::fs::write(env.cwd.join(".gitignore"), "*.log\n").unwrap();
        track_many(&env, "last.log");
        let store = Store::open(&env, &env.cwd).unwrap();
        for _ in 0..2 {
            let kept = capture(&env, &store, &Limits::none(), &[], &[]).unwrap();
            assert!(find(&kept.files, "last.log").is_some(), "{} files", kept.files.len());
        }
    }
}
