//! Files opened by name below an open folder.
//!
//! Invariants: no symlink is followed, nothing blocks on a FIFO, only regular files are used, and every new
//! file is 0600 whatever the umask is.

use crate::failure::Failure;
use memchr::{memchr_iter, memrchr};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

const SAFE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Opens a folder inside a folder; `None` if it does not exist.
pub fn enter(dir: impl AsFd, path: impl AsRef<Path>, follow: bool) -> Result<Option<OwnedFd>, Failure> {
    let path = path.as_ref();
    let links = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    match rustix::fs::openat(dir, path, OFlags::DIRECTORY | OFlags::CLOEXEC | links, Mode::empty()) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP | Errno::NOTDIR) => {
            Err(Failure::storage(path.display(), "is not a folder of ours; a symlink is not followed"))
        }
        Err(error) => Err(Failure::storage(path.display(), error)),
    }
}

/// Opens a file that may not be a regular one. Saves the `fstat` if the content is only a hint.
pub fn open_unchecked(dir: &OwnedFd, name: &str, flags: OFlags) -> Result<Option<File>, Failure> {
    match rustix::fs::openat(dir, name, flags | SAFE, Mode::empty()) {
        Ok(file) => Ok(Some(file.into())),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP | Errno::NXIO) => Err(Failure::storage(name, "is not a plain file")),
        Err(error) => Err(Failure::storage(name, error)),
    }
}

/// Opens a file; also returns its length. `None` if it does not exist.
pub fn open(dir: &OwnedFd, name: &str, flags: OFlags) -> Result<Option<(File, u64)>, Failure> {
    let Some(file) = open_unchecked(dir, name, flags)? else { return Ok(None) };
    let stat = rustix::fs::fstat(&file).map_err(|e| Failure::storage(name, e))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Failure::storage(name, "is not a plain file"));
    }
    Ok(Some((file, u64::try_from(stat.st_size).unwrap_or(0))))
}

/// The same, but creates an empty file if there is none.
pub fn open_or_make(dir: &OwnedFd, name: &str, flags: OFlags) -> Result<(File, u64), Failure> {
    loop {
        if let Some(found) = open(dir, name, flags)? {
            return Ok(found);
        }
        // Another process may have been faster.
        if let Some(made) = make(dir, name, flags)? {
            return Ok((made, 0));
        }
    }
}

/// Creates an empty file; `None` if the name is taken.
pub fn make(dir: &OwnedFd, name: &str, flags: OFlags) -> Result<Option<File>, Failure> {
    let storage = |error| Failure::storage(name, error);
    match rustix::fs::openat(dir, name, flags | SAFE | OFlags::CREATE | OFlags::EXCL, PRIVATE) {
        Ok(file) => rustix::fs::fchmod(&file, PRIVATE).map(|()| Some(file.into())).map_err(storage),
        Err(Errno::EXIST) => Ok(None),
        Err(error) => Err(storage(error)),
    }
}

pub fn read_at(file: &File, name: &str, at: u64, long: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; usize::try_from(long).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut bytes, at).map_err(|e| Failure::storage(name, e))?;
    Ok(bytes)
}

/// Appends a line, which must end with a line feed, after completing one that a killed writer left
/// incomplete. The caller syncs the file. Also returns the file's new length.
pub fn append_line(dir: &OwnedFd, name: &str, mut line: String) -> Result<(File, u64), Failure> {
    let (mut file, long) = open_or_make(dir, name, OFlags::RDWR | OFlags::APPEND)?;
    if long > 0 && read_at(&file, name, long - 1, 1)? != b"\n" {
        line.insert(0, '\n');
    }
    file.write_all(line.as_bytes()).map_err(|e| Failure::storage(name, e))?;
    Ok((file, long + line.len() as u64))
}

/// Shows every complete line between `from` and `long`, with its offset. Returns how far it came, or `None`
/// if `visit` gave up. Holds a megabyte at a time.
pub fn each_line(
    file: &File,
    mut from: u64,
    long: u64,
    mut visit: impl FnMut(u64, &[u8]) -> Option<()>,
) -> Result<Option<u64>, Failure> {
    let mut window = 1 << 20;
    while from < long {
        let want = (long - from).min(window);
        let bytes = read_at(file, "lines", from, want)?;
        let Some(end) = memrchr(b'\n', &bytes).map(|end| end + 1) else {
            if want < window {
                break; // a torn last line
            }
            window *= 2; // a line longer than the window
            continue;
        };
        let mut begin = 0;
        for end in memchr_iter(b'\n', &bytes[..end]).map(|end| end + 1) {
            let line = &bytes[begin..end];
            if visit(from, line).is_none() {
                return Ok(None);
            }
            from += line.len() as u64;
            begin = end;
        }
    }
    Ok(Some(from))
}

/// Whether both exist and are the same file: so we find out if an open file still has its name.
pub fn is_same(one: Result<Stat, Errno>, other: Result<Stat, Errno>) -> bool {
    let (Ok(one), Ok(other)) = (one, other) else { return false };
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Replaces `name` atomically: a reader sees the old content or the new one. The old file is kept as `spare`.
pub fn replace(dir: &OwnedFd, name: &str, spare: &str, bytes: &[u8]) -> Result<(), Failure> {
    let storage = |e: Errno| Failure::storage(name, e);
    // Not truncated first: ext4 would then write the new content to the disk at once.
    let flags = OFlags::WRONLY;
    let opened = open_or_make(dir, spare, flags).or_else(|_| {
        // Not a regular file: replace it.
        rustix::fs::unlinkat(dir, spare, AtFlags::empty()).map_err(storage)?;
        open_or_make(dir, spare, flags)
    });
    let (mut file, long) = opened?;
    file.write_all(bytes).map_err(|e| Failure::storage(name, e))?;
    if long > bytes.len() as u64 {
        file.set_len(bytes.len() as u64).map_err(|e| Failure::storage(name, e))?;
    }
    exchange(dir, spare, name).map_err(storage)
}

/// Gives the name to the spare file. Swapping keeps both files and their blocks, which is ten times cheaper
/// than replacing one.
#[cfg(target_os = "linux")]
pub fn exchange(dir: &OwnedFd, spare: &str, name: &str) -> Result<(), Errno> {
    match rustix::fs::renameat_with(dir, spare, dir, name, RenameFlags::EXCHANGE) {
        Err(Errno::NOENT | Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(dir, spare, dir, name),
        done => done,
    }
}

#[cfg(not(target_os = "linux"))]
pub fn exchange(dir: &OwnedFd, spare: &str, name: &str) -> Result<(), Errno> {
    rustix::fs::renameat(dir, spare, dir, name)
}
