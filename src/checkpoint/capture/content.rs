//! What is in the files of a tree: taken from the cache where nothing changed, else read and put into the vault.
//!
//! Reads files, writes blobs, several at once. Invariant: the digest of a file is that of the blob that was written for
//! it, even if the file changes while it is read; one that does is read again, and is not remembered as known.

use super::{Limits, Sight, walk::on_disk};
use crate::checkpoint::store::Store;
use crate::checkpoint::store::blob::Put;
use crate::checkpoint::store::cache::{Known, Outside};
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
    /// Time was up; what was kept so far is kept.
    pub(super) late: bool,
}

/// So few new files are forced to the disk one by one.
const FEW: usize = 32;
const TRIES: usize = 3;

/// The largest files leave first until the rest fits.
pub(super) fn too_much(wanted: &mut Vec<Sight>, most: u64) -> Vec<LeftOut> {
    let mut sum: u64 = wanted.iter().map(|sight| sight.outside.size).sum();
    if sum <= most {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(wanted[*at].outside.size));
    let mut out = vec![false; wanted.len()];
    for at in order.into_iter().take_while(|_| sum > most).collect::<Vec<_>>() {
        if sum > most {
            sum -= wanted[at].outside.size;
            out[at] = true;
        }
    }
    let reason = "the tree is larger than `checkpoint.max_tree_mb`";
    let left = wanted.iter().zip(&out).filter(|(_, out)| **out);
    let left =
        left.map(|(s, _)| LeftOut { path: s.path.clone(), reason: reason.to_owned(), size: s.outside.size });
    let left = left.collect();
    let mut keep = out.iter().map(|out| !out);
    wanted.retain(|_| keep.next().unwrap_or(true));
    left
}

/// `wanted` is sorted by path, and so is what comes back. What was learnt is in the cache then.
pub(super) fn keep(vault: &Store, wanted: Vec<Sight>, limits: &Limits) -> Result<Kept, Failure> {
    let boot = boot_id();
    let cached = vault.cached(&boot);
    let (mut cache, mut before) = (cached.known().peekable(), 0);
    let mut files = Vec::with_capacity(wanted.len());
    // What stands for each of them from now on, where that is known.
    let mut outsides: Vec<Option<Outside>> = Vec::with_capacity(wanted.len());
    for Sight { path, mode, outside, .. } in wanted {
        while cache.next_if(|known| known.path < path.as_str()).is_some() {
            before += 1;
        }
        let known = cache.next_if(|known| known.path == path);
        before += usize::from(known.is_some());
        let known = known.filter(|known| known.outside == outside);
        outsides.push(known.is_some().then_some(outside));
        let sha256 = Sum(known.map_or([0; 32], |known| known.sha256));
        files.push(File { mode, path, sha256, size: outside.size, target: None });
    }
    before += cache.count();
    let missing: Vec<usize> = (0..files.len()).filter(|at| outsides[*at].is_none()).collect();
    let few = missing.len() <= FEW;
    let (read, late) = read_all(vault, &files, &missing, limits, few);
    // Contents that an earlier look left to the system to write are forced out by one that has the time.
    let synced = few && cached.synced || limits.sync && vault.sync();
    let (mut lost, mut gone) = (Vec::new(), vec![false; files.len()]);
    for at in &missing {
        gone[*at] = true;
    }
    for (at, now) in read {
        let file = &mut files[at];
        match now {
            Ok((put, outside)) => {
                (file.sha256, file.size, outsides[at], gone[at]) =
                    (Sum(put.sha256), put.size, outside, false);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {} // gone since
            Err(error) => {
                let reason = format!("cannot be read: {}", error.kind());
                lost.push(LeftOut { path: file.path.clone(), reason, size: file.size });
            }
        }
    }
    let known = files.iter().zip(&outsides).filter_map(|(file, outside)| {
        Some(Known { path: &file.path, outside: (*outside)?, sha256: file.sha256.0 })
    });
    if !missing.is_empty() || before != files.len() || synced != cached.synced {
        vault.cache(known, if synced { "" } else { &boot })?;
    }
    if gone.contains(&true) {
        let mut stays = gone.iter().map(|gone| !gone);
        files.retain(|_| stays.next().unwrap_or(true));
    }
    Ok(Kept { files, lost, late })
}

/// What was put away, and the outside that stands for it where it held still meanwhile.
type Read = io::Result<(Put, Option<Outside>)>;

/// Those that are missing, by place; and whether time was up before the last.
fn read_all(
    vault: &Store,
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
            own.push((*at, read(vault, &files[*at].path, sync)));
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

/// Puts its content into the vault.
fn read(vault: &Store, path: &str, sync: bool) -> Read {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(on_disk(&vault.root, path))?;
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("no longer a file"));
    }
    let mut before = Outside::of(&stat);
    for last in (0..TRIES).rev() {
        let put = vault.keep(&mut file, before.size, sync)?;
        let after = Outside::of(&fstat(&file)?);
        let steady = before == after && put.size == after.size;
        if steady || last == 0 {
            return Ok((put, steady.then_some(after)));
        }
        file.seek(SeekFrom::Start(0))?;
        before = after;
    }
    Err(io::Error::other("it does not hold still"))
}

/// A link is its target.
pub(super) fn link(vault: &Store, sight: Sight) -> Result<File, LeftOut> {
    let Ok(target) = std::fs::read_link(on_disk(&vault.root, &sight.path)) else {
        return Err(LeftOut { path: sight.path, reason: "changed while it was read".to_owned(), size: 0 });
    };
    let bytes = target.as_os_str().as_bytes();
    Ok(File {
        mode: sight.mode,
        path: sight.path,
        sha256: Sum::of(bytes),
        size: bytes.len() as u64,
        target: Some(name::text(bytes).into_owned()),
    })
}
