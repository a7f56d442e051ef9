//! The few calls of the kernel that no safe crate offers.
//!
//! Changes this process alone. Invariant: where `fork` is called there is one thread, or what the others may
//! have locked is not used afterwards.

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::process::{Pid, WaitOptions, waitpid};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::path::Path;

/// A folder that is everywhere, that no program needs, and below which no place of a plan lies: mounts are
/// made over it.
pub(super) const UNSEEN: &str = "/proc/tty";

fn done(result: i64) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Namespaces of our own: `libc::CLONE_NEW*`.
pub(super) fn unshare(flags: i32) -> io::Result<()> {
    #[expect(unsafe_code, reason = "rustix has it, but not as a safe call")]
    // SAFETY: only namespaces are unshared, never the table of files.
    done(unsafe { libc::unshare(flags) }.into())
}

/// Makes the mount behind this descriptor, and those below it, read-only or writable.
pub(super) fn set_writable(mount: BorrowedFd, writable: bool, recursive: bool) -> io::Result<()> {
    // SAFETY: all zero is a value of this plain struct.
    #[expect(unsafe_code, reason = "rustix has no mount_setattr")]
    let mut attributes: libc::mount_attr = unsafe { std::mem::zeroed() };
    let flag = libc::MOUNT_ATTR_RDONLY;
    if writable {
        attributes.attr_clr = flag;
    } else {
        attributes.attr_set = flag;
    }
    let how = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    #[expect(unsafe_code, reason = "the same")]
    // SAFETY: the name ends with a zero byte, and the struct lives as long as the call.
    done(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            how,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    })
}

/// Switches the loopback device of our own network on.
pub(super) fn raise_loopback() -> io::Result<()> {
    #[expect(unsafe_code, reason = "no safe crate here sets a device's flags")]
    // SAFETY: the request is a zeroed plain struct with a name that ends with a zero byte; the socket is
    // closed below.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        done(socket.into())?;
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes_with_nul()) {
            *to = libc::c_char::from_ne_bytes([*from]);
        }
        request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP).unwrap_or(1);
        // By number: the C libraries disagree on the type of a request.
        let raised = done(libc::syscall(libc::SYS_ioctl, socket, libc::SIOCSIFFLAGS, &raw const request));
        libc::close(socket);
        raised
    }
}

/// Runs this in a child process, which ends with its number, and gives what the child's end said.
pub(super) fn in_child(work: impl FnOnce() -> u8) -> io::Result<u8> {
    match fork()? {
        None => leave(work()),
        Some(child) => wait_for(child),
    }
}

/// What a child ended with; the largest number if it was killed.
pub(super) fn wait_for(child: Pid) -> io::Result<u8> {
    let ended = loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            ended => break ended?,
        }
    };
    let code = ended.and_then(|(_, status)| status.exit_status());
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

/// A second process; nothing is returned to it.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    #[expect(unsafe_code, reason = "no safe crate forks")]
    // SAFETY: the C library frees its own locks in the child, that of the memory included; the caller uses no
    // other.
    let pid = unsafe { libc::fork() };
    done(pid.into())?;
    Ok(Pid::from_raw(pid))
}

/// Ends this process without running anything more.
pub(super) fn leave(code: u8) -> ! {
    #[expect(unsafe_code, reason = "the end of a forked process")]
    // SAFETY: it does not return.
    unsafe {
        libc::_exit(code.into())
    }
}

/// From here on no file but the three standard streams reaches the next program.
pub fn close_on_exec() {
    #[expect(unsafe_code, reason = "no safe crate offers it")]
    // SAFETY: it touches no memory.
    let _ = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// In a forked process: closes these, so that their readers do not wait for it.
pub(super) fn close_copies(files: &[i32]) {
    for file in files {
        #[expect(unsafe_code, reason = "the owner of the file is the process that forked")]
        // SAFETY: a forked process uses none of them afterwards, and ends without dropping their owners.
        unsafe {
            libc::close(*file);
        }
    }
}

/// Closes every file but these, in a process that uses no other any more.
pub(super) fn close_all_but(files: &[i32]) {
    let mut kept: Vec<u32> = files.iter().map(|file| file.unsigned_abs()).collect();
    kept.sort_unstable();
    let mut first = 0;
    for end in kept.into_iter().chain([u32::MAX]) {
        if first < end {
            let last = if end == u32::MAX { end } else { end - 1 };
            #[expect(unsafe_code, reason = "no safe crate offers it")]
            // SAFETY: the process ends without using or dropping the owners of the files.
            let _ = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
        first = end.saturating_add(1);
    }
}

/// From here on the end of a child is taken by the kernel.
pub(super) fn ignore_children() {
    #[expect(unsafe_code, reason = "no safe crate offers it")]
    // SAFETY: no handler of ours is set.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
    }
}

/// Kills every other process of the namespace whose first process this is.
pub(super) fn kill_others() {
    // Anywhere else this would be every process of the user.
    if std::process::id() == 1 {
        #[expect(unsafe_code, reason = "no safe crate offers it")]
        // SAFETY: it touches no memory.
        unsafe {
            libc::kill(-1, libc::SIGKILL);
        }
    }
}

/// What lies at a real path. A link in it was put there after the path was looked up, and leads nowhere; one
/// at its end is meant itself.
pub(super) fn open_at(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// A copy of the mount in which this lies, from here on; `more`: of what is mounted below, too.
pub(super) fn copy_of(place: &OwnedFd, more: OpenTreeFlags) -> rustix::io::Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(place, "", flags | more)
}

/// Mounts a copy over this.
pub(super) fn mount_copy(copy: &OwnedFd, place: &OwnedFd) -> rustix::io::Result<()> {
    move_mount(
        copy,
        "",
        place,
        "",
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH,
    )
}

/// Closes these with as few calls as their numbers allow.
pub(super) fn close_together(files: Vec<OwnedFd>) {
    let mut numbers: Vec<u32> = files.into_iter().map(|file| file.into_raw_fd().unsigned_abs()).collect();
    numbers.sort_unstable();
    for run in numbers.chunk_by(|one, next| one + 1 == *next) {
        let first = run[0];
        let last = run[run.len() - 1];
        #[expect(unsafe_code, reason = "no safe crate offers it")]
        // SAFETY: each number in between is that of a file whose owner was given up above.
        let _ = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

/// A name for an open file, whatever lies over its path by now.
pub(super) fn by_number(file: &impl AsRawFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_on_the_way_leads_nowhere_and_one_at_the_end_is_meant_itself() {
        let held = tempfile::tempdir().unwrap();
        let root = held.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/inner")).unwrap();
        symlink("real", root.join("link")).unwrap();
        assert!(open_at(&root.join("real/inner")).is_ok());
        assert_eq!(open_at(&root.join("link/inner")).unwrap_err(), rustix::io::Errno::LOOP);
        let link = rustix::fs::fstat(open_at(&root.join("link")).unwrap()).unwrap();
        assert_eq!(rustix::fs::FileType::from_raw_mode(link.st_mode), rustix::fs::FileType::Symlink);
    }
}
