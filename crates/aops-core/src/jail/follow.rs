//! The process that the client started, while the command itself runs in a PID namespace or its end is
//! watched.
//!
//! A process cannot enter a PID namespace itself, only its children can. So the command is a child, and this
//! process passes on signals and ends as the command ends. Invariant: killing this process kills the command:
//! the keeper waits for its end, and a command without a keeper is killed with its parent.

use super::kernel::{close_all_but, fork, leave};
use super::receipt::Receipt;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process,
    kill_process_group, set_dumpable_behavior, set_parent_process_death_signal, setsid, waitpid,
};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

/// Continues as a child, which becomes the command; the calling process waits and ends as the child does.
pub(super) fn descend() -> Result<(), String> {
    let before = Signals::take_over();
    match fork() {
        Ok(Some(child)) => follow(child, None),
        Ok(None) => {
            // A process group of its own, so that a signal to the client's group arrives only once, through
            // us.
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

/// Continues as a child, which becomes the command; the calling process stays outside of the jail, records
/// how the child ended, and ends the same way.
pub(super) fn watch(receipt: Receipt) -> Result<(), String> {
    let before = Signals::take_over();
    let watcher = getpid();
    match fork() {
        Ok(Some(child)) => {
            // The command may run as the same user, and must not be able to write the receipt through this
            // process.
            let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
            follow(child, Some(receipt))
        }
        Ok(None) => {
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            before.give_back();
            // The parent was killed before the kernel knew that we are to die with it.
            if getppid() == Some(watcher) { Ok(()) } else { leave(1) }
        }
        Err(error) => {
            before.give_back();
            Err(format!("fork: {error}"))
        }
    }
}

/// Signals that a terminal sends to a whole process group; a command that is only watched gets them directly.
const OF_TERMINALS: [i32; 6] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU, libc::SIGWINCH];

fn follow(child: Pid, mut receipt: Option<Receipt>) -> ! {
    let kept: Vec<i32> = receipt.iter().map(|receipt| receipt.as_fd().as_raw_fd()).collect();
    close_all_but(&kept);
    loop {
        match next_signal() {
            libc::SIGCHLD => {
                if let Ok(Some((_, status))) = waitpid(Some(child), WaitOptions::NOHANG) {
                    if let Some(receipt) = &mut receipt {
                        let _ = receipt.end(exit_of(status));
                    }
                    end_like(status);
                }
            }
            signal if receipt.is_some() && OF_TERMINALS.contains(&signal) => {}
            signal => pass_on(child, signal),
        }
    }
}

/// The exit code as a shell reports it.
fn exit_of(status: WaitStatus) -> i32 {
    let by_signal = status.terminating_signal().map(|signal| 128 + signal);
    by_signal.or(status.exit_status()).unwrap_or(i32::from(u8::MAX))
}

fn pass_on(child: Pid, signal: i32) {
    let Some(signal) = Signal::from_named_raw(signal) else { return };
    // Before the child has a group of its own, only the child itself can be signalled.
    let _ = kill_process_group(child, signal).or_else(|_| kill_process(child, signal));
}

fn end_like(status: WaitStatus) -> ! {
    if let Some(signal) = status.terminating_signal() {
        die_by(signal);
        leave(u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    leave(status.exit_status().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

/// Signal mask and handler of this process before we took over.
struct Signals {
    blocked: libc::sigset_t,
    at_end_of_child: libc::sighandler_t,
}

impl Signals {
    /// From here on every signal is blocked until `next_signal` takes it.
    fn take_over() -> Self {
        let mut blocked = MaybeUninit::uninit();
        #[expect(unsafe_code, reason = "no safe crate here blocks signals")]
        // SAFETY: both sets are written before they are read; there is one thread.
        unsafe {
            libc::sigprocmask(libc::SIG_SETMASK, &all_signals(), blocked.as_mut_ptr());
            Self {
                blocked: blocked.assume_init(),
                at_end_of_child: libc::signal(libc::SIGCHLD, libc::SIG_DFL),
            }
        }
    }

    fn give_back(self) {
        #[expect(unsafe_code, reason = "the same")]
        // SAFETY: the set and the handler are the ones that this process had before.
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
    // SAFETY: the set lives as long as the call, and no details of the signal are asked for.
    unsafe {
        libc::sigwaitinfo(&all_signals(), std::ptr::null_mut())
    }
}

/// Ends this process by the same signal as the command. Returns if that signal does not end a process.
fn die_by(signal: i32) {
    #[expect(unsafe_code, reason = "the same")]
    // SAFETY: the sets are initialised; the default handler is set, which runs none of our code.
    unsafe {
        let mut none = MaybeUninit::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::signal(signal, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
        libc::raise(signal);
    }
}
