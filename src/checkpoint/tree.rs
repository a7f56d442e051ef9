//! The files of a working tree as a checkpoint holds them.
//!
//! Pure. Stored types: fields in sorted order. Invariants: every list is sorted by path; paths are relative, without `.` and
//! `..`; a path of any bytes can be stored ([`name`]).

pub mod name;
pub mod delta;

use crate::text::sha256::Sum;
use serde::{Deserialize, Serialize};

/// The tree, and what was left out of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifacts {
    pub files: Vec<File>,
    pub folders: Vec<Folder>,
    pub left_out: Vec<LeftOut>,
}

/// A file or, with a target, a symlink; then digest and size are those of the target's path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Permission bits.
    pub mode: u32,
    pub path: String,
    pub sha256: Sum,
    pub size: u64,
    pub target: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folder {
    pub mode: u32,
    pub path: String,
}

/// A path of the tree that is not in the checkpoint; a rollback leaves it alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub path: String,
    pub reason: String,
    pub size: u64,
}

/// An entry with a path.
pub trait Placed {
    fn path(&self) -> &str;
}

impl Placed for File {
    fn path(&self) -> &str {
        &self.path
    }
}

impl Placed for Folder {
    fn path(&self) -> &str {
        &self.path
    }
}

impl Placed for LeftOut {
    fn path(&self) -> &str {
        &self.path
    }
}

/// Finds a path in a sorted list.
pub fn find<'a, T: Placed>(all: &'a [T], path: &str) -> Option<&'a T> {
    all.binary_search_by(|one| one.path().cmp(path)).ok().map(|at| &all[at])
}

/// The store's folder in a tree.
pub const OURS: &str = ".claude/checkpoints";
/// The records of runs in a tree.
const OF_RUNS: [&str; 4] = ["artifacts/checkpoints", "artifacts/loop_state", "artifacts/steps", "artifacts/terminal"];

/// Never captured and never changed: a `.git` folder, the store, the records of runs.
pub fn is_foreign(path: &str) -> bool {
    let below = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    path.split('/').any(|part| part.eq_ignore_ascii_case(".git")) || below(OURS) || OF_RUNS.iter().any(|f| below(f))
}

impl Artifacts {
    pub fn sort(&mut self) {
        self.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.folders.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.left_out.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }

    /// The first path that is out of order or leads out of the tree.
    pub fn problem(&self) -> Option<String> {
        fn of<T: Placed>(all: &[T]) -> Option<String> {
            let odd = all.iter().find(|one| !is_plain(one.path()) || is_foreign(one.path()));
            let unsorted = all.windows(2).find(|two| two[0].path() >= two[1].path()).map(|two| &two[1]);
            odd.or(unsorted).map(|one| format!("`{}` is not a path of a tree", name::shown(one.path())))
        }
        of(&self.files).or_else(|| of(&self.folders))
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// Whether it is relative, without `.` and `..`.
fn is_plain(path: &str) -> bool {
    let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
    path.split('/').all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_elsewhere() {
        let tree = |paths: &[&str]| Artifacts {
            files: paths.iter().map(|path| File { path: (*path).to_owned(), ..File::default() }).collect(),
            ..Artifacts::default()
        };
        assert_eq!(tree(&["a", "a b/c", "ü"]).problem(), None);
        for bad in ["", "/a", "a/", "../a", "a/../b", "./a", "a//b", "a\0", ".git/config", "x/.GIT/hooks/a", OURS] {
            assert!(tree(&[bad]).problem().is_some(), "{bad:?}");
        }
        assert!(tree(&["b", "a"]).problem().is_some() && tree(&["a", "a"]).problem().is_some());
        assert!(is_foreign(".claude/checkpoints/index.json") && !is_foreign(".claude/checkpoints-notes"));
    }
}
