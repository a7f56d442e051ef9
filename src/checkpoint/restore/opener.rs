//! Opens the folder of a path: one folder after the other from the root, never through a symlink.
//!
//! Where permissions forbid it, the folder gets the owner's bits; `restore` sets all modes at the end.

use crate::checkpoint::tree::name;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};

pub(super) struct Opener<'a> {
    root: &'a OwnedFd,
    /// The folder that was opened last: lists are sorted, so the next path is often in it too.
    last: Option<(String, OwnedFd)>,
}

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

impl<'a> Opener<'a> {
    pub(super) fn new(root: &'a OwnedFd) -> Self {
        Self { root, last: None }
    }

    /// To be called after a folder was removed: it may be the open one.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }

    /// Calls `act` with the folder of this path and the last part of it.
    pub(super) fn at<T>(&mut self, path: &str, act: impl Fn(&OwnedFd, &[u8]) -> Result<T, Errno>) -> Result<T, Errno> {
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

    /// The folder at this path.
    pub(super) fn folder(&self, path: &str) -> Result<OwnedFd, Errno> {
        let mut dir: Option<OwnedFd> = None;
        for part in path.split('/') {
            let (above, part) = (dir.as_ref().unwrap_or(self.root), name::bytes(part));
            let opened = rustix::fs::openat(above, part.as_ref(), FOLDER, Mode::empty());
            dir = Some(match opened {
                Err(Errno::ACCESS) => {
                    let _ = open_up(above);
                    let stat = rustix::fs::statat(above, part.as_ref(), AtFlags::SYMLINK_NOFOLLOW)?;
                    if rustix::fs::FileType::from_raw_mode(stat.st_mode) != rustix::fs::FileType::Directory {
                        return Err(Errno::NOTDIR);
                    }
                    let mode = Mode::from_raw_mode(stat.st_mode) | Mode::RWXU;
                    rustix::fs::chmodat(above, part.as_ref(), mode, AtFlags::empty())?;
                    rustix::fs::openat(above, part.as_ref(), FOLDER, Mode::empty())?
                }
                opened => opened?,
            });
        }
        dir.ok_or(Errno::NOENT)
    }
}

/// Gives the owner all permissions.
fn open_up(dir: impl AsFd) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&dir)?.st_mode);
    if mode.contains(Mode::RWXU) {
        return Err(Errno::ACCESS);
    }
    rustix::fs::fchmod(&dir, mode | Mode::RWXU)
}
