//! Reads whole files and replaces them: writes a new file next to the old one, then renames it.
//!
//! Reads and writes the files it is given. [`find`] follows symlinks and replaces their target; mode and
//! owner are kept. Invariant: a file that another process changed in between, or made read-only, stays
//! unchanged.

use crate::model::error::Failure;
use crate::system::folder;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// In bytes; longer files are neither edited nor read completely.
const LONGEST: u64 = 64 << 20;

/// Opens a plain file for reading. A FIFO, a device, a socket or a folder in its place is an error and never
/// waited for: a repository can contain any of them under any name.
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    open_to_read(path.as_ref()).map(|(file, _)| file)
}

/// The same with these options: opening a FIFO for writing would wait for a reader.
pub fn open_as(path: impl AsRef<Path>, options: &mut OpenOptions) -> io::Result<File> {
    open_plain(path.as_ref(), options, 0).map(|(file, _)| file)
}

/// The same, but a symlink in the file's place is an error, too.
pub fn open_itself(path: impl AsRef<Path>, options: &mut OpenOptions) -> io::Result<File> {
    open_plain(path.as_ref(), options, libc::O_NOFOLLOW).map(|(file, _)| file)
}

/// Opens a path below this folder without following links: a link in any part of the path is an error, even
/// if another process put it there a moment ago.
pub fn open_below(folder: impl AsFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let bounds = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(folder.as_fd(), path, flags, Mode::empty(), bounds) {
            // Kernels before 5.6 lack this call.
            Err(Errno::NOSYS) => {}
            opened => return Ok(opened?),
        }
    }
    Ok(rustix::fs::openat(folder, path, flags, Mode::empty())?)
}

/// Opens this absolute real path; see [`open_below`].
pub fn open_real(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let root = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let below = path.strip_prefix("/").map_err(|_| io::Error::from(ErrorKind::InvalidInput))?;
    open_below(root, if below.as_os_str().is_empty() { Path::new(".") } else { below }, flags)
}

/// Also returns the length.
fn open_plain(path: &Path, options: &mut OpenOptions, flags: i32) -> io::Result<(File, u64)> {
    let file = options.custom_flags(flags | libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let known = file.metadata()?;
    if known.is_file() { Ok((file, known.len())) } else { Err(not_plain()) }
}

fn open_to_read(path: &Path) -> io::Result<(File, u64)> {
    open_plain(path, OpenOptions::new().read(true), 0)
}

/// The bytes of a plain file; see [`open`].
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let (file, long) = open_to_read(path.as_ref())?;
    if long > LONGEST {
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(long).unwrap_or_default());
    // Files in `/proc` claim to be empty, so their length is no limit.
    let read = file.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if read as u64 > LONGEST { Err(too_long()) } else { Ok(bytes) }
}

/// The text of a plain file; see [`open`].
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// The real path of something that exists: three system calls, however deep it is. It is not opened.
#[cfg(target_os = "linux")]
pub fn real(path: &Path) -> io::Result<PathBuf> {
    let opened = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    // On a system without `/proc`.
    path_of(&opened).or_else(|_| fs::canonicalize(path))
}

/// The present path of this open file or folder.
#[cfg(target_os = "linux")]
pub fn path_of(opened: &OwnedFd) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStringExt;
    let link = format!("/proc/self/fd/{}", opened.as_raw_fd());
    let real = rustix::fs::readlink(link, Vec::with_capacity(256))?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(real.into_bytes())))
}

#[cfg(not(target_os = "linux"))]
pub fn path_of(opened: &OwnedFd) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(opened)?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}

#[cfg(not(target_os = "linux"))]
pub fn real(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

fn not_plain() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "not a regular file")
}

fn too_long() -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, "larger than 64 MB")
}

/// A file as it was found; without bytes if it does not exist.
#[derive(Debug, Clone)]
pub struct Found {
    /// The path with all symlinks followed.
    pub path: PathBuf,
    pub bytes: Option<Vec<u8>>,
}

pub fn find(path: &Path) -> io::Result<Found> {
    let path = behind_links(path)?;
    match read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Found { path, bytes: None }),
        // A socket cannot be opened at all.
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Err(not_plain()),
        read => Ok(Found { path, bytes: Some(read?) }),
    }
}

impl Found {
    /// Fails if the file is read-only: a rename would replace even such a file.
    pub fn check_writable(&self) -> io::Result<()> {
        match fs::metadata(&self.path) {
            Ok(known) if known.permissions().readonly() => {
                let words = format!("read-only (mode {:03o})", known.mode() & 0o777);
                Err(io::Error::new(ErrorKind::PermissionDenied, words))
            }
            _ => Ok(()),
        }
    }

