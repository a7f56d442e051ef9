//! Writes the tree of a checkpoint.
//!
//! Writes the tree, reads the store. Every path is opened folder by folder from the tree's root, so that no
//! symlink is followed and nothing outside is touched. Invariants: a file is replaced by a rename; applying
//! the same steps again, or after a part of them, gives the same tree; a path that is in neither tree is left
//! alone.

use crate::checkpoint::store::{FOLDER, NEW_FILE, Store};
use crate::checkpoint::tree::{Delta, File, Folder, name};
use crate::model::error::Failure;
use crate::system::{files::mode_of, threads};
use rustix::fs::{AtFlags, Mode, OFlags, unlinkat};
use rustix::io::Errno;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, PermissionsExt};

/// Up to this many files are synced one by one, more with one `syncfs`.
const FEW: usize = 64;

#[derive(Debug, Default)]
pub struct Applied {
    /// Folders that could not be removed because they contain files that are in neither tree.
    pub kept_folders: Vec<String>,
    /// Files that were written; at most `FEW + 1` of them.
    made: Vec<fs::File>,
}

/// Checks that every blob of these steps can be read, so that nothing is begun that cannot be finished.
pub fn check_contents(store: &Store, delta: &Delta) -> Result<(), Failure> {
    let written = delta.added.iter().copied().chain(delta.changed.iter().map(|(_, new)| *new));
    for file in written.filter(|file| file.target.is_none()) {
        store.unpack(&file.sha256.0, &mut io::sink())?;
    }
    Ok(())
}

#[derive(Debug)]
pub struct Steps<'a> {
    pub delta: Delta<'a>,
    /// Sorted; each gets its mode at the end.
    pub folders: Vec<&'a Folder>,
    /// The tree was captured just now, under the lock, so if only a mode differs, the content need not be
    /// written.
    pub fresh: bool,
}

pub fn apply(store: &Store, root: &OwnedFd, steps: &Steps) -> Result<Applied, Failure> {
    // Without its parent folder there is nothing to remove.
    const GONE: [Errno; 3] = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP];
    const FULL: [Errno; 2] = [Errno::NOTEMPTY, Errno::EXIST];
    let delta = &steps.delta;
    let mut opener = Opener::new(root);
    let mut applied = Applied::default();
    for file in delta.removed.iter().rev() {
        // If a folder is in its place, these steps made it before they were interrupted.
        let allowed = [&GONE[..], &[Errno::ISDIR]].concat();
        let _ = opener.try_at(&file.path, &allowed, |dir, name| unlinkat(dir, name, AtFlags::empty()))?;
    }
    for folder in delta.gone_folders.iter().rev() {
        let remove = |dir: &OwnedFd, name: &[u8]| unlinkat(dir, name, AtFlags::REMOVEDIR);
        match opener.try_at(&folder.path, &[&GONE[..], &FULL].concat(), remove)? {
            Err(error) if FULL.contains(&error) => applied.kept_folders.push(folder.path.clone()),
            _ => {}
        }
        opener.forget();
    }
    for folder in &delta.new_folders {
        let _ = opener
            .try_at(&folder.path, &[Errno::EXIST], |dir, name| rustix::fs::mkdirat(dir, name, Mode::RWXU))?;
    }
    for (old, new) in &delta.changed {
        let same = steps.fresh && old.sha256 == new.sha256 && old.target.is_none() && new.target.is_none();
        if !same || !set_mode(&mut opener, new)? {
            applied.made.extend(write(store, &mut opener, new)?);
        }
        applied.made.truncate(FEW + 1);
    }
    for file in &delta.added {
        applied.made.extend(write(store, &mut opener, file)?);
        applied.made.truncate(FEW + 1);
    }
    for folder in steps.folders.iter().rev() {
        set_folder_mode(&mut opener, folder)?;
    }
    Ok(applied)
}

impl Applied {
    /// Flushes everything that was written to the disk. The plan may be closed only afterwards.
    pub fn sync(&self, store: &Store) -> Result<(), Failure> {
        if self.made.len() > FEW {
            store.sync();
            return Ok(());
        }
        // Few files: fsync each one, in parallel. Many: one syncfs, although it also flushes other programs'
        // data.
        let failed = threads::map(&self.made, |file| file.sync_data().err()).pop();
        failed.map_or(Ok(()), |error| Err(Failure::storage("a restored file", error)))
    }
}

fn failed(path: &str, error: Errno) -> Failure {
    Failure::storage(name::shown(path), error)
}

/// Sets the mode of a file whose content is right. Returns false if the file has to be written after all.
fn set_mode(opener: &mut Opener, file: &File) -> Result<bool, Failure> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let found = opener.at(&file.path, |dir, name| rustix::fs::openat(dir, name, flags, Mode::empty()));
    let Ok(found) = found else { return Ok(false) };
    rustix::fs::fchmod(&found, mode_of(file.mode)).map_err(|e| failed(&file.path, e))?;
    Ok(true)
}

