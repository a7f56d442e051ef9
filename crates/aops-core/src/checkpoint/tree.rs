//! The files of a working tree in the form in which a checkpoint stores them.
//!
//! Pure. Stored types: fields in sorted order. Invariants: every list is sorted by path; paths are relative,
//! without `.` and `..`; a path of any bytes can be stored ([`name`]).

pub mod name;

use crate::text::sha256::Sum;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifacts {
    pub files: Vec<File>,
    pub folders: Vec<Folder>,
    pub left_out: Vec<LeftOut>,
}

/// A file or, with a target, a symlink. A symlink's digest and size are those of its target's path.
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

/// A path of the tree that is not in the checkpoint; a rollback does not touch it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub path: String,
    pub reason: String,
    pub size: u64,
}

pub trait HasPath {
    fn path(&self) -> &str;
}

impl HasPath for File {
    fn path(&self) -> &str {
        &self.path
    }
}

impl HasPath for Folder {
    fn path(&self) -> &str {
        &self.path
    }
}

impl HasPath for LeftOut {
    fn path(&self) -> &str {
        &self.path
    }
}

pub fn find<'a, T: HasPath>(all: &'a [T], path: &str) -> Option<&'a T> {
    all.binary_search_by(|one| one.path().cmp(path)).ok().map(|at| &all[at])
}

/// The store's folder in a tree.
pub const OURS: &str = ".claude/checkpoints";
/// Where runs keep their records and packets.
pub const OF_RUNS: [&str; 5] =
    [".aops/runs", "artifacts/checkpoints", "artifacts/loop_state", "artifacts/steps", "artifacts/terminal"];

/// Paths that are never captured and never changed: a `.git` folder, the store, the records of runs.
pub fn is_foreign(path: &str) -> bool {
    let ours = || OF_RUNS.iter().chain([&OURS]).any(|folder| is_below(path, folder));
    path.split('/').any(|part| part.eq_ignore_ascii_case(".git")) || ours()
}

/// Whether the path is this folder, or lies below it.
pub fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Artifacts {
    pub fn sort(&mut self) {
        self.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.folders.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.left_out.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }

    /// The first path that is out of order or leads out of the tree.
    pub fn problem(&self) -> Option<String> {
        fn of<T: HasPath>(all: &[T]) -> Option<String> {
            let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
            let odd = all.iter().find(|one| !one.path().split('/').all(plain) || is_foreign(one.path()));
            let unsorted = all.windows(2).find(|two| two[0].path() >= two[1].path()).map(|two| &two[1]);
            odd.or(unsorted).map(|one| format!("`{}` is not a path of a tree", name::shown(one.path())))
        }
        of(&self.files).or_else(|| of(&self.folders))
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

#[derive(Debug, Default)]
pub struct Delta<'a> {
    pub added: Vec<&'a File>,
    pub removed: Vec<&'a File>,
    pub changed: Vec<(&'a File, &'a File)>,
    pub new_folders: Vec<&'a Folder>,
    pub gone_folders: Vec<&'a Folder>,
    pub changed_folders: Vec<(&'a Folder, &'a Folder)>,
}

/// The changes from `old` to `new`, without paths that either left out.
pub fn diff<'a>(old: &'a Artifacts, new: &'a Artifacts) -> Delta<'a> {
    let out = |path: &str| find(&old.left_out, path).is_some() || find(&new.left_out, path).is_some();
    let (added, removed, changed) = compare_lists(&old.files, &new.files, out);
    let (new_folders, gone_folders, changed_folders) = compare_lists(&old.folders, &new.folders, out);
    Delta { added, removed, changed, new_folders, gone_folders, changed_folders }
}

type Changes<'a, T> = (Vec<&'a T>, Vec<&'a T>, Vec<(&'a T, &'a T)>);

/// Added, removed, changed.
fn compare_lists<'a, T: HasPath + PartialEq>(
    old: &'a [T],
    new: &'a [T],
    out: impl Fn(&str) -> bool,
) -> Changes<'a, T> {
    let (mut added, mut removed, mut changed) = <Changes<T>>::default();
    for pair in pairs(old, new) {
        match pair {
            (Some(was), Some(is)) if was != is => changed.push((was, is)),
            (Some(was), None) if !out(was.path()) => removed.push(was),
            (None, Some(is)) if !out(is.path()) => added.push(is),
            _ => {}
        }
    }
    (added, removed, changed)
}

