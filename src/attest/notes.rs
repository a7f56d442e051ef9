//! The notes of a repository that hold statements about commits: one line each, added and replaced without
//! losing one.
//!
//! Starts `git` without the user's configuration and hooks; writes `refs/notes/aops-attest` and the objects
//! it needs.
//! Invariants: our processes take turns by a lock in the repository's folder; a ref that another program
//! moved meanwhile is read again, so nothing of either is lost; a process that is killed leaves the ref as it
//! was or as it is to be.

use super::objects::Repository;
use aops_core::model::error::{Code, Failure};
use aops_core::system::files;
use aops_core::system::git::git_common_folder;
use aops_core::system::git::notes::{AS_US, ATTESTATIONS, push};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;

/// Where a new version is made before the ref is moved to it.
const NEXT: &str = "refs/notes/aops-attest-next";
const LOCK: &str = "aops-attest.lock";
/// A ref that moves each time is somebody's mistake.
const MOST_TRIES: usize = 8;

/// Held while notes are written or merged.
fn lock(repository: &Repository) -> Result<File, Failure> {
    let folder =
        git_common_folder(&repository.place().root).unwrap_or_else(|| repository.place().git.clone());
    let path = folder.join(LOCK);
    let options = &mut File::options();
    let opened = files::open_as(&path, options.append(true).create(true).mode(0o600));
    let locked = opened.and_then(|file| file.lock().map(|()| file));
    locked.map_err(|e| Failure::storage(path.display(), e))
}

/// The lines of a commit's note.
pub fn lines(repository: &Repository, commit: &str) -> Vec<String> {
    let blob = repository.line(&["notes", "--ref", ATTESTATIONS.ours, "list", commit], b"");
    let text = blob.and_then(|blob| repository.ask(&["cat-file", "blob", &blob], b"")).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Adds these lines to the note of a commit, and takes the others out that `replaced` names.
pub fn add(
    repository: &Repository,
    commit: &str,
    new: &[String],
    replaced: &dyn Fn(&str) -> bool,
) -> Result<(), Failure> {
    let _lock = lock(repository)?;
    for _ in 0..MOST_TRIES {
        let old = repository.line(&["rev-parse", "--verify", "--quiet", ATTESTATIONS.ours], b"").ok();
        let mut all = lines(repository, commit);
        let known = all.clone();
        all.retain(|line| new.contains(line) || !replaced(line));
        all.extend(new.iter().filter(|line| !known.contains(line)).cloned());
        if all == known {
            return Ok(());
        }
        let made = next(repository, commit, old.as_deref(), &all)?;
        let zeros = "0".repeat(made.len());
        let expected = old.as_deref().unwrap_or(&zeros);
        let why = "aops-hook: a statement about a commit";
        if repository.ask(&["update-ref", "-m", why, ATTESTATIONS.ours, &made, expected], b"").is_ok() {
            let _ = repository.ask(&["update-ref", "-d", NEXT], b"");
            return Ok(());
        }
    }
    Err(Failure::new(Code::StorageFailed, format!("`{}` moves each time it is written", ATTESTATIONS.ours)))
}

/// The notes with these lines for the commit, as a commit of their own that no ref of others names yet.
fn next(
    repository: &Repository,
    commit: &str,
    old: Option<&str>,
    lines: &[String],
) -> Result<String, Failure> {
    match old {
        Some(old) => repository.ask(&["update-ref", NEXT, old], b"")?,
        None => repository.ask(&["update-ref", "-d", NEXT], b"")?,
    };
    let text = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect::<String>();
    let blob = repository.line(&["hash-object", "-w", "--stdin"], text.as_bytes())?;
    let add = ["notes", "--ref", NEXT, "add", "-f", "-C", &blob, commit];
    repository.ask(&[&AS_US[..], &add].concat(), b"")?;
    repository.line(&["rev-parse", "--verify", NEXT], b"")
}

/// Pushes the notes where the work is pushed already.
pub fn publish(repository: &Repository) -> Option<bool> {
    let _lock = lock(repository).ok()?;
    let place = repository.place();
    push(place.env, &place.root, &ATTESTATIONS)
}
