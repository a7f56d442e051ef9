//! The network of a command that is tried out: empty, with a loopback device of its own.
//!
//! The kernel takes as long to make one as for all mounts. So the hook that lets the command go has one made by a process of
//! its own, while the client is busy with the answer, and the command takes it over. Writes one file beside the session's
//! receipts. Invariants: no two commands get the same network; a command asks the kernel, not the file, which process keeps
//! it; where none waits, or is not ready, a command makes its own.

use super::kernel::{close_all_but, fork, leave, raise_loopback, unshare};
use super::receipt::{folder, make_folder};
use super::user::{tried, unshare_as_allowed};
use rustix::fs::{FlockOperation, fcntl_lock, fstat, stat};
use rustix::process::{Flock, FlockType, Pid, PidfdFlags, Signal, fcntl_getlk, pidfd_open, pidfd_send_signal};
use rustix::thread::{ThreadNameSpaceType, move_into_thread_name_spaces};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// Empty. The process that keeps a network which is ready holds a write lock on it. A command in a jail cannot take one: it
/// can open no file of this folder for writing.
const FILE: &str = "network";
/// How long a network waits for its command.
const PATIENCE: Duration = Duration::from_mins(1);
const OWN: i32 = libc::CLONE_NEWNET | libc::CLONE_NEWIPC;

/// Has a network made for the next command of this session, if none waits yet: the last thing that a hook does, since it
/// closes all files. A command could stop the new process before it has closed copies of its own, and those would keep the
/// session's lock and the client's streams for good.
pub fn prepare(session: &Path) -> io::Result<()> {
    let path = make_folder(session)?.join(FILE);
    let file = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        file => file?,
    };
    close_all_but(&file);
    match fork() {
        Ok(None) => keep(&path, &file),
        Ok(Some(_)) => Ok(()),
        Err(error) => fs::remove_file(&path).and(Err(error)),
    }
}

/// In a process of its own: makes the network and keeps it until a command has taken it over, or none came.
fn keep(path: &Path, file: &File) -> ! {
    let _ = rustix::process::setsid();
    let _ = rustix::process::chdir("/");
    // A command that came meanwhile has made its own and removed the file.
    let is_there = || stat(path).is_ok_and(|there| fstat(file).is_ok_and(|own| own.st_ino == there.st_ino));
    if make(0).is_ok() && fcntl_lock(file, FlockOperation::NonBlockingLockExclusive).is_ok() && is_there() {
        std::thread::sleep(PATIENCE);
    }
    if is_there() {
        let _ = fs::remove_file(path);
    }
    leave(0)
}

/// This process has mounts and a network of its own afterwards: the network that waits in the session's folder, or a new one.
pub(super) fn enter(session: Option<&Path>) -> Result<(), String> {
    // The keeper may have been killed; then nothing was entered.
    if let Some((keeper, spaces)) = session.and_then(take)
        && move_into_thread_name_spaces(keeper.as_fd(), spaces).is_ok()
    {
        let _ = pidfd_send_signal(keeper, Signal::KILL);
        return tried("mounts", unshare(libc::CLONE_NEWNS));
    }
    make(libc::CLONE_NEWNS)
}

fn make(more: i32) -> Result<(), String> {
    unshare_as_allowed(OWN | more)?;
    tried("loopback device", raise_loopback())
}

/// Takes the network that waits over: the process that keeps it, and which of its namespaces are to be entered.
fn take(session: &Path) -> Option<(OwnedFd, ThreadNameSpaceType)> {
    let folder = folder(session);
    // From here on it is this command's alone.
    let taken = folder.join(format!("{FILE}.{}", std::process::id()));
    fs::rename(folder.join(FILE), &taken).ok()?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(&taken);
    fs::remove_file(&taken).ok()?;
    let file = file.ok()?;
    let pid = locked_by(&file)?;
    let keeper = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    // It lives still, so no other process had its number meanwhile: a command can kill it and wait for its number.
    if locked_by(&file) != Some(pid) {
        return None;
    }
    let user = |who: &str| stat(format!("/proc/{who}/ns/user")).map(|space| space.st_ino).ok();
    let spaces = ThreadNameSpaceType::NETWORK | ThreadNameSpaceType::INTER_PROCESS_COMMUNICATION;
    // A superuser's keeper has our own, which cannot be entered again.
    let same = user("self")? == user(&pid.as_raw_nonzero().to_string())?;
    Some((keeper, if same { spaces } else { spaces | ThreadNameSpaceType::USER }))
}

/// The living process that has the file locked for writing.
fn locked_by(file: &File) -> Option<Pid> {
    fcntl_getlk(file, &Flock::from(FlockType::ReadLock)).ok()??.pid
}
