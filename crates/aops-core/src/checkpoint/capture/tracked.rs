//! What git tracks in a tree.
//!
//! Reads git's index. Starts git only if we cannot read its index and the index has changed, and keeps git's
//! answer in the store's cache.

use crate::checkpoint::store::Store;
use crate::checkpoint::store::cache::FileStamp;
use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::git::{self, git_folder};
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The tracked paths, each followed by a zero byte; empty without a repository, or if neither we nor git can
/// read the index, which is an error with `must`. Git is asked only if we cannot read the index. It replaces
/// the index by a rename, so the same size, times and inode mean the same content.
pub(super) fn list_tracked(env: &Env, store: &Store, must: bool) -> Result<Vec<u8>, Failure> {
    let repository = |folder: &Path| Some((git_folder(folder)?, folder.to_owned()));
    let Some((own, top)) = store.root.ancestors().find_map(repository) else { return Ok(Vec::new()) };
    let mut below = store.root.strip_prefix(&top).unwrap_or(Path::new("")).as_os_str().as_bytes().to_vec();
    below.extend((!below.is_empty()).then_some(b'/'));
    let path = own.join("index");
    if let Some(paths) = git::index_paths(&path, &below) {
        return Ok(paths);
    }
    let index = rustix::fs::stat(&path).map(|stat| FileStamp::of(&stat));
    if index == Err(Errno::NOENT) {
        return Ok(Vec::new()); // nothing was ever added
    }
    if let Some(known) = index.ok().and_then(|index| store.tracked(&index)) {
        return Ok(known);
    }
    let said = if git::is_index_whole(&path) { git::tracked(env, &store.root)? } else { None };
    if let (Some(said), Ok(index)) = (&said, index) {
        let _ = store.track(&index, said);
    }
    match said {
        None if must => Err(Failure::storage(path.display(), "neither we nor git can read it")),
        said => Ok(said.unwrap_or_default()),
    }
}

/// Whether we know what git tracks.
pub fn knows_tracked(env: &Env, store: &Store) -> bool {
    list_tracked(env, store, true).is_ok()
}
