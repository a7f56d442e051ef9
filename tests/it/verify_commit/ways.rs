//! The ways on which commits of a test travel: moved bases, squashes, sides, clones, other lists.

use super::shop::Shop;
use std::path::PathBuf;

impl Shop {
    /// With an attested commit on a branch `side`.
    pub(crate) fn with_side() -> Self {
        let shop = Self::new();
        shop.git(&["checkout", "-q", "-b", "side"]);
        shop.attested("b.txt", "b of the side\n");
        shop.git(&["checkout", "-q", "main"]);
        shop
    }

    /// The base has this list of signers.
    pub(crate) fn trust(&self, list: impl AsRef<[u8]>) {
        self.put(".aops/signers", list);
        self.commit("the list");
        self.git(&["branch", "-f", "base"]);
    }

    /// The base of `base..HEAD` moves along, as it does at a pull request.
    pub(crate) fn move_base(&self, name: &str, text: &str) {
        self.git(&["checkout", "-q", "base"]);
        self.put(name, text);
        self.commit("elsewhere");
    }

    /// One commit of everything on the branch `main`, onto the base.
    pub(crate) fn squash(&self) {
        self.git(&["checkout", "-q", "-b", "squashed", "base"]);
        self.git(&["merge", "-q", "--squash", "main"]);
        self.commit("all of it");
    }

    /// Goes on in a clone: where it was before, and the clone's folder.
    pub(crate) fn enter_clone(&mut self, name: &str) -> (PathBuf, String) {
        let clone = self.sandbox.tmp().join(name);
        let there = clone.to_str().unwrap().to_owned();
        self.git(&["clone", "-q", self.folder.to_str().unwrap(), &there]);
        (std::mem::replace(&mut self.folder, clone), there)
    }
}