fn write(store: &Store, opener: &mut Opener, file: &File) -> Result<Option<fs::File>, Failure> {
    let bytes = |new: &mut fs::File| write_content(store, &file.sha256.0, file.mode, new);
    let body = file.target.as_deref().map_or(Body::Bytes(&bytes), Body::Target);
    put(store, opener, &file.path, &body)
}

/// The new content of a path.
pub(crate) enum Body<'a> {
    /// A symlink to this path.
    Target(&'a str),
    /// A file: this function fills it and sets its mode.
    Bytes(&'a dyn Fn(&mut fs::File) -> Result<(), Failure>),
}

/// Writes a file in the spare folder and renames it into place. Returns the open file; `None` for a symlink.
pub(crate) fn put(
    store: &Store,
    opener: &mut Opener,
    path: &str,
    body: &Body,
) -> Result<Option<fs::File>, Failure> {
    let (spare, made) = match body {
        Body::Target(target) => {
            let spare = store.spare_name();
            let target = name::bytes(target).into_owned();
            rustix::fs::symlinkat(target, &store.spare, &spare).map_err(|e| failed(path, e))?;
            (spare, None)
        }
        Body::Bytes(fill) => {
            let (spare, mut made) = store.spare_file()?;
            fill(&mut made)?;
            (spare, Some(made))
        }
    };
    let moved = opener.at(path, |dir, name| rustix::fs::renameat(&store.spare, &spare, dir, name));
    if let Err(error) = moved {
        let _ = unlinkat(&store.spare, &spare, AtFlags::empty());
        return if error == Errno::XDEV { across(opener, path, body) } else { Err(failed(path, error)) };
    }
    Ok(made)
}

/// Fills a new file with a blob, and sets its mode.
pub(crate) fn write_content(
    store: &Store,
    sum: &[u8; 32],
    mode: u32,
    new: &mut fs::File,
) -> Result<(), Failure> {
    let mut to = Sparse { file: new, at: 0 };
    store.unpack(sum, &mut to)?;
    // The file may end in a hole.
    let done = to.file.set_len(to.at).and_then(|()| new.set_permissions(fs::Permissions::from_mode(mode)));
    done.map_err(|e| Failure::storage("a restored file", e))
}

/// The same with the rest of a file.
pub(crate) fn copy_content(mut from: &fs::File, mode: u32, new: &mut fs::File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    let is_cloned = rustix::fs::ioctl_ficlone(&*new, from).is_ok();
    #[cfg(not(target_os = "linux"))]
    let is_cloned = false;
    if !is_cloned {
        let mut to = Sparse { file: new, at: 0 };
        io::copy(&mut from, &mut to)?;
        to.file.set_len(to.at)?;
    }
    new.set_permissions(fs::Permissions::from_mode(mode))
}

/// The same for a folder on another file system than the store's: the file is first written next to its
/// place.
fn across(opener: &mut Opener, path: &str, body: &Body) -> Result<Option<fs::File>, Failure> {
    const BESIDE: &str = ".aops-restoring";
    let beside = |dir: &OwnedFd| {
        let _ = unlinkat(dir, BESIDE, AtFlags::empty());
        match body {
            Body::Target(target) => {
                rustix::fs::symlinkat(name::bytes(target).into_owned(), dir, BESIDE).map(|()| None)
            }
            Body::Bytes(_) => rustix::fs::openat(dir, BESIDE, NEW_FILE, Mode::RUSR | Mode::WUSR).map(Some),
        }
    };
    let made = opener.at(path, |dir, _| beside(dir)).map_err(|e| failed(path, e))?;
    let mut made = made.map(fs::File::from);
    if let (Some(made), Body::Bytes(fill)) = (&mut made, body) {
        fill(made)?;
    }
    let moved = opener.at(path, |dir, name| rustix::fs::renameat(dir, BESIDE, dir, name));
    moved.map_err(|e| failed(path, e)).map(|()| made)
}

pub(crate) fn set_folder_mode(opener: &mut Opener, folder: &Folder) -> Result<(), Failure> {
    let stat = |dir: &OwnedFd, name: &[u8]| rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
    let stat = opener.try_at(&folder.path, &[Errno::NOENT], stat)?;
    let wanted = mode_of(folder.mode);
    if stat.is_ok_and(|stat| Mode::from_raw_mode(stat.st_mode) != wanted) {
        let found = opener.folder(&folder.path).map_err(|e| failed(&folder.path, e))?;
        rustix::fs::fchmod(&found, wanted).map_err(|e| failed(&folder.path, e))?;
    }
    Ok(())
}

/// Opens the folder of a path, one component after the other from the root, never through a symlink. If
/// permissions forbid it, the folder gets the owner's bits; all modes are set at the end.
pub(crate) struct Opener<'a> {
    root: &'a OwnedFd,
    /// The folder that was opened last: lists are sorted, so the next path is often in it, too.
    last: Option<(String, OwnedFd)>,
}

