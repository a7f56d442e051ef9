//! A whole tree in memory, for making many proofs.

use super::tree::{Hash, Nodes, node_hash};

/// Level 0 contains the hashes of the leaves, each level above those of full pairs.
#[derive(Debug)]
pub struct Whole {
    levels: Vec<Vec<Hash>>,
}

impl Whole {
    pub fn new(leaves: Vec<Hash>) -> Self {
        let mut levels = vec![leaves];
        while let Some(below) = levels.last().filter(|below| below.len() > 1) {
            let pairs = below.as_chunks::<2>().0.iter();
            levels.push(pairs.map(|[left, right]| node_hash(left, right)).collect());
        }
        Self { levels }
    }

    pub fn size(&self) -> u64 {
        self.levels.first().map_or(0, |leaves| leaves.len() as u64)
    }
}

impl Nodes for Whole {
    type Error = String;

    fn node(&self, level: u32, index: u64) -> Result<Hash, String> {
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        let found = self.levels.get(level as usize).and_then(|hashes| hashes.get(at));
        found
            .copied()
            .ok_or_else(|| format!("node {level}/{index} is not in a tree of {} leaves", self.size()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{by_definition, leaves};
    use super::super::tree::{consistency, inclusion, is_consistent, is_included, leaf_hash, root};
    use super::*;

    #[test]
    fn its_proofs_hold() {
        let all = leaves(37);
        let tree = Whole::new(all.iter().map(|leaf| leaf_hash(leaf)).collect());
        let of = |size: u64| by_definition(&all[..usize::try_from(size).unwrap()]);
        for size in 1..=37 {
            assert_eq!(root(&tree, size).unwrap(), of(size));
            let path = inclusion(&tree, size - 1, 37).unwrap().unwrap();
            assert!(is_included(&leaf_hash(&(size - 1).to_be_bytes()), size - 1, 37, &path, &of(37)));
            let path = consistency(&tree, size, 37).unwrap().unwrap();
            assert!(is_consistent(size, &of(size), 37, &of(37), &path));
        }
        assert!(root(&tree, 38).unwrap_err().contains("not in a tree of 37 leaves"));
    }
}
