//! The tree as files: `tile/<level>/<index>[.p/<width>]`, 256 hashes each, in the layout of C2SP
//! `tlog-tiles`.
//!
//! Invariant: a tile that is full never changes. Growing writes the tiles that changed and nothing else.

use super::tree::{Hash, Nodes, node_hash};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Hashes of one tile.
pub const WIDTH: u64 = 256;
const HEIGHT: u32 = 8;

/// One file of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tile {
    pub level: u32,
    pub index: u64,
    /// 1 to 256.
    pub width: u64,
}

impl Tile {
    /// Relative to the log's folder: `tile/0/x001/234`, `tile/1/000.p/5`.
    pub fn path(self) -> String {
        format!("tile/{}/{}", self.level, number(self.index)) + &self.partial()
    }

    fn partial(self) -> String {
        if self.width == WIDTH { String::new() } else { format!(".p/{}", self.width) }
    }

    /// The tile in a tree of this size; `None` if it is empty.
    pub fn at(level: u32, index: u64, size: u64) -> Option<Self> {
        let hashes = size.checked_shr(level * HEIGHT).unwrap_or(0);
        let width = hashes.checked_sub(index * WIDTH)?.min(WIDTH);
        (width > 0).then_some(Self { level, index, width })
    }
}

/// Groups of three digits; all but the last are prefixed with `x`.
fn number(index: u64) -> String {
    let mut text = format!("{:03}", index % 1000);
    let mut rest = index / 1000;
    while rest > 0 {
        text.insert_str(0, &format!("x{:03}/", rest % 1000));
        rest /= 1000;
    }
    text
}

/// Where tiles are read from.
pub trait Reader {
    type Error: From<String>;
    /// The bytes of a tile, or of the same tile when it was fuller.
    fn read(&self, tile: Tile) -> Result<Vec<u8>, Self::Error>;
}

/// A tree of this size, read from tiles.
#[derive(Debug)]
pub struct TiledTree<'a, R> {
    pub reader: &'a R,
    pub size: u64,
}

impl<R: Reader> TiledTree<'_, R> {
    fn hashes(&self, level: u32, index: u64) -> Result<Vec<Hash>, R::Error> {
        let absent = || format!("tile {level}/{index} is beyond a tree of {} leaves", self.size);
        let tile = Tile::at(level, index, self.size).ok_or_else(absent)?;
        let bytes = self.reader.read(tile)?;
        let hashes: Vec<Hash> = bytes.as_chunks::<32>().0[..].to_vec();
        let wanted = usize::try_from(tile.width).unwrap_or(usize::MAX);
        if hashes.len() < wanted || bytes.len() % 32 != 0 || hashes.len() > 256 {
            return Err(format!("{} has {} bytes", tile.path(), bytes.len()).into());
        }
        Ok(hashes[..wanted].to_vec())
    }
}

impl<R: Reader> Nodes for TiledTree<'_, R> {
    type Error = R::Error;

    fn node(&self, level: u32, index: u64) -> Result<Hash, R::Error> {
        let tile_level = level / HEIGHT;
        let inside = level % HEIGHT;
        let first = index << inside;
        let hashes = self.hashes(tile_level, first / WIDTH)?;
        let from = usize::try_from(first % WIDTH).unwrap_or(usize::MAX);
        let range = hashes.get(from..from + (1 << inside));
        range
            .map(fold)
            .ok_or_else(|| format!("node {level}/{index} is not in a tree of {} leaves", self.size).into())
    }
}

/// The root of a full subtree.
fn fold(hashes: &[Hash]) -> Hash {
    match hashes {
        [one] => *one,
        many => {
            let (left, right) = many.split_at(many.len() / 2);
            node_hash(&fold(left), &fold(right))
        }
    }
}

/// The tiles that change when these leaves follow the first `old` ones, each with its whole content.
pub fn grow<R: Reader>(reader: &R, old: u64, leaves: &[Hash]) -> Result<Vec<(Tile, Vec<u8>)>, R::Error> {
    let tree = TiledTree { reader, size: old };
    let size = old + leaves.len() as u64;
    let mut written = Vec::new();
    let mut level = 0;
    let mut fresh = leaves.to_vec();
    while !fresh.is_empty() {
        let before = old.checked_shr(level * HEIGHT).unwrap_or(0);
        let mut tiles: BTreeMap<u64, Vec<Hash>> = BTreeMap::new();
        if !before.is_multiple_of(WIDTH) {
            tiles.insert(before / WIDTH, tree.hashes(level, before / WIDTH)?);
        }
        for (at, hash) in (before..).zip(&fresh) {
            tiles.entry(at / WIDTH).or_default().push(*hash);
        }
        fresh =
            tiles.values().filter(|hashes| hashes.len() as u64 == WIDTH).map(|hashes| fold(hashes)).collect();
        for (index, hashes) in tiles {
            let tile = Tile { level, index, width: hashes.len() as u64 };
            debug_assert_eq!(Tile::at(level, index, size), Some(tile));
            written.push((tile, hashes.concat()));
        }
        level += 1;
    }
    Ok(written)
}

