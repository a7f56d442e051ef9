//! The ignore rules of a tree: ignore files of its folders and of those above it, and the user's own list.
//!
//! Reads ignore files. The rules of a folder apply to everything below it, and the deepest match decides. A repository's own
//! list (`info/exclude`) comes after all ignore files, the user's list last. Rules above a repository do not apply to it;
//! without a repository those of all folders above do.

use crate::checkpoint::store::{HIDDEN, Store, git_common_folder};
use crate::checkpoint::tree::{Artifacts, Delta, File, name};
use crate::model::error::Failure;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// The rules of one folder, and those above it.
pub(super) struct Rules {
    above: Option<Arc<Rules>>,
    /// The path from there to the tree's root, empty or with a slash at the end. For folders above the tree.
    prefix: Vec<u8>,
    /// Length of this folder's path in the tree, slash included.
    at: usize,
    ignore: Gitignore,
    exclude: Gitignore,
    /// The user's list; only in the outermost `Rules`.
    everywhere: Gitignore,
}

impl Rules {
    /// The rules of the folders above a tree.
    pub(super) fn above(root: &Path) -> Arc<Self> {
        let everywhere = Gitignore::global().0;
        let none = Gitignore::empty;
        let (prefix, ignore, exclude) = (Vec::new(), none(), none());
        let mut rules = Arc::new(Self { above: None, prefix, at: 0, ignore, exclude, everywhere });
        let top = root.ancestors().find(|folder| folder.join(".git").exists());
        let inside = |folder: &&Path| top.is_none_or(|top| folder.starts_with(top));
        let above: Vec<&Path> = root.ancestors().skip(1).take_while(inside).collect();
        for folder in above.into_iter().rev() {
            let (ignore, exclude) = read(folder, true, Some(folder) == top);
            if !ignore.is_empty() || !exclude.is_empty() {
                let rest = root.strip_prefix(folder).unwrap_or(root).as_os_str().as_bytes();
                let (above, prefix, everywhere) = (Some(rules), [rest, b"/"].concat(), none());
                rules = Arc::new(Self { above, prefix, at: 0, ignore, exclude, everywhere });
            }
        }
        rules
    }

    /// Adds the rules of a folder of the tree, from the two sources that it has. `path` is empty for the root.
    pub(super) fn of(above: &Arc<Self>, root: &Path, path: &[u8], ignore: bool, repository: bool) -> Arc<Self> {
        let (ignore, exclude) = read(&root.join(OsStr::from_bytes(path)), ignore, repository);
        if ignore.is_empty() && exclude.is_empty() {
            return Arc::clone(above);
        }
        let at = if path.is_empty() { 0 } else { path.len() + 1 };
        let (above, everywhere) = (Some(Arc::clone(above)), Gitignore::empty());
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
        let lists: [fn(&Self) -> &Gitignore; 3] = [|own| &own.ignore, |own| &own.exclude, |own| &own.everywhere];
        lists.iter().find_map(|list| all().find_map(|rules| said(list(rules), rules))).unwrap_or(false)
    }
}

fn read(folder: &Path, ignore: bool, repository: bool) -> (Gitignore, Gitignore) {
    let rules = |path: &Path| parse(&fs::read(path).unwrap_or_default());
    let own = folder.join(".gitignore");
    // git does not read a symlinked ignore file.
    let own = Some(own).filter(|own| ignore && fs::symlink_metadata(own).is_ok_and(|about| about.is_file()));
    let list = if repository { git_common_folder(folder).map(|common| common.join("info/exclude")) } else { None };
    [own, list].map(|path| path.map_or_else(Gitignore::empty, |path| rules(&path))).into()
}

/// Matched against paths relative to the folder of the rules, so there is no root to name.
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

/// The removed files that the ignore rules of the tree `then` hide: they were not captured, so a rollback leaves them alone.
pub fn hidden_by_rules(
    store: &Store,
    delta: &Delta,
    then: impl Fn() -> Result<Artifacts, Failure>,
) -> Result<Vec<String>, Failure> {
    let is_rules = |file: &File| file.target.is_none() && file.path.rsplit('/').next() == Some(".gitignore");
    if delta.removed.is_empty() || !delta.touched().any(is_rules) {
        return Ok(Vec::new());
    }
    let mut rules = BTreeMap::new();
    for file in then()?.files.into_iter().filter(is_rules) {
        let mut text = Vec::new();
        store.unpack(&file.sha256.0, &mut text)?;
        rules.insert(file.path[..file.path.len() - ".gitignore".len()].to_owned(), parse(&text));
    }
    let hidden = |file: &&&File| {
        let folders = file.path.rmatch_indices('/').map(|(at, _)| at + 1).chain([0]);
        let mut said = folders.filter_map(|at| {
            let path = name::bytes(&file.path[at..]);
            Some(rules.get(&file.path[..at])?.matched_path_or_any_parents(OsStr::from_bytes(&path), false))
        });
        said.find(|said| !said.is_none()).is_some_and(|said| said.is_ignore())
    };
    Ok(delta.removed.iter().filter(hidden).map(|file| file.path.clone()).collect())
}
