//! The issue tracker: what it held when it was last asked, and what we want written in it.
//!
//! Reads and writes files below `<config>/aops/tracker/` only. A prompt reads the snapshot, which costs one open and one
//! read; asking the tracker itself is the refresher's work. Invariant: nothing here starts a process or waits for one.

pub mod answer;
pub mod dialect;
pub mod item;
pub mod queue;
pub mod snapshot;

pub use answer::Issue;
pub use item::Item;
pub use queue::enqueue;
pub use snapshot::{Part, Snapshot, Trouble, Why};

use crate::model::error::Failure;
use crate::system::env::Env;
use crate::text::sha256::sha256;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Our own files are under 20 KB.
const LARGEST: usize = 256 << 10;

/// The folder of snapshot and queue.
pub fn folder(env: &Env) -> PathBuf {
    env.config.join("aops/tracker")
}

/// A project's name in file names.
pub fn project_hash(project: &str) -> String {
    sha256(&[project.as_bytes()])[..16].to_owned()
}

pub fn snapshot_file(env: &Env, project: &str) -> PathBuf {
    folder(env).join(format!("{}.json", project_hash(project)))
}

/// What the tracker held when it was last asked. Never fails, never waits.
pub fn snapshot(env: &Env, project: &Path) -> Snapshot {
    let project = project.to_string_lossy();
    let none = |words: &str| Snapshot::none(&project, Why::NotYet, words);
    let mut bytes = vec![0; 32 << 10];
    let read = File::open(snapshot_file(env, &project)).and_then(|mut file| fill(&mut file, &mut bytes));
    match read {
        Ok(long) => serde_json::from_slice::<Snapshot>(&bytes[..long])
            .ok()
            .filter(|found| found.schema == snapshot::SCHEMA && found.project == project)
            .unwrap_or_else(|| none("the last snapshot cannot be read; the next look replaces it")),
        Err(error) if error.kind() == ErrorKind::NotFound => none("not asked yet"),
        Err(error) => none(&format!("the last snapshot cannot be read: {error}")),
    }
}

/// One read is enough for what we wrote ourselves; only a longer file is read on.
fn fill(file: &mut File, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
    let long = file.read(bytes)?;
    if long < bytes.len() {
        return Ok(long);
    }
    file.take((LARGEST - long) as u64).read_to_end(bytes)?;
    Ok(bytes.len())
}

/// Put a new snapshot in the place of the old one.
pub fn keep(env: &Env, snapshot: &Snapshot) -> Result<(), Failure> {
    let path = snapshot_file(env, &snapshot.project);
    let text = serde_json::to_vec(snapshot).map_err(|e| Failure::storage(path.display(), e))?;
    queue::write(&path, &text)
}

#[cfg(test)]
mod tests;
