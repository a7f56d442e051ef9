//! Makes a working tree what a checkpoint says it was.
//!
//! Writes the tree, reads the vault. Every step is named by a path and opened folder by folder from the tree's root, so
//! that no link is followed and nothing outside is touched. Invariants: a file is the old or the new one and never half;
//! done twice, or after half of it, the same tree comes out; what is not in either tree is left alone.

mod ground;
mod sparse;

use crate::checkpoint::store::Store;
use crate::checkpoint::tree::delta::Delta;
use crate::checkpoint::tree::{File, Folder, name};
use crate::model::error::Failure;
use crate::system::files::mode_of;
use ground::Ground;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::thread;

/// So few files are forced to the disk one by one.
const FEW: usize = 64;

/// What came of it; folders that could not go hold something of others.
#[derive(Debug, Default)]
pub struct Applied {
    pub kept_folders: Vec<String>,
    /// What was written; one more than a few stands for many.
    made: Vec<std::fs::File>,
}

/// Everything that will be written is there and whole: nothing is begun that cannot be finished.
pub fn open_dry(vault: &Store, delta: &Delta) -> Result<(), Failure> {
    for file in written(delta) {
        if file.target.is_none() {
            vault.unpack(&file.sha256.0, &mut std::io::sink())?;
        }
    }
    Ok(())
}

fn written<'a>(delta: &'a Delta<'a>) -> impl Iterator<Item = &'a File> {
    let changed = delta.changed.iter().map(|(_, new)| *new);
    delta.added.iter().copied().chain(changed)
}

/// What is to be done to a tree.
#[derive(Debug)]
pub struct Steps<'a> {
    pub delta: Delta<'a>,
    /// Sorted; each has its mode afterwards.
    pub folders: Vec<&'a Folder>,
    /// Nobody can have changed the tree since it was looked at: where only a mode differs, the content is right.
    pub fresh: bool,
}

/// Takes these steps in the tree at `root`.
pub fn apply(vault: &Store, root: &OwnedFd, steps: &Steps) -> Result<Applied, Failure> {
    let delta = &steps.delta;
    let mut made = Vec::new();
    let mut ground = Ground::new(root);
    let mut applied = Applied::default();
    for file in delta.removed.iter().rev() {
        remove(&mut ground, file)?;
    }
    for folder in delta.gone_folders.iter().rev() {
        match ground.at(&folder.path, |dir, name| rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => applied.kept_folders.push(folder.path.clone()),
            Err(error) => return Err(failed(&folder.path, error)),
        }
        ground.forget();
    }
    for folder in &delta.new_folders {
        match ground.at(&folder.path, |dir, name| rustix::fs::mkdirat(dir, name, Mode::RWXU)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(&folder.path, error)),
        }
    }
    for (old, new) in &delta.changed {
        let same = steps.fresh && old.sha256 == new.sha256 && old.target.is_none() && new.target.is_none();
        if !same || !set_mode(&mut ground, new)? {
            made.extend(write(vault, &mut ground, new)?);
        }
        made.truncate(FEW + 1);
    }
    for file in &delta.added {
        made.extend(write(vault, &mut ground, file)?);
        made.truncate(FEW + 1);
    }
    for folder in steps.folders.iter().rev() {
        folder_mode(&mut ground, folder)?;
    }
    applied.made = made;
    Ok(applied)
}

impl Applied {
    /// Everything that was made is on the disk itself: until then whoever comes next takes the steps again.
    pub fn settle(&self, vault: &Store) -> Result<(), Failure> {
        if self.made.len() > FEW {
            vault.sync();
            return Ok(());
        }
        // A few are forced there one by one, which waits for nobody else's; those who wait together wait once.
        let sync =
            |file: &std::fs::File| file.sync_data().map_err(|e| Failure::storage("a restored file", e));
        thread::scope(|scope| {
            let shares: Vec<_> = self
                .made
                .chunks(self.made.len().div_ceil(8).max(1))
                .map(|share| scope.spawn(move || share.iter().try_for_each(sync)))
                .collect();
            let lost = || Failure::storage("a restored file", "nobody forced it to the disk");
            shares.into_iter().try_for_each(|share| share.join().map_err(|_| lost())?)
        })
    }
}

