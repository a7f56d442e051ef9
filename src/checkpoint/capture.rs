//! Keeps a working tree: walks it as git would see it, and puts the content of what changed into the vault.
//!
//! Reads the tree, writes the vault's blobs and cache. Invariants: ignored files are passed over, tracked ones are not;
//! what cannot or may not be kept is listed; a file that did not change since the last time is not read.

mod rules;
mod tracked;
mod walk;
mod content;

pub use walk::{Walked, everything_below, walk};

use crate::checkpoint::store::Store;
use crate::checkpoint::store::cache::Outside;
use crate::checkpoint::tree::{Artifacts, Folder, LeftOut, find};
use crate::config::policy::Policy;
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use std::time::Instant;

/// How much may be kept, and until when.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of one file, and of all together.
    pub file: u64,
    pub tree: u64,
    /// Somebody waits: give up at this moment, with what was learnt kept for the next try.
    pub until: Option<Instant>,
    /// When it returns, every content is on the disk itself.
    pub sync: bool,
}

impl Limits {
    pub fn of(policy: &Policy) -> Self {
        Self {
            file: policy.checkpoint.max_file_mb << 20,
            tree: policy.checkpoint.max_tree_mb << 20,
            until: None,
            sync: true,
        }
    }

    /// For what is about to be overwritten: all of it.
    pub fn none() -> Self {
        Self { file: u64::MAX, tree: u64::MAX, until: None, sync: true }
    }

    fn check(&self) -> Result<(), Failure> {
        if self.until.is_some_and(|until| Instant::now() > until) {
            return Err(Failure::new(
                Code::TimedOut,
                "the tree is too large to be kept while somebody waits",
            ));
        }
        Ok(())
    }
}

/// Something in the tree, seen from outside.
#[derive(Clone, Debug)]
pub struct Sight {
    pub path: String,
    pub mode: u32,
    pub kind: SightKind,
    pub outside: Outside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SightKind {
    File,
    Folder,
    Link,
    /// A socket, a pipe, a device.
    Other,
}

/// The tree as it is, its contents in the vault. `besides`: paths to be kept even where they are ignored; `alone`: those
/// that are not looked at.
pub fn capture(
    env: &Env,
    vault: &Store,
    limits: &Limits,
    besides: &[String],
    alone: &[LeftOut],
) -> Result<Artifacts, Failure> {
    keep(vault, limits, walk(env, vault, limits, besides)?, alone)
}

/// The second half of it: what was seen, with its contents in the vault.
pub fn keep(
    vault: &Store,
    limits: &Limits,
    Walked { mut sights, mut left_out }: Walked,
    alone: &[LeftOut],
) -> Result<Artifacts, Failure> {
    let mut kept = Artifacts::default();
    let plain = |sight: &Sight| {
        sight.kind == SightKind::File
            && sight.outside.size <= limits.file
            && find(alone, &sight.path).is_none()
    };
    let others: Vec<Sight> = sights.extract_if(.., |sight| !plain(sight)).collect();
    for sight in others {
        let out = |reason: &str| LeftOut {
            path: sight.path.clone(),
            reason: reason.to_owned(),
            size: sight.outside.size,
        };
        if find(alone, &sight.path).is_some() {
            left_out.push(out("left out before"));
            continue;
        }
        match sight.kind {
            SightKind::Folder => kept.folders.push(Folder { mode: sight.mode, path: sight.path }),
            SightKind::Other => left_out.push(out("neither file, folder nor link")),
            SightKind::Link => match content::link(vault, sight) {
                Ok(file) => kept.files.push(file),
                Err(out) => left_out.push(out),
            },
            SightKind::File => left_out.push(out("larger than `checkpoint.max_file_mb`")),
        }
    }
    left_out.extend(content::too_much(&mut sights, limits.tree));
    let content::Kept { mut files, mut lost, late } = content::keep(vault, sights, limits)?;
    left_out.append(&mut lost);
    if late {
        limits.check()?;
    }
    files.append(&mut kept.files);
    kept.files = files;
    kept.left_out = left_out;
    kept.sort();
    kept.files.dedup_by(|a, b| a.path == b.path);
    kept.left_out.dedup_by(|a, b| a.path == b.path);
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::git::tests::{repository, track_many};

    /// Tracked and ignored: only git's list names it.
    #[test]
    fn an_ignored_file_at_the_end_of_a_long_list_is_kept() {
        let (_home, env) = repository();
        std::fs::write(env.cwd.join(".gitignore"), "*.log\n").unwrap();
        track_many(&env, "last.log");
        let store = Store::open(&env, &env.cwd).unwrap();
        for _ in 0..2 {
            let kept = capture(&env, &store, &Limits::none(), &[], &[]).unwrap();
            assert!(find(&kept.files, "last.log").is_some(), "{} files", kept.files.len());
        }
    }
}
