//! Disk space for events that come while the disk is full, reserved while it is not.
//!
//! Writes `<config>/aops/reserve`: the file owns blocks beyond its end, which additions fill. Invariants: a
//! record is always in the reserve or in its own file, never in neither; while the reserve is empty, an event
//! makes one more system call.

use crate::system::env::Env;
use crate::system::files::{self, make_all, replace_private};
use rustix::fs::{FallocateFlags, FlockOperation, Mode, fallocate, fchmod, fcntl_lock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Enough for more than sixty short events.
const ROOM: u64 = 256 << 10;

fn place(env: &Env) -> PathBuf {
    env.config.join("aops/reserve")
}

/// Reserves the space. If that fails, events that come only once are reported as lost while the disk is full.
pub(crate) fn set_aside(env: &Env) {
    let path = place(env);
    if path.exists() || path.parent().is_none_or(|folder| make_all(folder).is_err()) {
        return;
    }
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    if made.is_ok_and(|file| allocate(&file).is_err()) {
        let _ = fs::remove_file(path);
    }
}

fn allocate(file: &File) -> io::Result<()> {
    // Whatever the umask.
    fchmod(file, Mode::RUSR | Mode::WUSR)?;
    Ok(fallocate(file, FallocateFlags::KEEP_SIZE, 0, ROOM)?)
}

/// Keeps the text of this spooled file.
pub(super) fn add(env: &Env, file: &Path, text: &str) -> io::Result<()> {
    let mut reserve = files::open_as(place(env), OpenOptions::new().append(true))?;
    fcntl_lock(&reserve, FlockOperation::LockExclusive)?;
    let before = reserve.metadata()?.len();
    let record = format!("{}\t{}\n{text}\n", file.display(), text.len());
    if before + record.len() as u64 > ROOM {
        return Err(ErrorKind::StorageFull.into());
    }
    // Half a record would hide the next one.
    reserve.write_all(record.as_bytes()).inspect_err(|_| drop(reserve.set_len(before)))
}

/// Writes every text to the file that it should have had. Those without room stay spooled.
pub(super) fn give_out(env: &Env) -> io::Result<()> {
    let path = place(env);
    if fs::metadata(&path).map_or(0, |about| about.len()) == 0 {
        return Ok(());
    }
    let mut reserve = files::open_as(&path, OpenOptions::new().read(true).write(true))?;
    fcntl_lock(&reserve, FlockOperation::LockExclusive)?;
    let mut text = String::new();
    reserve.read_to_string(&mut text)?;
    for (file, text) in records(&text) {
        let known = file.starts_with(&env.config) || file.starts_with(&env.data);
        if let Some(folder) = file.parent().filter(|_| known) {
            make_all(folder).map_err(|failure| io::Error::other(failure.what))?;
            replace_private(file, text.as_bytes())?;
        }
    }
    reserve.set_len(0)?;
    allocate(&reserve)
}

fn records(mut text: &str) -> Vec<(&Path, &str)> {
    let mut found = Vec::new();
    while let Some((head, rest)) = text.split_once('\n') {
        let length = head.rsplit_once('\t').and_then(|(file, length)| Some((file, length.parse().ok()?)));
        let Some((file, length)) = length.filter(|(_, length)| rest.is_char_boundary(*length)) else { break };
        found.push((Path::new(file), &rest[..length]));
        text = rest[length..].strip_prefix('\n').unwrap_or_default();
    }
    found
}
