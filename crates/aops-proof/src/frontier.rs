//! The minimum needed to extend a tree: the roots of its full subtrees, at most 64, the largest first.
//!
//! Invariant: it has one hash for each set bit of its size.

use super::tree::{Hash, empty_root, node_hash};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    hashes: Vec<Hash>,
}

impl Frontier {
    /// Restores a stored frontier; `None` if size and hashes do not match.
    pub fn of(size: u64, hashes: Vec<Hash>) -> Option<Self> {
        (u64::from(size.count_ones()) == hashes.len() as u64).then_some(Self { size, hashes })
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn hashes(&self) -> &[Hash] {
        &self.hashes
    }

    pub fn push(&mut self, leaf: Hash) {
        let mut hash = leaf;
        let mut before = self.size;
        while before % 2 == 1
            && let Some(left) = self.hashes.pop()
        {
            hash = node_hash(&left, &hash);
            before /= 2;
        }
        self.hashes.push(hash);
        self.size += 1;
    }

    pub fn root(&self) -> Hash {
        let mut hashes = self.hashes.iter().rev();
        let Some(last) = hashes.next() else { return empty_root() };
        hashes.fold(*last, |right, left| node_hash(left, &right))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::leaf_hash;
    use super::super::tree::tests::{by_definition, leaves};
    use super::*;

    #[test]
    fn every_size_has_the_root_of_the_definition() {
        let all = leaves(70);
        let mut frontier = Frontier::default();
        for (size, leaf) in all.iter().enumerate() {
            assert_eq!(frontier.root(), by_definition(&all[..size]), "{size}");
            let again = Frontier::of(frontier.size(), frontier.hashes().to_vec());
            assert_eq!(again.as_ref(), Some(&frontier));
            frontier.push(leaf_hash(leaf));
        }
        assert_eq!(Frontier::of(3, vec![[0; 32]]), None);
    }
}
