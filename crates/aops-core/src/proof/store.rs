//! The files of the log in `<config>/aops/log`: `leaves`, `checkpoint`, `seals`, and tiles for readers of the
//! tree.
//!
//! Reads and writes that folder. Invariants: the signed part of `leaves` only grows, 32 bytes at a time, and
//! is on the disk before it is signed; the last rows of `seals`, `checkpoint` and tiles can be made again
//! from it and from the keys.

use crate::ledger::heads::Signed;
use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::files::{self, make_all};
use crate::system::{folder, lock};
use crate::text::sha256::Sum;
use aops_proof::checkpoint::{Checkpoint, whole_number};
use aops_proof::note::Note;
use aops_proof::text::{base64, from_base64};
use aops_proof::tiles::{Reader, Tile, grow};
use aops_proof::tree::{Hash, leaf_hash};
use rustix::fs::{CWD, OFlags};
use std::fmt;
use std::fs;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const LOCK: &str = ".lock";
const LEAVES: &str = "leaves";
pub const CHECKPOINT: &str = "checkpoint";
const SPARE: &str = ".checkpoint.new";
const SEALS: &str = "seals";
pub const TILES: &str = "tile";
/// Up to this many tiles are flushed to the disk in parallel.
const FEW: usize = 8;
/// Sessions whose entries another process must add.
pub const LATE: &str = "late";
/// Bytes of a leaf: the digest of an entry.
const LEAF: u64 = 32;

pub fn path(env: &Env) -> PathBuf {
    env.config.join("aops/log")
}

/// How far the log is signed, so that a session can remember it. The checkpoint is not verified here.
pub fn signed_so_far(env: &Env) -> Option<Signed> {
    let text = files::read_text(path(env).join(CHECKPOINT)).ok()?;
    let Checkpoint { origin, size, .. } = Checkpoint::parse(&Note::parse(&text).ok()?.text).ok()?;
    Some(Signed { origin, size })
}

#[derive(Debug)]
pub struct Store {
    pub path: PathBuf,
    dir: OwnedFd,
    _lock: Option<fs::File>,
}

/// A checkpoint, and the note that contains it.
pub type Kept = (Checkpoint, Note);

/// One seal: its epoch, and the size and root that it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    pub epoch: u64,
    pub size: u64,
    pub root: Hash,
    pub mac: Hash,
}

impl Seal {
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let mut number = || whole_number(words.next()?);
        let epoch = number()?;
        let size = number()?;
        let mut hash = || from_base64(words.next()?)?.try_into().ok();
        let root = hash()?;
        let mac = hash()?;
        words.next().is_none().then_some(Self { epoch, size, root, mac })
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {} {} {}", self.epoch, self.size, base64(&self.root), base64(&self.mac))
    }
}

impl Store {
    /// For a writer; `None` if another process holds the lock for longer than this.
    pub fn lock(env: &Env, patience: Duration) -> Result<Option<Self>, Failure> {
        let path = path(env);
        let dir = if let Some(dir) = folder::enter(CWD, &path, false)? {
            dir
        } else {
            make_all(&path)?;
            folder::enter(CWD, &path, false)?
                .ok_or_else(|| Failure::storage(path.display(), "no longer exists"))?
        };
        Ok(lock::take(lock::open_or_make(&dir, LOCK)?, LOCK, patience).ok().map(|lock| Self {
            path,
            dir,
            _lock: Some(lock),
        }))
    }

    /// For a reader, who continues without the lock if it is not free; `None` if there is no log.
    pub fn look(env: &Env) -> Result<Option<Self>, Failure> {
        let path = path(env);
        let Some(dir) = folder::enter(CWD, &path, false)? else { return Ok(None) };
        let file = lock::open(&dir, LOCK, false).ok().flatten();
        let lock = file.and_then(|file| lock::take(file, LOCK, Duration::from_secs(2)).ok());
        Ok(Some(Self { path, dir, _lock: lock }))
    }

    /// The number of leaves, not counting an incomplete one.
    pub fn size(&self) -> Result<u64, Failure> {
        Ok(folder::open(&self.dir, LEAVES, OFlags::RDONLY)?.map_or(0, |(_, long)| long / LEAF))
    }

