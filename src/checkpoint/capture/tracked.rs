//! The files that git tracks in a tree, asked again only when git's index has changed.
//!
//! Reads the stat of git's index, writes `tracked` in the store. git replaces its index by a rename, so an index with the
//! same size, times and inode has the same content.

use crate::checkpoint::store::Store;
use crate::checkpoint::store::cache::FileStamp;
use crate::checkpoint::store::hide;
use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::git;

/// Paths from the root, each followed by a zero byte; empty where there is no repository, or git does not answer.
pub(super) fn tracked(env: &Env, store: &Store) -> Result<Vec<u8>, Failure> {
    let Some(own) = store.root.ancestors().find_map(hide::own) else { return Ok(Vec::new()) };
    let index = rustix::fs::stat(own.join("index")).map(|stat| FileStamp::of(&stat));
    if let Some(known) = index.ok().and_then(|index| store.tracked(&index)) {
        return Ok(known);
    }
    let said = git::tracked(env, &store.root)?;
    if let (Some(said), Ok(index)) = (&said, index) {
        let _ = store.track(&index, said);
    }
    Ok(said.unwrap_or_default())
}
