//! Signal dispositions, and the three standard streams.
//!
//! Ignores signals that would end a process which could still answer: the host lets a call pass if its hook dies. Opens
//! `/dev/null` in place of a closed standard stream, or the next file, a ledger, would get its descriptor and receive the
//! answer.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::Pid;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// First call of the program.
pub fn settle() {
    ignore(libc::SIGPIPE); // the reader is gone: `write` returns an error
    ignore(libc::SIGXFSZ); // the file-size limit is reached: the same
    let (stdin, stdout, stderr) = (rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr());
    let mut streams =
        [stdin, stdout, stderr].map(|stream| PollFd::from_borrowed_fd(stream, PollFlags::empty()));
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut streams, Some(&at_once)).is_err() {
        return;
    }
    for _ in streams.iter().filter(|stream| stream.revents().contains(PollFlags::NVAL)) {
        // The lowest free descriptor is the closed stream's; it is never closed.
        if let Ok(nowhere) = openat(CWD, "/dev/null", OFlags::RDWR, Mode::empty()) {
            std::mem::forget(nowhere);
        }
    }
}

/// The process group that is killed when a signal ends this process; 0: none.
static ALONG: AtomicI32 = AtomicI32::new(0);

/// From now on a signal that ends this process kills this group too, until `None` is set. The host signals only our own
/// group; a child in another group would live on without a timeout.
pub fn take_along(group: Option<Pid>) {
    ALONG.store(group.map_or(0, |group| group.as_raw_nonzero().get()), Ordering::SeqCst);
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        #[expect(unsafe_code, reason = "no safe crate sets a handler without a thread")]
        // SAFETY: the handler calls only what is safe in one: an atomic load, `kill`, `_exit`.
        unsafe {
            libc::signal(signal, if group.is_some() { end as *const () as usize } else { libc::SIG_DFL });
        }
    }
}

extern "C" fn end(signal: i32) {
    let group = ALONG.load(Ordering::SeqCst);
    #[expect(unsafe_code, reason = "the same")]
    // SAFETY: both calls may be made in a handler, and neither touches memory.
    unsafe {
        if group > 1 {
            libc::kill(-group, libc::SIGKILL);
        }
        libc::_exit(128 + signal);
    }
}

/// A signal asked this process to end.
static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on SIGINT, SIGTERM and SIGHUP only set a flag, so that a run can pause cleanly.
pub fn note_interrupts() {
    extern "C" fn note(_: i32) {
        ASKED.store(true, Ordering::Relaxed);
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        #[expect(unsafe_code, reason = "no safe crate here offers a handler; this one only stores a flag")]
        // SAFETY: the handler is async-signal-safe: one atomic store.
        unsafe {
            libc::signal(signal, note as *const () as libc::sighandler_t);
        }
    }
}

pub fn interrupted() -> bool {
    ASKED.load(Ordering::Relaxed)
}

fn ignore(signal: i32) {
    #[expect(unsafe_code, reason = "no safe crate offers SIG_IGN; the call has no memory effects")]
    // SAFETY: SIG_IGN is a valid disposition; no handler is installed.
    unsafe {
        libc::signal(signal, libc::SIG_IGN);
    }
}