    /// Replaces the file with these bytes. `mode` applies to a new file.
    pub fn replace(&self, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.check_writable()?;
        write_beside(&self.path, mode, |file| {
            self.keep_owner(file)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            self.check_unchanged()
        })
    }

    pub fn remove(&self) -> io::Result<()> {
        self.check_writable()?;
        self.check_unchanged()?;
        fs::remove_file(&self.path)
    }

    fn keep_owner(&self, file: &File) -> io::Result<()> {
        let Ok(old) = fs::metadata(&self.path) else { return Ok(()) };
        // Only the superuser may give a file away; for anybody else the owner is right already.
        let user = rustix::fs::Uid::from_raw(old.uid());
        let group = rustix::fs::Gid::from_raw(old.gid());
        let _ = rustix::fs::fchown(file, Some(user), Some(group));
        file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o7777))
    }

    fn check_unchanged(&self) -> io::Result<()> {
        if find(&self.path)?.bytes == self.bytes {
            return Ok(());
        }
        Err(io::Error::new(ErrorKind::ResourceBusy, "another process changed it just now; try again"))
    }
}

/// Makes a new file next to `path`, lets `write` fill it, and renames it into place: a reader sees the old
/// file or the new one, never a part. After an error `path` is unchanged and the new file is removed.
pub fn write_beside(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let spare = spare(path);
    let create = || OpenOptions::new().write(true).create_new(true).mode(mode).open(&spare);
    let created = create().or_else(|error| match error.kind() {
        // A killed process with our process ID left it behind.
        ErrorKind::AlreadyExists => fs::remove_file(&spare).and_then(|()| create()),
        _ => Err(error),
    });
    let done = created.and_then(|mut file| {
        if mode == 0o600 {
            // The umask may have removed the owner's own bits.
            file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        write(&mut file)?;
        fs::rename(&spare, path)
    });
    if done.is_err() {
        let _ = fs::remove_file(&spare);
    }
    done
}

/// Flushes the names in a folder to the disk.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Adds a line to a private list, unless the list contains it.
pub fn add_line(path: &Path, line: &str) -> io::Result<()> {
    let found = find(path)?;
    let mut list = found.bytes.clone().unwrap_or_default();
    if list.split(|b| *b == b'\n').any(|known| known.trim_ascii_end() == line.as_bytes()) {
        return Ok(());
    }
    if !list.is_empty() && !list.ends_with(b"\n") {
        list.push(b'\n');
    }
    list.extend_from_slice(line.as_bytes());
    list.push(b'\n');
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    found.replace(&list, 0o600)
}

/// Puts a private file with these bytes in place. The bytes are on the disk before the file gets its name.
pub fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_beside(path, 0o600, |file| file.write_all(bytes).and_then(|()| file.sync_data()))
}

/// The same in an open folder: if another folder takes its name meanwhile, that one is not changed.
pub fn replace_private_in(dir: &OwnedFd, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    replace_in(dir, name, bytes, |_| Ok(()))
}

/// The same; `dress` gives the new file, which is private, another owner or mode.
pub fn replace_in(
    dir: &OwnedFd,
    name: &str,
    bytes: &[u8],
    dress: impl FnOnce(&File) -> io::Result<()>,
) -> Result<(), Failure> {
    let spare = format!(".{name}.aops-{}", std::process::id());
    // A killed process with our process ID left it behind.
    let _ = rustix::fs::unlinkat(dir, spare.as_str(), AtFlags::empty());
    let storage = |error: io::Error| Failure::storage(name, error);
    let made = folder::make(dir, &spare, OFlags::WRONLY)?;
    let mut file = made.ok_or_else(|| Failure::storage(name, "another process writes it"))?;
    let written = dress(&file).and_then(|()| file.write_all(bytes)).and_then(|()| file.sync_data());
    let done = written.and_then(|()| Ok(rustix::fs::renameat(dir, spare.as_str(), dir, name)?));
    if done.is_err() {
        let _ = rustix::fs::unlinkat(dir, spare.as_str(), AtFlags::empty());
    }
    done.map_err(storage)
}

/// The longest file that is read in one piece.
const LARGEST: u64 = 1 << 20;

/// A plain file that is too long for [`read_short`].
pub fn is_too_long(path: &Path) -> bool {
    open_to_read(path).is_ok_and(|(_, long)| long > LARGEST)
}

