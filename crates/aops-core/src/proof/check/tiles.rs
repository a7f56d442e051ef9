//! Checks that the tiles match the leaves, that those of the checkpoint are complete, and that there are no
//! other files.
//!
//! Invariant: what an interrupted process can leave is not a fault. Tiles are written before the checkpoint
//! of their size, so those that it needs are complete; an incomplete one has a size that no checkpoint has.

use super::Examined;
use crate::proof::store::{Store, TILES};
use crate::system::files;
use aops_proof::checkpoint::whole_number;
use aops_proof::tiles::{Tile, WIDTH, grow};
use aops_proof::tree::{Hash, leaf_hash};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Bytes of a hash in a tile.
const HASH: usize = 32;
/// Deeper folders would exist only in a log with more leaves than fit on any disk.
const DEEPEST: usize = 16;

/// The right content of each tile, by its path below the log's folder when it is full.
type Right = BTreeMap<String, Vec<u8>>;

impl Examined {
    /// `signed`: the size of the checkpoint.
    pub(super) fn look_at_tiles(&mut self, store: &Store, signed: u64) {
        let hashes: Vec<Hash> = self.leaves.iter().map(|leaf| leaf_hash(&leaf.0)).collect();
        let grown = grow(store, 0, &hashes).unwrap_or_default();
        let right: Right = grown.into_iter().map(|(tile, bytes)| (full(tile).path(), bytes)).collect();
        let mut odd = BTreeSet::new();
        walk(&store.path, TILES, 0, &right, &mut odd);
        odd.extend(
            wanted(signed.min(self.leaves.len() as u64))
                .filter(|tile| !is_there(store, *tile, &right))
                .map(Tile::path),
        );
        if let Some(first) = odd.first() {
            let many = odd.len();
            let mends = "`aops-hook key rotate` makes all of them again";
            self.faults.push(format!(
                "{many} tiles do not match the leaves or are missing, `{first}` first; {mends}"
            ));
        }
    }
}

fn full(tile: Tile) -> Tile {
    Tile { width: WIDTH, ..tile }
}

/// The tiles of a log of this size.
fn wanted(size: u64) -> impl Iterator<Item = Tile> {
    let of_level = move |level| (0..).map_while(move |index| Tile::at(level, index, size));
    (0..)
        .map(of_level)
        .map(Iterator::peekable)
        .map_while(|mut tiles| tiles.peek().is_some().then_some(tiles))
        .flatten()
}

/// The tile exists, in its form for this size or for a larger log.
fn is_there(store: &Store, tile: Tile, right: &Right) -> bool {
    let Some(bytes) = right.get(&full(tile).path()) else { return false };
    let has = |tile: Tile| {
        let long = usize::try_from(tile.width).unwrap_or(usize::MAX).saturating_mul(HASH);
        bytes
            .get(..long)
            .is_some_and(|bytes| files::read(store.path.join(tile.path())).is_ok_and(|has| has == bytes))
    };
    has(tile) || has(full(tile))
}

/// Finds files that are not tiles of this log. `at`: a folder or file below the log's folder.
fn walk(log: &Path, at: &str, depth: usize, right: &Right, odd: &mut BTreeSet<String>) {
    let path = log.join(at);
    let Ok(meta) = path.symlink_metadata() else { return };
    if meta.is_dir() && depth < DEEPEST {
        for item in fs::read_dir(&path).into_iter().flatten().flatten() {
            walk(log, &format!("{at}/{}", item.file_name().to_string_lossy()), depth + 1, right, odd);
        }
    } else if !meta.is_file() || !files::read(&path).is_ok_and(|bytes| fits(at, &bytes, right)) {
        odd.insert(at.to_owned());
    }
}

/// It is a tile of this log, or the beginning of one.
fn fits(at: &str, bytes: &[u8], right: &Right) -> bool {
    let (name, width) = at.rsplit_once(".p/").map_or((at, Some(WIDTH)), |(name, width)| {
        (name, whole_number(width).filter(|width| (1..WIDTH).contains(width)))
    });
    let long = width.and_then(|width| usize::try_from(width).ok()).unwrap_or(0) * HASH;
    right.get(name).and_then(|right| right.get(..long)).is_some_and(|right| right.starts_with(bytes))
}
