//! The tree as git would list it: every path that is not ignored, and every tracked path.
//!
//! Lists folders in several threads, and stats their entries through the open folder. Invariants: no symlink
//! is followed; no `.git` and no folder of checkpoints or runs is entered; the list is sorted and has no
//! duplicates; ignore rules decide as in git: the deepest match of the ignore files, then the repository's
//! own list (`info/exclude`), then the user's. Rules above a repository do not apply to it. What tools make
//! is left out as if it were ignored, unless git tracks something in that folder: then all of it is in the
//! list.

use super::tracked::list_tracked;
use super::unseen::list_unseen;
use super::{Limits, TreeEntry};
use crate::checkpoint::store::cache::FileStamp;
use crate::checkpoint::store::{FOLDER, HIDDEN, Store};
use crate::checkpoint::tree::{self, Artifacts, Delta, File, LeftOut, name};
use crate::model::error::{Code, Failure};
use crate::system::files;
use crate::system::git::{self, git_common_folder};
use crate::system::{env::Env, files::mode_bits, threads};
use aops_shell::generated;
use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, Dir, FileType, Stat};
use std::collections::{BTreeMap, BTreeSet};
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
        let tracked = scope.spawn(|| list_tracked(env, store, limits.tracked));
        let first = PendingFolder { path: Vec::new(), rules: Rules::above(root) };
        let walked = Walker::new(store, limits, vec![first], BTreeSet::new()).walk_all();
        (
            walked,
            tracked.join().unwrap_or_else(|_| Err(Failure::new(Code::Panic, "listing the tracked files"))),
        )
    });
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
    let mut walked = Walker::new(store, limits, first, written).walk_all();
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

    fn walk_all(&self) -> Walked {
        let all = Mutex::new(Vec::new());
        threads::run(usize::MAX, || {
            let mut own = Listed::default();
            while let Some(pending) = self.next() {
                let below =
                    if self.limits.check().is_ok() { self.list(&pending, &mut own) } else { Vec::new() };
                self.done(below);
            }
            all.lock().unwrap_or_else(PoisonError::into_inner).push(own);
        });
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

pub(super) fn on_disk(root: &Path, path: &str) -> PathBuf {
    root.join(OsStr::from_bytes(&name::bytes(path)))
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

/// The rules of one folder, and those above it.
pub(super) struct Rules {
    above: Option<Arc<Rules>>,
    /// For folders above the tree: the path from the folder to the tree's root, empty or with a slash at the
    /// end.
    prefix: Vec<u8>,
    /// Length of this folder's path in the tree, including the slash.
    at: usize,
    ignore: Gitignore,
    exclude: Gitignore,
    /// The user's list; only in the outermost `Rules`.
    everywhere: Gitignore,
}

impl Rules {
    pub(super) fn above(root: &Path) -> Arc<Self> {
        let everywhere =
            parse(&git::ignore_list().and_then(|list| files::read(list).ok()).unwrap_or_default());
        let none = Gitignore::empty;
        let prefix = Vec::new();
        let ignore = none();
        let exclude = none();
        let mut rules = Arc::new(Self { above: None, prefix, at: 0, ignore, exclude, everywhere });
        let top = root.ancestors().find(|folder| folder.join(".git").exists());
        let inside = |folder: &&Path| top.is_none_or(|top| folder.starts_with(top));
        let above: Vec<&Path> = root.ancestors().skip(1).take_while(inside).collect();
        for folder in above.into_iter().rev() {
            let (ignore, exclude) = read(folder, true, Some(folder) == top);
            if !ignore.is_empty() || !exclude.is_empty() {
                let rest = root.strip_prefix(folder).unwrap_or(root).as_os_str().as_bytes();
                let above = Some(rules);
                let prefix = [rest, b"/"].concat();
                let everywhere = none();
                rules = Arc::new(Self { above, prefix, at: 0, ignore, exclude, everywhere });
            }
        }
        rules
    }

    /// The rules for the contents of the folder that contains this path.
    pub(super) fn at(root: &Path, path: &[u8]) -> Arc<Self> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        [0].into_iter().chain(ends).fold(Self::above(root), |rules, end| {
            let folder = &path[..end];
            let place = on_disk(root, &name::text(folder));
            let ignore = place.join(".gitignore").exists();
            let repository = place.join(".git").exists();
            Self::of(&rules, root, folder, ignore, repository)
        })
    }

    /// Adds a folder's rules, from its two possible sources. `path` is empty for the root.
    pub(super) fn of(
        above: &Arc<Self>,
        root: &Path,
        path: &[u8],
        ignore: bool,
        repository: bool,
    ) -> Arc<Self> {
        let (ignore, exclude) = read(&root.join(OsStr::from_bytes(path)), ignore, repository);
        if ignore.is_empty() && exclude.is_empty() {
            return Arc::clone(above);
        }
        let at = if path.is_empty() { 0 } else { path.len() + 1 };
        let above = Some(Arc::clone(above));
        let everywhere = Gitignore::empty();
        Arc::new(Self { above, prefix: Vec::new(), at, ignore, exclude, everywhere })
    }

    pub(super) fn hide(&self, path: &[u8], is_folder: bool) -> bool {
        let said = |by: &Gitignore, rules: &Self| {
            if by.is_empty() {
                return None;
            }
            let found = if rules.prefix.is_empty() {
                by.matched(OsStr::from_bytes(&path[rules.at..]), is_folder)
            } else {
                by.matched(OsStr::from_bytes(&[&rules.prefix, path].concat()), is_folder)
            };
            (!found.is_none()).then(|| found.is_ignore())
        };
        let all = || std::iter::successors(Some(self), |rules| rules.above.as_deref());
        let lists: [fn(&Self) -> &Gitignore; 3] =
            [|own| &own.ignore, |own| &own.exclude, |own| &own.everywhere];
        lists.iter().find_map(|list| all().find_map(|rules| said(list(rules), rules))).unwrap_or(false)
    }
}

fn read(folder: &Path, ignore: bool, repository: bool) -> (Gitignore, Gitignore) {
    let rules = |path: &Path| parse(&files::read(path).unwrap_or_default());
    let own = folder.join(".gitignore");
    // git does not read a symlinked ignore file.
    let own = Some(own).filter(|own| ignore && fs::symlink_metadata(own).is_ok_and(|about| about.is_file()));
    let list =
        if repository { git_common_folder(folder).map(|common| common.join("info/exclude")) } else { None };
    [own, list].map(|path| path.map_or_else(Gitignore::empty, |path| rules(&path))).into()
}

/// Paths are matched relative to the folder of the rules, so no root is needed.
fn parse(text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for line in text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).split(|b| *b == b'\n') {
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
        // The store is never walked anyway, and one rule less makes every match faster.
        if line != HIDDEN {
            let _ = builder.add_line(None, &line); // git skips an invalid line, too
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Removed files that the ignore rules of the tree `then` hide: they were not captured, so a rollback does
/// not touch them.
pub fn hidden_by_rules(
    store: &Store,
    delta: &Delta,
    then: impl Fn() -> Result<Artifacts, Failure>,
) -> Result<Vec<String>, Failure> {
    if delta.removed.is_empty() || !delta.touched().any(is_rules) {
        return Ok(Vec::new());
    }
    let rules = rules_of(store, &then()?.files)?;
    let hidden = delta.removed.iter().filter(|file| is_hidden_by(&rules, &file.path));
    Ok(hidden.map(|file| file.path.clone()).collect())
}

/// The ignore files of a tree, by their folders, with a slash at the end.
type RulesOfTree = BTreeMap<String, Gitignore>;

fn is_rules(file: &File) -> bool {
    file.target.is_none() && file.path.rsplit('/').next() == Some(".gitignore")
}

/// The ignore files that a checkpoint has.
pub(super) fn rules_of(store: &Store, files: &[File]) -> Result<RulesOfTree, Failure> {
    let mut rules = BTreeMap::new();
    for file in files.iter().filter(|file| is_rules(file)) {
        let mut text = Vec::new();
        store.unpack(&file.sha256.0, &mut text)?;
        rules.insert(file.path[..file.path.len() - ".gitignore".len()].to_owned(), parse(&text));
    }
    Ok(rules)
}

/// Whether the deepest of these rules that matches this path ignores it.
pub(super) fn is_hidden_by(rules: &RulesOfTree, path: &str) -> bool {
    let folders = path.rmatch_indices('/').map(|(at, _)| at + 1).chain([0]);
    let mut said = folders.filter_map(|at| {
        let below = name::bytes(&path[at..]);
        Some(rules.get(&path[..at])?.matched_path_or_any_parents(OsStr::from_bytes(&below), false))
    });
    said.find(|said| !said.is_none()).is_some_and(|said| said.is_ignore())
}
