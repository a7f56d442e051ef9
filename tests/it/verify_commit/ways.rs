//! The ways on which commits of a test travel: moved bases, squashes, sides, clones, other lists.

use super::shop::Shop;
use crate::support::BINARY;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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

    /// What `verify-commit` says in JSON, and how often it starts git.
    pub(crate) fn starts_of_git(&self, words: &[&str]) -> (Value, usize) {
        let count = self.sandbox.tmp().join("count");
        let real = self.sandbox.command("sh").args(["-c", "command -v git"]).output().unwrap().stdout;
        let real = String::from_utf8(real).unwrap();
        let folder = self.sandbox.tmp().join("counting");
        fs::create_dir(&folder).unwrap();
        let text = format!("#!/bin/sh\necho >> {}\nexec {} \"$@\"\n", count.display(), real.trim());
        fs::write(folder.join("git"), text).unwrap();
        fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", folder.display(), Path::new(real.trim()).parent().unwrap().display());
        let mut command = self.sandbox.command(BINARY);
        let said = command.arg("verify-commit").args(words).env("PATH", path).current_dir(&self.folder);
        let said = serde_json::from_slice(&said.output().unwrap().stdout).unwrap();
        (said, fs::read_to_string(&count).unwrap().lines().count())
    }
}
