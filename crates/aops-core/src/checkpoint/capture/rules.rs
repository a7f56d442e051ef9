//! Which paths of a tree git ignores: the deepest match of the ignore files, then the repository's own list
//! (`info/exclude`), then the user's.
//!
//! Reads those lists. Invariant: rules above a repository do not apply to it.

use crate::checkpoint::store::{HIDDEN, Store};
use crate::checkpoint::tree::{Artifacts, Delta, File, name};
use crate::model::error::Failure;
use crate::system::files;
use crate::system::git::{self, git_common_folder};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) fn on_disk(root: &Path, path: &str) -> PathBuf {
    root.join(OsStr::from_bytes(&name::bytes(path)))
}

/// The rules of one folder, and those above it.
pub(super) struct Rules {
    above: Option<Arc<Rules>>,
    /// For folders above the tree: the path from the folder to the tree's root, empty or with a slash at the
    /// end.
    prefix: Vec<u8>,
    /// Length of this folder's path in the tree, including the slash.
    at: usize,
    ignore: Gitignore,
    exclude: Gitignore,
    /// The user's list; only in the outermost `Rules`.
    everywhere: Gitignore,
}

impl Rules {
    pub(super) fn above(root: &Path) -> Arc<Self> {
        let everywhere =
            parse(&git::ignore_list().and_then(|list| files::read(list).ok()).unwrap_or_default());
        let none = Gitignore::empty;
        let prefix = Vec::new();
        let ignore = none();
        let exclude = none();
        let mut rules = Arc::new(Self { above: None, prefix, at: 0, ignore, exclude, everywhere });
        let top = root.ancestors().find(|folder| folder.join(".git").exists());
        let inside = |folder: &&Path| top.is_none_or(|top| folder.starts_with(top));
        let above: Vec<&Path> = root.ancestors().skip(1).take_while(inside).collect();
        for folder in above.into_iter().rev() {
            let (ignore, exclude) = read(folder, true, Some(folder) == top);
            if !ignore.is_empty() || !exclude.is_empty() {
                let rest = root.strip_prefix(folder).unwrap_or(root).as_os_str().as_bytes();
                let above = Some(rules);
                let prefix = [rest, b"/"].concat();
                let everywhere = none();
                rules = Arc::new(Self { above, prefix, at: 0, ignore, exclude, everywhere });
            }
        }
        rules
    }

    /// The rules for the contents of the folder that contains this path.
    pub(super) fn at(root: &Path, path: &[u8]) -> Arc<Self> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        [0].into_iter().chain(ends).fold(Self::above(root), |rules, end| {
            let folder = &path[..end];
            let place = on_disk(root, &name::text(folder));
            let ignore = place.join(".gitignore").exists();
            let repository = place.join(".git").exists();
            Self::of(&rules, root, folder, ignore, repository)
        })
    }

    /// Adds a folder's rules, from its two possible sources. `path` is empty for the root.
    pub(super) fn of(
        above: &Arc<Self>,
        root: &Path,
        path: &[u8],
        ignore: bool,
        repository: bool,
    ) -> Arc<Self> {
        let (ignore, exclude) = read(&root.join(OsStr::from_bytes(path)), ignore, repository);
        if ignore.is_empty() && exclude.is_empty() {
            return Arc::clone(above);
        }
        let at = if path.is_empty() { 0 } else { path.len() + 1 };
        let above = Some(Arc::clone(above));
        let everywhere = Gitignore::empty();
        Arc::new(Self { above, prefix: Vec::new(), at, ignore, exclude, everywhere })
    }

    pub(super) fn hide(&self, path: &[u8], is_folder: bool) -> bool {
        let said = |by: &Gitignore, rules: &Self| {
            if by.is_empty() {
                return None;
            }
            let found = if rules.prefix.is_empty() {
                by.matched(OsStr::from_bytes(&path[rules.at..]), is_folder)
            } else {
                by.matched(OsStr::from_bytes(&[&rules.prefix, path].concat()), is_folder)
            };
            (!found.is_none()).then(|| found.is_ignore())
        };
        let all = || std::iter::successors(Some(self), |rules| rules.above.as_deref());
        let lists: [fn(&Self) -> &Gitignore; 3] =
            [|own| &own.ignore, |own| &own.exclude, |own| &own.everywhere];
        lists.iter().find_map(|list| all().find_map(|rules| said(list(rules), rules))).unwrap_or(false)
    }
}

fn read(folder: &Path, ignore: bool, repository: bool) -> (Gitignore, Gitignore) {
    let rules = |path: &Path| parse(&files::read(path).unwrap_or_default());
    let own = folder.join(".gitignore");
    // git does not read a symlinked ignore file.
    let own = Some(own).filter(|own| ignore && fs::symlink_metadata(own).is_ok_and(|about| about.is_file()));
    let list =
        if repository { git_common_folder(folder).map(|common| common.join("info/exclude")) } else { None };
    [own, list].map(|path| path.map_or_else(Gitignore::empty, |path| rules(&path))).into()
}

/// Paths are matched relative to the folder of the rules, so no root is needed.
fn parse(text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for line in text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).split(|b| *b == b'\n') {
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
        // The store is never walked anyway, and one rule less makes every match faster.
        if line != HIDDEN {
            let _ = builder.add_line(None, &line); // git skips an invalid line, too
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Removed files that the ignore rules of the tree `then` hide: they were not captured, so a rollback does
/// not touch them.
pub fn hidden_by_rules(
    store: &Store,
    delta: &Delta,
    then: impl Fn() -> Result<Artifacts, Failure>,
) -> Result<Vec<String>, Failure> {
    if delta.removed.is_empty() || !delta.touched().any(is_rules) {
        return Ok(Vec::new());
    }
    let rules = rules_of(store, &then()?.files)?;
    let hidden = delta.removed.iter().filter(|file| is_hidden_by(&rules, &file.path));
    Ok(hidden.map(|file| file.path.clone()).collect())
}

/// The ignore files of a tree, by their folders, with a slash at the end.
type RulesOfTree = BTreeMap<String, Gitignore>;

fn is_rules(file: &File) -> bool {
    file.target.is_none() && file.path.rsplit('/').next() == Some(".gitignore")
}

/// The ignore files that a checkpoint has.
pub(super) fn rules_of(store: &Store, files: &[File]) -> Result<RulesOfTree, Failure> {
    let mut rules = BTreeMap::new();
    for file in files.iter().filter(|file| is_rules(file)) {
        let mut text = Vec::new();
        store.unpack(&file.sha256.0, &mut text)?;
        rules.insert(file.path[..file.path.len() - ".gitignore".len()].to_owned(), parse(&text));
    }
    Ok(rules)
}

/// Whether the deepest of these rules that matches this path ignores it.
pub(super) fn is_hidden_by(rules: &RulesOfTree, path: &str) -> bool {
    let folders = path.rmatch_indices('/').map(|(at, _)| at + 1).chain([0]);
    let mut said = folders.filter_map(|at| {
        let below = name::bytes(&path[at..]);
        Some(rules.get(&path[..at])?.matched_path_or_any_parents(OsStr::from_bytes(&below), false))
    });
    said.find(|said| !said.is_none()).is_some_and(|said| said.is_ignore())
}
