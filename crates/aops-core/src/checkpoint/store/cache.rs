//! The digest of each file by size, times and inode: an unchanged file is not read again.
//!
//! Reads and writes `cache` in the store. If it is missing or damaged, every file is read. Invariants: the
//! blob of an entry is in the store; a file that changed within one tick of the file system's clock is not in
//! the cache.

use super::{Store, read_file};
use crate::model::error::Failure;
use rustix::fs::{Stat, fstat};
use sha2::{Digest as _, Sha256};
use std::io::Write;

const FILE: &str = "cache";
const MARK: &[u8; 8] = b"aopsfc02";

/// The stat of a file; any change of its content changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    pub size: u64,
    /// Nanoseconds since 1970.
    pub changed: i64,
    pub modified: i64,
    pub inode: u64,
}

impl FileStamp {
    pub fn of(stat: &Stat) -> Self {
        let at =
            |seconds: i128, part: i128| i64::try_from(seconds * 1_000_000_000 + part).unwrap_or(i64::MAX);
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            changed: at(stat.st_ctime.into(), stat.st_ctime_nsec.into()),
            modified: at(stat.st_mtime.into(), stat.st_mtime_nsec.into()),
            inode: stat.st_ino,
        }
    }

    fn words(&self) -> [[u8; 8]; 4] {
        [self.size, self.changed.cast_unsigned(), self.modified.cast_unsigned(), self.inode]
            .map(u64::to_le_bytes)
    }

    /// Changed within one tick before `now`: another change may follow with the same time.
    fn is_fresh(&self, now: i64) -> bool {
        let last = self.changed.max(self.modified);
        // Some file systems store whole seconds.
        let tick = if last % 1_000_000_000 == 0 { 2_000_000_000 } else { 50_000_000 };
        last.saturating_add(tick) >= now
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known<'a> {
    pub path: &'a str,
    pub stamp: FileStamp,
    pub sha256: [u8; 32],
}

#[derive(Debug, Default)]
pub struct Cached {
    bytes: Vec<u8>,
    /// All blobs were flushed to the disk.
    pub synced: bool,
}

impl Cached {
    pub fn known(&self) -> impl Iterator<Item = Known<'_>> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || read(&mut rest))
    }
}

impl Store {
    pub fn cached(&self, boot: &str) -> Cached {
        let bytes = read_file(&self.dir, FILE).unwrap_or_default();
        bytes.and_then(|bytes| open(bytes, boot)).unwrap_or(Cached { bytes: Vec::new(), synced: true })
    }

    /// `all` is sorted by path. `boot`: empty if all blobs were flushed to the disk; otherwise a power loss
    /// may have lost some, and the cache is only valid during this boot.
    pub fn cache<'a>(&self, all: impl Iterator<Item = Known<'a>>, boot: &str) -> Result<(), Failure> {
        self.put(&self.dir, FILE, |file| {
            file.write_all(MARK)?;
            // The file system's own clock, which is the one that stamps files.
            let now = FileStamp::of(&fstat(&*file)?).modified;
            let settled = all.filter(|known| !known.stamp.is_fresh(now));
            file.write_all(&encode(settled, boot)).map(|()| true)
        })
    }

    /// Drops every file whose content is not in `live`.
    pub fn forget(&self, live: &std::collections::BTreeSet<[u8; 32]>) -> Result<(), Failure> {
        let boot = crate::system::env::boot_id();
        let cached = self.cached(&boot);
        let known = cached.known().filter(|known| live.contains(&known.sha256));
        self.cache(known, if cached.synced { "" } else { &boot })
    }
}

const TRACKED: &str = "tracked";
/// Lists without this mark come from versions that cut them at a mebibyte.
const TRACKED_MARK: &[u8; 8] = b"aopstr02";

impl Store {
    /// The paths that were tracked when git's index had this stat.
    pub fn tracked(&self, index: &FileStamp) -> Option<Vec<u8>> {
        let mut bytes = read_file(&self.dir, TRACKED).ok()??;
        let (body, digest) = bytes.split_last_chunk::<32>()?;
        let list = body.strip_prefix(TRACKED_MARK)?.strip_prefix(index.words().as_flattened())?.len();
        if Sha256::digest(body)[..] != digest[..] {
            return None;
        }
        bytes.truncate(bytes.len() - 32);
        bytes.drain(..bytes.len() - list);
        Some(bytes)
    }

