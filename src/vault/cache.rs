//! What each file held when it was last looked at, by size, times and inode: what did not change is not read again.
//!
//! Reads and writes `cache` in the vault. A hint only: damaged or missing, everything is read anew. Invariants: an entry
//! stands for a blob that is in the vault; a file that changed so lately that its time stamp cannot tell is not in it.

use super::Vault;
use crate::failure::Failure;
use crate::ledger::folder;
use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};
use std::fs::Metadata;
use std::io::Write;
use std::os::unix::fs::MetadataExt;

const FILE: &str = "cache";
const MARK: &[u8; 8] = b"aopsfc01";

/// A file's outside: any change of its content shows here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outside {
    pub size: u64,
    /// Nanoseconds since 1970.
    pub changed: i128,
    pub modified: i128,
    pub inode: u64,
}

impl Outside {
    pub fn of(about: &Metadata) -> Self {
        let at = |seconds: i64, part: i64| i128::from(seconds) * 1_000_000_000 + i128::from(part);
        Self {
            size: about.len(),
            changed: at(about.ctime(), about.ctime_nsec()),
            modified: at(about.mtime(), about.mtime_nsec()),
            inode: about.ino(),
        }
    }

    /// Changed within the reach of one tick before `now`: another change may follow under the same time.
    fn is_fresh(&self, now: i128) -> bool {
        const TICK: i128 = 50_000_000;
        const COARSE: i128 = 2_000_000_000;
        let last = self.changed.max(self.modified);
        // A file system that counts whole seconds.
        let tick = if last % 1_000_000_000 == 0 { COARSE } else { TICK };
        last + tick >= now
    }
}

/// One file that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub path: String,
    pub outside: Outside,
    pub sha256: [u8; 32],
}

impl Vault {
    /// Sorted by path. `boot`: the one we are in.
    pub fn cached(&self, boot: &str) -> Vec<Known> {
        let Ok(Some((file, long))) = folder::open(&self.dir, FILE, OFlags::RDONLY) else { return Vec::new() };
        folder::read_at(&file, FILE, 0, long).ok().and_then(|bytes| decode(&bytes, boot)).unwrap_or_default()
    }

    /// `all` is sorted by path. `boot`: empty where every blob is on the disk itself; else a power loss may have taken some,
    /// and what was learnt in this boot counts in this boot only.
    pub fn cache(&self, all: &[Known], boot: &str) -> Result<(), Failure> {
        let (spare, mut file) = self.spare_file()?;
        let storage = |e: std::io::Error| Failure::storage(FILE, e);
        // The file system's own clock, which is the one that stamps files.
        file.write_all(MARK).map_err(storage)?;
        let now = file.metadata().map_or(i128::MAX, |about| Outside::of(&about).modified);
        let settled: Vec<&Known> = all.iter().filter(|known| !known.outside.is_fresh(now)).collect();
        file.write_all(&encode(&settled, boot)).map_err(storage)?;
        rustix::fs::renameat(&self.spare, &spare, &self.dir, FILE).map_err(|e| Failure::storage(FILE, e))
    }

    /// Forgets every file whose content is not among these.
    pub fn forget(&self, live: &std::collections::BTreeSet<[u8; 32]>) -> Result<(), Failure> {
        let boot = crate::env::boot_id();
        let known: Vec<Known> =
            self.cached(&boot).into_iter().filter(|known| live.contains(&known.sha256)).collect();
        self.cache(&known, &boot)
    }
}

/// All but the mark.
fn encode(all: &[&Known], boot: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(all.len() * 128 + 128);
    text(boot, &mut bytes);
    for known in all {
        text(&known.path, &mut bytes);
        let Outside { size, changed, modified, inode } = known.outside;
        bytes.extend(size.to_le_bytes());
        bytes.extend(changed.to_le_bytes());
        bytes.extend(modified.to_le_bytes());
        bytes.extend(inode.to_le_bytes());
        bytes.extend(known.sha256);
    }
    let digest = Sha256::digest(&bytes);
    bytes.extend(digest);
    bytes
}

fn text(text: &str, bytes: &mut Vec<u8>) {
    bytes.extend(u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn read_text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let long = u32::from_le_bytes(*rest.first_chunk()?) as usize;
    let text = std::str::from_utf8(rest.get(4..4 + long)?).ok()?;
    *rest = &rest[4 + long..];
    Some(text)
}

fn decode(bytes: &[u8], boot: &str) -> Option<Vec<Known>> {
    let (body, digest) = bytes.strip_prefix(MARK)?.split_last_chunk::<32>()?;
    if Sha256::digest(body)[..] != digest[..] {
        return None;
    }
    let (mut rest, mut all) = (body, Vec::new());
    if !matches!(read_text(&mut rest)?, known if known.is_empty() || known == boot) {
        return None;
    }
    while !rest.is_empty() {
        let path = read_text(&mut rest)?.to_owned();
        let outside = Outside {
            size: u64::from_le_bytes(*rest.first_chunk()?),
            changed: i128::from_le_bytes(*rest.get(8..)?.first_chunk()?),
            modified: i128::from_le_bytes(*rest.get(24..)?.first_chunk()?),
            inode: u64::from_le_bytes(*rest.get(40..)?.first_chunk()?),
        };
        all.push(Known { path, outside, sha256: *rest.get(48..)?.first_chunk()? });
        rest = rest.get(80..)?;
    }
    Some(all)
}
