//! `.claude/checkpoints/`: the checkpoints of one tree, the contents of their files, and caches.
//!
//! Reads and writes that folder, and `info/exclude` of the repository. Invariants: one writer at a time;
//! every file gets its name by a rename, when it is complete; no symlink is followed; git ignores the folder.

pub mod blob;
pub mod cache;
mod guarded;
pub mod index;
pub mod sweep;

use self::guarded::Guarded;
use crate::checkpoint::form::{Checkpoint, Id, text};
use crate::checkpoint::tree::is_below;
use crate::ledger::lock::Lock;
use crate::model::error::{Code, Failure};
use crate::system::git::exclude;
use crate::system::{env::Env, folder};
use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

#[derive(Debug)]
pub struct Store {
    pub root: PathBuf,
    pub tree: OwnedFd,
    pub dir: OwnedFd,
    blobs: OwnedFd,
    /// Where files are written before they are renamed into place.
    pub spare: OwnedFd,
    _lock: Option<Lock>,
    made: AtomicU64,
    guarded: Guarded,
}

pub const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
pub const NEW_FILE: OFlags =
    OFlags::RDWR.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
pub const PRIVATE: Mode = Mode::RWXU;

type Unseal = fn(&[u8]) -> Result<Checkpoint, String>;

impl Store {
    /// Opens it for writing, locked until dropped; creates it if it is missing.
    pub fn open(env: &Env, root: &Path) -> Result<Self, Failure> {
        let store = Self::open_contents(env, root)?;
        store.hide_from_git();
        store.adopt(env)?;
        Ok(store)
    }

    /// The same for a process that stores contents and no checkpoint.
    pub fn open_contents(env: &Env, root: &Path) -> Result<Self, Failure> {
        let tree = tree(root)?;
        let claude = make(&tree, ".claude", Mode::from_raw_mode(0o755))?;
        let dir = make(&claude, "checkpoints", PRIVATE)?;
        let lock = Some(Lock::acquire(&dir)?);
        let blobs = make(&dir, "blobs", PRIVATE)?;
        let spare = make(&dir, "spare", PRIVATE)?;
        let store = Self {
            root: root.to_owned(),
            guarded: Guarded::of(&env.config),
            tree,
            dir,
            blobs,
            spare,
            _lock: lock,
            made: AtomicU64::new(0),
        };
        // Files that a killed process left behind.
        for name in names(&store.spare)? {
            let _ = rustix::fs::unlinkat(&store.spare, name, AtFlags::empty());
        }
        if !store.is_hidden() {
            store.hide_from_git();
        }
        Ok(store)
    }

    fn is_hidden(&self) -> bool {
        rustix::fs::accessat(&self.dir, IGNORE, Access::EXISTS, AtFlags::empty()) != Err(Errno::NOENT)
    }

    /// Makes git ignore the store: with an ignore file in the store, for a folder that becomes a repository
    /// later, and with a line in the repository's own list. Read-only files are left unchanged.
    fn hide_from_git(&self) {
        if !self.is_hidden() {
            let _ = self.put(&self.dir, IGNORE, |file| file.write_all(b"*\n").map(|()| true));
        }
        let _ = exclude::add_line(&self.root, HIDDEN);
    }

    /// Opens it for reading, without the lock; `None` if there is no store.
    pub fn look(root: &Path) -> Result<Option<Self>, Failure> {
        let Ok(tree) = tree(root) else { return Ok(None) };
        let Some(claude) = enter(&tree, ".claude")? else { return Ok(None) };
        let Some(dir) = enter(&claude, "checkpoints")? else { return Ok(None) };
        let (Some(blobs), Some(spare)) = (enter(&dir, "blobs")?, enter(&dir, "spare")?) else {
            return Ok(None);
        };
        Ok(Some(Self {
            root: root.to_owned(),
            tree,
            dir,
            blobs,
            spare,
            _lock: None,
            made: AtomicU64::new(0),
            guarded: Guarded::default(),
        }))
    }

