//! Where keys, ledgers and checkpoints of sessions lie, relative to a tree.
//!
//! Looks at the folders when it is first asked. Why: a command can turn the home into a repository, or put a
//! link in place of a folder, and the content of a checkpoint can be displayed.

use crate::checkpoint::tree::name;
use crate::system::env::OWN_FOLDERS;
use crate::system::files;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

#[derive(Debug, Default)]
pub(super) struct Guarded {
    config: PathBuf,
    places: OnceLock<Vec<PathBuf>>,
    in_tree: OnceLock<Vec<String>>,
}

impl Guarded {
    pub(super) fn of(config: &Path) -> Self {
        Self { config: config.to_owned(), ..Self::default() }
    }

    /// Their real paths.
    pub(super) fn places(&self) -> &[PathBuf] {
        self.places.get_or_init(|| {
            if self.config.as_os_str().is_empty() {
                return Vec::new();
            }
            let config = files::real(&self.config).unwrap_or_else(|_| self.config.clone());
            OWN_FOLDERS.iter().map(|name| config.join(name)).collect()
        })
    }

    /// Their paths relative to this tree; an empty path if the tree itself lies in one of them.
    pub(super) fn in_tree(&self, tree: &OwnedFd) -> &[String] {
        self.in_tree.get_or_init(|| {
            let Ok(root) = files::path_of(tree) else { return Vec::new() };
            let inside = |place: &PathBuf| {
                let below =
                    if root.starts_with(place) { Path::new("") } else { place.strip_prefix(&root).ok()? };
                Some(name::text(below.as_os_str().as_bytes()).into_owned())
            };
            self.places().iter().filter_map(inside).collect()
        })
    }
}
