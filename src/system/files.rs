//! Reads whole files and replaces them, never half: a new file beside the old one, then one rename.
//!
//! Reads and writes the files it is told. Follows links to the file behind them, which is the one replaced; keeps mode
//! and owner. Invariant: a file that somebody else changed in between, or made read-only, is left as it is.

use crate::model::error::Failure;
use rustix::fs::{CWD, Mode};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// No text we edit is longer.
const LONGEST: u64 = 64 << 20;

/// A file as it was found: there with its bytes, or not there.
#[derive(Debug, Clone)]
pub struct Found {
    /// Behind all links.
    pub path: PathBuf,
    pub bytes: Option<Vec<u8>>,
}

/// Look at one file.
pub fn find(path: &Path) -> io::Result<Found> {
    let path = behind_links(path)?;
    let known = match fs::metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found { path, bytes: None }),
        known => known?,
    };
    if !known.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    if known.len() > LONGEST {
        return Err(io::Error::new(ErrorKind::FileTooLarge, "larger than 64 MB"));
    }
    let mut bytes = Vec::new();
    File::open(&path)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(Found { path, bytes: Some(bytes) })
}

impl Found {
    /// Why it cannot be replaced, as far as one can know before trying.
    pub fn check_writable(&self) -> io::Result<()> {
        match fs::metadata(&self.path) {
            Ok(known) if known.permissions().readonly() => {
                let words = format!("read-only (mode {:03o})", known.mode() & 0o777);
                Err(io::Error::new(ErrorKind::PermissionDenied, words))
            }
            _ => Ok(()),
        }
    }

    /// Put these bytes in its place. `mode` is for a file that was not there.
    pub fn replace(&self, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.check_writable()?;
        let spare = spare(&self.path);
        let done = self.write_spare(&spare, bytes, mode).and_then(|()| {
            self.check_unchanged()?;
            fs::rename(&spare, &self.path)
        });
        if done.is_err() {
            let _ = fs::remove_file(&spare);
        }
        done
    }

    /// Take the file away.
    pub fn remove(&self) -> io::Result<()> {
        self.check_writable()?;
        self.check_unchanged()?;
        fs::remove_file(&self.path)
    }

    fn write_spare(&self, spare: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(spare)?;
        if let Ok(old) = fs::metadata(&self.path) {
            // Only the superuser may give a file away; for all others the owner is right already.
            let (user, group) = (rustix::fs::Uid::from_raw(old.uid()), rustix::fs::Gid::from_raw(old.gid()));
            let _ = rustix::fs::fchown(&file, Some(user), Some(group));
            file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o7777))?;
        } else if mode == 0o600 {
            // Private is private, whatever the umask says; it may take the owner's own bits away.
            file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        file.write_all(bytes)?;
        file.sync_all()
    }

    fn check_unchanged(&self) -> io::Result<()> {
        if find(&self.path)?.bytes == self.bytes {
            return Ok(());
        }
        Err(io::Error::new(ErrorKind::ResourceBusy, "somebody else changed it just now; try again"))
    }
}

/// Make a folder and those above it; gives those that were not there, the outermost first.
pub fn make_folders(folder: &Path, mode: u32) -> io::Result<Vec<PathBuf>> {
    let missing: Vec<_> =
        folder.ancestors().take_while(|f| !f.as_os_str().is_empty() && !f.exists()).collect();
    let mut new = Vec::new();
    for folder in missing.into_iter().rev() {
        DirBuilder::new().mode(mode).create(folder)?;
        new.push(folder.to_owned());
    }
    Ok(new)
}

/// The file a path stands for, when links are followed to the end, be it there or not.
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

/// The name of a file that its writer had not put in place yet.
pub fn is_unfinished(name: &str) -> bool {
    let parts = name.strip_prefix('.').and_then(|name| name.rsplit_once(".aops-"));
    parts.is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}

/// A folder of our own among the temporary ones, gone with the value.
#[derive(Debug)]
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> io::Result<Self> {
        let here = std::env::temp_dir();
        let mut tries = (0..100).map(|n| here.join(format!("aops-{name}-{}-{n}", std::process::id())));
        // One that a killed process left behind is not ours to use.
        let make = |folder: PathBuf| DirBuilder::new().mode(0o700).create(&folder).map(|()| Self(folder));
        tries
            .find_map(|folder| make(folder).ok())
            .ok_or_else(|| io::Error::other("no room for a temporary folder"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes every missing folder on the way, each private, whatever the umask says.
pub fn make_all(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_all(parent)?;
    }
    make(path)
}

/// Makes one private folder, whatever the umask says.
pub fn make(path: &Path) -> Result<(), Failure> {
    match rustix::fs::mkdirat(CWD, path, Mode::RWXU) {
        Ok(()) => rustix::fs::chmodat(CWD, path, Mode::RWXU, rustix::fs::AtFlags::empty())
            .map_err(|e| Failure::storage(path.display(), e)),
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(Failure::storage(path.display(), error)),
    }
}