    /// The leaves from `from` to before `to`.
    pub fn leaves(&self, from: u64, to: u64) -> Result<Vec<Sum>, Failure> {
        let Some((file, _)) = folder::open(&self.dir, LEAVES, OFlags::RDONLY)?.filter(|_| from < to) else {
            return Ok(Vec::new());
        };
        let bytes = folder::read_at(&file, LEAVES, from * LEAF, (to - from) * LEAF)?;
        Ok(bytes.as_chunks::<32>().0.iter().map(|bytes| Sum(*bytes)).collect())
    }

    /// Adds leaves in one write. The caller syncs the file.
    pub fn append(&self, leaves: &[Sum]) -> Result<fs::File, Failure> {
        let storage = |e| Failure::storage(LEAVES, e);
        let (mut file, long) = folder::open_or_make(&self.dir, LEAVES, OFlags::RDWR | OFlags::APPEND)?;
        if long % LEAF != 0 {
            file.set_len(long - long % LEAF).map_err(storage)?;
        }
        let bytes: Vec<u8> = leaves.iter().flat_map(|leaf| leaf.0).collect();
        file.write_all(&bytes).map(|()| file).map_err(storage)
    }

    /// Removes the leaves from this one on.
    pub fn cut(&self, size: u64) -> Result<(), Failure> {
        let (file, _) = folder::open_or_make(&self.dir, LEAVES, OFlags::RDWR)?;
        file.set_len(size * LEAF).map_err(|e| Failure::storage(LEAVES, e))
    }

    pub fn checkpoint(&self) -> Result<Option<(Checkpoint, Note)>, Failure> {
        self.signed(CHECKPOINT)
    }

    /// The checkpoint in this file, and the note that contains it; `None` if it cannot be read.
    pub fn signed(&self, name: &str) -> Result<Option<(Checkpoint, Note)>, Failure> {
        Ok(self.kept(name)?.and_then(Result::ok))
    }

    /// The same; `None` if there is no such file, and otherwise why it cannot be read.
    pub fn kept(&self, name: &str) -> Result<Option<Result<Kept, String>>, Failure> {
        let Some((file, long)) = folder::open(&self.dir, name, OFlags::RDONLY)? else { return Ok(None) };
        let parse = |text: &str| {
            let note = Note::parse(text)?;
            Ok((Checkpoint::parse(&note.text)?, note))
        };
        let text = String::from_utf8(folder::read_at(&file, name, 0, long)?);
        Ok(Some(text.map_err(|_| "it is not text".to_owned()).and_then(|text| parse(&text))))
    }

    /// Files that only a log with leaves has.
    pub fn remains(&self) -> Vec<String> {
        let items = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            items.map(|item| item.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| !name.starts_with('.') && name != LEAVES);
        names.sort();
        names
    }

    pub fn keep_checkpoint(&self, note: &Note) -> Result<(), Failure> {
        Ok(folder::replace(&self.dir, CHECKPOINT, SPARE, note.to_string().as_bytes())?)
    }

    /// The list of seals, including those of these last rows that a crash kept out of the file.
    pub fn seals(&self, rows: &[String]) -> Result<String, Failure> {
        let found = folder::open(&self.dir, SEALS, OFlags::RDONLY)?;
        let list =
            found.map(|(file, long)| folder::read_at(&file, SEALS, 0, long)).transpose()?.unwrap_or_default();
        let (list, more) =
            complete(&list, rows).map_or((&list[..], String::new()), |end| (&list[..end], lines(rows)));
        Ok(String::from_utf8_lossy(list).into_owned() + &more)
    }

    pub fn last_epoch(&self) -> Result<Option<u64>, Failure> {
        Ok(self.text(SEALS)?.unwrap_or_default().lines().last().and_then(Seal::parse).map(|seal| seal.epoch))
    }

    /// Adds the rows that a crash kept out of the file.
    pub fn mend_seals(&self, rows: &[String]) -> Result<(), Failure> {
        let storage = |e| Failure::storage(SEALS, e);
        let (mut file, long) = folder::open_or_make(&self.dir, SEALS, OFlags::RDWR | OFlags::APPEND)?;
        let want = lines(rows);
        let tail = long.min(want.len() as u64);
        if folder::read_at(&file, SEALS, long - tail, tail)? == want.as_bytes() {
            return Ok(());
        }
        let Some(end) = complete(&folder::read_at(&file, SEALS, 0, long)?, rows) else { return Ok(()) };
        file.set_len(end as u64).and_then(|()| file.write_all(want.as_bytes())).map_err(storage)
    }

    /// Adds a row. The file is synced by `sync_seals`.
    pub fn add_seal(&self, row: &str) -> Result<(), Failure> {
        folder::append_line(&self.dir, SEALS, format!("{row}\n"))?;
        Ok(())
    }

