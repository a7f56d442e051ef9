//! The difference between two trees: added, removed, changed.
//!
//! Pure; both trees are sorted. Invariant: applied to the first tree, it gives the second.

use super::{Artifacts, File, Folder, Placed, find};
use std::cmp::Ordering;

/// From one tree to another.
#[derive(Debug, Default)]
pub struct Delta<'a> {
    pub added: Vec<&'a File>,
    pub removed: Vec<&'a File>,
    pub changed: Vec<(&'a File, &'a File)>,
    pub new_folders: Vec<&'a Folder>,
    pub gone_folders: Vec<&'a Folder>,
    /// Folders with another mode.
    pub changed_folders: Vec<(&'a Folder, &'a Folder)>,
}

/// The changes from `old` to `new`, without paths that either left out.
pub fn diff<'a>(old: &'a Artifacts, new: &'a Artifacts) -> Delta<'a> {
    let mut delta = Delta::default();
    let out = |path: &str| find(&old.left_out, path).is_some() || find(&new.left_out, path).is_some();
    (delta.added, delta.removed, delta.changed) = sorted_out(&old.files, &new.files, out);
    (delta.new_folders, delta.gone_folders, delta.changed_folders) = sorted_out(&old.folders, &new.folders, out);
    delta
}

type Changes<'a, T> = (Vec<&'a T>, Vec<&'a T>, Vec<(&'a T, &'a T)>);

/// Added, removed, changed.
fn sorted_out<'a, T: Placed + PartialEq>(old: &'a [T], new: &'a [T], out: impl Fn(&str) -> bool) -> Changes<'a, T> {
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
        self.files() == 0
            && self.new_folders.is_empty()
            && self.gone_folders.is_empty()
            && self.changed_folders.is_empty()
    }

    /// Without these paths.
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

    /// All paths that change.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let changed = self.changed.iter().map(|(file, _)| *file);
        let files = self.added.iter().chain(&self.removed).copied().chain(changed);
        let changed = self.changed_folders.iter().map(|(folder, _)| *folder);
        let folders = self.new_folders.iter().chain(&self.gone_folders).copied().chain(changed);
        files.map(Placed::path).chain(folders.map(Placed::path))
    }

    /// The number of files that change.
    pub fn files(&self) -> usize {
        self.added.len() + self.removed.len() + self.changed.len()
    }
}

/// The items of the second list whose path is not in the first.
pub fn missing<'a, T: Placed>(old: &'a [T], new: &'a [T]) -> impl Iterator<Item = &'a T> {
    pairs(old, new).filter_map(|(was, is)| if was.is_none() { is } else { None })
}

/// Pairs the items of two sorted lists by path.
fn pairs<'a, T: Placed>(old: &'a [T], new: &'a [T]) -> impl Iterator<Item = (Option<&'a T>, Option<&'a T>)> {
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
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
        let (old, new) = (tree(&[("a", "1"), ("b", "1"), ("c", "1")]), tree(&[("b", "2"), ("c", "1"), ("d", "1")]));
        let delta = diff(&old, &new);
        let names = |files: &[&File]| files.iter().map(|file| file.path.clone()).collect::<Vec<_>>();
        assert_eq!((names(&delta.added), names(&delta.removed)), (vec!["d".to_owned()], vec!["a".to_owned()]));
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