/// The text of a file, whatever bytes it has; `None` if it is not a plain file, or too long.
pub fn read_short(path: &Path) -> Option<String> {
    read_short_or(path, || None)
}

/// The same, with another result for a file that is too long.
pub fn read_short_or(path: &Path, too_long: impl FnOnce() -> Option<String>) -> Option<String> {
    let (file, _) = open_to_read(path).ok()?;
    let mut bytes = Vec::new();
    let read = file.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
    if read as u64 > LARGEST {
        return too_long();
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The permission bits of a stat, whose raw mode is a `u16` on macOS.
#[allow(clippy::useless_conversion, reason = "on Linux it is a u32")]
pub fn mode_bits(stat: &Stat) -> u32 {
    u32::from(stat.st_mode) & 0o7777
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::unnecessary_cast,
    reason = "a u16 on macOS, a u32 on Linux"
)]
pub fn mode_of(bits: u32) -> Mode {
    Mode::from_raw_mode((bits & 0o7777) as RawMode)
}

/// Makes a folder and its missing parents; returns the new folders, the outermost first.
pub fn make_folders(folder: &Path, mode: u32) -> io::Result<Vec<PathBuf>> {
    let make = |folder: &Path| DirBuilder::new().mode(mode).create(folder).map(|()| folder.to_owned());
    missing(folder).into_iter().map(make).collect()
}

fn missing(folder: &Path) -> Vec<&Path> {
    let mut missing: Vec<_> =
        folder.ancestors().take_while(|f| !f.as_os_str().is_empty() && !f.exists()).collect();
    missing.reverse();
    missing
}

/// The path with symlinks in its last part followed; the target need not exist.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("/")).join(target);
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "too many links"))
}

fn spare(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.aops-{}", std::process::id()))
}

/// Whether this is the temporary name of a file that was never renamed into place because its writer was
/// killed.
pub fn is_unfinished(name: &str) -> bool {
    let parts = name.strip_prefix('.').and_then(|name| name.rsplit_once(".aops-"));
    parts.is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}

