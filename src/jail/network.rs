//! The network of a command that is tried out: empty, with a loopback device of its own.
//!
//! The kernel takes as long to make one as for all mounts. So the hook that lets the command go has one made by a process of
//! its own, while the client is busy with the answer, and the command takes it over. Writes one file beside the session's
//! receipts. Invariants: no two commands get the same network; where none waits, or is not ready, a command makes its own.

use super::kernel::{close_all_but, fork, leave, raise_loopback, unshare};
use super::receipt::{folder, make_folder};
use super::user::{tried, unshare_as_allowed};
use rustix::fs::{FlockOperation, flock, fstat, stat};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::{ThreadNameSpaceType, move_into_thread_name_spaces};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// Names the process that keeps the network that waits.
const FILE: &str = "network";
const USER: &str = "/proc/self/ns/user";
/// How long a network waits for its command.
const PATIENCE: Duration = Duration::from_mins(1);
const OWN: i32 = libc::CLONE_NEWNET | libc::CLONE_NEWIPC;

/// Has a network made for the next command of this session, if none waits yet.
pub fn prepare(session: &Path) -> io::Result<()> {
    let path = make_folder(session)?.join(FILE);
    let file = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        file => file?,
    };
    // Until the network is made.
    flock(&file, FlockOperation::LockExclusive)?;
    if fork()?.is_none() {
        keep(&path, &file);
    }
    Ok(())
}

/// In a process of its own: makes the network and keeps it until a command has taken it over, or none came.
fn keep(path: &Path, file: &File) -> ! {
    close_all_but(file);
    let _ = rustix::process::setsid();
    let _ = rustix::process::chdir("/");
    let user = stat(USER).map_or(0, |user| user.st_ino);
    if make(0).is_ok() && describe(file, user).is_ok() {
        let _ = flock(file, FlockOperation::Unlock);
        std::thread::sleep(PATIENCE);
    }
    if is_free(file) {
        let _ = fs::remove_file(path);
    }
    leave(0)
}

/// The process, its network, and whether a user namespace had to be made for it.
fn describe(mut file: &File, user: u64) -> io::Result<()> {
    let (network, now) = (stat("/proc/self/ns/net")?.st_ino, stat(USER)?.st_ino);
    let words = format!("{} {network} {}", std::process::id(), i32::from(now != user));
    file.write_all(words.as_bytes())
}

/// Nobody else has it or had it; until the file is closed nobody gets it.
fn is_free(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok() && fstat(file).is_ok_and(|file| file.st_nlink > 0)
}

/// This process has mounts and a network of its own afterwards: the network that waits in the session's folder, or a new one.
pub(super) fn enter(session: Option<&Path>) -> Result<(), String> {
    // Who keeps it may have been killed; then nothing was entered.
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

/// Takes the network that waits over: who keeps it, and which of its namespaces are to be entered.
fn take(session: &Path) -> Option<(OwnedFd, ThreadNameSpaceType)> {
    let path = folder(session).join(FILE);
    let file = File::open(&path).ok()?;
    if !is_free(&file) {
        return None;
    }
    fs::remove_file(&path).ok()?;
    let mut bytes = [0; 64];
    let length = rustix::io::read(&file, &mut bytes).ok()?;
    let mut words = str::from_utf8(&bytes[..length]).ok()?.split(' ');
    let pid: i32 = words.next()?.parse().ok()?;
    let (network, user): (u64, &str) = (words.next()?.parse().ok()?, words.next()?);
    let keeper = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
    // Another process may have the number by now, but not this network.
    if stat(format!("/proc/{pid}/ns/net")).ok()?.st_ino != network {
        return None;
    }
    let spaces = ThreadNameSpaceType::NETWORK | ThreadNameSpaceType::INTER_PROCESS_COMMUNICATION;
    Some((keeper, if user == "1" { spaces | ThreadNameSpaceType::USER } else { spaces }))
}
