//! User namespaces that map each ID to itself.
//!
//! Changes this process alone. Invariant: after an error the process must not run the command.

use super::kernel::{close_copies, fork, leave, unshare, wait_for};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;

/// Prefixes an error with what was tried.
pub(super) fn tried<T, E: Into<io::Error>>(what: &str, done: Result<T, E>) -> Result<T, String> {
    done.map_err(|error| format!("{what}: {}", error.into()))
}

/// Enters namespaces of our own, `libc::CLONE_NEW*`. A superuser with all rights needs no user namespace for
/// them.
pub(super) fn unshare_as_allowed(flags: i32) -> Result<(), String> {
    if rustix::process::geteuid().is_root() && unshare(flags).is_ok() {
        return Ok(());
    }
    enter(flags)
}

/// Enters a user namespace with the same IDs: all of them for a superuser, only their own for other users.
pub(super) fn enter(more: i32) -> Result<(), String> {
    if rustix::process::geteuid().is_root() && enter_with_all_ids(more)? {
        return Ok(());
    }
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    // A superuser who may not map all IDs has already entered the namespace.
    let is_mapped = || fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !map.trim().is_empty());
    if user != 0 || is_mapped() {
        tried("user namespace", unshare(libc::CLONE_NEWUSER | more))?;
    }
    tried("setgroups", fs::write("/proc/self/setgroups", "deny"))?;
    tried("uid_map", fs::write("/proc/self/uid_map", format!("{user} {user} 1")))?;
    tried("gid_map", fs::write("/proc/self/gid_map", format!("{group} {group} 1")))
}

/// Returns whether all IDs could be mapped. Only a process outside of the namespace may do that, so a child
/// writes the maps.
fn enter_with_all_ids(more: i32) -> Result<bool, String> {
    let same = |file: &str| -> io::Result<String> {
        let map = fs::read_to_string(format!("/proc/self/{file}"))?;
        let ranges = map.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            let first = words.next()?;
            let count = words.nth(1)?;
            Some(format!("{first} {first} {count}\n"))
        });
        Ok(ranges.collect())
    };
    let users = tried("uid_map", same("uid_map"))?;
    let groups = tried("gid_map", same("gid_map"))?;
    // Opened as `/proc/self`, not by process ID: that ID differs if `/proc` shows another namespace.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = tried("/proc/self", openat(CWD, "/proc/self", flags, Mode::empty()))?;
    let (mut ready, go) = tried("pipe", io::pipe())?;
    // The child waits until the namespace exists.
    let Some(child) = tried("fork", fork())? else {
        close_copies(&[go.as_raw_fd()]);
        let open = |file: &str| openat(&parent, file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
        let write = |file: &str, map: &str| {
            open(file).is_ok_and(|file| File::from(file).write_all(map.as_bytes()).is_ok())
        };
        let begun = ready.read_exact(&mut [0]).is_ok();
        leave(u8::from(begun && write("uid_map", &users) && write("gid_map", &groups)))
    };
    let entered = tried("user namespace", unshare(libc::CLONE_NEWUSER | more));
    // If nothing is written, the child ends and maps nothing.
    let said = entered.is_ok() && (&go).write_all(&[1]).is_ok();
    drop(go);
    let mapped = wait_for(child).is_ok_and(|code| code == 1);
    entered.map(|()| said && mapped)
}
