//! What git tracks in a tree, asked again only when git's index is another one.
//!
//! Reads the index's outside, writes `tracked` in the vault. A hint that is sure: git makes its index anew and moves it into
//! place, so one that is the same by size, times and inode says the same.

use crate::checkpoint::store::Store;
use crate::checkpoint::store::cache::Outside;
use crate::checkpoint::store::hide;
use crate::system::env::Env;
use crate::system::git;

/// Paths from the root, each with a zero byte after it; nothing where there is no repository, or no answer.
pub(super) fn tracked(env: &Env, vault: &Store) -> Vec<u8> {
    let Some(own) = vault.root.ancestors().find_map(hide::own) else { return Vec::new() };
    let index = rustix::fs::stat(own.join("index")).map(|stat| Outside::of(&stat));
    let known = index.ok().and_then(|index| vault.tracked(&index));
    known.unwrap_or_else(|| {
        let said = git::tracked(env, &vault.root);
        if let (Some(said), Ok(index)) = (&said, index) {
            let _ = vault.track(&index, said);
        }
        said.unwrap_or_default()
    })
}