    /// Files that guard a session: never read into the store and never changed by it. The tree may contain
    /// the client's folder, for instance if the home is a repository.
    pub fn is_guarded(&self, path: &str) -> bool {
        self.guarded.in_tree(&self.tree).iter().any(|folder| folder.is_empty() || is_below(path, folder))
    }

    /// The same for a real path.
    pub fn is_guarded_place(&self, real: &Path) -> bool {
        self.guarded.places().iter().any(|folder| real.starts_with(folder))
    }

    pub fn spare_file(&self) -> Result<(String, File), Failure> {
        let name = self.spare_name();
        let file = rustix::fs::openat(&self.spare, &name, NEW_FILE, Mode::RUSR | Mode::WUSR);
        file.map(|file| (name, file.into())).map_err(|e| Failure::storage("spare", e))
    }

    pub fn spare_name(&self) -> String {
        format!("{}-{}", std::process::id(), self.made.fetch_add(1, Ordering::Relaxed))
    }

    /// Makes a file in the spare folder, lets `write` fill it, and renames it into place, or deletes it if
    /// `write` returns false.
    pub fn put(
        &self,
        dir: &OwnedFd,
        name: &str,
        write: impl FnOnce(&mut File) -> io::Result<bool>,
    ) -> Result<(), Failure> {
        let (spare, mut file) = self.spare_file()?;
        let done = write(&mut file).and_then(|wanted| {
            if wanted {
                rustix::fs::renameat(&self.spare, &spare, dir, name)?;
            }
            Ok(wanted)
        });
        if !matches!(done, Ok(true)) {
            let _ = rustix::fs::unlinkat(&self.spare, &spare, AtFlags::empty());
        }
        done.map(drop).map_err(|e| Failure::storage(name, e))
    }

    /// Flushes everything that was written so far to the disk.
    pub fn sync(&self) -> bool {
        #[cfg(target_os = "linux")]
        return rustix::fs::syncfs(&self.dir).is_ok();
        #[cfg(not(target_os = "linux"))]
        {
            rustix::fs::sync();
            true
        }
    }

    /// Writes a sealed checkpoint; `witness` is synced at the same time.
    pub fn write(&self, id: &Id, text: &text::CheckpointText, witness: Option<&File>) -> Result<(), Failure> {
        let run = make(&self.dir, &id.folder(), PRIVATE)?;
        self.put(&run, &id.file(), |file| {
            text.pieces().iter().try_for_each(|piece| file.write_all(piece.as_bytes()))?;
            // Both fsyncs in parallel take only as long as one.
            thread::scope(|scope| {
                let other = witness.map(|witness| scope.spawn(|| witness.sync_data()));
                let synced = file.sync_data();
                let lost = |_| io::Error::other("the witness is lost");
                other.map_or(Ok(()), |other| other.join().map_err(lost)?).and(synced).map(|()| true)
            })
        })
    }

    /// Reads a checkpoint. Only its witness shows whether it is the one that was taken.
    pub fn read(&self, id: &Id) -> Result<Checkpoint, Failure> {
        self.read_by(id, text::unseal).map(|(checkpoint, _)| checkpoint)
    }

    /// The session that it names; not verified.
    pub fn session_of(&self, id: &Id) -> Result<String, Failure> {
        // The identity follows the files, which may be megabytes.
        const END: u64 = 64 << 10;
        let identity = match text::identity(&self.text(id, END)?) {
            None => text::identity(&self.text(id, u64::MAX)?),
            found => found,
        };
        Ok(identity.map(|identity| identity.session_id).unwrap_or_default())
    }

    /// The last bytes of its text, at most this many.
    fn text(&self, id: &Id, most: u64) -> Result<Vec<u8>, Failure> {
        let gone = || Failure::new(Code::ChecksumMismatch, format!("checkpoint `{id}`: its file is missing"));
        let run = enter(&self.dir, &id.folder())?.ok_or_else(gone)?;
        let (file, long) = folder::open(&run, &id.file(), OFlags::RDONLY)?.ok_or_else(gone)?;
        Ok(folder::read_at(&file, &id.file(), long.saturating_sub(most), long.min(most))?)
    }

