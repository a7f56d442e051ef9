//! Finds the session of a project that was active last, without looking into each folder.
//!
//! Reads the names in a project's folder; reads and appends the list `.aops-recent` there: a line for each
//! session when it begins and when it is prompted, newest last. Invariants: the list only determines the
//! order; the folder says which sessions exist, and a session that is not on the list is examined itself. So
//! a missing, cut or outdated list costs time once and hides no session.

use crate::ledger::recover::LEDGER_FILE;
use crate::ledger::session_folder::is_session_folder;
use crate::system::files;
use crate::system::folder;
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Protected by its name: see `gate::guard`.
pub const FILE: &str = ".aops-recent";
/// For this many of the newest on the list, the times of their ledgers are compared, since parallel sessions
/// overtake each other.
const COMPARED: usize = 8;
/// A list is rewritten when it has this many lines more than twice the number of sessions.
const SLACK: usize = 64;
/// How many bytes are read from the end of the list: 40,000 lines.
const LARGEST: u64 = 1 << 20;

/// Adds this session to the end of its project's list. Only a hint: after an error the next search merely
/// takes longer.
pub fn note(own: &Path) {
    let list = own.parent().and_then(|project| List::open(project, true));
    if let (Some(mut list), Some(name)) = (list, name_of(own)) {
        list.append(&[name]);
    }
}

/// The folder of that other session of the project whose ledger was written last. `notes`: the list may be
/// updated.
pub fn newest_beside(own: &Path, notes: bool) -> Option<PathBuf> {
    let project = own.parent()?;
    let name = name_of(own)?;
    let there: HashSet<String> = session_names(project).collect();
    let mut list = List::open(project, notes);
    let lines = list.as_ref().map(List::read).unwrap_or_default();
    let changed = |name: &str| ledger_changed(&project.join(name));
    let known: HashSet<&str> = lines.iter().map(String::as_str).collect();
    let beside = |other: &&str| **other != name;
    let unlisted = there.iter().map(String::as_str).filter(|name| !known.contains(name)).filter(beside);
    let mut unlisted: Vec<_> = unlisted.filter_map(|name| Some((changed(name)?, name))).collect();
    unlisted.sort_unstable();
    let listed = newest_first(&lines, &there).filter(beside).take(COMPARED);
    let listed = listed.filter_map(|name| Some((changed(name)?, name)));
    let newest = listed.chain(unlisted.iter().copied()).max().map(|(_, name)| project.join(name));
    if let Some(list) = list.as_mut().filter(|_| notes) {
        let found = unlisted.iter().map(|(_, name)| *name);
        let own = Some(name.as_str()).filter(|_| lines.last() != Some(&name));
        let new: Vec<&str> = found.chain(own).collect();
        if lines.len() + new.len() > 2 * there.len() + SLACK {
            let mut kept: Vec<&str> =
                newest_first(&lines, &there).filter(|name| !new.contains(name)).collect();
            kept.reverse();
            list.rewrite(&[kept, new].concat());
        } else {
            list.append(&new);
        }
    }
    newest
}

/// Each session on the list that still exists, once.
fn newest_first<'a>(lines: &'a [String], there: &'a HashSet<String>) -> impl Iterator<Item = &'a str> {
    let mut seen = HashSet::new();
    lines
        .iter()
        .rev()
        .map(String::as_str)
        .filter(|name| there.contains(*name))
        .filter(move |name| seen.insert(*name))
}

fn session_names(project: &Path) -> impl Iterator<Item = String> {
    let names = fs::read_dir(project).into_iter().flatten().flatten();
    names.filter_map(|item| item.file_name().into_string().ok()).filter(|name| is_session_folder(name))
}

fn name_of(session: &Path) -> Option<String> {
    session.file_name()?.to_str().map(str::to_owned)
}

fn ledger_changed(session: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(session.join(LEDGER_FILE)).and_then(|known| known.modified()).ok()
}

struct List {
    path: PathBuf,
    file: File,
    long: u64,
}

impl List {
    /// The list of this project, created if it is missing and `makes` is true; `None` if there cannot be a
    /// file.
    fn open(project: &Path, makes: bool) -> Option<Self> {
        let path = project.join(FILE);
        let open = |new: bool| {
            let mut options = OpenOptions::new();
            options.read(true).append(true).create_new(new).mode(0o600);
            files::open_itself(&path, &mut options)
        };
        let file = match open(false) {
            Err(error) if makes && error.kind() == ErrorKind::NotFound => {
                let made = open(true).ok()?;
                // The umask may have removed the owner's own bits.
                made.set_permissions(Permissions::from_mode(0o600)).ok()?;
                made
            }
            opened => opened.ok()?,
        };
        let long = file.metadata().ok()?.len();
        Some(Self { path, file, long })
    }