impl<'a> Opener<'a> {
    pub(crate) fn new(root: &'a OwnedFd) -> Self {
        Self { root, last: None }
    }

    /// Needed because the folder that was opened last may have been removed.
    pub(crate) fn forget(&mut self) {
        self.last = None;
    }

    /// The same as [`at`](Self::at), but only `allowed` errors are returned; any other error is a failure.
    pub(crate) fn try_at<T, A>(
        &mut self,
        path: &str,
        allowed: &[Errno],
        act: A,
    ) -> Result<Result<T, Errno>, Failure>
    where
        A: Fn(&OwnedFd, &[u8]) -> Result<T, Errno>,
    {
        match self.at(path, act) {
            Err(error) if !allowed.contains(&error) => Err(failed(path, error)),
            done => Ok(done),
        }
    }

    /// Calls `act` with the folder of this path and the last part of it.
    pub(crate) fn at<T>(
        &mut self,
        path: &str,
        act: impl Fn(&OwnedFd, &[u8]) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let (parent, own) = path.rsplit_once('/').unwrap_or(("", path));
        let own = name::bytes(own).into_owned();
        let known = self.last.as_ref().is_some_and(|(known, _)| known == parent);
        if !known && !parent.is_empty() {
            self.last = Some((parent.to_owned(), self.folder(parent)?));
        }
        let dir = match &self.last {
            Some((_, dir)) if !parent.is_empty() => dir,
            _ => self.root,
        };
        match act(dir, &own) {
            Err(Errno::ACCESS | Errno::PERM) if open_up(dir).is_ok() => act(dir, &own),
            done => done,
        }
    }

    fn folder(&self, path: &str) -> Result<OwnedFd, Errno> {
        let mut dir: Option<OwnedFd> = None;
        for part in path.split('/') {
            let above = dir.as_ref().unwrap_or(self.root);
            let part = name::bytes(part);
            let opened = rustix::fs::openat(above, part.as_ref(), FOLDER, Mode::empty());
            dir = Some(match opened {
                Err(Errno::ACCESS) => {
                    let _ = open_up(above);
                    let stat = rustix::fs::statat(above, part.as_ref(), AtFlags::SYMLINK_NOFOLLOW)?;
                    if rustix::fs::FileType::from_raw_mode(stat.st_mode) != rustix::fs::FileType::Directory {
                        return Err(Errno::NOTDIR);
                    }
                    let mode = Mode::from_raw_mode(stat.st_mode) | Mode::RWXU;
                    match rustix::fs::chmodat(above, part.as_ref(), mode, AtFlags::empty()) {
                        Ok(()) => rustix::fs::openat(above, part.as_ref(), FOLDER, Mode::empty())?,
                        // Another user's folder on the way may not be readable, but we may still pass through
                        // it.
                        Err(_) => rustix::fs::openat(above, part.as_ref(), FOLDER | PASSING, Mode::empty())?,
                    }
                }
                opened => opened?,
            });
        }
        dir.ok_or(Errno::NOENT)
    }
}

/// Opens a folder that need not be readable.
#[cfg(target_os = "linux")]
pub(crate) const PASSING: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(crate) const PASSING: OFlags = OFlags::empty();

fn open_up(dir: impl AsFd) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&dir)?.st_mode);
    if mode.contains(Mode::RWXU) {
        return Err(Errno::ACCESS);
    }
    rustix::fs::fchmod(&dir, mode | Mode::RWXU)
}

/// Shorter runs of zeros are written.
const HOLE: usize = 4096;

/// Writes holes in place of zeros, so that a restored disk image takes as little space as before.
struct Sparse<'a> {
    file: &'a fs::File,
    at: u64,
}

impl Write for Sparse<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let empty = |piece: &[u8]| piece.len() == HOLE && piece.iter().all(|byte| *byte == 0);
        let mut rest = bytes;
        while !rest.is_empty() {
            let holes = rest.chunks(HOLE).take_while(|piece| empty(piece)).count() * HOLE;
            self.at += holes as u64;
            rest = &rest[holes..];
            let full: usize = rest.chunks(HOLE).take_while(|piece| !empty(piece)).map(<[u8]>::len).sum();
            self.file.write_all_at(&rest[..full], self.at)?;
            self.at += full as u64;
            rest = &rest[full..];
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(runs in proptest::collection::vec((0_usize..12_000, any::<bool>()), 0..6)) {
            let bytes: Vec<u8> = runs.iter().flat_map(|(n, full)| vec![u8::from(*full); *n]).collect();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x");
            let file = fs::File::create(&path).unwrap();
            let mut sparse = Sparse { file: &file, at: 0 };
            for piece in bytes.chunks(10_000) {
                sparse.write_all(piece).unwrap();
            }
            file.set_len(sparse.at).unwrap();
            prop_assert_eq!(std::fs::read(&path).unwrap(), bytes);
        }
    }
}
