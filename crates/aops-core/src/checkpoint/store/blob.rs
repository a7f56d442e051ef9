//! Contents of files, each stored once under its SHA-256: `blobs/ab/cdef…`, as an LZ4 frame.
//!
//! Reads and writes the blobs of a store. Invariants: a blob gets its name when it is complete; the content
//! is hashed when it is read, so a damaged blob is an error; memory does not grow with the size of a file.

use super::{Store, enter};
use crate::model::error::{Code, Failure};
use crate::system::folder;
use crate::text::sha256::Sum;
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Files are read and written in pieces of this size.
const PIECE: usize = 256 << 10;

/// Files up to this size are read into memory at once.
const SMALL: u64 = 1 << 20;

/// The smallest block of a frame.
const BLOCK: usize = 64 << 10;
/// A packed content of fewer bytes is read in small pieces.
const SHORT: u64 = 4 << 10;

/// Digest and size of a stored content.
pub type Put = ([u8; 32], u64);

impl Store {
    /// Stores the rest of this file; with `sync` it is flushed to the disk.
    pub fn keep(&self, file: &mut File, size: u64, sync: bool) -> io::Result<Put> {
        if size <= SMALL {
            let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
            // If a file grows while it is read, the caller reads it again.
            Read::take(&mut *file, 2 * SMALL).read_to_end(&mut bytes)?;
            return self.keep_small(&bytes, sync).map(|sha256| (sha256, bytes.len() as u64));
        }
        let (sha256, size) = hash(file, PIECE, |_| Ok(()))?;
        if self.holds(&sha256) {
            return Ok((sha256, size));
        }
        file.seek(SeekFrom::Start(0))?;
        self.keep_large(file, sync)
    }

    pub fn keep_bytes(&self, bytes: &[u8]) -> io::Result<[u8; 32]> {
        self.keep_small(bytes, true)
    }

    /// Hashes it once: what is in memory cannot change.
    fn keep_small(&self, bytes: &[u8], sync: bool) -> io::Result<[u8; 32]> {
        let sha256 = Sha256::digest(bytes).into();
        if !self.holds(&sha256) {
            // Only a content of several blocks gains from linking them.
            let mode = if bytes.len() > BLOCK { BlockMode::Linked } else { BlockMode::Independent };
            self.pack(BlockSize::Auto, mode, bytes.len().min(PIECE) + 64, sync, |out| {
                out.write_all(bytes).map(|()| sha256)
            })?;
        }
        Ok(sha256)
    }

    /// Packs and hashes in one pass: the name is the digest of what was packed, even if the file changes.
    fn keep_large(&self, from: &mut dyn Read, sync: bool) -> io::Result<Put> {
        let mut put = Put::default();
        self.pack(BlockSize::Max1MB, BlockMode::Independent, PIECE, sync, |out| {
            put = hash(from, PIECE, |piece| out.write_all(piece))?;
            Ok(put.0)
        })?;
        Ok(put)
    }

    /// Packs what `write` writes, and names it by the digest that this returns. `room`: so much is written at
    /// once, a small content with one write.
    fn pack(
        &self,
        block: BlockSize,
        mode: BlockMode,
        room: usize,
        sync: bool,
        write: impl FnOnce(&mut dyn Write) -> io::Result<[u8; 32]>,
    ) -> io::Result<()> {
        let (spare, file) = self.spare_file().map_err(io::Error::other)?;
        let info = FrameInfo::new().block_size(block).block_mode(mode);
        let mut out = FrameEncoder::with_frame_info(info, io::BufWriter::with_capacity(room, &file));
        let sha256 = write(&mut out)?;
        out.finish().map_err(io::Error::other)?.flush()?;
        if sync {
            file.sync_data()?;
        }
        let (folder, name) = place(&sha256);
        let named = || rustix::fs::renameat(&self.spare, &spare, &self.blobs, format!("{folder}/{name}"));
        match named() {
            Err(Errno::NOENT) => {
                let _ = rustix::fs::mkdirat(&self.blobs, &folder, Mode::RWXU);
                Ok(named()?)
            }
            done => Ok(done?),
        }
    }

