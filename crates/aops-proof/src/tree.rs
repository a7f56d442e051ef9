//! The Merkle tree of RFC 6962: hashes, proofs and their verification.
//!
//! Invariant: proofs can be made from anything that provides the hashes of full subtrees ([`Nodes`]);
//! verification needs only the proof.

use sha2::{Digest as _, Sha256};

/// The hash of a leaf or of a subtree.
pub type Hash = [u8; 32];

/// The hash of a leaf with this content.
pub fn leaf_hash(content: &[u8]) -> Hash {
    let mut hash = Sha256::new();
    hash.update([0]);
    hash.update(content);
    hash.finalize().into()
}

pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    let mut hash = Sha256::new();
    hash.update([1]);
    hash.update(left);
    hash.update(right);
    hash.finalize().into()
}

/// The root of a tree without leaves.
pub fn empty_root() -> Hash {
    Sha256::digest([]).into()
}

/// Hashes of full subtrees of 2^`level` leaves; `index` counts those of the same size before it.
pub trait Nodes {
    type Error;
    fn node(&self, level: u32, index: u64) -> Result<Hash, Self::Error>;
}

/// The root of the first `size` leaves.
pub fn root<N: Nodes>(nodes: &N, size: u64) -> Result<Hash, N::Error> {
    if size == 0 { Ok(empty_root()) } else { range_root(nodes, 0, size) }
}

/// The root of the leaves from `low` to `high` as a subtree of the whole tree.
fn range_root<N: Nodes>(nodes: &N, low: u64, high: u64) -> Result<Hash, N::Error> {
    let count = high - low;
    if count.is_power_of_two() {
        return nodes.node(count.trailing_zeros(), low / count);
    }
    let middle = low + split(count);
    Ok(node_hash(&range_root(nodes, low, middle)?, &range_root(nodes, middle, high)?))
}

/// The largest power of two below `count`, which is at least 2.
fn split(count: u64) -> u64 {
    1 << (count - 1).ilog2()
}

/// Proves that leaf `index` is in the tree of this size: the sibling of the leaf first. `None` if it is not.
pub fn inclusion<N: Nodes>(nodes: &N, index: u64, size: u64) -> Result<Option<Vec<Hash>>, N::Error> {
    if index >= size {
        return Ok(None);
    }
    let mut low = 0;
    let mut high = size;
    let mut path = Vec::new();
    while high - low > 1 {
        let middle = low + split(high - low);
        if index < middle {
            path.push(range_root(nodes, middle, high)?);
            high = middle;
        } else {
            path.push(range_root(nodes, low, middle)?);
            low = middle;
        }
    }
    path.reverse();
    Ok(Some(path))
}

/// Whether this path leads from the leaf at `index` to the root of a tree of this size.
pub fn is_included(leaf: &Hash, index: u64, size: u64, path: &[Hash], root: &Hash) -> bool {
    if index >= size {
        return false;
    }
    let mut hash = *leaf;
    let reaches = climb(index, size - 1, path, |sibling, is_left| {
        hash = if is_left { node_hash(sibling, &hash) } else { node_hash(&hash, sibling) };
    });
    reaches && hash == *root
}

/// Climbs from this node to the root, joining each sibling of the path and saying whether it is on the left.
/// Returns whether the path ends at the root. `last`: the last node on the same level.
fn climb(mut node: u64, mut last: u64, path: &[Hash], mut join: impl FnMut(&Hash, bool)) -> bool {
    for sibling in path {
        if last == 0 {
            return false;
        }
        let is_left = node % 2 == 1 || node == last;
        join(sibling, is_left);
        while is_left && node.is_multiple_of(2) && node != 0 {
            node /= 2;
            last /= 2;
        }
        node /= 2;
        last /= 2;
    }
    last == 0
}

/// Proves that the tree of the new size begins with that of the old one. `None` if there is nothing to prove:
/// the old size is zero, or not smaller.
pub fn consistency<N: Nodes>(nodes: &N, old: u64, new: u64) -> Result<Option<Vec<Hash>>, N::Error> {
    if old == 0 || old >= new {
        return Ok((old == new || old == 0).then(Vec::new));
    }
    let mut low = 0;
    let mut high = new;
    let mut path = Vec::new();
    let mut whole = true;
    while old != high {
        let middle = low + split(high - low);
        if old <= middle {
            path.push(range_root(nodes, middle, high)?);
            high = middle;
        } else {
            path.push(range_root(nodes, low, middle)?);
            low = middle;
            whole = false;
        }
    }
    if !whole {
        path.push(range_root(nodes, low, high)?);
    }
    path.reverse();
    Ok(Some(path))
}

