//! Expands patterns and searches folders on the disk.

use super::{How, Look, Unkept, Want};
use crate::checkpoint::tree::OURS;
use crate::system::files::mode_bits;
use crate::system::glob::matches;
use aops_shell::generated::is_database;
use aops_shell::syntax::{Bit, Word};
use rustix::fs::{FileType, Stat};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// How many names one pattern may match.
const MOST_NAMES: usize = 20_000;

pub(super) fn device(path: &Path) -> Result<libc::dev_t, String> {
    rustix::fs::stat(path).map(|about| about.st_dev).map_err(|error| error.to_string())
}

pub(super) fn stat(path: &Path) -> Option<Stat> {
    rustix::fs::lstat(path).ok()
}

pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// The path with its folder's real path; its last component is not resolved, even if it is a symlink.
pub(super) fn placed(path: &Path) -> Option<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Some(fs::canonicalize(folder).ok()?.join(name)),
        _ => fs::canonicalize(path).ok(),
    }
}

/// Programs keep such a file open and go on writing to it after its name is gone.
fn is_written_to(path: &Path) -> bool {
    let path = path.to_string_lossy();
    is_database(&path) || path.ends_with(".log")
}

impl Look<'_> {
    /// The same as `placed`; asked once for the files of one folder in a row.
    pub(super) fn placed(&mut self, path: &Path) -> Option<PathBuf> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return placed(path) };
        let (_, real) = match self.real.take().filter(|(known, _)| known == folder) {
            Some(known) => self.real.insert(known),
            None => self.real.insert((folder.to_owned(), fs::canonicalize(folder).ok())),
        };
        real.as_ref().map(|folder| folder.join(name))
    }

    /// The existing paths that this word stands for.
    pub(super) fn expand(&self, word: &Word) -> Result<Vec<PathBuf>, Unkept> {
        let word = &settled(word);
        let follows = [&[Bit::Char('/')][..], &[Bit::Char('/'), Bit::Char('.')]]
            .iter()
            .any(|ending| word.bits.ends_with(ending));
        let place = |path: &PathBuf| if follows { fs::canonicalize(path).ok() } else { placed(path) };
        let there = |path: &PathBuf| place(path).filter(|path| stat(path).is_some());
        if let Some(path) = word.literal() {
            return Ok(there(&PathBuf::from(path)).into_iter().collect());
        }
        let mut paths = vec![PathBuf::from("/")];
        let is_search = word.bits.windows(2).any(|pair| pair == [Bit::Star, Bit::Star]);
        for part in word.bits.split(|bit| *bit == Bit::Char('/')).filter(|part| !part.is_empty()) {
            let mut next = Vec::new();
            for path in &paths {
                self.check()?;
                if let Some(name) = literal(part) {
                    next.push(path.join(name));
                } else if part == [Bit::Star, Bit::Star] {
                    next.extend(self.below(path, word.bits.ends_with(part))?);
                } else {
                    let named = names(path)?.into_iter().filter(|name| matches(part, name, is_search));
                    next.extend(named.map(|name| path.join(name)));
                }
                if next.len() > MOST_NAMES {
                    return Err(Unkept::TooMuch { files: next.len(), bytes: 0 });
                }
            }
            paths = next;
        }
        Ok(paths.iter().filter_map(there).collect())
    }

    /// The folders that a search goes through from here on, or the files that it finds.
    fn below(&self, path: &Path, files: bool) -> Result<Vec<PathBuf>, Unkept> {
        let mut found = Vec::new();
        let mut waiting = vec![path.to_owned()];
        while let Some(path) = waiting.pop() {
            self.check()?;
            if path.ends_with(".git") || self.is_ours(&path) {
                continue;
            }
            let is_folder = stat(&path).is_some_and(|stat| kind(&stat) == FileType::Directory);
            if is_folder {
                waiting.extend(names(&path)?.into_iter().map(|name| path.join(name)));
            }
            if is_folder != files {
                found.push(path);
            }
            if found.len() + waiting.len() > MOST_NAMES {
                return Err(Unkept::TooMuch { files: found.len(), bytes: 0 });
            }
        }
        Ok(found)
    }

    /// All files below with one of these names; or all files, if no names are given.
    pub(super) fn search(&self, root: &Word, wanted: &[Word]) -> Result<Vec<PathBuf>, Unkept> {
        let mut found = Vec::new();
        let mut waiting = self.expand(root)?;
        while let Some(path) = waiting.pop() {
            self.check()?;
            let Some(stat) = stat(&path) else { continue };
            let name = path.file_name().unwrap_or_default();
            if kind(&stat) == FileType::Directory {
                if name != ".git" && !self.is_ours(&path) {
                    waiting.extend(names(&path)?.into_iter().map(|name| path.join(name)));
                }
            } else if wanted.is_empty() || wanted.iter().any(|word| matches(&word.bits, name, false)) {
                found.push(path);
            }
            if found.len() > MOST_NAMES {
                return Err(Unkept::TooMuch { files: found.len(), bytes: 0 });
            }
        }
        Ok(found)
    }

    /// The folder of checkpoints, which no command reaches.
    pub(super) fn is_ours(&self, path: &Path) -> bool {
        path.starts_with(self.place.root.join(OURS))
    }

    /// How to keep this file. `None`: it has no content, for example a socket.
    fn want(&self, path: &Path, stat: &Stat, is_unlinked: bool) -> Result<Option<Want>, Unkept> {
        let mode = mode_bits(stat);
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        match kind(stat) {
            FileType::Symlink => {
                let target =
                    fs::read_link(path).map_err(|e| Unkept::Unreadable(path.to_owned(), e.to_string()))?;
                Ok(Some(Want { mode, size: 0, how: How::Symlink(target) }))
            }
            FileType::RegularFile if self.is_others(stat) => Err(Unkept::OtherOwner(path.to_owned())),
            // Its own mode keeps its owner out: whoever keeps it could not open it.
            FileType::RegularFile if mode & 0o400 == 0 && self.user != 0 => {
                Err(Unkept::Unreadable(path.to_owned(), "nobody may read it".to_owned()))
            }
            FileType::RegularFile => {
                let links = self.links && is_unlinked && !is_written_to(path);
                let links = links && stat.st_nlink == 1 && stat.st_dev == self.device && size > 0;
                let how = if links {
                    How::Link { inode: stat.st_ino, modified: modified(stat) }
                } else {
                    How::Copy
                };
                Ok(Some(Want { mode, size, how }))
            }
            _ => Ok(None),
        }
    }

    fn is_others(&self, stat: &Stat) -> bool {
        stat.st_uid != self.user && self.user != 0
    }

    pub(super) fn add(&mut self, path: &Path, is_unlinked: bool) -> Result<(), Unkept> {
        stat(path).map_or(Ok(()), |stat| self.add_seen(path, &stat, is_unlinked))
    }

    pub(super) fn add_seen(&mut self, path: &Path, stat: &Stat, is_unlinked: bool) -> Result<(), Unkept> {
        match self.want(path, stat, is_unlinked)? {
            Some(want) => self.found.put(path, want),
            None if is_unlinked => self.found.hollow += 1,
            None => {}
        }
        self.check()
    }
}

