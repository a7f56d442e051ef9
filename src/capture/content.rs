//! What is in the files of a tree: taken from the cache where nothing changed, else read and put into the vault.
//!
//! Reads files, writes blobs, several at once. Invariant: the digest of a file is that of the blob that was written for
//! it, even if the file changes while it is read; one that does is read again, and is not remembered as known.

use super::{Limits, Sight, file, walk::on_disk};
use crate::digest::sha256;
use crate::tree::{File, LeftOut, name};
use crate::vault::Vault;
use crate::vault::cache::{Known, Outside};
use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

pub(super) struct Kept {
    pub(super) files: Vec<File>,
    /// For the cache, sorted.
    pub(super) learnt: Vec<Known>,
    pub(super) lost: Vec<LeftOut>,
    /// Every new blob is on the disk itself.
    pub(super) synced: bool,
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

/// `wanted` is sorted by path, and so is what comes back.
pub(super) fn keep(vault: &Vault, wanted: Vec<Sight>, limits: &Limits, boot: &str) -> Kept {
    let mut cache = vault.cached(boot).into_iter().peekable();
    let mut found: Vec<(Sight, Option<Known>)> = Vec::with_capacity(wanted.len());
    for sight in wanted {
        while cache.peek().is_some_and(|known| known.path < sight.path) {
            cache.next();
        }
        let known =
            cache.next_if(|known| known.path == sight.path).filter(|known| known.outside == sight.outside);
        found.push((sight, known));
    }
    let missing: Vec<usize> = (0..found.len()).filter(|at| found[*at].1.is_none()).collect();
    let few = missing.len() <= FEW;
    let (read, late) = read_all(vault, &found, &missing, limits, few);
    let synced = few || limits.until.is_none() && vault.sync();
    let mut kept = Kept { files: Vec::new(), learnt: Vec::new(), lost: Vec::new(), synced, late };
    let mut read = read.into_iter().peekable();
    for (at, (sight, known)) in found.into_iter().enumerate() {
        let now = read.next_if(|(place, _)| *place == at).map(|(_, now)| now);
        match (known, now) {
            (Some(known), _) => {
                kept.files.push(file(sight, &known));
                kept.learnt.push(known);
            }
            (None, Some(Ok((known, steady)))) => {
                kept.files.push(file(sight, &known));
                kept.learnt.extend(steady.then_some(known));
            }
            (None, Some(Err(error))) if error.kind() == io::ErrorKind::NotFound => {} // gone since
            (None, Some(Err(error))) => {
                let reason = format!("cannot be read: {}", error.kind());
                kept.lost.push(LeftOut { path: sight.path, reason, size: sight.outside.size });
            }
            (None, None) => {}
        }
    }
    kept
}

type Read = io::Result<(Known, bool)>;

/// Those that are missing, in order, by place; and whether time was up before the last.
fn read_all(
    vault: &Vault,
    found: &[(Sight, Option<Known>)],
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
            own.push((*at, read(vault, &found[*at].0, sync)));
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
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_unstable_by_key(|(at, _)| *at);
    (done, late.into_inner())
}

/// Its content is in the vault; and whether it held still meanwhile.
fn read(vault: &Vault, sight: &Sight, sync: bool) -> Read {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut file =
        OpenOptions::new().read(true).custom_flags(flags).open(on_disk(&vault.root, &sight.path))?;
    let mut before = file.metadata()?;
    if !before.is_file() {
        return Err(io::Error::other("no longer a file"));
    }
    for last in (0..TRIES).rev() {
        let put = vault.keep(&mut file, before.len(), sync)?;
        let after = file.metadata()?;
        let steady = Outside::of(&before) == Outside::of(&after) && put.size == after.len();
        if steady || last == 0 {
            let outside = Outside { size: put.size, ..Outside::of(&after) };
            return Ok((Known { path: sight.path.clone(), outside, sha256: put.sha256 }, steady));
        }
        file.seek(SeekFrom::Start(0))?;
        before = after;
    }
    Err(io::Error::other("it does not hold still"))
}

/// A link is its target.
pub(super) fn link(vault: &Vault, sight: Sight) -> Result<File, LeftOut> {
    let Ok(target) = std::fs::read_link(on_disk(&vault.root, &sight.path)) else {
        return Err(LeftOut { path: sight.path, reason: "changed while it was read".to_owned(), size: 0 });
    };
    let bytes = target.as_os_str().as_bytes();
    Ok(File {
        mode: sight.mode,
        path: sight.path,
        sha256: sha256(&[bytes]),
        size: bytes.len() as u64,
        target: Some(name::text(bytes).into_owned()),
    })
}
