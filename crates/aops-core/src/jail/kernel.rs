//! The few system calls that no safe crate offers.
//!
//! Changes this process alone. Invariant: wherever `fork` is called there is only one thread, or the child
//! uses nothing that another thread may have locked.

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::process::{Pid, WaitOptions, waitpid};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::path::Path;

/// A folder that exists everywhere, that no program needs and that contains no place of a plan, so we can
/// mount over it.
pub(super) const UNSEEN: &str = "/proc/tty";

fn done(result: i64) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Gives this process namespaces of its own: `libc::CLONE_NEW*`.
pub(super) fn unshare(flags: i32) -> io::Result<()> {
    #[expect(unsafe_code, reason = "rustix has it, but not as a safe call")]
    // SAFETY: only namespaces are unshared, never the table of files.
    done(unsafe { libc::unshare(flags) }.into())
}

/// Makes the mount behind this descriptor read-only or writable; `recursive`: also the mounts below it.
pub(super) fn set_writable(mount: BorrowedFd, writable: bool, recursive: bool) -> io::Result<()> {
    // SAFETY: all zero is a valid value of this plain struct.
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

/// Brings up the loopback device of our own network namespace.
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
        // A cast, since C libraries disagree on the type of an `ioctl` request.
        let raised = done(libc::syscall(libc::SYS_ioctl, socket, libc::SIOCSIFFLAGS, &raw const request));
        libc::close(socket);
        raised
    }
}

/// Runs this in a child process, which exits with the returned number; returns the child's exit code.
pub(super) fn in_child(work: impl FnOnce() -> u8) -> io::Result<u8> {
    match fork()? {
        None => leave(work()),
        Some(child) => wait_for(child),
    }
}

/// The child's exit code; the largest number if a signal killed it.
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

/// Starts a second process; returns `None` in the child.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    #[expect(unsafe_code, reason = "no safe crate forks")]
    // SAFETY: the C library releases its own locks in the child, including the allocator's; the caller uses
    // no other locks.
    let pid = unsafe { libc::fork() };
    done(pid.into())?;
    Ok(Pid::from_raw(pid))
}

/// Ends this process without running any exit handlers.
pub(super) fn leave(code: u8) -> ! {
    #[expect(unsafe_code, reason = "the end of a forked process")]
    // SAFETY: it does not return.
    unsafe {
        libc::_exit(code.into())
    }
}

/// The next program inherits no file but the three standard streams.
pub fn close_on_exec() {
    #[expect(unsafe_code, reason = "no safe crate offers it")]
    // SAFETY: it touches no memory.
    let _ = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// In a forked process: closes its copies of these files, so that their readers see the end of file.
pub(super) fn close_copies(files: &[i32]) {
    for file in files {
        #[expect(unsafe_code, reason = "the owner of the file is the process that forked")]
        // SAFETY: a forked process uses none of them afterwards, and ends without dropping their owners.
        unsafe {
            libc::close(*file);
        }
    }
}

/// Closes every file but these. The process must not use any other afterwards.
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

/// From here on the kernel reaps our children.
pub(super) fn ignore_children() {
    #[expect(unsafe_code, reason = "no safe crate offers it")]
    // SAFETY: no handler of ours is set.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
    }
}

/// Kills every other process of the PID namespace whose first process this is.
pub(super) fn kill_others() {
    // In any other process this would kill everything the user runs.
    if std::process::id() == 1 {
        #[expect(unsafe_code, reason = "no safe crate offers it")]
        // SAFETY: it touches no memory.
        unsafe {
            libc::kill(-1, libc::SIGKILL);
        }
    }
}

/// Opens what lies at a real path. A symlink on the way was put there after the path was looked up, and is
/// refused; a symlink at its end is opened itself.
pub(super) fn open_at(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// A copy of the mount that contains this; `more`: `AT_RECURSIVE` copies the mounts below it, too.
pub(super) fn copy_of(place: &OwnedFd, more: OpenTreeFlags) -> rustix::io::Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(place, "", flags | more)
}

pub(super) fn mount_copy(copy: &OwnedFd, place: &OwnedFd) -> rustix::io::Result<()> {
    move_mount(
        copy,
        "",
        place,
        "",
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH,
    )
}

/// Closes these with as few calls as possible: one for each run of consecutive numbers.
pub(super) fn close_together(files: Vec<OwnedFd>) {
    let mut numbers: Vec<u32> = files.into_iter().map(|file| file.into_raw_fd().unsigned_abs()).collect();
    numbers.sort_unstable();
    for run in numbers.chunk_by(|one, next| one + 1 == *next) {
        let first = run[0];
        let last = run[run.len() - 1];
        #[expect(unsafe_code, reason = "no safe crate offers it")]
        // SAFETY: each number in the range belongs to a file whose owner was given up above.
        let _ = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

/// A path of an open file that works even if its own path is mounted over by now.
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
