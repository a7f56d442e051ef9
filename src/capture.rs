//! Keeps a working tree: walks it as git would see it, and puts the content of what changed into the vault.
//!
//! Reads the tree, writes the vault's blobs and cache. Invariants: ignored files are passed over, tracked ones are not;
//! what cannot or may not be kept is listed; a file that did not change since the last time is not read.

mod content;
mod walk;

pub use walk::everything_below;

use crate::digest::hex;
use crate::env::{Env, boot_id};
use crate::failure::{Code, Failure};
use crate::policy::Policy;
use crate::tree::{Artifacts, File, Folder, LeftOut};
use crate::vault::Vault;
use crate::vault::cache::{Known, Outside};
use std::time::Instant;

/// How much may be kept, and until when.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of one file, and of all together.
    pub file: u64,
    pub tree: u64,
    /// Somebody waits: give up at this moment, with what was learnt kept for the next try.
    pub until: Option<Instant>,
}

impl Limits {
    pub fn of(policy: &Policy) -> Self {
        Self {
            file: policy.checkpoint.max_file_mb << 20,
            tree: policy.checkpoint.max_tree_mb << 20,
            until: None,
        }
    }

    /// For what is about to be overwritten: all of it.
    pub fn none() -> Self {
        Self { file: u64::MAX, tree: u64::MAX, until: None }
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
    vault: &Vault,
    limits: &Limits,
    besides: &[String],
    alone: &[LeftOut],
) -> Result<Artifacts, Failure> {
    let walk::Walked { sights, mut left_out } = walk::walk(env, vault, limits, besides)?;
    let mut kept = Artifacts::default();
    let mut wanted = Vec::new();
    for sight in sights {
        let out = |reason: &str| LeftOut {
            path: sight.path.clone(),
            reason: reason.to_owned(),
            size: sight.outside.size,
        };
        if crate::tree::find(alone, &sight.path).is_some() {
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
            SightKind::File if sight.outside.size > limits.file => {
                left_out.push(out("larger than `checkpoint.max_file_mb`"));
            }
            SightKind::File => wanted.push(sight),
        }
    }
    left_out.extend(content::too_much(&mut wanted, limits.tree));
    let boot = boot_id();
    let content::Kept { files, learnt, mut lost, synced, late } = content::keep(vault, wanted, limits, &boot);
    left_out.append(&mut lost);
    vault.cache(&learnt, if synced { "" } else { &boot })?;
    if late {
        limits.check()?;
    }
    kept.files.extend(files);
    kept.left_out = left_out;
    kept.sort();
    kept.files.dedup_by(|a, b| a.path == b.path);
    kept.left_out.dedup_by(|a, b| a.path == b.path);
    Ok(kept)
}

fn file(sight: Sight, known: &Known) -> File {
    File {
        mode: sight.mode,
        path: sight.path,
        sha256: hex(&known.sha256),
        size: known.outside.size,
        target: None,
    }
}