/// The root of the working tree that contains this folder.
pub(super) fn root_above(folder: &Path) -> Option<PathBuf> {
    let is_root = |folder: &&Path| stat(&folder.join(".git")).is_some();
    folder.ancestors().find(is_root).map(Path::to_owned)
}

/// `$(pwd)/x`, `$(git rev-parse --show-toplevel)/x`: the substitution stands for the folder in which it runs.
pub(super) fn settled(word: &Word) -> Word {
    if word.places == 0 || !word.bits.contains(&Bit::Any) {
        return word.clone();
    }
    let is_here = word.printed.iter().any(|name| &**name == "pwd");
    let mut text = String::new();
    let mut bits: Vec<Bit> = Vec::new();
    for bit in &word.bits {
        match bit {
            // Outside of a repository git prints nothing.
            Bit::Any if !is_here => {
                let root = fs::canonicalize(&text).ok().and_then(|folder| root_above(&folder));
                text = root.map(|root| root.to_string_lossy().into_owned()).unwrap_or_default();
                bits = text.chars().map(Bit::Char).collect();
            }
            Bit::Any => {}
            other => {
                text.extend(if let Bit::Char(c) = other { Some(*c) } else { None });
                bits.push(*other);
            }
        }
    }
    Word { bits, ..Word::default() }
}

/// In nanoseconds.
pub(super) fn modified(stat: &Stat) -> i64 {
    stat.st_mtime * 1_000_000_000 + i64::try_from(stat.st_mtime_nsec).unwrap_or(0)
}

fn literal(part: &[Bit]) -> Option<String> {
    part.iter().map(|bit| if let Bit::Char(c) = bit { Some(*c) } else { None }).collect()
}

/// The entries of a folder; empty if it is not a folder.
pub(super) fn names(folder: &Path) -> Result<Vec<OsString>, Unkept> {
    let unreadable = |error: std::io::Error| Unkept::Unreadable(folder.to_owned(), error.to_string());
    match fs::read_dir(folder) {
        Ok(items) => items.map(|item| item.map(|item| item.file_name()).map_err(unreadable)).collect(),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) => Ok(Vec::new()),
        Err(error) => Err(unreadable(error)),
    }
}

/// Additional files that a database keeps next to its own.
pub(super) fn beside(path: &Path) -> Vec<PathBuf> {
    const DATABASES: &[&str] = &["db", "db3", "sqlite", "sqlite3"];
    let is_database = path.extension().and_then(OsStr::to_str).is_some_and(|end| DATABASES.contains(&end));
    let with = |end: &&str| {
        let mut whole = path.as_os_str().to_owned();
        whole.push(end);
        PathBuf::from(whole)
    };
    if is_database { ["-wal", "-shm", "-journal"].iter().map(with).collect() } else { Vec::new() }
}
