//! A path as the disk sees it: symlinks and `..` followed as far as it exists, the rest as written.
//!
//! Reads the file system, creates nothing. Invariant: at most three system calls for a file that exists; a few more for
//! one that does not; none for a call that writes nothing.

use crate::command_line::{Bit, Word};
use crate::gate::guard::{Place, Protected};
use crate::reach::{Act, Reach};
use std::path::{Component, Path, PathBuf};

/// A chain of links longer than this is a trap.
const LINKS: usize = 16;
/// Targets looked up; a line that names more is judged by its text.
const TARGETS: usize = 64;

/// Fill in where each target really is, and which protected places exist where that decides.
pub fn settle(reach: &mut Reach, protected: &mut Protected) {
    let mut seen: Vec<(Word, Option<Word>)> = Vec::new();
    for target in reach.targets.iter_mut().take(TARGETS) {
        let known = seen.iter().find(|(path, _)| *path == target.path).map(|(_, real)| real.clone());
        // Whoever removes a link means the link, but what it leads to may be the goal: both are judged.
        target.real = known.unwrap_or_else(|| real_word(&target.path));
        seen.push((target.path.clone(), target.real.clone()));
    }
    if reach.targets.iter().any(|target| target.act == Act::Whole) {
        let places = protected.places().into_iter().map(|place| place.path);
        protected.standing = Some(places.filter(|path| std::fs::symlink_metadata(path).is_ok()).collect());
    }
}

/// The protected places under the names the disk gives them, where those differ. Once per session is enough.
pub fn real_places(protected: &Protected) -> Vec<Place> {
    let mut all = Vec::new();
    for place in protected.places() {
        let Some(real) = real(Path::new(&place.path)).and_then(|path| path.into_os_string().into_string().ok()) else {
            continue;
        };
        if real != place.path && !all.iter().any(|known: &Place| known.path == real) {
            all.push(Place { path: real, ..place });
        }
    }
    all
}

/// Where this path leads, whether or not its end exists.
pub fn real(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        if let Some(whole) = existing(&path) {
            return Some(whole);
        }
        // Not there: perhaps a link that leads nowhere yet.
        let folder = path.parent()?.to_path_buf();
        match (std::fs::read_link(&path), path.file_name()) {
            (Ok(next), _) => path = folder.join(next),
            (Err(_), Some(name)) => return Some(real_folder(&folder).join(name)),
            // Ends in `..` below something that does not exist.
            (Err(_), None) => return Some(lexical(&path)),
        }
    }
    None
}

/// The longest part of a folder's path that exists, as the disk names it, and the rest as written.
fn real_folder(folder: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut at = folder;
    loop {
        if let Some(whole) = existing(at) {
            let joined = rest.iter().rev().fold(whole, |path: PathBuf, part: &std::ffi::OsString| path.join(part));
            return lexical(&joined);
        }
        match (at.file_name(), at.parent()) {
            (Some(name), Some(parent)) => {
                rest.push(name.to_owned());
                at = parent;
            }
            _ => return lexical(folder),
        }
    }
}

/// A path or pattern with the certain part of it followed; `None` if the disk has nothing to add.
fn real_word(word: &Word) -> Option<Word> {
    let certain = word.bits.iter().position(|bit| !matches!(bit, Bit::Char(_))).unwrap_or(word.bits.len());
    if certain == word.bits.len() {
        let found = real(Path::new(&word.literal()?))?;
        return found.to_str().map(Word::of).filter(|found| found != word);
    }
    let cut = word.bits[..certain].iter().rposition(|bit| *bit == Bit::Char('/'))?;
    let folder = Word { bits: word.bits[..cut].to_vec(), ..Word::default() }.literal()?;
    let found = existing(Path::new(&folder))?;
    let found = Word::of(found.to_str().filter(|found| *found != folder)?);
    Some(word.after(cut + 1).from_folder(&found))
}

/// The path of something that exists, every link followed.
#[cfg(target_os = "linux")]
fn existing(path: &Path) -> Option<PathBuf> {
    use rustix::fs::{Mode, OFlags};
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStringExt;
    let opened = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut name = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0\0";
    let digits = opened.as_raw_fd().to_string();
    name[14..14 + digits.len()].copy_from_slice(digits.as_bytes());
    let link = std::str::from_utf8(&name[..14 + digits.len()]).ok()?;
    match rustix::fs::readlink(link, Vec::with_capacity(256)) {
        Ok(real) => Some(PathBuf::from(std::ffi::OsString::from_vec(real.into_bytes()))),
        // No /proc here.
        Err(_) => std::fs::canonicalize(path).ok(),
    }
}

#[cfg(not(target_os = "linux"))]
fn existing(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok()
}

/// Without `.` and `..`, by the letters alone.
fn lexical(path: &Path) -> PathBuf {
    let mut all = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                all.pop();
            }
            Component::CurDir => {}
            other => all.push(other),
        }
    }
    all
}
