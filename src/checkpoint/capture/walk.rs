//! The tree as git would list it: every path that is not ignored, and every tracked path.
//!
//! Lists folders in several threads, and stats their entries through the open folder. git is asked for the tracked paths
//! only when its index has changed. Invariants: no symlink is followed; no `.git` and no folder of checkpoints or runs is
//! entered; the list is sorted and has no duplicates.

use super::rules::Rules;
use super::{Limits, TreeEntry, in_threads};
use crate::checkpoint::store::cache::FileStamp;
use crate::checkpoint::store::{FOLDER, Store, git_folder};
use crate::checkpoint::tree::{self, LeftOut, name};
use crate::model::error::{Code, Failure};
use crate::system::{env::Env, files::mode_bits, git};
use ignore::WalkBuilder;
use rustix::fs::{AtFlags, Dir, FileType, Mode, Stat};
use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::{fs, io, thread};

/// The entries, sorted by path, and the folders that could not be read.
#[derive(Debug, Default)]
pub struct Walked {
    pub(super) entries: Vec<TreeEntry>,
    pub(super) left_out: Vec<LeftOut>,
}

/// The first half of a capture.
pub fn walk(env: &Env, store: &Store, limits: &Limits, besides: &[String]) -> Result<Walked, Failure> {
    let root = &store.root;
    let (mut walked, tracked) = thread::scope(|scope| {
        let tracked = scope.spawn(|| list_tracked(env, store));
        let first = PendingFolder { path: Vec::new(), rules: Rules::above(root) };
        let walked = Walker { store, limits, open: Mutex::new((vec![first], 0)), more: Condvar::new() }.walk_all();
        (walked, tracked.join().unwrap_or_else(|_| Err(Failure::new(Code::Panic, "listing the tracked files"))))
    });
    limits.check()?;
    let tracked = tracked?;
    let entries = &mut walked.entries;
    let mut more = list_unseen(entries, &tracked);
    more.extend_from_slice(besides);
    let more: Vec<TreeEntry> = more.iter().filter_map(|path| look(root, path)).collect();
    if !more.is_empty() {
        entries.extend(more);
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        entries.dedup_by(|a, b| a.path == b.path);
    }
    Ok(walked)
}

/// Tracked paths that the walk did not find: they are ignored, or deleted.
fn list_unseen(entries: &[TreeEntry], tracked: &[u8]) -> Vec<String> {
    let paths = tracked.split(|b| *b == 0).filter(|path| !path.is_empty());
    let mut tracked: Vec<Cow<str>> = paths.map(name::text).collect();
    // git sorts by bytes; names that are not UTF-8 sort differently as text.
    tracked.sort();
    let mut seen = entries.iter().peekable();
    tracked.retain(|path| {
        while seen.next_if(|entry| entry.path.as_str() < path.as_ref()).is_some() {}
        seen.peek().is_none_or(|entry| entry.path != *path)
    });
    tracked.into_iter().map(Cow::into_owned).collect()
}

/// The result of one thread: by folder, each sorted.
#[derive(Default)]
struct Listed {
    folders: Vec<(Vec<u8>, Vec<TreeEntry>)>,
    left_out: Vec<LeftOut>,
}

/// A folder to be listed; the path of the root is empty.
struct PendingFolder {
    path: Vec<u8>,
    rules: Arc<Rules>,
}

struct Walker<'a> {
    store: &'a Store,
    limits: &'a Limits,
    /// The folders that wait, and the number of those being listed.
    open: Mutex<(Vec<PendingFolder>, usize)>,
    more: Condvar,
}

