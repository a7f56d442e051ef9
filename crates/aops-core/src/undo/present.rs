//! Looks at what is at a path now.
//!
//! Reads the disk, follows no symlink, waits for no FIFO, changes nothing. Stores contents if asked to.

use super::form::{Content, KeptFile};
use crate::checkpoint::restore::PASSING;
use crate::checkpoint::store::{FOLDER, Store};
use crate::checkpoint::tree::name;
use crate::model::error::{Code, Failure};
use crate::system::files::mode_bits;
use crate::text::sha256::Sum;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Present {
    Absent,
    File {
        mode: u32,
        size: u64,
        sum: Sum,
    },
    /// The target.
    Link(String),
    Folder,
    /// It can be neither read nor replaced, for this reason.
    Blocked(String),
}

/// Flags for opening a plain file that may have been replaced by anything.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Looks at paths; keeps the folder of the last one open, since lists are sorted.
#[derive(Debug, Default)]
pub struct Looker {
    last: Option<(String, OwnedFd)>,
}

/// An open plain file, or what else is there.
enum Found {
    File(File, u32),
    Other(Present),
}

impl Looker {
    pub fn look(&mut self, path: &str) -> Present {
        match self.find(path) {
            Err(Errno::NOENT) => Present::Absent,
            Err(Errno::NOTDIR | Errno::LOOP) => {
                Present::Blocked("a folder on the way to it is a file or a link now".to_owned())
            }
            Err(error) => Present::Blocked(format!("it cannot be inspected: {error}")),
            Ok(Found::Other(present)) => present,
            Ok(Found::File(file, mode)) => hash(&file).map_or_else(
                |error| Present::Blocked(format!("it cannot be read: {error}")),
                |(sum, size)| Present::File { mode, size, sum },
            ),
        }
    }

    /// The folder of this path, and its last component.
    fn folder<'a>(&mut self, path: &'a str) -> Result<(&OwnedFd, &'a str), Errno> {
        let (parent, own) = path.rsplit_once('/').unwrap_or(("", path));
        if self.last.as_ref().is_none_or(|(known, _)| known != parent) {
            let mut dir = openat(CWD, "/", FOLDER | PASSING, Mode::empty())?;
            for part in parent.split('/').filter(|part| !part.is_empty()) {
                dir = openat(&dir, name::bytes(part).as_ref(), FOLDER | PASSING, Mode::empty())?;
            }
            self.last = Some((parent.to_owned(), dir));
        }
        self.last.as_ref().map(|(_, dir)| (dir, own)).ok_or(Errno::NOENT)
    }

    fn find(&mut self, path: &str) -> Result<Found, Errno> {
        let (dir, own) = self.folder(path)?;
        let own = name::bytes(own);
        let stat = statat(dir, own.as_ref(), AtFlags::SYMLINK_NOFOLLOW)?;
        let other = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                let target = readlinkat(dir, own.as_ref(), Vec::new())?;
                Present::Link(name::text(target.as_bytes()).into_owned())
            }
            FileType::Directory => Present::Folder,
            FileType::RegularFile => {
                let file = File::from(openat(dir, own.as_ref(), READ, Mode::empty())?);
                // It may have been exchanged since.
                let is_file = file.metadata().is_ok_and(|about| about.is_file());
                let odd = || Found::Other(Present::Blocked("it changed while we looked at it".to_owned()));
                return Ok(if is_file { Found::File(file, mode_bits(&stat)) } else { odd() });
            }
            _ => Present::Blocked("it is neither a file nor a folder".to_owned()),
        };
        Ok(Found::Other(other))
    }

    /// The mode of a folder; `None` if it does not exist.
    pub fn folder_mode(&mut self, path: &str) -> Option<u32> {
        let (dir, own) = self.folder(path).ok()?;
        let stat = statat(dir, name::bytes(own).as_ref(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        (FileType::from_raw_mode(stat.st_mode) == FileType::Directory).then(|| mode_bits(&stat))
    }

    /// Stores what is at the path; it must still be what was seen. The caller flushes it to the disk.
    pub fn keep(&mut self, store: &Store, path: &str, seen: &Present) -> Result<KeptFile, Failure> {
        let kept = |content, mode, size| KeptFile { content, mode, path: path.to_owned(), size };
        let changed = || {
            let what = format!("`{}` changed while it was being kept", name::shown(path));
            Failure::new(Code::InTheWay, what)
        };
        let found = match self.find(path) {
            Err(Errno::NOENT) => Found::Other(Present::Absent),
            found => found.map_err(|e| Failure::storage(name::shown(path), e))?,
        };
        match (found, seen) {
            (Found::Other(Present::Absent), Present::Absent) => Ok(kept(Content::Absent, 0, 0)),
            (Found::Other(Present::Link(target)), Present::Link(known)) if target == *known => {
                let size = target.len() as u64;
                Ok(kept(Content::Symlink(target), 0o777, size))
            }
            (Found::File(mut file, mode), Present::File { sum, .. }) => {
                let long = file.metadata().map_or(0, |about| about.len());
                let put = store.keep(&mut file, long, false);
                let (digest, size) = put.map_err(|e| Failure::storage(name::shown(path), e))?;
                if digest == sum.0 {
                    Ok(kept(Content::Blob(Sum(digest)), mode, size))
                } else {
                    Err(changed())
                }
            }
            _ => Err(changed()),
        }
    }
}

impl Present {
    /// It equals what was kept, including the mode. A hard-linked file is compared by its content: `linked`
    /// is the digest of that.
    pub fn is(&self, kept: &KeptFile, linked: Option<Sum>) -> bool {
        match (self, &kept.content) {
            (Present::Absent, Content::Absent) => true,
            (Present::File { mode, sum, .. }, known) => {
                Some(*sum) == known.sum().or(linked) && *mode == kept.mode
            }
            (Present::Link(target), Content::Symlink(known)) => target == known,
            _ => false,
        }
    }

    /// The digest of the content, in the form recorded after a command.
    pub fn sum(&self) -> Option<Sum> {
        match self {
            Present::File { sum, .. } => Some(*sum),
            Present::Link(target) => Some(Sum::of(&name::bytes(target))),
            _ => None,
        }
    }
}

/// Digest and size of a file, read from its beginning.
pub fn hash(mut file: &File) -> std::io::Result<(Sum, u64)> {
    let mut hash = Sha256::new();
    let mut size = 0;
    let mut piece = vec![0; 256 << 10];
    loop {
        let n = file.read(&mut piece)?;
        if n == 0 {
            return Ok((Sum(hash.finalize().into()), size));
        }
        hash.update(&piece[..n]);
        size += n as u64;
    }
}