fn failed(path: &str, error: Errno) -> Failure {
    Failure::storage(name::shown(path), error)
}

fn remove(ground: &mut Ground, file: &File) -> Result<(), Failure> {
    match ground.at(&file.path, |dir, name| rustix::fs::unlinkat(dir, name, AtFlags::empty())) {
        // A parent that is gone, or is something else by now, has no such file; and a folder in its place is the one that
        // comes next, made before we were interrupted.
        Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ISDIR) => Ok(()),
        Err(error) => Err(failed(&file.path, error)),
    }
}

/// Same content, other mode. `false`: it has to be written after all.
fn set_mode(ground: &mut Ground, file: &File) -> Result<bool, Failure> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = ground.at(&file.path, |dir, name| rustix::fs::openat(dir, name, flags, Mode::empty()));
    let Ok(opened) = opened else { return Ok(false) };
    rustix::fs::fchmod(&opened, mode_of(file.mode)).map_err(|e| failed(&file.path, e))?;
    Ok(true)
}

/// Made whole in the spare folder, then moved into place. The file, where it is one.
fn write(vault: &Store, ground: &mut Ground, file: &File) -> Result<Option<std::fs::File>, Failure> {
    let (spare, made) = if let Some(target) = &file.target {
        let spare = vault.spare_name();
        let target = name::bytes(target).into_owned();
        rustix::fs::symlinkat(target, &vault.spare, &spare).map_err(|e| failed(&file.path, e))?;
        (spare, None)
    } else {
        let (spare, mut made) = vault.spare_file()?;
        content(vault, file, &mut made)?;
        (spare, Some(made))
    };
    let moved = ground.at(&file.path, |dir, name| rustix::fs::renameat(&vault.spare, &spare, dir, name));
    match moved {
        Ok(()) => Ok(made),
        Err(Errno::XDEV) => across(vault, ground, file),
        Err(error) => {
            let _ = rustix::fs::unlinkat(&vault.spare, &spare, AtFlags::empty());
            Err(failed(&file.path, error))
        }
    }
}

fn content(vault: &Store, file: &File, made: &mut std::fs::File) -> Result<(), Failure> {
    let storage = |e: std::io::Error| Failure::storage(name::shown(&file.path), e);
    let mut to = sparse::Sparse::new(made);
    vault.unpack(&file.sha256.0, &mut to)?;
    to.finish().map_err(storage)?;
    made.set_permissions(std::fs::Permissions::from_mode(file.mode)).map_err(storage)
}

/// Where the folder is on another file system than the vault: made beside its place.
fn across(vault: &Store, ground: &mut Ground, file: &File) -> Result<Option<std::fs::File>, Failure> {
    const BESIDE: &str = ".aops-restoring";
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let beside = |dir: &OwnedFd| {
        let _ = rustix::fs::unlinkat(dir, BESIDE, AtFlags::empty());
        match &file.target {
            Some(target) => {
                rustix::fs::symlinkat(name::bytes(target).into_owned(), dir, BESIDE).map(|()| None)
            }
            None => rustix::fs::openat(dir, BESIDE, flags, Mode::RUSR | Mode::WUSR).map(Some),
        }
    };
    let made = ground.at(&file.path, |dir, _| beside(dir)).map_err(|e| failed(&file.path, e))?;
    let mut made = made.map(std::fs::File::from);
    if let Some(made) = &mut made {
        content(vault, file, made)?;
    }
    ground
        .at(&file.path, |dir, name| rustix::fs::renameat(dir, BESIDE, dir, name))
        .map_err(|e| failed(&file.path, e))?;
    Ok(made)
}

fn folder_mode(ground: &mut Ground, folder: &Folder) -> Result<(), Failure> {
    let stat = ground.at(&folder.path, |dir, name| rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW));
    let mode = match stat {
        Ok(stat) => Mode::from_raw_mode(stat.st_mode),
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(failed(&folder.path, error)),
    };
    let wanted = mode_of(folder.mode);
    if mode == wanted {
        return Ok(());
    }
    let opened = ground.folder(&folder.path).map_err(|e| failed(&folder.path, e))?;
    rustix::fs::fchmod(&opened, wanted).map_err(|e| failed(&folder.path, e))
}
