//! The tree as git would list it: what is not ignored, and what is tracked all the same.
//!
//! Lists folders, side by side in several threads, and looks at what is in them by name in the open folder. Invariants: no
//! link is followed; no `.git` and nothing of ours is entered; the list is sorted and names everything once.

use super::rules::{Has, Rules};
use super::tracked::tracked;
use super::{Limits, Sight, SightKind};
use crate::checkpoint::store::Store;
use crate::checkpoint::store::cache::Outside;
use crate::checkpoint::tree::{self, LeftOut, name};
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use crate::system::files::mode_bits;
use ignore::WalkBuilder;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// What is there, sorted by path, and what could not be looked at.
#[derive(Debug, Default)]
pub struct Walked {
    pub(super) sights: Vec<Sight>,
    pub(super) left_out: Vec<LeftOut>,
}

/// The first half of a capture.
pub fn walk(env: &Env, vault: &Store, limits: &Limits, besides: &[String]) -> Result<Walked, Failure> {
    let root = &vault.root;
    let (mut walked, tracked) = thread::scope(|scope| {
        // Asked while we walk.
        let tracked = scope.spawn(|| tracked(env, vault));
        let walked = Ways::new(vault, limits).walked();
        (
            walked,
            tracked.join().unwrap_or_else(|_| Err(Failure::new(Code::Panic, "listing the tracked files"))),
        )
    });
    limits.check()?;
    let tracked = tracked?;
    let sights = &mut walked.sights;
    let mut more = unseen(sights, &tracked);
    more.extend_from_slice(besides);
    let more: Vec<Sight> = more.iter().filter_map(|path| look(root, path)).collect();
    if !more.is_empty() {
        sights.extend(more);
        sights.sort_by(|a, b| a.path.cmp(&b.path));
        sights.dedup_by(|a, b| a.path == b.path);
    }
    Ok(walked)
}

/// What is tracked and was not met on the way: it is ignored, or gone.
fn unseen(sights: &[Sight], tracked: &[u8]) -> Vec<String> {
    let paths = tracked.split(|b| *b == 0).filter(|path| !path.is_empty());
    let mut tracked: Vec<Cow<str>> = paths.map(name::text).collect();
    // As git has them, but for names that are no text.
    tracked.sort();
    let mut seen = sights.iter().peekable();
    tracked.retain(|path| {
        while seen.next_if(|sight| sight.path.as_str() < path.as_ref()).is_some() {}
        seen.peek().is_none_or(|sight| sight.path != *path)
    });
    tracked.into_iter().map(Cow::into_owned).collect()
}

/// What one of the threads found: by folder, each sorted.
#[derive(Default)]
struct Found {
    folders: Vec<(Vec<u8>, Vec<Sight>)>,
    left_out: Vec<LeftOut>,
}

/// A folder to be listed; its path is empty for the root.
struct Way {
    path: Vec<u8>,
    rules: Arc<Rules>,
}

/// The folders that wait, and how many are being listed.
struct Open {
    ways: Vec<Way>,
    busy: usize,
}

struct Ways<'a> {
    vault: &'a Store,
    limits: &'a Limits,
    open: Mutex<Open>,
    more: Condvar,
}

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

impl<'a> Ways<'a> {
    fn new(vault: &'a Store, limits: &'a Limits) -> Self {
        let first = Way { path: Vec::new(), rules: Rules::above(&vault.root) };
        Self { vault, limits, open: Mutex::new(Open { ways: vec![first], busy: 0 }), more: Condvar::new() }
    }

    fn walked(&self) -> Walked {
        let threads = thread::available_parallelism().map_or(2, |n| n.get().min(8));
        let all = Mutex::new(Vec::new());
        let work = || {
            let mut own = Found::default();
            while let Some(way) = self.next() {
                let below = if self.limits.check().is_ok() { self.list(&way, &mut own) } else { Vec::new() };
                self.done(below);
            }
            all.lock().unwrap_or_else(PoisonError::into_inner).push(own);
        };
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (mut folders, mut left_out) = (Vec::new(), Vec::new());
        for mut own in all {
            folders.append(&mut own.folders);
            left_out.append(&mut own.left_out);
        }
        // Folder by folder the list is all but sorted, and putting that in order is quickly done.
        folders.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut sights = Vec::with_capacity(folders.iter().map(|(_, sights)| sights.len()).sum());
        for (_, mut own) in folders {
            sights.append(&mut own);
        }
        sights.sort_by(|a, b| a.path.cmp(&b.path));
        Walked { sights, left_out }
    }