    /// Oldest first. A line that is not a session's name is skipped.
    fn read(&self) -> Vec<String> {
        let read = self.long.min(LARGEST);
        let bytes = folder::read_at(&self.file, FILE, self.long - read, read).unwrap_or_default();
        let names = bytes.split(|b| *b == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
        names.filter(|name| is_session_folder(name)).map(str::to_owned).collect()
    }

    /// One write, so that parallel sessions do not cut the line.
    fn append(&mut self, names: &[impl AsRef<str>]) {
        // Begins with a line feed, since a killed process may have left an incomplete line.
        let lines: String = names.iter().flat_map(|name| ["\n", name.as_ref()]).collect();
        if !lines.is_empty() {
            let _ = self.file.write_all(lines.as_bytes());
        }
    }

    /// A line that another process appends meanwhile may be lost: that session then counts as not listed, or
    /// is a few places too low until its next prompt.
    fn rewrite(&self, names: &[&str]) {
        let write = |file: &mut File| file.write_all(names.join("\n").as_bytes());
        let _ = files::write_beside(&self.path, 0o600, write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::FileTimes;
    use std::time::Duration;

    struct Project(tempfile::TempDir);

    impl Project {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        /// A session whose ledger was written at this time.
        fn session(&self, number: u64, at: u64) -> PathBuf {
            let folder = self.at(&format!("20260101-{number:08x}"));
            let _ = fs::create_dir(&folder);
            let ledger = File::create(folder.join(LEDGER_FILE)).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + at);
            ledger.set_times(FileTimes::new().set_modified(time)).unwrap();
            folder
        }

        fn list(&self) -> String {
            fs::read_to_string(self.at(FILE)).unwrap()
        }
    }

    #[test]
    fn the_newest_is_found_whatever_the_list_says() {
        let project = Project::new();
        let own = project.session(0, 99);
        assert_eq!(newest_beside(&own, true), None);
        let sessions: Vec<PathBuf> = (1..40).map(|n| project.session(n, n)).collect();
        assert_eq!(newest_beside(&own, true).as_ref(), sessions.last());
        assert_eq!(newest_beside(&own, true).as_ref(), sessions.last(), "the list names them now");
        // One that nobody listed, one that came back, one whose ledger is gone, and a folder that is not a
        // session's.
        let unlisted = project.session(77, 77);
        fs::create_dir(project.at("20260101-aaaaaaaa")).unwrap();
        fs::create_dir(project.at("memory")).unwrap();
        assert_eq!(newest_beside(&own, true), Some(unlisted.clone()));
        project.session(3, 90);
        note(&sessions[2]);
        assert_eq!(newest_beside(&own, true).as_ref(), Some(&sessions[2]));
        fs::remove_dir_all(&sessions[2]).unwrap();
        assert_eq!(newest_beside(&own, true), Some(unlisted.clone()));
        for damaged in ["", "\n20260101-000000", "no names\n\0\u{fffd}", "20260101-0000000120260101-00000002"]
        {
            fs::write(project.at(FILE), damaged).unwrap();
            assert_eq!(newest_beside(&own, true), Some(unlisted.clone()), "{damaged:?}");
        }
        fs::remove_file(project.at(FILE)).unwrap();
        assert_eq!(newest_beside(&own, false), Some(unlisted));
        assert!(!project.at(FILE).exists(), "who only looks makes no list");
    }

    #[test]
    fn a_link_in_the_place_of_the_list_is_not_followed() {
        let project = Project::new();
        let own = project.session(0, 1);
        let other = project.session(1, 2);
        std::os::unix::fs::symlink(project.at("target"), project.at(FILE)).unwrap();
        note(&own);
        assert_eq!(newest_beside(&own, true), Some(other));
        assert!(!project.at("target").exists());
    }

    #[test]
    fn a_list_does_not_grow_with_every_prompt() {
        let project = Project::new();
        let one = project.session(0, 1);
        let other = project.session(1, 2);
        for _ in 0..100 {
            assert_eq!(newest_beside(&one, true), Some(other.clone()));
            assert_eq!(newest_beside(&other, true), Some(one.clone()));
        }
        assert!(project.list().lines().count() <= 2 * 2 + SLACK, "{}", project.list());
        let before = project.list();
        newest_beside(&other, true);
        assert_eq!(project.list(), before, "the last one to speak is on it already");
    }
}