/// A private temporary folder, which is removed when the value is dropped.
#[derive(Debug)]
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> io::Result<Self> {
        let here = std::env::temp_dir();
        let mut tries = (0..100).map(|n| here.join(format!("aops-{name}-{}-{n}", std::process::id())));
        let make = |folder: PathBuf| DirBuilder::new().mode(0o700).create(&folder).map(|()| Self(folder));
        tries
            .find_map(|folder| make(folder).ok())
            .ok_or_else(|| io::Error::other("cannot make a temporary folder"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Syncs these files in parallel, each in a thread of its own, while `work` runs, so that three waits take as
/// long as one.
pub fn sync_meanwhile<T>(files: &[File], work: impl FnOnce() -> T) -> (io::Result<()>, T) {
    std::thread::scope(|scope| {
        let spawn = |file| {
            std::thread::Builder::new()
                .stack_size(64 << 10)
                .spawn_scoped(scope, move || File::sync_data(file))
        };
        let threads: Vec<_> = files.iter().map(|file| (file, spawn(file).ok())).collect();
        let done = work();
        let synced = threads.into_iter().try_for_each(|(file, thread)| {
            match thread.map(std::thread::ScopedJoinHandle::join) {
                Some(Ok(synced)) => synced,
                // No thread could be started.
                _ => file.sync_data(),
            }
        });
        (synced, done)
    })
}

/// Makes every missing folder of this path, with mode 0700 whatever the umask is. A relative path is refused:
/// without a home our folders would be made in the working directory.
pub fn make_all(path: &Path) -> Result<(), Failure> {
    if path.is_relative() {
        return Err(Failure::storage(path.display(), "not an absolute path"));
    }
    missing(path).into_iter().try_for_each(make)
}

/// Opens a folder below one of our folders, and makes what is missing. Only links on the way to `base` are
/// followed: anybody who can write there may have replaced a missing folder by a link.
pub fn open_own(base: &Path, names: &[&str]) -> Result<OwnedFd, Failure> {
    make_all(base)?;
    let gone = |path: &Path| Failure::storage(path.display(), "no longer exists");
    let mut dir = folder::enter(CWD, base, true)?.ok_or_else(|| gone(base))?;
    let mut path = base.to_owned();
    for name in names {
        path.push(name);
        let storage = |error: Errno| Failure::storage(path.display(), error);
        let made = match rustix::fs::mkdirat(&dir, *name, Mode::RWXU) {
            Err(Errno::EXIST) => false,
            made => made.map(|()| true).map_err(storage)?,
        };
        let entered =
            folder::enter(&dir, name, false).map_err(|error| Failure::storage(path.display(), error))?;
        dir = entered.ok_or_else(|| gone(&path))?;
        if made {
            // The umask may have removed the owner's own bits.
            rustix::fs::fchmod(&dir, Mode::RWXU).map_err(storage)?;
        }
    }
    Ok(dir)
}

/// Makes one folder, with mode 0700 whatever the umask is.
pub fn make(path: &Path) -> Result<(), Failure> {
    match rustix::fs::mkdirat(CWD, path, Mode::RWXU) {
        Ok(()) => rustix::fs::chmodat(CWD, path, Mode::RWXU, rustix::fs::AtFlags::empty())
            .map_err(|e| Failure::storage(path.display(), e)),
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(Failure::storage(path.display(), error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        // As a killed process would leave it.
        fs::write(spare(&path), "half").unwrap();
        replace_private(&path, b"first").unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), names(folder.path())),
            (b"first".to_vec(), vec!["a.json".to_owned()])
        );
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let failed = write_beside(&path, 0o600, |file| {
            file.write_all(b"second")?;
            Err(io::Error::other("no room"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no room");
        assert_eq!(
            (fs::read(&path).unwrap(), names(folder.path())),
            (b"first".to_vec(), vec!["a.json".to_owned()])
        );
    }

    #[test]
    fn another_process_changed_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let found = find(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        assert_eq!(found.replace(b"ours", 0o600).unwrap_err().kind(), ErrorKind::ResourceBusy);
        assert_eq!(
            (fs::read(&path).unwrap(), names(folder.path())),
            (b"theirs".to_vec(), vec!["a.json".to_owned()])
        );
    }

    /// Opening any of them does not wait.
    #[test]
    fn only_plain_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        rustix::fs::mknodat(CWD, at("fifo"), rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        fs::create_dir(at("folder")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        fs::write(at("plain"), "text").unwrap();
        std::os::unix::fs::symlink("plain", at("link")).unwrap();
        std::os::unix::fs::symlink("fifo", at("to_fifo")).unwrap();
        let long = File::create(at("long")).unwrap();
        long.set_len(LONGEST + 1).unwrap();
        for name in ["fifo", "folder", "socket", "to_fifo", "long", "none", "/dev/zero", "/dev/tty"] {
            assert!(read(at(name)).is_err(), "{name}");
            let write = &mut OpenOptions::new();
            assert!(name == "long" || open_as(at(name), write.append(true)).is_err(), "{name}");
            assert!(name == "long" || open_itself(at(name), write).is_err(), "{name}");
            assert_eq!(read_short(&at(name)), None, "{name}");
        }
        for name in ["plain", "link"] {
            assert_eq!(
                open_itself(at(name), OpenOptions::new().read(true)).is_ok(),
                name == "plain",
                "{name}"
            );
            assert_eq!(
                (read(at(name)).unwrap(), read_text(at(name)).unwrap()),
                (b"text".to_vec(), "text".to_owned())
            );
        }
        assert!(read_text("/proc/self/stat").unwrap().contains(") "));
        assert!(
            find(&at("fifo")).is_err()
                && find(&at("socket")).is_err()
                && find(&at("none")).unwrap().bytes.is_none()
        );
    }

    /// The ignore list of a repository may contain any bytes.
    #[test]
    fn a_line_is_added_once_and_the_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("info/exclude");
        for (before, after) in [
            (None, &b"/x/\n"[..]),
            (Some(&b"\xff\r\na"[..]), b"\xff\r\na\n/x/\n"),
            (Some(b"/x/\r\n"), b"/x/\r\n"),
        ] {
            if let Some(before) = before {
                fs::write(&path, before).unwrap();
            }
            add_line(&path, "/x/").unwrap();
            assert_eq!(fs::read(&path).unwrap(), after);
        }
        let list = folder.path().join("list");
        add_line(&list, "a").unwrap();
        assert_eq!(fs::metadata(&list).unwrap().permissions().mode() & 0o777, 0o600, "others do not read it");
    }

    #[test]
    fn modes_come_back() {
        let folder = tempfile::tempdir().unwrap();
        for bits in [0o600, 0o755, 0o4711, 0o1777] {
            rustix::fs::chmod(folder.path(), mode_of(bits | 0o100_000)).unwrap();
            assert_eq!(mode_bits(&rustix::fs::stat(folder.path()).unwrap()), bits);
        }
    }
}
