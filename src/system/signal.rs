//! Survives the ways the system ends a process that could still answer, and keeps the standard streams where they belong.
//!
//! Changes how this process takes signals; opens `/dev/null` in the place of a closed stream. Why: the host lets a call
//! pass whose hook died, so dying is the one thing a guard must not do; and a ledger that got the number of a closed
//! stdout would be written to by every answer.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::Pid;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Once, before anything else.
pub fn settle() {
    ignore(libc::SIGPIPE); // whoever reads us has gone: an error of `write`, not our end
    ignore(libc::SIGXFSZ); // a file-size limit likewise
    let (stdin, stdout, stderr) = (rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr());
    let mut streams =
        [stdin, stdout, stderr].map(|stream| PollFd::from_borrowed_fd(stream, PollFlags::empty()));
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut streams, Some(&at_once)).is_err() {
        return;
    }
    for _ in streams.iter().filter(|stream| stream.revents().contains(PollFlags::NVAL)) {
        // The lowest free number is the closed stream's; it stays open as long as we live.
        if let Ok(nowhere) = openat(CWD, "/dev/null", OFlags::RDWR, Mode::empty()) {
            std::mem::forget(nowhere);
        }
    }
}

/// The group that goes with us when a signal ends us; 0 is none.
static ALONG: AtomicI32 = AtomicI32::new(0);
/// In the place of a group that is being started.
const STARTING: i32 = -1;
/// A signal that came while the group was being started; 0 is none.
static EARLY: AtomicI32 = AtomicI32::new(0);

/// Before the group is started: a signal waits for `take_along`. Else one that comes after the start, and before we know
/// the group's id, would end us and leave the group alive.
pub fn hold() {
    ALONG.store(STARTING, Ordering::SeqCst);
    handle(end as *const () as usize);
}

/// Until told otherwise: a signal that ends us ends this group too. The host signals our group alone, and what we started
/// in a group of its own would live on with nobody to watch its time.
pub fn take_along(group: Option<Pid>) {
    ALONG.store(group.map_or(0, |group| group.as_raw_nonzero().get()), Ordering::SeqCst);
    let early = EARLY.swap(0, Ordering::SeqCst);
    if early != 0 {
        end(early);
    }
    handle(if group.is_some() { end as *const () as usize } else { libc::SIG_DFL });
}

fn handle(handler: libc::sighandler_t) {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        #[expect(unsafe_code, reason = "no safe crate sets a handler without a thread")]
        // SAFETY: the handler calls only what is safe in one: atomics, `kill`, `_exit`.
        unsafe {
            libc::signal(signal, handler);
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
    // SAFETY: both calls may be made in a handler, and neither touches memory.
    unsafe {
        if group > 1 {
            libc::kill(-group, libc::SIGKILL);
        }
        libc::_exit(128 + signal);
    }
}

/// Somebody asked this process to end.
static ASKED: AtomicBool = AtomicBool::new(false);

/// From here on a polite signal ends nothing: it is noted, for whoever wants to pause cleanly.
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
    // SAFETY: SIG_IGN is a valid disposition and no handler of ours runs.
    unsafe {
        libc::signal(signal, libc::SIG_IGN);
    }
}
