//! Lists the notes and reads one of them.
//!
//! Reads folders and files below the data folder. Invariants: no symlink is followed, neither in a folder's place nor in
//! a file's; what is hidden, and `sessions/` where we write insights, is left out; a note is read up to `LARGEST`.

use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

/// Bytes of a note that count.
const LARGEST: u64 = 1 << 20;
/// More notes than these are left out.
const MOST: usize = 100_000;
const DEEPEST: usize = 32;

/// All notes, in the order of their paths, and whether the deadline let us see all folders.
pub(super) fn list(data: &Path, deadline: Option<Instant>) -> (Vec<PathBuf>, bool) {
    let mut notes = Vec::new();
    let mut folders = vec![(PathBuf::new(), 0)];
    while let Some((folder, deep)) = folders.pop() {
        if notes.len() >= MOST || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            notes.sort();
            return (notes, false);
        }
        for entry in fs::read_dir(data.join(&folder)).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Ok(kind) = entry.file_type() else { continue };
            if name.as_bytes().starts_with(b".") {
                continue;
            }
            let path = folder.join(&name);
            if kind.is_dir() && deep < DEEPEST && !(deep == 0 && name == "sessions") {
                folders.push((path, deep + 1));
            } else if kind.is_file() && is_note(&path) {
                notes.push(path);
            }
        }
    }
    notes.sort();
    (notes, true)
}

fn is_note(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

/// A path that `list` could have given.
pub(super) fn is_plain(path: &Path) -> bool {
    is_note(path)
        && path.components().all(|part| matches!(part, Component::Normal(name) if !name.as_bytes().starts_with(b".")))
}

/// Length and time of the last change, in nanoseconds since 1970.
pub(super) fn stamp(data: &Path, note: &Path) -> io::Result<(u64, i64)> {
    let known = fs::symlink_metadata(data.join(note))?;
    let changed = known.mtime().saturating_mul(1_000_000_000).saturating_add(known.mtime_nsec());
    Ok((known.len(), changed))
}

/// The note's text; bytes that are no text become U+FFFD.
pub(super) fn read(data: &Path, note: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    open(&data.join(note))?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()))
}

/// A pipe that took the note's place must not hold us up.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}
