//! The tree as git would list it: every path that is not ignored, and every tracked path.
//!
//! Lists folders in several threads, and stats their entries through the open folder. Invariants: no symlink
//! is followed; no `.git` and no folder of checkpoints or runs is entered; the list is sorted and has no
//! duplicates; ignore rules decide as in git. What tools make is left out as if it were ignored, unless git
//! tracks something in that folder: then all of it is in the list.

use super::rules::{Rules, on_disk};
use super::tracked::list_tracked;
use super::unseen::list_unseen;
use super::{Limits, TreeEntry};
use crate::checkpoint::store::cache::FileStamp;
use crate::checkpoint::store::{FOLDER, Store};
use crate::checkpoint::tree::{self, LeftOut, name};
use crate::model::error::{Code, Failure};
use crate::system::files;
use crate::system::{env::Env, files::mode_bits, threads};
use aops_shell::generated;
use ignore::WalkBuilder;
use rustix::fs::{AtFlags, Dir, FileType, Stat};
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::{fs, io, thread};

/// The entries, sorted by path, and the folders that could not be read.
#[derive(Debug, Default)]
pub struct Walked {
    pub(super) entries: Vec<TreeEntry>,
    pub(super) left_out: Vec<LeftOut>,
}

/// Up to this many folders are listed sooner than another thread begins.
const ALONE: usize = 16;

/// The first half of a capture.
pub fn walk(env: &Env, store: &Store, limits: &Limits, besides: &[String]) -> Result<Walked, Failure> {
    let root = &store.root;
    let first = PendingFolder { path: Vec::new(), rules: Rules::above(root) };
    let walking = Walker::new(store, limits, vec![first], BTreeSet::new());
    let begun = walking.list_next(ALONE);
    let (mut walked, tracked) = if walking.waiting() == 0 {
        (walking.walk_all(begun), list_tracked(env, store, limits.tracked))
    } else {
        thread::scope(|scope| {
            let tracked = scope.spawn(|| list_tracked(env, store, limits.tracked));
            let lost = |_| Err(Failure::new(Code::Panic, "listing the tracked files"));
            (walking.walk_all(begun), tracked.join().unwrap_or_else(lost))
        })
    };
    limits.check()?;
    let tracked = tracked?;
    let entries = &mut walked.entries;
    let mut more = list_unseen(entries, &tracked);
    let written = walk_written(store, limits, &more);
    walked.left_out.extend(written.left_out);
    more.extend_from_slice(besides);
    let more: Vec<TreeEntry> = more
        .iter()
        .filter(|path| !store.is_guarded(path))
        .filter_map(|path| look(root, path))
        .chain(written.entries)
        .collect();
    if !more.is_empty() {
        entries.extend(more);
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        entries.dedup_by(|a, b| a.path == b.path);
    }
    Ok(walked)
}

/// Folders with a generated folder's name in which git tracks something, completely. `unseen`: the tracked
/// paths that were not found.
fn walk_written(store: &Store, limits: &Limits, unseen: &[String]) -> Walked {
    let work = unseen.iter().filter(|path| generated::is_work_in(path));
    let folders: BTreeSet<&str> = work.flat_map(|path| generated::all_folders(path)).collect();
    let is_environment = |folder: &str| store.root.join(folder).join(generated::ENVIRONMENT).is_file();
    let made = folders.into_iter().filter(|folder| generated::is_folder(folder) || is_environment(folder));
    let written: BTreeSet<String> = made.map(str::to_owned).collect();
    let is_inner = |path: &String, folder: &str| folder != path.as_str() && written.contains(folder);
    let outer = |path: &&String| !generated::all_folders(path).any(|folder| is_inner(path, folder));
    let begin = |path: &String| {
        let rules = Rules::at(&store.root, &name::bytes(path));
        let path = name::bytes(path).into_owned();
        (!rules.hide(&path, true)).then_some(PendingFolder { path, rules })
    };
    let first: Vec<PendingFolder> = written.iter().filter(outer).filter_map(begin).collect();
    if first.is_empty() {
        return Walked::default();
    }
    let folders: Vec<TreeEntry> = written.iter().filter_map(|path| look(&store.root, path)).collect();
    let mut walked = Walker::new(store, limits, first, written).walk_all(Listed::default());
    walked.entries.extend(folders);
    walked
}

/// The result of one thread, by folder; each folder's entries are sorted.
#[derive(Default)]
struct Listed {
    folders: Vec<(Vec<u8>, Vec<TreeEntry>)>,
    /// Virtual environments, which are recognised only when they are listed.
    environments: BTreeSet<String>,
    left_out: Vec<LeftOut>,
}

/// A folder that must still be listed; the path of the root is empty.
struct PendingFolder {
    path: Vec<u8>,
    rules: Arc<Rules>,
}

struct Walker<'a> {
    store: &'a Store,
    limits: &'a Limits,
    /// The waiting folders, and how many are being listed right now.
    open: Mutex<(Vec<PendingFolder>, usize)>,
    more: Condvar,
    /// Folders with a generated folder's name that must be listed because git tracks something in them.
    written: BTreeSet<String>,
}