impl<'a> Delta<'a> {
    pub fn is_empty(&self) -> bool {
        self.paths().next().is_none()
    }

    #[must_use]
    pub fn without(mut self, stays: impl Fn(&str) -> bool) -> Self {
        self.added.retain(|file| !stays(&file.path));
        self.removed.retain(|file| !stays(&file.path));
        self.changed.retain(|(file, _)| !stays(&file.path));
        self.new_folders.retain(|folder| !stays(&folder.path));
        self.gone_folders.retain(|folder| !stays(&folder.path));
        self.changed_folders.retain(|(folder, _)| !stays(&folder.path));
        self
    }

    /// The paths of added, removed and changed files.
    pub fn by_kind(&self) -> [Vec<&'a str>; 3] {
        let changed = self.changed.iter().map(|(_, new)| new.path.as_str()).collect();
        let paths = |files: &[&'a File]| files.iter().map(|file| file.path.as_str()).collect();
        [paths(&self.added), paths(&self.removed), changed]
    }

    /// All files that change, in their old state if they are removed or changed.
    pub fn touched(&self) -> impl Iterator<Item = &'a File> {
        self.added.iter().chain(&self.removed).copied().chain(self.changed.iter().map(|(old, _)| *old))
    }

    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let changed = self.changed_folders.iter().map(|(folder, _)| *folder);
        let folders = self.new_folders.iter().chain(&self.gone_folders).copied().chain(changed);
        self.touched().map(HasPath::path).chain(folders.map(HasPath::path))
    }

    pub fn files(&self) -> usize {
        self.touched().count()
    }
}

/// The items of the second list whose path is not in the first.
pub fn missing<'a, T: HasPath>(old: &'a [T], new: &'a [T]) -> impl Iterator<Item = &'a T> {
    pairs(old, new).filter_map(|(was, is)| if was.is_none() { is } else { None })
}

/// Pairs the items of two sorted lists by path.
fn pairs<'a, T: HasPath>(old: &'a [T], new: &'a [T]) -> impl Iterator<Item = (Option<&'a T>, Option<&'a T>)> {
    let mut old = old.iter().peekable();
    let mut new = new.iter().peekable();
    std::iter::from_fn(move || {
        let order = match (old.peek(), new.peek()) {
            (Some(a), Some(b)) => a.path().cmp(b.path()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return None,
        };
        Some(match order {
            Ordering::Less => (old.next(), None),
            Ordering::Greater => (None, new.next()),
            Ordering::Equal => (old.next(), new.next()),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::tree::LeftOut;
    use crate::text::sha256::Sum;

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

    fn tree(files: &[(&str, &str)]) -> Artifacts {
        let file = |(path, sha): &(&str, &str)| File {
            path: (*path).to_owned(),
            sha256: Sum::of(sha.as_bytes()),
            ..File::default()
        };
        Artifacts { files: files.iter().map(file).collect(), ..Artifacts::default() }
    }

    #[test]
    fn added_removed_changed() {
        let old = tree(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let new = tree(&[("b", "2"), ("c", "1"), ("d", "1")]);
        let delta = diff(&old, &new);
        let names = |files: &[&File]| files.iter().map(|file| file.path.clone()).collect::<Vec<_>>();
        assert_eq!(
            (names(&delta.added), names(&delta.removed)),
            (vec!["d".to_owned()], vec!["a".to_owned()])
        );
        assert_eq!(delta.changed.len(), 1);
        assert!(diff(&old, &old).is_empty());
    }

    #[test]
    fn what_was_left_out_is_left_alone() {
        let left = |path: &str| LeftOut { path: path.to_owned(), ..LeftOut::default() };
        let old = tree(&[("big", "1")]);
        let new = Artifacts { left_out: vec![left("big")], ..tree(&[]) };
        assert!(diff(&old, &new).is_empty() && diff(&new, &old).is_empty());
    }
}
