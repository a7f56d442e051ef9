//! The notes of a repository that hold statements about commits: one line each, added and replaced without
//! losing any.
//!
//! Starts `git` without the user's configuration and hooks; writes `refs/notes/aops-attest` and the objects
//! it needs.
//! Invariants: our processes take turns by a lock in the repository's folder; if another program moved the
//! ref, it is read again, so nothing is lost; a process that is killed leaves the ref in its old or its new
//! state.

use super::objects::Repository;
use aops_core::model::error::{Code, Failure};
use aops_core::system::files;
use aops_core::system::git::git_common_folder;
use aops_core::system::git::notes::{ATTESTATIONS, US, push};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;

const LOCK: &str = "aops-attest.lock";
/// If the ref moves at every try, something is wrong.
const MOST_TRIES: usize = 8;

/// The lock to hold while notes are written or merged.
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
    read(repository, commit).map(|found| found.lines).unwrap_or_default()
}

/// The present notes: the commit that our ref names, and the lines about one commit.
struct Found {
    old: Option<String>,
    lines: Vec<String>,
}

/// Our ref, and every name that the note of this commit may have in it.
pub fn names(commit: &str) -> Vec<String> {
    let ours = ATTESTATIONS.ours;
    let mut names = vec![ours.to_owned()];
    // Git spreads notes over folders named by two digits of the commit, deeper as there are more.
    for deep in 0..commit.len() / 2 {
        let folders: String = (0..deep).flat_map(|n| [&commit[2 * n..2 * n + 2], "/"]).collect();
        names.push(format!("{ours}:{folders}{}", &commit[2 * deep..]));
    }
    names
}

/// Starts git once at most. The ref is read first: if a note is newer, moving the ref fails.
fn read(repository: &Repository, commit: &str) -> Result<Found, Failure> {
    let names = names(commit);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut objects = repository.objects(&names)?.into_iter();
    let old = objects.next().flatten().map(|object| object.id);
    let note = objects.flatten().find(|object| object.kind == "blob");
    let text = note.map(|object| object.content).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    Ok(Found { old, lines })
}

/// Adds these lines to the note of a commit, and removes the lines that `replaced` accepts.
pub fn add(
    repository: &Repository,
    commit: &str,
    new: &[String],
    replaced: &dyn Fn(&str) -> bool,
) -> Result<(), Failure> {
    let _lock = lock(repository)?;
    let mut failed = None;
    for _ in 0..MOST_TRIES {
        let Found { old, lines: known } = read(repository, commit)?;
        let mut all = known.clone();
        all.retain(|line| new.contains(line) || !replaced(line));
        all.extend(new.iter().filter(|line| !known.contains(line)).cloned());
        if all == known {
            return Ok(());
        }
        match write(repository, commit, old.as_deref(), &all) {
            Ok(()) => return Ok(()),
            Err(failure) => failed = Some(failure),
        }
    }
    let moves = || format!("`{}` moves each time it is written", ATTESTATIONS.ours);
    Err(failed.unwrap_or_else(|| Failure::new(Code::StorageFailed, moves())))
}

/// Replaces the commit's note with these lines, on top of the notes as they were read. Git refuses if the ref
/// has moved since.
fn write(repository: &Repository, commit: &str, old: Option<&str>, lines: &[String]) -> Result<(), Failure> {
    let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
    let why = "aops-hook: a statement about a commit";
    let from = old.map(|old| format!("from {old}\n")).unwrap_or_default();
    let stream = format!(
        "commit {}\ncommitter {US} now\ndata {}\n{why}\n{from}N inline {commit}\ndata {}\n{text}\ndone\n",
        ATTESTATIONS.ours,
        why.len(),
        text.len()
    );
    repository.ask(&["fast-import", "--quiet", "--done", "--date-format=now"], stream.as_bytes()).map(drop)
}

/// Pushes the notes, if the work has been pushed already.
pub fn publish(repository: &Repository) -> Option<bool> {
    let _lock = lock(repository).ok()?;
    let place = repository.place();
    push(place.env, &place.root, &ATTESTATIONS, repository.remotes()?)
}
