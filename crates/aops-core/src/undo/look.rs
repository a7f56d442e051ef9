//! Finds what a line would destroy that exists nowhere else: files on the disk, and the rest with git.
//!
//! Reads the disk and asks git; writes nothing. Invariants: symlinks are not followed, except where a
//! redirection would follow them; what cannot be known, read or counted in time is an [`Unkept`], never
//! "nothing is lost".

mod disk;
mod repository;
mod files;

pub use repository::RepositoryWant;

use super::crontab;
use super::words::{count_files, size};
use crate::config::policy::{Policy, Undo};
use crate::system::env::Env;
use crate::system::process::Sharing;
use aops_shell::loss::{GitLoss, Loss, Losses};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Used instead of a danger rule: a command that nobody was asked about may change anything in the tree.
pub const CONTAINED: &str = "contained";

/// How much is kept without asking, and how long the search may take.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub files: usize,
    /// For files that are copied; hard links cost nothing.
    pub bytes: u64,
    pub look: Duration,
}

impl Bounds {
    pub fn of(policy: &Policy) -> Self {
        let Undo { files, mb, look_ms, .. } = policy.undo;
        Self {
            files: usize::try_from(files).unwrap_or(usize::MAX),
            bytes: mb << 20,
            look: Duration::from_millis(look_ms),
        }
    }
}

/// Where the line runs, and which rules found something in it.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub env: &'a Env,
    /// The root of the session's tree, whose store receives what is kept.
    pub root: &'a Path,
    pub cwd: &'a Path,
    /// The danger rules that found something.
    pub rules: &'a [&'a str],
    /// Only whether everything can be kept is asked: a file of a repository that may have changed, by its
    /// times and size in git's index, counts as changed, and nothing is read to find out.
    pub quick: bool,
}

/// One file that is about to be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    pub mode: u32,
    pub size: u64,
    pub how: How,
}

impl Want {
    /// Nothing is there.
    const NOTHING: Self = Self { mode: 0, size: 0, how: How::Absent };
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// It is unlinked and has no other name, so a hard link preserves it.
    Link {
        inode: u64,
        modified: i64,
    },
    Copy,
    /// A symlink, by its target.
    Symlink(PathBuf),
    /// It is already gone, and that is the state to restore.
    Absent,
}

/// Everything that must be kept before the line runs. Paths are real.
#[derive(Debug, Default)]
pub struct Found {
    /// By path, sorted by its bytes: comparing two paths part by part takes thirty times as long.
    files: BTreeMap<OsString, Want>,
    /// Bytes that are copied.
    copied: u64,
    pub folders: BTreeMap<PathBuf, u32>,
    pub repositories: Vec<RepositoryWant>,
    /// The user's crontab, if there is one.
    pub crontab: Option<Vec<u8>>,
    /// Number of pipes and sockets that are removed: they have no content to keep.
    pub hollow: u64,
}

impl Found {
    pub fn is_empty(&self) -> bool {
        self.count() == 0 && self.crontab.is_none() && self.repositories.iter().all(RepositoryWant::is_empty)
    }

    pub fn count(&self) -> usize {
        self.files.values().filter(|want| want.how != How::Absent).count()
    }

    pub fn bytes(&self) -> u64 {
        self.files.values().map(|want| want.size).sum()
    }

    pub fn files(&self) -> impl ExactSizeIterator<Item = (&Path, &Want)> {
        self.files.iter().map(|(path, want)| (Path::new(path), want))
    }

    /// Adds a file. One that is both removed and overwritten is copied.
    fn put(&mut self, path: &Path, want: Want) {
        let old = self.files.entry(path.as_os_str().to_owned()).or_insert(Want::NOTHING);
        if old.how != How::Copy {
            self.copied += if want.how == How::Copy { want.size } else { 0 };
            *old = want;
        }
    }
}

/// Why something cannot be kept, as text for the person who is asked instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unkept {
    /// More than the bounds allow: this many files and bytes were found until then.
    TooMuch {
        files: usize,
        bytes: u64,
    },
    /// It could not be counted in time: this many files and bytes were found until then.
    Slow {
        files: usize,
        bytes: u64,
    },
    OtherOwner(PathBuf),
    OtherDisk(PathBuf),
    Unreadable(PathBuf, String),
    NoRoom,
    /// Recent keepings already use all the permitted space: this many megabytes.
    Full(u64),
    Git(String),
}

impl fmt::Display for Unkept {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Slow { files: 0, .. } => write!(f, "more files in no commit than can be counted in time"),
            Self::TooMuch { files, bytes } | Self::Slow { files, bytes } => {
                write!(f, "at least {}, {}, in no commit", count_files(*files), size(*bytes))?;
                if matches!(self, Self::Slow { .. }) {
                    write!(f, ", more than can be counted in time")
                } else {
                    Ok(())
                }
            }
            Self::OtherOwner(path) => write!(f, "`{}` belongs to another user", path.display()),
            Self::OtherDisk(path) => write!(f, "`{}` is on another file system", path.display()),
            Self::Unreadable(path, why) => write!(f, "`{}` cannot be read: {why}", path.display()),
            Self::NoRoom => write!(f, "there is no room on the disk to keep it"),
            Self::Full(mb) => write!(f, "{mb} MB were kept within a day, and `undo.keep_mb` allows no more"),
            Self::Git(why) => write!(f, "git could not tell what would be lost: {why}"),
        }
    }
}