impl<'a> Walker<'a> {
    fn new(
        store: &'a Store,
        limits: &'a Limits,
        first: Vec<PendingFolder>,
        written: BTreeSet<String>,
    ) -> Self {
        Self { store, limits, open: Mutex::new((first, 0)), more: Condvar::new(), written }
    }

    /// By its name, a tool made it.
    fn is_made(&self, path: &str, is_folder: bool) -> bool {
        if is_folder {
            generated::is_folder(path) && !self.written.contains(path)
        } else {
            generated::is_made_file(path)
        }
    }

    /// How many folders must still be listed.
    fn waiting(&self) -> usize {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).0.len()
    }

    /// `begun`: what was listed already.
    fn walk_all(&self, begun: Listed) -> Walked {
        let all = Mutex::new(vec![begun]);
        if self.waiting() > 0 {
            threads::run(usize::MAX, || {
                let own = self.list_next(usize::MAX);
                all.lock().unwrap_or_else(PoisonError::into_inner).push(own);
            });
        }
        let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut folders = Vec::new();
        let mut left_out = Vec::new();
        let mut environments = BTreeSet::new();
        for mut own in all {
            environments.append(&mut own.environments);
            folders.append(&mut own.folders);
            left_out.append(&mut own.left_out);
        }
        // Folder by folder the list is almost sorted, which makes the final sort cheap.
        folders.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut entries = Vec::with_capacity(folders.iter().map(|(_, entries)| entries.len()).sum());
        for (_, mut own) in folders {
            entries.append(&mut own);
        }
        entries.retain(|entry| !environments.contains(&entry.path));
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Walked { entries, left_out }
    }

    /// Lists at most this many folders, or all that are left.
    fn list_next(&self, most: usize) -> Listed {
        let mut own = Listed::default();
        for _ in 0..most {
            let Some(pending) = self.next() else { break };
            let below = if self.limits.check().is_ok() { self.list(&pending, &mut own) } else { Vec::new() };
            self.done(below);
        }
        own
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
        let opened = files::open_below(&self.store.tree, Path::new(OsStr::from_bytes(path)), FOLDER);
        let (names, dir) = match opened.and_then(names) {
            Ok(listed) => listed,
            Err(error) => {
                into.left_out.extend(leave_out(&pending.path, &error));
                return Vec::new();
            }
        };
        if self.is_environment(pending, &names) {
            into.environments.insert(name::text(&pending.path).into_owned());
            return Vec::new();
        }
        let rules = self.add_rules(pending, &names);
        let mut below = Vec::new();
        let mut entries = Vec::with_capacity(names.len());
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
            let is_folder = kind == FileType::Directory;
            let is_out = tree::is_foreign(&text) || self.store.is_guarded(&text);
            if is_out || self.is_made(&text, is_folder) || rules.hide(&path, is_folder) {
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

    /// A folder with these entries is a virtual environment, and git tracks nothing in it. The tree's root
    /// never counts as one.
    fn is_environment(&self, pending: &PendingFolder, names: &[(CString, FileType)]) -> bool {
        let wanted = generated::ENVIRONMENT.as_bytes();
        let is_one = names.binary_search_by(|(name, _)| name.to_bytes().cmp(wanted)).is_ok();
        is_one && !pending.path.is_empty() && !self.written.contains(name::text(&pending.path).as_ref())
    }

    /// The rules of the folders above, and those in the folder with these names.
    fn add_rules(&self, pending: &PendingFolder, names: &[(CString, FileType)]) -> Arc<Rules> {
        let has = |wanted: &CStr| names.binary_search_by(|(name, _)| name.as_c_str().cmp(wanted)).is_ok();
        match (has(c".gitignore"), has(c".git")) {
            (false, false) => Arc::clone(&pending.rules),
            (ignore, repository) => {
                Rules::of(&pending.rules, &self.store.root, &pending.path, ignore, repository)
            }
        }
    }
}

/// The note about a folder that cannot be listed. A folder that was deleted meanwhile is not in the tree.
fn leave_out(path: &[u8], error: &io::Error) -> Option<LeftOut> {
    let reason = format!("cannot be read: {}", error.kind());
    (!path.is_empty() && error.kind() != io::ErrorKind::NotFound).then(|| LeftOut {
        path: name::text(path).into_owned(),
        reason,
        size: 0,
    })
}

/// The entries of a folder, sorted, with their types; uses stat if the file system does not report the type.
fn names(dir: OwnedFd) -> io::Result<(Vec<(CString, FileType)>, Dir)> {
    let mut dir = Dir::new(dir)?;
    let mut names = Vec::new();
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

/// The entry at this path; `None` if a symlink is on the way.
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

/// Every path at and below this one, unfiltered; empty if a symlink is on the way.
pub fn everything_below(root: &Path, path: &str) -> Vec<String> {
    if look(root, path).is_none() {
        return Vec::new();
    }
    let walker = WalkBuilder::new(on_disk(root, path)).standard_filters(false).build();
    let paths = walker.flatten().filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_owned()));
    let paths = paths.filter(|path| !path.as_os_str().is_empty());
    paths.map(|path| name::text(path.as_os_str().as_bytes()).into_owned()).collect()
}
