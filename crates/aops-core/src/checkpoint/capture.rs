//! Captures a working tree: walks it as git would list it, and puts the content of changed files into the
//! store.
//!
//! Reads the tree, writes the store's blobs and cache. Invariants: ignored files are left out unless they are
//! tracked; every file that cannot or may not be kept is listed as left out; a file that did not change since
//! the last time is not read.

mod tracked;
mod unseen;
mod rules;
mod walk;
mod since;

pub use rules::hidden_by_rules;
pub use since::{Change, changed_at, changed_since, is_ignored, tree_digest, was_ignored};
pub use tracked::knows_tracked;
pub use walk::{Walked, everything_below, walk};

use crate::checkpoint::store::cache::{Cached, FileStamp, Known};
use crate::checkpoint::tree::{Artifacts, File, Folder, LeftOut, find, name};
use crate::checkpoint::{store::Store, store::blob::Put};
use crate::config::policy::Policy;
use crate::model::error::{Code, Failure};
use crate::system::env::{Env, boot_id};
use crate::system::{files, threads};
use crate::text::sha256::Sum;
use rules::on_disk;
use rustix::fs::{FileType, OFlags, fstat};
use std::ffi::OsStr;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;

#[derive(Clone, Debug)]
pub struct Limits {
    /// Largest size of one file, and of all together, in bytes.
    pub file: u64,
    pub tree: u64,
    /// Fail at this moment. The cache keeps what was read, so the next try is faster.
    pub until: Option<Instant>,
    /// Flush every blob to the disk before returning.
    pub sync: bool,
    /// Fail where nobody can say what git tracks: ignored files that are tracked would seem to be gone.
    pub tracked: bool,
}

impl Limits {
    pub fn of(policy: &Policy) -> Self {
        let file = policy.checkpoint.max_file_mb << 20;
        let tree = policy.checkpoint.max_tree_mb << 20;
        Self { file, tree, ..Self::none() }
    }

    /// For an archive: everything is kept.
    pub fn none() -> Self {
        Self { file: u64::MAX, tree: u64::MAX, until: None, sync: true, tracked: false }
    }

