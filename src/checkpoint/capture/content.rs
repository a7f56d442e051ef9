//! The contents of a tree: known from the cache where a file did not change, else read and put into the store.
//!
//! Reads files and writes blobs, in several threads. Invariant: the digest of a file is that of the blob that was written
//! for it, even if the file changes while it is read. Such a file is read again, and does not enter the cache.

use super::{Limits, TreeEntry, walk::on_disk};
use crate::checkpoint::store::Store;
use crate::checkpoint::store::blob::Put;
use crate::checkpoint::store::cache::{FileStamp, Known};
use crate::checkpoint::tree::{File, LeftOut, name};
use crate::model::error::Failure;
use crate::system::env::boot_id;
use crate::text::sha256::Sum;
use rustix::fs::{FileType, OFlags, fstat};
use std::fs::OpenOptions;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

pub(super) struct Kept {
    pub(super) files: Vec<File>,
    pub(super) lost: Vec<LeftOut>,
    /// The deadline passed before all were read.
    pub(super) late: bool,
}

/// Up to so many new blobs are synced one by one; more by one `syncfs`.
const FEW: usize = 32;
const TRIES: usize = 3;

/// Takes the largest files out until the rest fits.
pub(super) fn too_much(wanted: &mut Vec<TreeEntry>, most: u64) -> Vec<LeftOut> {
    let mut sum: u64 = wanted.iter().map(|entry| entry.stamp.size).sum();
    if sum <= most {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(wanted[*at].stamp.size));
    let mut out = vec![false; wanted.len()];
    for at in order.into_iter().take_while(|_| sum > most).collect::<Vec<_>>() {
        if sum > most {
            sum -= wanted[at].stamp.size;
            out[at] = true;
        }
    }
    let reason = "the tree is larger than `checkpoint.max_tree_mb`";
    let left = wanted.iter().zip(&out).filter(|(_, out)| **out);
    let left = left.map(|(s, _)| LeftOut { path: s.path.clone(), reason: reason.to_owned(), size: s.stamp.size });
    let left = left.collect();
    let mut keep = out.iter().map(|out| !out);
    wanted.retain(|_| keep.next().unwrap_or(true));
    left
}

/// `wanted` is sorted by path, and so is the result. Updates the cache.
pub(super) fn keep(store: &Store, wanted: Vec<TreeEntry>, limits: &Limits) -> Result<Kept, Failure> {
    let boot = boot_id();
    let cached = store.cached(&boot);
    let (mut cache, mut before) = (cached.known().peekable(), 0);
    let mut files = Vec::with_capacity(wanted.len());
    // The stamp under which each file enters the cache; `None` while its content is unknown.
    let mut stamps: Vec<Option<FileStamp>> = Vec::with_capacity(wanted.len());
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
    let missing: Vec<usize> = (0..files.len()).filter(|at| stamps[*at].is_none()).collect();
    let few = missing.len() <= FEW;
    let (read, late) = read_all(store, &files, &missing, limits, few);
    // Blobs that an earlier capture did not sync are synced by one that has the time.
    let synced = few && cached.synced || limits.sync && store.sync();
    let (mut lost, mut gone) = (Vec::new(), vec![false; files.len()]);
    for at in &missing {
        gone[*at] = true;
    }
    for (at, now) in read {
        let file = &mut files[at];
        match now {
            Ok((put, stamp)) => {
                (file.sha256, file.size, stamps[at], gone[at]) = (Sum(put.sha256), put.size, stamp, false);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {} // gone since
            Err(error) => {
                let reason = format!("cannot be read: {}", error.kind());
                lost.push(LeftOut { path: file.path.clone(), reason, size: file.size });
            }
        }
    }
    let known = files
        .iter()
        .zip(&stamps)
        .filter_map(|(file, stamp)| Some(Known { path: &file.path, stamp: (*stamp)?, sha256: file.sha256.0 }));
    if !missing.is_empty() || before != files.len() || synced != cached.synced {
        store.cache(known, if synced { "" } else { &boot })?;
    }
    if gone.contains(&true) {
        let mut stays = gone.iter().map(|gone| !gone);
        files.retain(|_| stays.next().unwrap_or(true));
    }
    Ok(Kept { files, lost, late })
}

/// The blob, and the stamp of the file if it did not change while it was read.
type Read = io::Result<(Put, Option<FileStamp>)>;

/// Reads the files at the places `missing`; says whether the deadline passed before the last.
fn read_all(
    store: &Store,
    files: &[File],
    missing: &[usize],
    limits: &Limits,
    sync: bool,
) -> (Vec<(usize, Read)>, bool) {
    let (next, late) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done = Mutex::new(Vec::with_capacity(missing.len()));
    let work = || {
        let mut own = Vec::new();
        while let Some(at) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
            if limits.check().is_err() {
                late.store(true, Ordering::Relaxed);
                break;
            }
            own.push((*at, read(store, &files[*at].path, sync)));
        }
        if let Ok(mut done) = done.lock() {
            done.append(&mut own);
        }
    };
    let threads = thread::available_parallelism().map_or(2, |n| n.get().min(8)).min(missing.len());
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    (done.into_inner().unwrap_or_default(), late.into_inner())
}

/// Puts the content of one file into the store.
fn read(store: &Store, path: &str, sync: bool) -> Read {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(on_disk(&store.root, path))?;
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("no longer a file"));
    }
    let mut before = FileStamp::of(&stat);
    for last in (0..TRIES).rev() {
        let put = store.keep(&mut file, before.size, sync)?;
        let after = FileStamp::of(&fstat(&file)?);
        let steady = before == after && put.size == after.size;
        if steady || last == 0 {
            return Ok((put, steady.then_some(after)));
        }
        file.seek(SeekFrom::Start(0))?;
        before = after;
    }
    Err(io::Error::other("it changes while it is read"))
}

/// The content of a symlink is its target.
pub(super) fn link(store: &Store, entry: TreeEntry) -> Result<File, LeftOut> {
    let Ok(target) = std::fs::read_link(on_disk(&store.root, &entry.path)) else {
        return Err(LeftOut { path: entry.path, reason: "changed while it was read".to_owned(), size: 0 });
    };
    let bytes = target.as_os_str().as_bytes();
    Ok(File {
        mode: entry.mode,
        path: entry.path,
        sha256: Sum::of(bytes),
        size: bytes.len() as u64,
        target: Some(name::text(bytes).into_owned()),
    })
}