impl Walker<'_> {
    fn walk_all(&self) -> Walked {
        let all = Mutex::new(Vec::new());
        in_threads(usize::MAX, || {
            let mut own = Listed::default();
            while let Some(pending) = self.next() {
                let below = if self.limits.check().is_ok() { self.list(&pending, &mut own) } else { Vec::new() };
                self.done(below);
            }
            all.lock().unwrap_or_else(PoisonError::into_inner).push(own);
        });
        let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (mut folders, mut left_out) = (Vec::new(), Vec::new());
        for mut own in all {
            folders.append(&mut own.folders);
            left_out.append(&mut own.left_out);
        }
        // Folder by folder the list is almost sorted, which makes the final sort cheap.
        folders.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut entries = Vec::with_capacity(folders.iter().map(|(_, entries)| entries.len()).sum());
        for (_, mut own) in folders {
            entries.append(&mut own);
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Walked { entries, left_out }
    }

    /// The next folder; `None` when all were listed.
    fn next(&self) -> Option<PendingFolder> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(pending) = open.0.pop() {
                open.1 += 1;
                return Some(pending);
            }
            if open.1 == 0 {
                return None;
            }
            open = self.more.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self, below: Vec<PendingFolder>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.1 -= 1;
        if !below.is_empty() || open.1 == 0 {
            self.more.notify_all();
        }
        open.0.extend(below);
    }

    /// Lists one folder; returns the folders in it.
    fn list(&self, pending: &PendingFolder, into: &mut Listed) -> Vec<PendingFolder> {
        let path = if pending.path.is_empty() { b"." } else { &pending.path[..] };
        let opened = rustix::fs::openat(&self.store.tree, path, FOLDER, Mode::empty());
        let (names, dir) = match opened.map_err(io::Error::from).and_then(names) {
            Ok(listed) => listed,
            Err(error) => {
                let path = name::text(&pending.path).into_owned();
                // A folder that was deleted meanwhile is not in the tree.
                if !path.is_empty() && error.kind() != io::ErrorKind::NotFound {
                    let reason = format!("cannot be read: {}", error.kind());
                    into.left_out.push(LeftOut { path, reason, size: 0 });
                }
                return Vec::new();
            }
        };
        let has = |wanted: &CStr| names.binary_search_by(|(name, _)| name.as_c_str().cmp(wanted)).is_ok();
        let rules = match (has(c".gitignore"), has(c".git")) {
            (false, false) => Arc::clone(&pending.rules),
            (ignore, repository) => Rules::of(&pending.rules, &self.store.root, &pending.path, ignore, repository),
        };
        let (mut below, mut entries) = (Vec::new(), Vec::with_capacity(names.len()));
        let mut path = pending.path.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        let long = path.len();
        for (n, (own, kind)) in names.into_iter().enumerate() {
            if n % 1024 == 1023 && self.limits.check().is_err() {
                break;
            }
            path.truncate(long);
            path.extend_from_slice(own.to_bytes());
            let text = name::text(&path);
            if tree::is_foreign(&text) || rules.hide(&path, kind == FileType::Directory) {
                continue;
            }
            let Ok(stat) = stat_in(&dir, &own) else { continue };
            let entry = entry(text.into_owned(), &stat);
            if entry.kind == FileType::Directory {
                below.push(PendingFolder { path: path.clone(), rules: Arc::clone(&rules) });
            }
            entries.push(entry);
        }
        path.truncate(long);
        into.folders.push((path, entries));
        below
    }
}

/// The entries of a folder, sorted, with their types; by stat where the file system does not tell the type.
fn names(dir: OwnedFd) -> io::Result<(Vec<(CString, FileType)>, Dir)> {
    let (mut dir, mut names) = (Dir::new(dir)?, Vec::new());
    while let Some(item) = dir.read() {
        let item = item?;
        let own = item.file_name();
        if own != c"." && own != c".." {
            names.push((own.to_owned(), item.file_type()));
        }
    }
    names.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    for (own, kind) in names.iter_mut().filter(|(_, kind)| *kind == FileType::Unknown) {
        *kind = stat_in(&dir, own).map_or(*kind, |stat| FileType::from_raw_mode(stat.st_mode));
    }
    Ok((names, dir))
}

fn stat_in(dir: &Dir, own: &CStr) -> rustix::io::Result<Stat> {
    rustix::fs::statat(dir.fd()?, own, AtFlags::SYMLINK_NOFOLLOW)
}

/// The absolute path of a path of the tree.
pub(super) fn on_disk(root: &Path, path: &str) -> PathBuf {
    root.join(OsStr::from_bytes(&name::bytes(path)))
}

/// The entry at this path; `None` where a symlink leads there.
fn look(root: &Path, path: &str) -> Option<TreeEntry> {
    if tree::is_foreign(path) {
        return None;
    }
    let place = on_disk(root, path);
    let above = place.ancestors().skip(1).take_while(|above| *above != root);
    let led = above.into_iter().all(|above| fs::symlink_metadata(above).is_ok_and(|about| about.is_dir()));
    let stat = rustix::fs::lstat(&place).ok().filter(|_| led)?;
    Some(entry(path.to_owned(), &stat))
}

fn entry(path: String, stat: &Stat) -> TreeEntry {
    let kind = FileType::from_raw_mode(stat.st_mode);
    TreeEntry { path, mode: mode_bits(stat), kind, stamp: FileStamp::of(stat) }
}

/// Every path at and below this one, with no filter; nothing where a symlink leads there.
pub fn everything_below(root: &Path, path: &str) -> Vec<String> {
    if look(root, path).is_none() {
        return Vec::new();
    }
    let walker = WalkBuilder::new(on_disk(root, path)).standard_filters(false).build();
    let paths = walker.flatten().filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_owned()));
    let paths = paths.filter(|path| !path.as_os_str().is_empty());
    paths.map(|path| name::text(path.as_os_str().as_bytes()).into_owned()).collect()
}

/// The tracked paths, each followed by a zero byte; empty where there is no repository, or git does not answer. git replaces
/// its index by a rename: with the same size, times and inode it has the same content.
fn list_tracked(env: &Env, store: &Store) -> Result<Vec<u8>, Failure> {
    let Some(own) = store.root.ancestors().find_map(git_folder) else { return Ok(Vec::new()) };
    let index = rustix::fs::stat(own.join("index")).map(|stat| FileStamp::of(&stat));
    if let Some(known) = index.ok().and_then(|index| store.tracked(&index)) {
        return Ok(known);
    }
    let said = git::tracked(env, &store.root)?;
    if let (Some(said), Ok(index)) = (&said, index) {
        let _ = store.track(&index, said);
    }
    Ok(said.unwrap_or_default())
}
