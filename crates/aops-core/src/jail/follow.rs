//! The process that the client started, beside a command in a process namespace.
//!
//! No process can enter such a namespace itself, only its children can. So the command is a child, and this one passes on
//! every signal and ends as the command ends. Invariant: whoever kills this one kills the command, since the keeper waits
//! for its end.

use super::kernel::{close_all_but, fork, leave};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, setsid, waitpid};
use std::mem::MaybeUninit;

/// Goes on as a child, which is the command; the process that calls this ends as the child does.
pub(super) fn descend() -> Result<(), String> {
    let before = Signals::take_over();
    match fork() {
        Ok(Some(child)) => follow(child),
        Ok(None) => {
            // A group of its own: a signal to the client's group comes once, through us.
            let _ = setsid();
            before.give_back();
            Ok(())
        }
        Err(error) => {
            before.give_back();
            Err(format!("fork: {error}"))
        }
    }
}

fn follow(child: Pid) -> ! {
    close_all_but(&[]);
    loop {
        match next_signal() {
            libc::SIGCHLD => {
                if let Ok(Some((_, status))) = waitpid(Some(child), WaitOptions::NOHANG) {
                    end_like(status);
                }
            }
            signal => pass_on(child, signal),
        }
    }
}

fn pass_on(child: Pid, signal: i32) {
    let Some(signal) = Signal::from_named_raw(signal) else { return };
    // Before it has a group of its own it is alone.
    let _ = kill_process_group(child, signal).or_else(|_| kill_process(child, signal));
}

fn end_like(status: WaitStatus) -> ! {
    if let Some(signal) = status.terminating_signal() {
        die_by(signal);
        leave(u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    leave(status.exit_status().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

/// How signals reached this process before.
struct Signals {
    blocked: libc::sigset_t,
    at_end_of_child: libc::sighandler_t,
}

impl Signals {
    /// From here on every signal waits for `next_signal`.
    fn take_over() -> Self {
        let mut blocked = MaybeUninit::uninit();
        #[expect(unsafe_code, reason = "no safe crate here blocks signals")]
        // SAFETY: both sets are written before they are read; there is one thread.
        unsafe {
            libc::sigprocmask(libc::SIG_SETMASK, &all_signals(), blocked.as_mut_ptr());
            Self { blocked: blocked.assume_init(), at_end_of_child: libc::signal(libc::SIGCHLD, libc::SIG_DFL) }
        }
    }

    fn give_back(self) {
        #[expect(unsafe_code, reason = "the same")]
        // SAFETY: the set and the handler are those of this very process before.
        unsafe {
            libc::signal(libc::SIGCHLD, self.at_end_of_child);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const self.blocked, std::ptr::null_mut());
        }
    }
}

fn all_signals() -> libc::sigset_t {
    let mut all = MaybeUninit::uninit();
    #[expect(unsafe_code, reason = "the same")]
    // SAFETY: the call writes the whole set.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        all.assume_init()
    }
}

fn next_signal() -> i32 {
    #[expect(unsafe_code, reason = "the same")]
    // SAFETY: the set lives as long as the call, and nothing more is asked for.
    unsafe {
        libc::sigwaitinfo(&all_signals(), std::ptr::null_mut())
    }
}

/// Ends this process by the same signal as the command. Returns if that signal ends none.
fn die_by(signal: i32) {
    #[expect(unsafe_code, reason = "the same")]
    // SAFETY: the sets are whole; the default handler is set, which runs none of our code.
    unsafe {
        let mut none = MaybeUninit::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::signal(signal, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
        libc::raise(signal);
    }
}