    fn check(&self) -> Result<(), Failure> {
        if self.until.is_some_and(|until| Instant::now() > until) {
            return Err(Failure::new(
                Code::TimedOut,
                "the tree is too large to be kept while a session waits",
            ));
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub struct TreeEntry {
    pub path: String,
    pub mode: u32,
    pub kind: FileType,
    pub stamp: FileStamp,
}

impl TreeEntry {
    fn leave_out(&self, reason: &str) -> LeftOut {
        LeftOut { path: self.path.clone(), reason: reason.to_owned(), size: self.stamp.size }
    }
}

/// Captures the tree. `besides`: paths to keep even if they are ignored; `alone`: paths to leave out.
pub fn capture(
    env: &Env,
    store: &Store,
    limits: &Limits,
    besides: &[String],
    alone: &[LeftOut],
) -> Result<Artifacts, Failure> {
    keep(store, limits, walk(env, store, limits, besides)?, alone)
}

/// The second half of a capture: puts the contents of a walked tree into the store.
pub fn keep(
    store: &Store,
    limits: &Limits,
    Walked { mut entries, mut left_out }: Walked,
    alone: &[LeftOut],
) -> Result<Artifacts, Failure> {
    let mut folders = Vec::new();
    let mut links = Vec::new();
    let plain = |entry: &TreeEntry| {
        let file = entry.kind == FileType::RegularFile && entry.stamp.size <= limits.file;
        file && find(alone, &entry.path).is_none()
    };
    for entry in entries.extract_if(.., |entry| !plain(entry)) {
        match entry.kind {
            _ if find(alone, &entry.path).is_some() => left_out.push(entry.leave_out("left out before")),
            FileType::Directory => folders.push(Folder { mode: entry.mode, path: entry.path }),
            FileType::Symlink => match read_link(store, &entry) {
                Some(file) => links.push(file),
                None => left_out.push(LeftOut { size: 0, ..entry.leave_out("changed while it was read") }),
            },
            FileType::RegularFile => left_out.push(entry.leave_out("larger than `checkpoint.max_file_mb`")),
            _ => left_out.push(entry.leave_out("neither file, folder nor link")),
        }
    }
    take_out_largest(&mut entries, limits.tree, &mut left_out);
    let mut files = keep_contents(store, entries, limits, &mut left_out)?;
    files.append(&mut links);
    let mut kept = Artifacts { files, folders, left_out };
    kept.sort();
    kept.files.dedup_by(|a, b| a.path == b.path);
    kept.left_out.dedup_by(|a, b| a.path == b.path);
    Ok(kept)
}

fn take_out_largest(wanted: &mut Vec<TreeEntry>, most: u64, left_out: &mut Vec<LeftOut>) {
    let mut sum: u64 = wanted.iter().map(|entry| entry.stamp.size).sum();
    if sum <= most {
        return;
    }
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(wanted[*at].stamp.size));
    let mut out = vec![false; wanted.len()];
    for at in order {
        out[at] = sum > most;
        sum -= if out[at] { wanted[at].stamp.size } else { 0 };
    }
    let mut out = out.into_iter();
    let large = wanted.extract_if(.., |_| out.next().unwrap_or(false));
    left_out.extend(large.map(|entry| entry.leave_out("the tree is larger than `checkpoint.max_tree_mb`")));
}

/// Up to this many new blobs are synced one by one, more with one `syncfs`.
const FEW: usize = 32;
/// Up to this many files are read sooner than another thread begins.
const ALONE: usize = 4;
const TRIES: usize = 3;

/// Finds the contents: from the cache if a file did not change, otherwise by reading it into the store.
/// `wanted` and the result are sorted by path. Updates the cache.
fn keep_contents(
    store: &Store,
    wanted: Vec<TreeEntry>,
    limits: &Limits,
    left_out: &mut Vec<LeftOut>,
) -> Result<Vec<File>, Failure> {
    let boot = boot_id();
    let cached = store.cached(&boot);
    let (mut files, mut stamps, before) = look_up(&cached, wanted);
    let missing: Vec<usize> = (0..files.len()).filter(|at| stamps[*at].is_none()).collect();
    let few = missing.len() <= FEW;
    let read_one = |at: &usize| limits.check().ok().map(|()| (*at, read(store, &files[*at].path, few)));
    let read = if missing.len() <= ALONE {
        missing.iter().filter_map(read_one).collect()
    } else {
        threads::map(&missing, read_one)
    };
    let late = read.len() < missing.len();
    // A later capture that has the time also syncs blobs that an earlier one did not.
    let synced = few && cached.synced || limits.sync && store.sync();
    let mut stays: Vec<bool> = stamps.iter().map(Option::is_some).collect();
    for (at, now) in read {
        let file = &mut files[at];
        match now {
            Ok((put, stamp)) => {
                file.sha256 = Sum(put.0);
                file.size = put.1;
                stamps[at] = stamp;
                stays[at] = true;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {} // deleted since
            Err(error) => {
                let reason = format!("cannot be read: {}", error.kind());
                left_out.push(LeftOut { path: file.path.clone(), reason, size: file.size });
            }
        }
    }
    if !missing.is_empty() || before != files.len() || synced != cached.synced {
        let known = files.iter().zip(&stamps).filter_map(|(file, stamp)| {
            let path = &*file.path;
            let sha256 = file.sha256.0;
            stamp.map(|stamp| Known { path, stamp, sha256 })
        });
        store.cache(known, if synced { "" } else { &boot })?;
    }
    if late {
        limits.check()?;
    }
    let mut stays = stays.into_iter();
    files.retain(|_| stays.next().unwrap_or(true));
    Ok(files)
}

/// The files whose contents the cache knows, each file's stamp (`None` while its content is unknown), and
/// the cache's file count.
fn look_up(cached: &Cached, wanted: Vec<TreeEntry>) -> (Vec<File>, Vec<Option<FileStamp>>, usize) {
    let mut cache = cached.known().peekable();
    let mut before = 0;
    let mut files = Vec::with_capacity(wanted.len());
    let mut stamps = Vec::with_capacity(wanted.len());
    for TreeEntry { path, mode, stamp, .. } in wanted {
        while cache.next_if(|known| known.path < path.as_str()).is_some() {
            before += 1;
        }
        let known = cache.next_if(|known| known.path == path);
        before += usize::from(known.is_some());
        let known = known.filter(|known| known.stamp == stamp);
        stamps.push(known.is_some().then_some(stamp));
        let sha256 = Sum(known.map_or([0; 32], |known| known.sha256));
        files.push(File { mode, path, sha256, size: stamp.size, target: None });
    }
    before += cache.count();
    (files, stamps, before)
}

/// The blob, and the stamp of the file if it did not change while it was read.
type ReadContent = io::Result<(Put, Option<FileStamp>)>;

const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

fn read(store: &Store, path: &str, sync: bool) -> ReadContent {
    let named = name::bytes(path);
    let opened = files::open_below(&store.tree, Path::new(OsStr::from_bytes(&named)), READ)?;
    let mut file = std::fs::File::from(opened);
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("no longer a file"));
    }
    let mut before = FileStamp::of(&stat);
    for last in (0..TRIES).rev() {
        let put = store.keep(&mut file, before.size, sync)?;
        let after = FileStamp::of(&fstat(&file)?);
        let steady = before == after && put.1 == after.size;
        if steady || last == 0 {
            return Ok((put, steady.then_some(after)));
        }
        file.seek(SeekFrom::Start(0))?;
        before = after;
    }
    Err(io::Error::other("it changes while it is read"))
}

/// The content of a symlink is its target.
fn read_link(store: &Store, entry: &TreeEntry) -> Option<File> {
    let target = std::fs::read_link(on_disk(&store.root, &entry.path)).ok()?;
    let bytes = target.as_os_str().as_bytes();
    let sha256 = Sum::of(bytes);
    let size = bytes.len() as u64;
    let target = Some(name::text(bytes).into_owned());
    Some(File { mode: entry.mode, path: entry.path.clone(), sha256, size, target })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::git::tests::{repository, track_many};

    /// Only git's list names a file that is tracked and ignored.
    #[test]
    fn an_ignored_file_at_the_end_of_a_long_list_is_kept() {
        let (_home, env) = repository();
        std::fs::write(env.cwd.join(".gitignore"), "*.log\n").unwrap();
        track_many(&env, "last.log");
        let store = Store::open(&env, &env.cwd).unwrap();
        for _ in 0..2 {
            let kept = capture(&env, &store, &Limits::none(), &[], &[]).unwrap();
            assert!(find(&kept.files, "last.log").is_some(), "{} files", kept.files.len());
        }
    }

    /// A command can turn the home into a repository, and our own folders lie in the home.
    #[test]
    fn no_tree_holds_what_is_ours() {
        let (_home, env) = repository();
        let env = Env { config: env.cwd.join("own"), ..env };
        for file in ["own/aops/keys/note.key", "own/projects/p/s/ledger.jsonl", "own/notes.md", "a.txt"] {
            let file = env.cwd.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "text").unwrap();
        }
        let names = |root: &std::path::Path| {
            let store = Store::open(&env, root).unwrap();
            let kept = capture(&env, &store, &Limits::none(), &["own/aops/keys/note.key".to_owned()], &[]);
            kept.unwrap().files.into_iter().map(|file| file.path).collect::<Vec<_>>()
        };
        let found = names(&env.cwd);
        assert!(
            found.contains(&"own/notes.md".to_owned()) && found.contains(&"a.txt".to_owned()),
            "{found:?}"
        );
        assert!(!found.iter().any(|path| path.starts_with("own/aops") || path.starts_with("own/projects")));
        // The tree itself may be one of them, reached through a link in place of a folder above it.
        assert_eq!(names(&env.cwd.join("own/aops")), [""; 0]);
    }

    /// A path that has become a link when it is read is not followed, whichever part is the link.
    #[test]
    fn nothing_is_read_through_a_link() {
        let (_home, env) = repository();
        std::fs::create_dir(env.cwd.join("real")).unwrap();
        std::fs::write(env.cwd.join("real/secret"), "text").unwrap();
        std::os::unix::fs::symlink("real", env.cwd.join("link")).unwrap();
        let store = Store::open(&env, &env.cwd).unwrap();
        assert!(read(&store, "real/secret", false).is_ok());
        assert!(read(&store, "link/secret", false).is_err());
    }
}
