//! What a command changed in a throwaway layer: compares the files of the upper folders with those below.
//!
//! Reads both. Invariants: a file that could not be compared counts as changed; a lost file that no tool can
//! make again is listed or at least counted; a new generated folder is listed as one.

use crate::model::profile::{Loss, Losses, LostFile};
use aops_shell::generated::is_folder;
use aops_shell::leftovers::{is_cache, is_made_again};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// At most this many entries of a layer are looked at, and this many files listed.
const MOST_ENTRIES: usize = 20_000;
const MOST_LISTED: usize = 1_000;
const DEEPEST: usize = 64;
/// So many files of a new generated folder are listed by name.
const FEW: usize = 5;
/// At most this many bytes are compared: of one file, and in total.
const LARGEST: u64 = 1 << 20;
const LARGEST_ALL: u64 = 32 << 20;

/// A folder with a layer over it.
pub(super) struct Covered {
    /// Number of its upper folder.
    pub(super) number: usize,
    pub(super) path: PathBuf,
    pub(super) original: OwnedFd,
}

pub(super) fn open(at: impl AsFd, name: &str) -> Result<OwnedFd, String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty()).map_err(failed)
}

pub(super) fn failed(error: rustix::io::Errno) -> String {
    format!("layer: {error}")
}

#[derive(Default)]
pub(super) struct Looked {
    entries: usize,
    compared: u64,
    /// Listed first; files that a tool can make again are left out when the list is full.
    sources: Vec<LostFile>,
    made_again: Vec<LostFile>,
    more: u64,
}

impl Looked {
    /// `inside`: the covered folder, from the project; `path`: this folder, from the covered one.
    pub(super) fn walk(&mut self, folder: &OwnedFd, covered: &Covered, inside: &Path, path: &Path) {
        let Ok(items) = Dir::read_from(folder) else { return };
        for item in items.flatten() {
            let name = item.file_name().to_string_lossy().into_owned();
            if name == "." || name == ".." {
                continue;
            }
            let below = path.join(&name);
            let shown = inside.join(&below).to_string_lossy().into_owned();
            let has_folder = item.file_type() == FileType::Directory;
            if is_cache(&if has_folder { format!("{shown}/") } else { shown.clone() }) {
                continue;
            }
            self.entries += 1;
            let too_many = self.entries > MOST_ENTRIES || below.components().count() > DEEPEST;
            match has_folder.then(|| open(folder, &name)) {
                _ if too_many => self.more += u64::from(!is_made_again(&shown)),
                Some(Ok(deeper)) if is_folder(&shown) && is_new(covered, &below) => {
                    self.walk_made(&deeper, covered, inside, &below);
                }
                Some(Ok(deeper)) => self.walk(&deeper, covered, inside, &below),
                Some(Err(_)) => self.more += 1,
                None => {
                    let loss = self.loss(folder, &name, covered, &below);
                    self.add(loss.map(|loss| LostFile { loss, path: shown }));
                }
            }
        }
    }

    /// A generated folder that was not there before: with more than a few files it is one loss,
    /// `node_modules/`.
    fn walk_made(&mut self, folder: &OwnedFd, covered: &Covered, inside: &Path, path: &Path) {
        let mut found = Self { entries: self.entries, compared: self.compared, ..Self::default() };
        found.walk(folder, covered, inside, path);
        self.entries = found.entries;
        self.compared = found.compared;
        found.sources.append(&mut found.made_again);
        if found.sources.len() > FEW || found.more > 0 {
            let path = format!("{}/", inside.join(path).to_string_lossy());
            found.sources = vec![LostFile { loss: Loss::Made, path }];
        }
        found.sources.into_iter().for_each(|lost| self.add(Some(lost)));
    }

    /// What was lost in this file; `None` if it is as before.
    fn loss(&mut self, folder: &OwnedFd, name: &str, covered: &Covered, below: &Path) -> Option<Loss> {
        let now = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let before = statat(&covered.original, below, AtFlags::SYMLINK_NOFOLLOW).ok();
        // An overlay marks a removed file with a character device of number 0.
        let removed =
            now.as_ref().is_some_and(|now| kind(now) == FileType::CharacterDevice && now.st_rdev == 0);
        match (now, before) {
            (_, Some(_)) if removed => Some(Loss::Removed),
            (_, None) if removed => None,
            (_, None) => Some(Loss::Made),
            (Some(now), Some(before)) if self.is_same(folder, name, &now, covered, below, &before) => None,
            _ => Some(Loss::Changed),
        }
    }

    fn is_same(
        &mut self,
        folder: &OwnedFd,
        name: &str,
        now: &Stat,
        covered: &Covered,
        below: &Path,
        before: &Stat,
    ) -> bool {
        let size = u64::try_from(now.st_size).unwrap_or(u64::MAX);
        let alike = (now.st_mode, now.st_size) == (before.st_mode, before.st_size);
        if !alike
            || kind(now) != FileType::RegularFile
            || size > LARGEST
            || self.compared + size > LARGEST_ALL
        {
            return false;
        }
        self.compared += size;
        let read = |at: &OwnedFd, path: &Path| {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let mut bytes = Vec::new();
            let file = File::from(openat(at, path, flags, Mode::empty()).ok()?);
            file.take(LARGEST + 1).read_to_end(&mut bytes).ok().map(|_| bytes)
        };
        let now = read(folder, Path::new(name));
        now.is_some() && now == read(&covered.original, below)
    }

    fn add(&mut self, lost: Option<LostFile>) {
        let Some(lost) = lost else { return };
        let again = is_made_again(&lost.path);
        let files = if again { &mut self.made_again } else { &mut self.sources };
        if files.len() < MOST_LISTED {
            files.push(lost);
        } else {
            self.more += u64::from(!again);
        }
    }

    pub(super) fn losses(mut self, full_mb: Option<u64>) -> Losses {
        for list in [&mut self.sources, &mut self.made_again] {
            list.sort_by(|one, other| one.path.cmp(&other.path));
        }
        self.sources.append(&mut self.made_again);
        Losses { files: self.sources, full_mb, more: self.more, ports: Vec::new() }
    }
}

fn is_new(covered: &Covered, below: &Path) -> bool {
    statat(&covered.original, below, AtFlags::SYMLINK_NOFOLLOW).is_err()
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}
