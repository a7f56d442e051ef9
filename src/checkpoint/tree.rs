//! The files of a working tree as a checkpoint holds them.
//!
//! Reads nothing, writes nothing. Stored types: fields in sorted order. Invariants: every list is sorted by path, paths
//! are relative and plain, and a path of any bytes comes back as it was ([`name`]).

pub mod name;
pub mod delta;

use crate::text::sha256::Sum;
use serde::{Deserialize, Serialize};

/// The tree: what is in it, and what had to stay out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifacts {
    pub files: Vec<File>,
    pub folders: Vec<Folder>,
    pub left_out: Vec<LeftOut>,
}

/// A file or, with a target, a symlink; then digest and size are the target's.
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

/// Something that is in the tree and not in the checkpoint: a rollback leaves it as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub path: String,
    pub reason: String,
    pub size: u64,
}

/// What has a place in a tree.
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

/// The one of this path in a sorted list.
pub fn find<'a, T: Placed>(all: &'a [T], path: &str) -> Option<&'a T> {
    all.binary_search_by(|one| one.path().cmp(path)).ok().map(|at| &all[at])
}

/// Our own folder in a tree.
pub const OURS: &str = ".claude/checkpoints";
/// What a run leaves in a tree: its record, not its work.
const OF_RUNS: [&str; 4] =
    ["artifacts/checkpoints", "artifacts/loop_state", "artifacts/steps", "artifacts/terminal"];

/// Never kept and never touched: a repository's own folder, and ours.
pub fn is_foreign(path: &str) -> bool {
    let below =
        |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    path.split('/').any(|part| part.eq_ignore_ascii_case(".git"))
        || below(OURS)
        || OF_RUNS.iter().any(|f| below(f))
}

impl Artifacts {
    pub fn sort(&mut self) {
        self.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.folders.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.left_out.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }

    /// What is wrong with it, if anything: lists in order, and no path that leads anywhere else.
    pub fn problem(&self) -> Option<String> {
        fn of<T: Placed>(all: &[T]) -> Option<String> {
            let odd = all.iter().find(|one| !is_plain(one.path()) || is_foreign(one.path()));
            let unsorted = all.windows(2).find(|two| two[0].path() >= two[1].path()).map(|two| &two[1]);
            odd.or(unsorted).map(|one| format!("`{}` is no path of a tree", name::shown(one.path())))
        }
        of(&self.files).or_else(|| of(&self.folders))
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// Relative, with nothing but names in it.
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
        for bad in
            ["", "/a", "a/", "../a", "a/../b", "./a", "a//b", "a\0", ".git/config", "x/.GIT/hooks/a", OURS]
        {
            assert!(tree(&[bad]).problem().is_some(), "{bad:?}");
        }
        assert!(tree(&["b", "a"]).problem().is_some() && tree(&["a", "a"]).problem().is_some());
        assert!(is_foreign(".claude/checkpoints/index.json") && !is_foreign(".claude/checkpoints-notes"));
    }
}
