//! Signal handling, and the three standard streams.
//!
//! Ignores signals that would end a process which could still answer: the host lets a call pass if its hook
//! dies. Opens `/dev/null` in place of a closed standard stream: otherwise the next opened file, such as a
//! ledger, would get its descriptor and receive the answer.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Pid, Signal, kill_process};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Sends a signal to a process that may have been stopped, and continues it.
pub fn send_awake(process: Pid, signal: Signal) -> std::io::Result<()> {
    kill_process(process, signal)?;
    Ok(kill_process(process, Signal::CONT)?)
}

/// First call of the program.
pub fn settle() {
    // If the reader is gone or the file-size limit is reached, `write` returns an error.
    set(&[libc::SIGPIPE, libc::SIGXFSZ], libc::SIG_IGN);
    let stdin = rustix::stdio::stdin();
    let stdout = rustix::stdio::stdout();
    let stderr = rustix::stdio::stderr();
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

/// The process group that is killed when a signal ends this process; 0 for none.
static ALONG: AtomicI32 = AtomicI32::new(0);
/// Stored while a group is being started.
const STARTING: i32 = -1;
/// A signal that came while the group was being started; 0 for none.
static EARLY: AtomicI32 = AtomicI32::new(0);

/// Called before the group is started: a signal now waits for `take_along`. Otherwise a signal after the
/// start, but before we know the group's ID, would end us and leave the group alive.
pub fn hold() {
    ALONG.store(STARTING, Ordering::SeqCst);
    set(&ENDING, end as *const () as usize);
}

/// From now on a signal that ends this process also kills this group, until `None` is set. The host signals
/// only our own group; a child in another group would live on without a timeout.
pub fn take_along(group: Option<Pid>) {
    ALONG.store(group.map_or(0, |group| group.as_raw_nonzero().get()), Ordering::SeqCst);
    let early = EARLY.swap(0, Ordering::SeqCst);
    if early != 0 {
        end(early);
    }
    set(&ENDING, if group.is_some() { end as *const () as usize } else { libc::SIG_DFL });
}

/// The signals that ask a process to end.
const ENDING: [i32; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

fn set(signals: &[i32], handler: libc::sighandler_t) {
    for signal in signals {
        #[expect(unsafe_code, reason = "no safe crate sets a handler without a thread")]
        // SAFETY: the handlers call only async-signal-safe functions: atomics, `kill`, `_exit`.
        unsafe {
            libc::signal(*signal, handler);
        }
    }
}

extern "C" fn end(signal: i32) {
    if ALONG.load(Ordering::SeqCst) == STARTING {
        EARLY.store(signal, Ordering::SeqCst);
    }
    let group = ALONG.load(Ordering::SeqCst); // again: another thread may have learnt the group meanwhile
    if group == STARTING {
        return;
    }
    #[expect(unsafe_code, reason = "the same")]
    // SAFETY: both calls are allowed in a signal handler, and neither touches memory.
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
    set(&ENDING, note as *const () as usize);
}

/// From now on they end the process again.
pub fn obey_interrupts() {
    set(&ENDING, libc::SIG_DFL);
}

/// A signal asked this process to end.
pub fn interrupted() -> bool {
    ASKED.load(Ordering::Relaxed)
}
