//! Writes the tree of a checkpoint.
//!
//! Writes the tree, reads the store. Every path is opened folder by folder from the tree's root, so that no symlink is
//! followed and nothing outside is touched. Invariants: a file is replaced by a rename; applying the same steps again, or
//! after a part of them, gives the same tree; a path that is in neither tree is left alone.

mod opener;
mod sparse;

use crate::checkpoint::store::Store;
use crate::checkpoint::tree::delta::Delta;
use crate::checkpoint::tree::{File, Folder, name};
use crate::model::error::Failure;
use crate::system::files::mode_of;
use opener::Opener;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::thread;

/// Up to so many files are synced one by one; more by one `syncfs`.
const FEW: usize = 64;

/// The result of applied steps.
#[derive(Debug, Default)]
pub struct Applied {
    /// Folders that could not be removed: they hold files that are in neither tree.
    pub kept_folders: Vec<String>,
    /// Files that were written; at most `FEW + 1` of them.
    made: Vec<std::fs::File>,
}

/// Checks that every blob of these steps can be read: nothing is begun that cannot be finished.
pub fn check_contents(store: &Store, delta: &Delta) -> Result<(), Failure> {
    for file in written(delta) {
        if file.target.is_none() {
            store.unpack(&file.sha256.0, &mut std::io::sink())?;
        }
    }
    Ok(())
}

fn written<'a>(delta: &'a Delta<'a>) -> impl Iterator<Item = &'a File> {
    let changed = delta.changed.iter().map(|(_, new)| *new);
    delta.added.iter().copied().chain(changed)
}

/// Changes to a tree.
#[derive(Debug)]
pub struct Steps<'a> {
    pub delta: Delta<'a>,
    /// Sorted; each gets its mode at the end.
    pub folders: Vec<&'a Folder>,
    /// The tree was captured just now, under the lock: where only a mode differs, the content need not be written.
    pub fresh: bool,
}

/// Applies these steps to the tree at `root`.
pub fn apply(store: &Store, root: &OwnedFd, steps: &Steps) -> Result<Applied, Failure> {
    let delta = &steps.delta;
    let mut made = Vec::new();
    let mut opener = Opener::new(root);
    let mut applied = Applied::default();
    for file in delta.removed.iter().rev() {
        remove(&mut opener, file)?;
    }
    for folder in delta.gone_folders.iter().rev() {
        match opener.at(&folder.path, |dir, name| rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => applied.kept_folders.push(folder.path.clone()),
            Err(error) => return Err(failed(&folder.path, error)),
        }
        opener.forget();
    }
    for folder in &delta.new_folders {
        match opener.at(&folder.path, |dir, name| rustix::fs::mkdirat(dir, name, Mode::RWXU)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(&folder.path, error)),
        }
    }
    for (old, new) in &delta.changed {
        let same = steps.fresh && old.sha256 == new.sha256 && old.target.is_none() && new.target.is_none();
        if !same || !set_mode(&mut opener, new)? {
            made.extend(write(store, &mut opener, new)?);
        }
        made.truncate(FEW + 1);
    }
    for file in &delta.added {
        made.extend(write(store, &mut opener, file)?);
        made.truncate(FEW + 1);
    }
    for folder in steps.folders.iter().rev() {
        folder_mode(&mut opener, folder)?;
    }
    applied.made = made;
    Ok(applied)
}

impl Applied {
    /// Forces everything that was written to the disk. The plan may be closed only afterwards.
    pub fn sync(&self, store: &Store) -> Result<(), Failure> {
        if self.made.len() > FEW {
            store.sync();
            return Ok(());
        }
        // Few files: fsync each one, in parallel. Many: one syncfs, although it also flushes other programs' data.
        let sync = |file: &std::fs::File| file.sync_data().map_err(|e| Failure::storage("a restored file", e));
        thread::scope(|scope| {
            let shares: Vec<_> = self
                .made
                .chunks(self.made.len().div_ceil(8).max(1))
                .map(|share| scope.spawn(move || share.iter().try_for_each(sync)))
                .collect();
            let lost = || Failure::storage("a restored file", "the sync failed");
            shares.into_iter().try_for_each(|share| share.join().map_err(|_| lost())?)
        })
    }
}