/// A search that finds little may take this many times the bound.
const PATIENT: u32 = 20;

/// One search: what was found so far, and how long it may continue.
struct Look<'a> {
    place: Place<'a>,
    bounds: Bounds,
    until: Instant,
    found: Found,
    /// The file system that contains the store.
    device: libc::dev_t,
    /// Files that tools make again are skipped.
    spares: bool,
    /// Facts about the folder that was asked about last, since files of one folder are asked about one after
    /// the other.
    around: RefCell<Option<files::Around>>,
    /// A removed file is kept by another name of it.
    links: bool,
    /// The folder whose real path was asked last, and that path.
    real: Option<(PathBuf, Option<PathBuf>)>,
    /// The user who runs this.
    user: u32,
}

/// What this line would destroy for good.
pub fn look(place: Place, losses: &Losses, bounds: Bounds) -> Result<Found, Unkept> {
    let _sharing = Sharing::begin();
    let device = disk::device(place.root).map_err(|why| Unkept::Unreadable(place.root.to_owned(), why))?;
    let mut look = Look {
        place,
        bounds,
        until: Instant::now() + bounds.look,
        found: Found::default(),
        device,
        spares: false,
        around: RefCell::default(),
        links: losses.out_of_reach && !place.rules.contains(&CONTAINED),
        real: None,
        user: rustix::process::geteuid().as_raw(),
    };
    let mut removed = Vec::new();
    for loss in &losses.all {
        match loss {
            Loss::Removed(word) => removed.extend(look.expand(word)?),
            Loss::Found { root, names } if look.is_ruled("find-delete") => {
                removed.extend(look.search(root, names)?);
            }
            Loss::Overwritten(word) => {
                for path in look.expand(word)? {
                    look.overwritten(&path)?;
                }
            }
            Loss::Replaced { sources, target, moves } => look.replaced(sources, target, *moves)?,
            Loss::Crontab => look.crontab()?,
            Loss::Git { folder, what } if what.is_free() || look.is_ruled(rule_of(what)) => {
                let folder = PathBuf::from(disk::settled(folder).lossy());
                look.git(&folder, what)?;
            }
            Loss::Found { .. } | Loss::Git { .. } => {}
        }
    }
    if look.is_ruled(CONTAINED) {
        look.spared(|look| look.removed(&removed))?;
    } else {
        look.removed(&removed)?;
    }
    // The index keeps its contents, unless the index itself is lost.
    for state in look.found.repositories.iter_mut().filter(|state| !state.index && state.worktree.is_none()) {
        state.indexed.clear();
    }
    look.check_room()?;
    Ok(look.found)
}

/// The rule that asks about a loss of this kind; without it the command loses nothing.
fn rule_of(loss: &GitLoss) -> &'static str {
    match loss {
        GitLoss::Changes { .. } => "git-discard",
        GitLoss::Untracked { .. } => "git-clean",
        GitLoss::Stashes => "git-drop-stash",
        GitLoss::Branches(_) | GitLoss::Tags(_) => "git-delete-branch",
        GitLoss::Worktree(_) => "git-remove-worktree",
    }
}

impl Look<'_> {
    fn is_ruled(&self, rule: &str) -> bool {
        self.place.rules.contains(&rule)
    }

    fn check(&self) -> Result<(), Unkept> {
        let files = self.found.files.len();
        let bytes = self.found.copied;
        if files > self.bounds.files || bytes > self.bounds.bytes {
            return Err(Unkept::TooMuch { files, bytes: self.found.bytes() });
        }
        // A busy machine alone is no reason to ask: only a large amount is, or a very long time.
        let late = Instant::now().saturating_duration_since(self.until);
        let is_slow = !late.is_zero() && files > self.bounds.files / 5 || late > self.bounds.look * PATIENT;
        if is_slow { Err(Unkept::Slow { files, bytes: self.found.bytes() }) } else { Ok(()) }
    }

    fn crontab(&mut self) -> Result<(), Unkept> {
        let unreadable = |why| Unkept::Unreadable(PathBuf::from("crontab"), why);
        let table = crontab::listed(self.place.env).map_err(unreadable)?;
        self.found.crontab = Some(table).filter(|table| !table.is_empty());
        Ok(())
    }

    fn check_room(&self) -> Result<(), Unkept> {
        /// Disk space that is left free for everything else.
        const ROOM: u64 = 64 << 20;
        let copied = self.found.copied;
        if copied == 0 {
            return Ok(());
        }
        let free =
            rustix::fs::statvfs(self.place.root).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        if free.is_ok_and(|free| free < copied + ROOM) { Err(Unkept::NoRoom) } else { Ok(()) }
    }
}
