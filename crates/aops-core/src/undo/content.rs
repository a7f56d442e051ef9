//! The bytes of one kept file: in a blob of the checkpoints, in a hard link, or, where many are copied, in
//! one file for all of them, `kept/<number>/pack`, since a thousand files take far longer to make than one.
//!
//! Reads and writes the folder of a keeping. Invariants: a pack is synced before its keeping is listed; what
//! is read from it is hashed, so a damaged content is an error.

use super::form::{Content, KeptFile, Piece};
use super::shelf::{self, Draft};
use crate::checkpoint::restore::{copy_content, write_content};
use crate::checkpoint::store::{NEW_FILE, Store};
use crate::checkpoint::tree::name;
use crate::model::error::{Code, Failure};
use crate::system::folder;
use crate::text::sha256::Sum;
use lz4_flex::block;
use rustix::fs::{AtFlags, Mode, OFlags};
use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::{Mutex, PoisonError};

const PACK: &str = "pack";

/// Longer contents become blobs.
pub(super) const LONGEST: u64 = 1 << 20;

/// A pack that is being written, by several threads.
pub(super) struct Pack<'a> {
    folder: &'a OwnedFd,
    /// Made with the first content; and its length.
    open: Mutex<Option<(File, u64)>>,
}

impl<'a> Pack<'a> {
    pub(super) fn of(draft: &'a Draft) -> Self {
        Self { folder: &draft.folder, open: Mutex::default() }
    }

    /// Appends a content. What does not get shorter stays as it is.
    pub(super) fn add(&self, bytes: &[u8]) -> io::Result<Piece> {
        let mut short = vec![0; block::get_maximum_output_size(bytes.len())];
        let squeezed = block::compress_into(bytes, &mut short).ok().and_then(|long| short.get(..long));
        let stored = squeezed.filter(|short| short.len() < bytes.len()).unwrap_or(bytes);
        let sum = Sum::of(bytes);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, end) = match &mut *open {
            Some(open) => open,
            none => none.insert((made(self.folder)?, 0)),
        };
        file.write_all(stored)?;
        let at = *end;
        *end += stored.len() as u64;
        Ok(Piece { at, long: *end - at, sum })
    }

    pub(super) fn sync(self) -> io::Result<()> {
        let open = self.open.into_inner().unwrap_or_else(PoisonError::into_inner);
        open.map_or(Ok(()), |(file, _)| file.sync_data())
    }
}

fn made(folder: &OwnedFd) -> io::Result<File> {
    Ok(rustix::fs::openat(folder, PACK, NEW_FILE, Mode::RUSR | Mode::WUSR)?.into())
}

/// Another keeping, which replaces this one, has the same pack.
pub(super) fn share_pack(from: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    Ok(rustix::fs::linkat(from, PACK, to, PACK, AtFlags::empty())?)
}

/// The content of a file in the pack; `None` for other contents.
pub(super) fn packed(store: &Store, number: u64, kept: &KeptFile) -> Result<Option<Vec<u8>>, Failure> {
    let Content::Packed(piece) = &kept.content else { return Ok(None) };
    let wrong = |why: &str| wrong(number, kept, why);
    let gone = || wrong("its content is missing, so it cannot be brought back");
    let folder = shelf::folder(store, number)?.ok_or_else(gone)?;
    let (file, long) = folder::open(&folder, PACK, OFlags::RDONLY)?.ok_or_else(gone)?;
    let is_inside = piece.at.checked_add(piece.long).is_some_and(|end| end <= long);
    if !is_inside || piece.long > kept.size || kept.size > LONGEST {
        return Err(gone());
    }
    let bytes = folder::read_at(&file, PACK, piece.at, piece.long)?;
    let size = usize::try_from(kept.size).unwrap_or(0);
    let bytes = if piece.long == kept.size { Ok(bytes) } else { block::decompress(&bytes, size) };
    let whole = bytes.ok().filter(|bytes| bytes.len() == size && Sum::of(bytes) == piece.sum);
    whole.map(Some).ok_or_else(|| wrong("its content is damaged"))
}

/// The hard link of a kept file, if that is still the unchanged file; `None` for other contents.
pub(super) fn open_link(store: &Store, number: u64, kept: &KeptFile) -> Result<Option<File>, Failure> {
    let Content::Link(link) = &kept.content else { return Ok(None) };
    let wrong = |why: &str| wrong(number, kept, why);
    let folder = shelf::folder(store, number)?.ok_or_else(|| wrong("no longer exists"))?;
    let found = folder::open(&folder, &link.name, OFlags::RDONLY)?;
    let (file, size) = found.ok_or_else(|| wrong("its content is missing, so it cannot be brought back"))?;
    let about = file.metadata().map_err(|e| Failure::storage(name::shown(&kept.path), e))?;
    let modified = about.mtime().saturating_mul(1_000_000_000).saturating_add(about.mtime_nsec());
    let same = about.ino() == link.inode && size == kept.size && modified == link.modified;
    if same { Ok(Some(file)) } else { Err(wrong("its content was changed after it was kept")) }
}

fn wrong(number: u64, kept: &KeptFile, why: &str) -> Failure {
    let what = format!("what was kept as {number}: `{}`: {why}", name::shown(&kept.path));
    Failure::new(Code::ChecksumMismatch, what)
}

/// Writes the kept bytes to a new file, which gets the kept mode. A linked file is copied, since the store's
/// own file must not change together with the restored one.
pub(super) fn fill(store: &Store, number: u64, kept: &KeptFile, new: &mut File) -> Result<(), Failure> {
    let failed = |e: io::Error| Failure::storage(name::shown(&kept.path), e);
    if let Content::Blob(sum) = &kept.content {
        return write_content(store, &sum.0, kept.mode, new);
    }
    if let Some(from) = open_link(store, number, kept)? {
        return copy_content(&from, kept.mode, new).map_err(failed);
    }
    let Some(bytes) = packed(store, number, kept)? else { return Ok(()) };
    new.write_all(&bytes).map_err(failed)?;
    new.set_permissions(Permissions::from_mode(kept.mode)).map_err(failed)
}

/// The kept bytes, or the target of a kept link, if they are at most `most` bytes.
pub fn bytes_of(store: &Store, number: u64, kept: &KeptFile, most: u64) -> Result<Option<Vec<u8>>, Failure> {
    let mut bytes = Vec::new();
    match &kept.content {
        Content::Absent => return Ok(Some(bytes)),
        Content::Symlink(target) => return Ok(Some(name::bytes(target).into_owned())),
        _ if kept.size > most => return Ok(None),
        Content::Blob(sum) => {
            store.unpack(&sum.0, &mut bytes)?;
        }
        Content::Packed(_) => return packed(store, number, kept),
        Content::Link(_) => {
            let mut file = open_link(store, number, kept)?;
            let read = file.as_mut().map_or(Ok(0), |file| file.read_to_end(&mut bytes));
            read.map_err(|e| Failure::storage(name::shown(&kept.path), e))?;
        }
    }
    Ok(Some(bytes))
}