/// A file of leaf contents, each preceded by its length.
pub fn bundle<'a>(contents: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for content in contents {
        let long =
            u16::try_from(content.len()).map_err(|_| "a leaf has more than 65,535 bytes".to_owned())?;
        bytes.extend(long.to_be_bytes());
        bytes.extend(content);
    }
    Ok(bytes)
}

/// Lower-case hex, as in names of keys.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{by_definition, leaves};
    use super::super::tree::{consistency, inclusion, is_consistent, is_included, leaf_hash, root};
    use super::*;
    use std::cell::RefCell;

    #[derive(Default)]
    struct Memory(RefCell<BTreeMap<(u32, u64), Vec<u8>>>);

    impl Reader for Memory {
        type Error = String;
        fn read(&self, tile: Tile) -> Result<Vec<u8>, String> {
            self.0.borrow().get(&(tile.level, tile.index)).cloned().ok_or_else(|| tile.path())
        }
    }

    #[test]
    fn names_of_tiles() {
        let path = |level, index, width| Tile { level, index, width }.path();
        assert_eq!(path(0, 1_234_067, 256), "tile/0/x001/x234/067");
        assert_eq!(path(3, 5, 7), "tile/3/005.p/7");
        assert_eq!(path(0, 1000, 1), "tile/0/x001/000.p/1");
        // The example of the specification.
        let tiles: Vec<_> =
            (0..4).flat_map(|level| (0..300).filter_map(move |n| Tile::at(level, n, 70_000))).collect();
        let full = |level| tiles.iter().filter(|tile| tile.level == level && tile.width == 256).count();
        let rest: Vec<_> =
            tiles.iter().filter(|tile| tile.width < 256).map(|tile| (tile.level, tile.width)).collect();
        assert_eq!((full(0), full(1), full(2), rest), (273, 1, 0, vec![(0, 112), (1, 17), (2, 1)]));
    }

    /// Grown in steps of every kind, the tree always equals the one by definition, and so do its proofs.
    #[test]
    fn a_tree_grown_in_steps() {
        let memory = Memory::default();
        let all = leaves(70_000);
        let hashes: Vec<Hash> = all.iter().map(|leaf| leaf_hash(leaf)).collect();
        let mut size = 0_u64;
        let mut roots = vec![(0, super::super::tree::empty_root())];
        for step in [1, 1, 2, 250, 1, 1, 3, 255, 256, 257, 511, 60_000, 4_999, 1, 4] {
            let from = usize::try_from(size).unwrap();
            let grown = grow(&memory, size, &hashes[from..from + step]).unwrap();
            assert!(grown.iter().all(|(tile, bytes)| bytes.len() as u64 == tile.width * 32));
            memory
                .0
                .borrow_mut()
                .extend(grown.into_iter().map(|(tile, bytes)| ((tile.level, tile.index), bytes)));
            size += step as u64;
            let tree = TiledTree { reader: &memory, size };
            let now = root(&tree, size).unwrap();
            assert_eq!(now, by_definition(&all[..from + step]), "{size}");
            for (old, was) in &roots {
                let path = consistency(&tree, *old, size).unwrap().unwrap();
                assert!(is_consistent(*old, was, size, &now, &path), "{old} to {size}");
            }
            for index in [0, size / 2, size - 1] {
                let path = inclusion(&tree, index, size).unwrap().unwrap();
                assert!(is_included(&hashes[usize::try_from(index).unwrap()], index, size, &path, &now));
            }
            roots.push((size, now));
        }
    }

    #[test]
    fn a_damaged_tile_is_said() {
        let memory = Memory::default();
        let tree = TiledTree { reader: &memory, size: 3 };
        assert_eq!(root(&tree, 3), Err("tile/0/000.p/3".to_owned()));
        memory.0.borrow_mut().insert((0, 0), vec![0; 65]);
        assert!(root(&tree, 3).unwrap_err().contains("65 bytes"));
        assert_eq!(bundle([&b"ab"[..], b""]), Ok(vec![0, 2, b'a', b'b', 0, 0]));
    }
}