    /// Remembers the tracked paths, unless the index is so new that it may change again with the same time.
    pub fn track(&self, index: &FileStamp, list: &[u8]) -> Result<(), Failure> {
        self.put(&self.dir, TRACKED, |file| {
            let body = [TRACKED_MARK.as_slice(), index.words().as_flattened(), list].concat();
            file.write_all(&body)?;
            file.write_all(&Sha256::digest(&body))?;
            Ok(!index.is_fresh(FileStamp::of(&fstat(&*file)?).modified))
        })
    }
}

/// Encodes everything but the mark.
fn encode<'a>(all: impl Iterator<Item = Known<'a>>, boot: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 << 20);
    text(boot, &mut bytes);
    for known in all {
        text(known.path, &mut bytes);
        bytes.extend_from_slice(known.stamp.words().as_flattened());
        bytes.extend_from_slice(&known.sha256);
    }
    let digest = Sha256::digest(&bytes);
    bytes.extend_from_slice(&digest);
    bytes
}

fn text(text: &str, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

fn read_text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let long = u32::from_le_bytes(take(rest)?) as usize;
    let (text, more) = rest.split_at_checked(long)?;
    *rest = more;
    std::str::from_utf8(text).ok()
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, more) = rest.split_first_chunk()?;
    *rest = more;
    Some(*first)
}

/// `None` if it is damaged, or from another boot and that matters.
fn open(mut bytes: Vec<u8>, boot: &str) -> Option<Cached> {
    let (body, digest) = bytes.strip_prefix(MARK)?.split_last_chunk::<32>()?;
    if Sha256::digest(body)[..] != digest[..] {
        return None;
    }
    let mut rest = body;
    let long = bytes.len() - 32;
    let of = read_text(&mut rest)?;
    if !of.is_empty() && of != boot {
        return None;
    }
    let synced = of.is_empty();
    let begin = long - rest.len();
    bytes.truncate(long);
    bytes.drain(..begin);
    Some(Cached { bytes, synced })
}

fn read<'a>(rest: &mut &'a [u8]) -> Option<Known<'a>> {
    let path = read_text(rest)?;
    let stamp = FileStamp {
        size: u64::from_le_bytes(take(rest)?),
        changed: i64::from_le_bytes(take(rest)?),
        modified: i64::from_le_bytes(take(rest)?),
        inode: u64::from_le_bytes(take(rest)?),
    };
    Some(Known { path, stamp, sha256: take(rest)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_an_older_version_is_not_used() {
        let home = tempfile::tempdir().unwrap();
        let env = crate::system::env::Env { config: home.path().join(".claude"), ..<_>::default() };
        let store = Store::open(&env, home.path()).unwrap();
        let index = FileStamp { size: 1, changed: 1, modified: 1, inode: 1 };
        let old = [index.words().as_flattened(), b"a\0"].concat();
        let path = home.path().join(".claude/checkpoints/tracked");
        std::fs::write(path, [&old[..], &Sha256::digest(&old)].concat()).unwrap();
        assert_eq!(store.tracked(&index), None);
        store.track(&index, b"a\0b\0").unwrap();
        assert_eq!(store.tracked(&index).as_deref(), Some(&b"a\0b\0"[..]));
        assert_eq!(store.tracked(&FileStamp { size: 2, ..index }), None);
    }

    #[test]
    fn what_was_learnt_comes_back_and_damage_forgets_it() {
        let stamp = FileStamp { size: 3, changed: -5, modified: i64::MAX, inode: u64::MAX };
        let known = ["", "a", "b/\u{fc}"].map(|path| Known { path, stamp, sha256: [7; 32] });
        for boot in ["", "this one"] {
            let bytes = [MARK.as_slice(), &encode(known.into_iter(), boot)].concat();
            let cached = open(bytes.clone(), "this one").unwrap();
            assert_eq!(
                (cached.known().collect::<Vec<_>>(), cached.synced),
                (known.to_vec(), boot.is_empty())
            );
            assert_eq!(open(bytes.clone(), "the next one").is_some(), boot.is_empty());
            for n in 0..bytes.len() {
                let mut torn = bytes.clone();
                torn[n] ^= 1;
                assert!(open(torn, "this one").is_none(), "byte {n}");
                assert!(open(bytes[..n].to_vec(), "this one").is_none(), "cut at {n}");
            }
        }
    }
}
