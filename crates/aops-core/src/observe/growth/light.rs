//! Finds the changes that add nothing to a task's size: a file that got another name, one that a tool made
//! while a command ran, and a generated one that was removed.
//!
//! Reads what the store kept of removed files, and asks git which of them it has in folders whose name alone
//! does not tell. Invariants: every change stays listed, so it is still work; two files are one that moved if
//! at least half of their lines are the same.

use super::{count, stored};
use crate::checkpoint::capture::Change;
use crate::checkpoint::store::Store;
use crate::model::event::Event;
use crate::session::growth::ChangedFile;
use crate::system::env::Env;
use crate::system::git;
use crate::text::sha256::hex;
use aops_shell::generated;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// At most this many pairs of files are compared line by line.
const MOST_COMPARED: usize = 128;
const PATIENCE: Duration = Duration::from_secs(2);

/// How much of a change counts.
#[derive(Debug)]
pub(super) enum Weight {
    Whole,
    None,
    /// Only what differs from this content: the file came from another name.
    Against(Vec<u8>),
}

#[derive(Debug, Default)]
pub(super) struct Light {
    /// Files under a new name, with their content under the old one if it differs.
    moved: BTreeMap<String, Option<Vec<u8>>>,
    free: BTreeSet<String>,
}

impl Light {
    pub(super) fn find(
        env: &Env,
        store: &Store,
        changes: &[Change],
        event: &Event,
        until: Option<Instant>,
    ) -> Self {
        let mut light = Self::default();
        let mut gone = Vec::new();
        let mut came = Vec::new();
        for change in changes {
            match (change.was, change.is) {
                (Some(_), None) => gone.push(change),
                (None, Some(_)) => came.push(change),
                _ => {}
            }
        }
        light.pair_same(&mut gone, &mut came);
        light.pair_similar(store, &mut gone, &came, until);
        light.find_removed(env, store, &gone);
        let is_made = |change: &&Change| {
            change.is.is_some() && generated::is_made_source(&change.path) && !is_named(event, &change.path)
        };
        light.free.extend(changes.iter().filter(is_made).map(|change| change.path.clone()));
        light
    }

    pub(super) fn weight(&self, path: &str) -> Weight {
        match self.moved.get(path) {
            Some(Some(content)) => Weight::Against(content.clone()),
            Some(None) => Weight::None,
            None if self.free.contains(path) => Weight::None,
            None => Weight::Whole,
        }
    }

    /// Whether an unchanged file would be measured the same way again.
    pub(super) fn agrees(&self, known: &ChangedFile) -> bool {
        let is_moved = self.moved.contains_key(&known.path) || self.free.contains(&known.path);
        known.light == is_moved || known.light && generated::may_be_tools(&known.path)
    }

    /// Pairs files with the same content.
    fn pair_same(&mut self, gone: &mut Vec<&Change>, came: &mut Vec<&Change>) {
        let mut known: BTreeMap<[u8; 32], Vec<&Change>> = BTreeMap::new();
        for change in gone.iter() {
            known.entry(change.was.map_or([0; 32], |sum| sum.0)).or_default().push(change);
        }
        came.retain(|new| {
            let old = new.is.and_then(|is| known.get_mut(&is.0)?.pop());
            if let Some(old) = old {
                self.moved.insert(new.path.clone(), None);
                self.free.insert(old.path.clone());
            }
            old.is_none()
        });
        gone.retain(|old| !self.free.contains(&old.path));
    }

    /// Pairs files that were changed as they moved; those that kept their name first.
    fn pair_similar(
        &mut self,
        store: &Store,
        gone: &mut Vec<&Change>,
        came: &[&Change],
        until: Option<Instant>,
    ) {
        let mut left = MOST_COMPARED;
        for is_named_alike in [true, false] {
            for new in came.iter().filter(|new| !new.content.is_empty()) {
                if self.moved.contains_key(&new.path) {
                    continue;
                }
                let found = gone.iter().position(|old| {
                    let in_time = left > 0 && until.is_none_or(|until| Instant::now() < until);
                    if !in_time || (name(&old.path) == name(&new.path)) != is_named_alike {
                        return false;
                    }
                    left -= 1;
                    let Some(content) = old.was.and_then(|was| stored(store, &hex(&was.0))) else {
                        return false;
                    };
                    let is_similar = is_similar(&content, &new.content);
                    if is_similar {
                        self.moved.insert(new.path.clone(), Some(content));
                    }
                    is_similar
                });
                if let Some(at) = found {
                    self.free.insert(gone.remove(at).path.clone());
                }
            }
        }
    }

    /// Removed files that a tool had made. In a folder that is as often written by hand, what git has counts.
    fn find_removed(&mut self, env: &Env, store: &Store, gone: &[&Change]) {
        let (sure, perhaps): (Vec<&&Change>, Vec<&&Change>) = gone
            .iter()
            .filter(|change| generated::may_be_tools(&change.path))
            .partition(|change| generated::is_tools(&change.path));
        self.free.extend(sure.iter().map(|change| change.path.clone()));
        let folders: BTreeSet<&str> =
            perhaps.iter().filter_map(|change| change.path.split('/').next()).collect();
        if folders.is_empty() {
            return;
        }
        let words = ["ls-tree", "-r", "-z", "--name-only", "HEAD", "--"];
        let words: Vec<&str> = words.into_iter().chain(folders).collect();
        let Ok(said) = git::run(env, &store.root, &words, b"", PATIENCE) else { return };
        let tracked: BTreeSet<&[u8]> = said.split(|byte| *byte == 0).collect();
        let untracked = perhaps.iter().filter(|change| !tracked.contains(change.path.as_bytes()));
        self.free.extend(untracked.map(|change| change.path.clone()));
    }
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The command names the file, so it did not come from a tool by itself.
fn is_named(event: &Event, path: &str) -> bool {
    event.call().is_none_or(|call| call.input.contains(name(path)))
}

fn is_similar(old: &[u8], new: &[u8]) -> bool {
    let lines = |content: &[u8]| String::from_utf8_lossy(content).lines().count() as u64;
    2 * count(old, new) <= lines(old) + lines(new)
}
