//! The ignore rules of a tree: ignore files of its folders and of those above it, and the user's own list.
//!
//! Reads ignore files. The rules of a folder apply to everything below it, and the deepest match decides. A repository's own
//! list (`info/exclude`) comes after all ignore files, the user's list last. Rules above a repository do not apply to it;
//! without a repository those of all folders above do.

use crate::checkpoint::store::hide;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
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
        let mut rules =
            Arc::new(Self { above: None, prefix: Vec::new(), at: 0, ignore: none(), exclude: none(), everywhere });
        let top = root.ancestors().find(|folder| folder.join(".git").exists());
        let above: Vec<&Path> = match top {
            Some(top) => root.ancestors().skip(1).take_while(|folder| folder.starts_with(top)).collect(),
            None => root.ancestors().skip(1).collect(),
        };
        for folder in above.into_iter().rev() {
            let (ignore, exclude) = read(folder, true, Some(folder) == top);
            if !ignore.is_empty() || !exclude.is_empty() {
                let rest = root.strip_prefix(folder).unwrap_or(root).as_os_str().as_bytes();
                let prefix = [rest, b"/"].concat();
                let everywhere = none();
                rules = Arc::new(Self { above: Some(rules), prefix, at: 0, ignore, exclude, everywhere });
            }
        }
        rules
    }

    /// Adds the rules of a folder of the tree. `path` is empty for the root.
    pub(super) fn of(above: &Arc<Self>, root: &Path, path: &[u8], has: Has) -> Arc<Self> {
        if !has.ignore && !has.repository {
            return Arc::clone(above);
        }
        let (ignore, exclude) = read(&root.join(OsStr::from_bytes(path)), has.ignore, has.repository);
        if ignore.is_empty() && exclude.is_empty() {
            return Arc::clone(above);
        }
        let at = if path.is_empty() { 0 } else { path.len() + 1 };
        let (above, everywhere) = (Some(Arc::clone(above)), Gitignore::empty());
        Arc::new(Self { above, prefix: Vec::new(), at, ignore, exclude, everywhere })
    }

    /// Whether git ignores this path.
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
        let ignore = all().find_map(|rules| said(&rules.ignore, rules));
        let exclude = || all().find_map(|rules| said(&rules.exclude, rules));
        let everywhere = || all().find_map(|rules| said(&rules.everywhere, rules));
        ignore.or_else(exclude).or_else(everywhere).unwrap_or(false)
    }
}

/// Which sources of rules a folder has.
#[derive(Clone, Copy, Default)]
pub(super) struct Has {
    pub(super) ignore: bool,
    pub(super) repository: bool,
}

fn read(folder: &Path, ignore: bool, repository: bool) -> (Gitignore, Gitignore) {
    let none = Gitignore::empty;
    let list = || hide::common(folder).map(|own| own.join("info/exclude"));
    let own = folder.join(".gitignore");
    // git does not read a symlinked ignore file.
    let plain = ignore && fs::symlink_metadata(&own).is_ok_and(|about| about.is_file());
    (
        if plain { rules(&own) } else { none() },
        if repository { list().map_or_else(none, |path| rules(&path)) } else { none() },
    )
}

/// Matched against paths relative to the folder of the rules, so there is no root to name.
fn rules(path: &Path) -> Gitignore {
    let text = fs::read(path).unwrap_or_default();
    let mut builder = GitignoreBuilder::new("");
    for line in text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text).split(|b| *b == b'\n') {
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
        // The store is never walked anyway, and one rule less makes every match faster.
        if line != hide::LINE {
            let _ = builder.add_line(None, &line); // git skips an invalid line, too
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