    pub fn sync_seals(&self) -> Result<(), Failure> {
        let Some((file, _)) = folder::open(&self.dir, SEALS, OFlags::RDONLY)? else { return Ok(()) };
        file.sync_data().map_err(|e| Failure::storage(SEALS, e))
    }

    /// A text of the log; `None` if it is missing.
    pub fn text(&self, name: &str) -> Result<Option<String>, Failure> {
        let Some((file, long)) = folder::open(&self.dir, name, OFlags::RDONLY)? else { return Ok(None) };
        Ok(Some(String::from_utf8_lossy(&folder::read_at(&file, name, 0, long)?).into_owned()))
    }

    /// Extends the tiles from one size to another; makes all of them again if one is missing. Returns those
    /// that still have to be flushed to the disk.
    pub fn grow_tiles(&self, old: u64, size: u64) -> Result<Vec<fs::File>, Failure> {
        let hashes = |from| -> Result<Vec<Hash>, Failure> {
            Ok(self.leaves(from, size)?.iter().map(|leaf| leaf_hash(&leaf.0)).collect())
        };
        let grown = match grow(self, old, &hashes(old)?) {
            Ok(grown) => grown,
            Err(_) => grow(self, 0, &hashes(0)?).map_err(|what| Failure::storage(TILES, what))?,
        };
        let few = grown.len() <= FEW;
        let mut written = Vec::new();
        for (tile, bytes) in grown {
            let path = self.path.join(tile.path());
            make_all(path.parent().unwrap_or(&self.path))?;
            let file = write(&path, &bytes)?;
            if few {
                written.push(file);
            } else {
                file.sync_data().map_err(|e| Failure::storage(TILES, e))?;
            }
            if tile.width == aops_proof::tiles::WIDTH {
                let _ = fs::remove_dir_all(format!("{}.p", path.display()));
            }
        }
        Ok(written)
    }

    /// Removes all tiles, or whatever is in their place: they can be made again.
    pub fn drop_tiles(&self) -> Result<(), Failure> {
        let path = self.path.join(TILES);
        let removed = match path.symlink_metadata() {
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(&path),
            Ok(_) => fs::remove_file(&path),
            Err(_) => Ok(()),
        };
        removed.map_err(|e| Failure::storage(TILES, e))
    }

    /// The same without the lock.
    #[must_use]
    pub fn unlocked(self) -> Self {
        Self { _lock: None, ..self }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

fn lines(rows: &[String]) -> String {
    rows.iter().flat_map(|row| [row, "\n"]).collect()
}

/// Where these rows begin in the list of seals, if it contains a part of them as a crash would leave it. What
/// an attacker changed is left as it is, so that `verify` finds it.
fn complete(list: &[u8], rows: &[String]) -> Option<usize> {
    let first = Seal::parse(rows.first()?)?;
    let seal = |line: &[u8]| Seal::parse(std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?);
    let after = list.split_inclusive(|b| *b == b'\n').rev();
    let after = after.take_while(|line| seal(line).is_none_or(|seal| seal.epoch >= first.epoch));
    let end = list.len() - after.map(<[u8]>::len).sum::<usize>();
    // A file can have grown before its bytes were written.
    let zeros = list[end..].iter().rev().take_while(|byte| **byte == 0).count();
    let written = &list[end..list.len() - zeros];
    lines(rows).as_bytes().starts_with(written).then_some(end)
}

/// Writes a private file that can be made again. Only a plain file is written to, and opening never waits.
pub fn write(path: &Path, bytes: &[u8]) -> Result<fs::File, Failure> {
    let options = &mut fs::OpenOptions::new();
    let opened = files::open_itself(path, options.write(true).create(true).truncate(false).mode(0o600));
    let written =
        opened.and_then(|mut file| file.set_len(0).and_then(|()| file.write_all(bytes)).map(|()| file));
    written.map_err(|e| Failure::storage(path.display(), e))
}

impl Reader for Store {
    type Error = String;

    fn read(&self, tile: Tile) -> Result<Vec<u8>, String> {
        let full = Tile { width: aops_proof::tiles::WIDTH, ..tile };
        let read = |path: &Path| files::read(path).map_err(|e| format!("{}: {e}", path.display()));
        read(&self.path.join(tile.path())).or_else(|_| read(&self.path.join(full.path())))
    }
}