    /// Whether it can be read. A power loss can leave a name without its content.
    fn holds(&self, sha256: &[u8; 32]) -> bool {
        let (folder, name) = place(sha256);
        let path = format!("{folder}/{name}");
        // Most contents are new.
        rustix::fs::statat(&self.blobs, path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
            && self.unpack(sha256, &mut io::sink()).is_ok()
    }

    /// Writes the content to `to`. After an error, what was written is not valid.
    pub fn unpack(&self, sha256: &[u8; 32], to: &mut dyn Write) -> Result<u64, Failure> {
        let (folder, name) = place(sha256);
        let bad = |why: &dyn std::fmt::Display| {
            Failure::new(Code::ChecksumMismatch, format!("the blob `{folder}{name}`: {why}"))
        };
        let dir = enter(&self.blobs, &folder)?.ok_or_else(|| bad(&"no longer exists"))?;
        let (file, long) =
            folder::open(&dir, &name, OFlags::RDONLY)?.ok_or_else(|| bad(&"no longer exists"))?;
        let mut from = FrameDecoder::new(io::BufReader::new(file));
        let mut full = None;
        // Clearing the memory for a large piece takes longer than to read a small content.
        let room = if long < SHORT { BLOCK / 16 } else { PIECE };
        let read = hash(&mut from, room, |piece| {
            to.write_all(piece).map_err(|e| io::Error::other(full.get_or_insert(e).to_string()))
        });
        match (full, read) {
            (Some(error), _) => Err(Failure::storage("a restored file", error)),
            (None, Err(error)) => Err(bad(&error)),
            (None, Ok((digest, _))) if digest != *sha256 => Err(bad(&"has another content")),
            (None, Ok((_, size))) => Ok(size),
        }
    }

    pub fn blobs(&self) -> Result<Vec<[u8; 32]>, Failure> {
        let mut all = Vec::new();
        for folder in super::names(&self.blobs)? {
            let Some(dir) = enter(&self.blobs, &folder)? else { continue };
            all.extend(
                super::names(&dir)?.iter().filter_map(|name| Some(Sum::read(&format!("{folder}{name}"))?.0)),
            );
        }
        Ok(all)
    }

    /// Deletes a blob; returns its size on disk.
    pub fn drop_blob(&self, sha256: &[u8; 32]) -> Result<u64, Failure> {
        let (folder, name) = place(sha256);
        let path = format!("{folder}/{name}");
        let long =
            rustix::fs::statat(&self.blobs, &path, AtFlags::SYMLINK_NOFOLLOW).map_or(0, |stat| stat.st_size);
        rustix::fs::unlinkat(&self.blobs, &path, AtFlags::empty()).map_err(|e| Failure::storage(path, e))?;
        Ok(u64::try_from(long).unwrap_or(0))
    }
}

/// The digest of everything up to the end of the file.
pub fn digest_of(from: &mut dyn Read) -> io::Result<Sum> {
    hash(from, PIECE, |_| Ok(())).map(|(sha256, _)| Sum(sha256))
}

/// Reads to the end in pieces of `room` bytes; returns digest and size.
fn hash(
    from: &mut dyn Read,
    room: usize,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<([u8; 32], u64)> {
    let mut hash = Sha256::new();
    let mut size = 0;
    let mut piece = vec![0; room];
    loop {
        let n = from.read(&mut piece)?;
        if n == 0 {
            return Ok((hash.finalize().into(), size));
        }
        hash.update(&piece[..n]);
        size += n as u64;
        each(&piece[..n])?;
    }
}

fn place(sha256: &[u8; 32]) -> (String, String) {
    let mut folder = crate::text::sha256::hex(sha256);
    let name = folder.split_off(2);
    (folder, name)
}