fn failed(path: &str, error: Errno) -> Failure {
    Failure::storage(name::shown(path), error)
}

fn remove(opener: &mut Opener, file: &File) -> Result<(), Failure> {
    match opener.at(&file.path, |dir, name| rustix::fs::unlinkat(dir, name, AtFlags::empty())) {
        // Without its parent folder there is no such file. A folder in its place was made by these steps before they were
        // interrupted.
        Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ISDIR) => Ok(()),
        Err(error) => Err(failed(&file.path, error)),
    }
}

/// Sets the mode of a file whose content is right. `false`: it has to be written after all.
fn set_mode(opener: &mut Opener, file: &File) -> Result<bool, Failure> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let found = opener.at(&file.path, |dir, name| rustix::fs::openat(dir, name, flags, Mode::empty()));
    let Ok(found) = found else { return Ok(false) };
    rustix::fs::fchmod(&found, mode_of(file.mode)).map_err(|e| failed(&file.path, e))?;
    Ok(true)
}

/// Writes a file in the spare folder and renames it into place. Returns the open file; `None` for a symlink.
fn write(store: &Store, opener: &mut Opener, file: &File) -> Result<Option<std::fs::File>, Failure> {
    let (spare, made) = if let Some(target) = &file.target {
        let spare = store.spare_name();
        let target = name::bytes(target).into_owned();
        rustix::fs::symlinkat(target, &store.spare, &spare).map_err(|e| failed(&file.path, e))?;
        (spare, None)
    } else {
        let (spare, mut made) = store.spare_file()?;
        content(store, file, &mut made)?;
        (spare, Some(made))
    };
    let moved = opener.at(&file.path, |dir, name| rustix::fs::renameat(&store.spare, &spare, dir, name));
    match moved {
        Ok(()) => Ok(made),
        Err(Errno::XDEV) => across(store, opener, file),
        Err(error) => {
            let _ = rustix::fs::unlinkat(&store.spare, &spare, AtFlags::empty());
            Err(failed(&file.path, error))
        }
    }
}

fn content(store: &Store, file: &File, made: &mut std::fs::File) -> Result<(), Failure> {
    let storage = |e: std::io::Error| Failure::storage(name::shown(&file.path), e);
    let mut to = sparse::Sparse::new(made);
    store.unpack(&file.sha256.0, &mut to)?;
    to.finish().map_err(storage)?;
    made.set_permissions(std::fs::Permissions::from_mode(file.mode)).map_err(storage)
}

/// The same for a folder on another file system than the store: written beside its place.
fn across(store: &Store, opener: &mut Opener, file: &File) -> Result<Option<std::fs::File>, Failure> {
    const BESIDE: &str = ".aops-restoring";
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let beside = |dir: &OwnedFd| {
        let _ = rustix::fs::unlinkat(dir, BESIDE, AtFlags::empty());
        match &file.target {
            Some(target) => rustix::fs::symlinkat(name::bytes(target).into_owned(), dir, BESIDE).map(|()| None),
            None => rustix::fs::openat(dir, BESIDE, flags, Mode::RUSR | Mode::WUSR).map(Some),
        }
    };
    let made = opener.at(&file.path, |dir, _| beside(dir)).map_err(|e| failed(&file.path, e))?;
    let mut made = made.map(std::fs::File::from);
    if let Some(made) = &mut made {
        content(store, file, made)?;
    }
    opener
        .at(&file.path, |dir, name| rustix::fs::renameat(dir, BESIDE, dir, name))
        .map_err(|e| failed(&file.path, e))?;
    Ok(made)
}

fn folder_mode(opener: &mut Opener, folder: &Folder) -> Result<(), Failure> {
    let stat = opener.at(&folder.path, |dir, name| rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW));
    let mode = match stat {
        Ok(stat) => Mode::from_raw_mode(stat.st_mode),
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(failed(&folder.path, error)),
    };
    let wanted = mode_of(folder.mode);
    if mode == wanted {
        return Ok(());
    }
    let found = opener.folder(&folder.path).map_err(|e| failed(&folder.path, e))?;
    rustix::fs::fchmod(&found, wanted).map_err(|e| failed(&folder.path, e))
}