    /// The next folder; `None` when all were listed.
    fn next(&self) -> Option<Way> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(way) = open.ways.pop() {
                open.busy += 1;
                return Some(way);
            }
            if open.busy == 0 {
                return None;
            }
            open = self.more.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self, below: Vec<Way>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.busy -= 1;
        if !below.is_empty() || open.busy == 0 {
            self.more.notify_all();
        }
        open.ways.extend(below);
    }

    /// What is in a folder; the folders among it are still to be listed.
    fn list(&self, way: &Way, into: &mut Found) -> Vec<Way> {
        let listed = self.open(&way.path).and_then(names);
        let (names, dir) = match listed {
            Ok(listed) => listed,
            Err(error) => {
                let path = name::text(&way.path).into_owned();
                // The root is opened by whoever has the vault, and what is gone by now is not in the tree.
                if !path.is_empty() && error.kind() != io::ErrorKind::NotFound {
                    let reason = format!("cannot be read: {}", error.kind());
                    into.left_out.push(LeftOut { path, reason, size: 0 });
                }
                return Vec::new();
            }
        };
        let has = |wanted: &CStr| names.binary_search_by(|(name, _)| name.as_c_str().cmp(wanted)).is_ok();
        let has = Has { ignore: has(c".gitignore"), repository: has(c".git") };
        let rules = Rules::of(&way.rules, &self.vault.root, &way.path, has);
        let (mut below, mut sights) = (Vec::new(), Vec::with_capacity(names.len()));
        let mut path = way.path.clone();
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
            let Ok(stat) = asked(&dir, &own) else { continue };
            let sight = sight(text.into_owned(), &stat);
            if sight.kind == SightKind::Folder {
                below.push(Way { path: path.clone(), rules: Arc::clone(&rules) });
            }
            sights.push(sight);
        }
        path.truncate(long);
        into.folders.push((path, sights));
        below
    }

    fn open(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let path = if path.is_empty() { b"." } else { path };
        Ok(rustix::fs::openat(&self.vault.tree, path, FOLDER, Mode::empty())?)
    }
}

/// What is in this folder, sorted, and of what kind; where the file system does not say, we ask.
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
        *kind = asked(&dir, own).map_or(*kind, |stat| FileType::from_raw_mode(stat.st_mode));
    }
    Ok((names, dir))
}

fn asked(dir: &Dir, own: &CStr) -> rustix::io::Result<Stat> {
    rustix::fs::statat(dir.fd()?, own, AtFlags::SYMLINK_NOFOLLOW)
}

/// The path from the root, as text; `None` for the root itself.
fn relative(root: &Path, path: &Path) -> Option<String> {
    let bytes = path.strip_prefix(root).ok()?.as_os_str().as_bytes();
    (!bytes.is_empty()).then(|| name::text(bytes).into_owned())
}

/// Where a path of the tree is on the disk.
pub(super) fn on_disk(root: &Path, path: &str) -> PathBuf {
    root.join(OsStr::from_bytes(&name::bytes(path)))
}

/// What is at this path, if nothing but folders leads there.
fn look(root: &Path, path: &str) -> Option<Sight> {
    if tree::is_foreign(path) {
        return None;
    }
    let place = on_disk(root, path);
    let above = place.ancestors().skip(1).take_while(|above| *above != root);
    let led = above.into_iter().all(|above| fs::symlink_metadata(above).is_ok_and(|about| about.is_dir()));
    let stat = rustix::fs::lstat(&place).ok().filter(|_| led)?;
    Some(sight(path.to_owned(), &stat))
}

fn sight(path: String, stat: &Stat) -> Sight {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => SightKind::File,
        FileType::Directory => SightKind::Folder,
        FileType::Symlink => SightKind::Link,
        _ => SightKind::Other,
    };
    Sight { path, mode: mode_bits(stat), kind, outside: Outside::of(stat) }
}

/// Every path at and below this one, ignored or not, foreign or not; nothing where only a link leads there.
pub fn everything_below(root: &Path, path: &str) -> Vec<String> {
    if look(root, path).is_none() {
        return Vec::new();
    }
    let walker = WalkBuilder::new(on_disk(root, path)).standard_filters(false).build();
    walker.flatten().filter_map(|entry| relative(root, entry.path())).collect()
}
