//! Finds files with two names: writing to one name changes the file under both.
//!
//! Reads the file system, creates nothing. Invariant: a file with one name, and one that does not exist,
//! costs one system call; protected files are listed only if a file has several names.

use super::other_clients::OtherClients;
use crate::gate::guard::Protected;
use crate::ledger::session_folder::is_session_folder;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Finds the protected file that a path is another name of.
#[derive(Debug, Default)]
pub(super) struct HardLinks {
    /// Protected files by device and inode; `None` until a file with several names is met.
    guarded: Option<BTreeMap<(u64, u64), PathBuf>>,
}

impl HardLinks {
    pub(super) fn other_name(
        &mut self,
        path: &Path,
        protected: &mut Protected,
        others: &mut OtherClients,
    ) -> Option<&Path> {
        let meta = fs::metadata(path).ok().filter(|meta| meta.is_file() && meta.nlink() > 1)?;
        let guarded = self.guarded.get_or_insert_with(|| {
            others.add(protected);
            list(protected)
        });
        guarded.get(&(meta.dev(), meta.ino())).map(PathBuf::as_path)
    }
}

fn list(protected: &Protected) -> BTreeMap<(u64, u64), PathBuf> {
    let mut found = BTreeMap::new();
    for place in protected.places() {
        let path = PathBuf::from(place.path);
        add(&mut found, path, if place.tree { 4 } else { 0 });
    }
    let projects = Path::new(&protected.config).join("projects");
    let sessions = items(&projects).into_iter().flat_map(|project| items(&project));
    let ours =
        |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(is_session_folder);
    for session in sessions.filter(ours) {
        add(&mut found, session, 2);
    }
    found
}

/// Adds a file, or the files in a folder up to this depth. Only files with several names matter.
fn add(found: &mut BTreeMap<(u64, u64), PathBuf>, path: PathBuf, deep: usize) {
    let plain = |meta: &Metadata| meta.is_file() && meta.nlink() > 1;
    match fs::metadata(&path) {
        Ok(meta) if meta.is_dir() && deep > 0 => {
            for item in items(&path) {
                add(found, item, deep - 1);
            }
        }
        Ok(meta) if plain(&meta) => drop(found.entry((meta.dev(), meta.ino())).or_insert(path)),
        _ => {}
    }
}

fn items(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path()).collect()
}