    /// The checkpoint, parsed by this function of [`text`], and its text.
    fn read_by(&self, id: &Id, unseal: Unseal) -> Result<(Checkpoint, Vec<u8>), Failure> {
        let broken = |why: String| Failure::new(Code::ChecksumMismatch, format!("checkpoint `{id}`: {why}"));
        let bytes = self.text(id, u64::MAX)?;
        match unseal(&bytes).map_err(broken)? {
            checkpoint if checkpoint.id().as_ref() == Some(id) => Ok((checkpoint, bytes)),
            _ => Err(broken("its content has another id".to_owned())),
        }
    }

    pub fn remove(&self, id: &Id) -> Result<(), Failure> {
        let Some(run) = enter(&self.dir, &id.folder())? else { return Ok(()) };
        unless(Errno::NOENT, rustix::fs::unlinkat(&run, id.file(), AtFlags::empty()), id)?;
        // Fails unless it was the last one in its folder.
        let _ = rustix::fs::unlinkat(&self.dir, id.folder(), AtFlags::REMOVEDIR);
        Ok(())
    }

    pub fn files(&self) -> Result<Vec<Id>, Failure> {
        let mut found = Vec::new();
        for folder in names(&self.dir)? {
            let Some(run) = folder.strip_prefix("run-") else { continue };
            let Some(dir) = enter(&self.dir, &folder)? else { continue };
            let named = |file: &String| Id::read(&format!("{run}/{}", file.strip_suffix(".json")?));
            found.extend(names(&dir)?.iter().filter_map(named));
        }
        Ok(found)
    }
}

/// Opens the root of a tree, which may be a symlink.
fn tree(root: &Path) -> Result<OwnedFd, Failure> {
    folder::enter(rustix::fs::CWD, root, true)?
        .ok_or_else(|| Failure::storage(root.display(), "no longer exists"))
}

pub fn enter(dir: &OwnedFd, name: &str) -> Result<Option<OwnedFd>, Failure> {
    Ok(folder::enter(dir, name, false)?)
}

pub fn make(dir: &OwnedFd, name: &str, mode: Mode) -> Result<OwnedFd, Failure> {
    if let Some(found) = enter(dir, name)? {
        return Ok(found);
    }
    unless(Errno::EXIST, rustix::fs::mkdirat(dir, name, mode), name)?;
    enter(dir, name)?.ok_or_else(|| Failure::storage(name, "disappeared while it was made"))
}

pub fn read_file(dir: &OwnedFd, name: &str) -> Result<Option<Vec<u8>>, Failure> {
    let Some((file, long)) = folder::open(dir, name, OFlags::RDONLY)? else { return Ok(None) };
    Ok(Some(folder::read_at(&file, name, 0, long)?))
}

fn unless(allowed: Errno, done: Result<(), Errno>, name: impl std::fmt::Display) -> Result<(), Failure> {
    done.or_else(|error| if error == allowed { Ok(()) } else { Err(Failure::storage(name, error)) })
}

/// The names in a folder; a name that is not UTF-8 does not belong to the store.
pub fn names(dir: &OwnedFd) -> Result<Vec<String>, Failure> {
    let failed = |e: Errno| Failure::storage("checkpoints", e);
    let items = rustix::fs::Dir::read_from(dir).map_err(failed)?;
    let names = items.filter_map(|item| item.ok()?.file_name().to_str().ok().map(str::to_owned));
    Ok(names.filter(|name| name != "." && name != "..").collect())
}

/// Matches anywhere in the repository, since a project can begin below its root.
pub const HIDDEN: &str = "**/.claude/checkpoints/";

/// Git's list of ignored files in a folder.
const IGNORE: &str = ".gitignore";