/// Whether a tree with the new root begins with the tree of the old one.
pub fn is_consistent(old: u64, old_root: &Hash, new: u64, new_root: &Hash, path: &[Hash]) -> bool {
    if old == 0 || old == new {
        return path.is_empty() && old <= new && (old == 0 || old_root == new_root);
    }
    if old > new {
        return false;
    }
    let (first, path) = match path {
        _ if old.is_power_of_two() => (old_root, path),
        [first, rest @ ..] => (first, rest),
        [] => return false,
    };
    let mut node = old - 1;
    let mut last = new - 1;
    while node % 2 == 1 {
        node /= 2;
        last /= 2;
    }
    let mut older = *first;
    let mut newer = *first;
    let reaches = climb(node, last, path, |sibling, is_left| {
        if is_left {
            older = node_hash(sibling, &older);
            newer = node_hash(sibling, &newer);
        } else {
            newer = node_hash(&newer, sibling);
        }
    });
    reaches && older == *old_root && newer == *new_root
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    /// The definition in RFC 6962, applied literally to contents.
    pub(crate) fn by_definition(leaves: &[Vec<u8>]) -> Hash {
        match leaves {
            [] => empty_root(),
            [one] => leaf_hash(one),
            many => {
                let (left, right) = many.split_at(usize::try_from(split(many.len() as u64)).unwrap());
                node_hash(&by_definition(left), &by_definition(right))
            }
        }
    }

    struct Whole(Vec<Vec<u8>>);

    impl Nodes for Whole {
        type Error = Infallible;
        fn node(&self, level: u32, index: u64) -> Result<Hash, Infallible> {
            let from = usize::try_from(index << level).unwrap();
            Ok(by_definition(&self.0[from..from + (1 << level)]))
        }
    }

    pub(crate) fn leaves(count: u64) -> Vec<Vec<u8>> {
        (0..count).map(|n| n.to_be_bytes().to_vec()).collect()
    }

    /// The leaves of the test in the first Certificate Transparency log's code, and their roots.
    #[test]
    fn known_roots() {
        let leaves: Vec<Vec<u8>> = [
            "",
            "00",
            "10",
            "2021",
            "3031",
            "40414243",
            "5051525354555657",
            "606162636465666768696a6b6c6d6e6f",
        ]
        .iter()
        .map(|hex| {
            (0..hex.len() / 2).map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap()).collect()
        })
        .collect();
        let hex = |hash: Hash| hash.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        let root = |count| hex(by_definition(&leaves[..count]));
        assert_eq!(root(0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(root(1), "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
        assert_eq!(root(8), "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328");
    }

    #[test]
    fn every_proof_of_every_small_tree() {
        let all = Whole(leaves(24));
        let of = |size: u64| root(&all, size).unwrap();
        for size in 0..=24_u64 {
            assert_eq!(of(size), by_definition(&all.0[..usize::try_from(size).unwrap()]));
            for index in 0..size {
                let path = inclusion(&all, index, size).unwrap().unwrap();
                let leaf = leaf_hash(&index.to_be_bytes());
                assert!(is_included(&leaf, index, size, &path, &of(size)));
                for other in (0..26).filter(|other| *other != index) {
                    assert!(
                        !is_included(&leaf, other, size, &path, &of(size)),
                        "{index} of {size} as {other}"
                    );
                }
            }
            for old in 0..=size {
                let path = consistency(&all, old, size).unwrap().unwrap();
                assert!(is_consistent(old, &of(old), size, &of(size), &path), "{old} {size}");
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_else_is_proven(size in 2_u64..100, at in any::<prop::sample::Index>(), flip in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let all = Whole(leaves(size));
            let index = at.index(usize::try_from(size).unwrap()) as u64;
            let of = |size| root(&all, size).unwrap();
            let mut path = inclusion(&all, index, size).unwrap().unwrap();
            let leaf = leaf_hash(&index.to_be_bytes());
            let byte = flip.index(path.len() * 32);
            path[byte / 32][byte % 32] ^= 1 << bit;
            prop_assert!(!is_included(&leaf, index, size, &path, &of(size)));
            path[byte / 32][byte % 32] ^= 1 << bit;
            prop_assert!(!is_included(&leaf, index, size, &path[1..], &of(size)));
            path.push(leaf);
            prop_assert!(!is_included(&leaf, index, size, &path, &of(size)));

            let old = 1 + index % (size - 1);
            let mut path = consistency(&all, old, size).unwrap().unwrap();
            prop_assert!(!is_consistent(old, &of(size), size, &of(size), &path));
            prop_assert!(!is_consistent(old, &of(old), size, &of(old), &path));
            path.push(leaf);
            prop_assert!(!is_consistent(old, &of(old), size, &of(size), &path));
            path.pop();
            if !path.is_empty() {
                let byte = flip.index(path.len() * 32);
                path[byte / 32][byte % 32] ^= 1 << bit;
                prop_assert!(!is_consistent(old, &of(old), size, &of(size), &path));
            }
        }
    }
}
