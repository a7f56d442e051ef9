//! The holder of a step: it starts one program, and ends it with all its child processes.
//!
//! A process of its own for each step. It ends the tree when its standard input is closed (its worker was
//! killed, or let the step go), when no sign of life arrives for too long (its worker or the machine was
//! frozen), when it gets SIGTERM, and when the program has ended. Invariants: when the holder is gone, so is
//! the tree. If the kernel offers a PID namespace, that holds even if the holder is killed: the first process
//! of the namespace is ours, and all others end with it. Otherwise orphans become children of the holder, and
//! the next worker sweeps what a killed holder leaves; it finds them by a variable.

#![expect(clippy::disallowed_methods, reason = "it starts programs for others")]

use crate::tree;
use aops_core::jail::apart;
use aops_core::system::process::detached;
use aops_core::system::signal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, Signal, WaitStatus, getppid, kill_process, set_child_subreaper, set_parent_process_death_signal,
    setsid,
};
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A variable of every process of a step: the folder of the worker that the step belongs to.
pub const MARK: &str = "AOPS_HOLD";
/// The exit code for a step that we ended, as a shell reports SIGTERM.
pub const ENDED: u8 = 143;
/// No PID namespace can be created.
const NOT_APART: u8 = 213;
const NOT_STARTED: u8 = 127;
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// The verbs of the holder's own processes, in the order in which they start each other.
const HOLD: &str = "__hold";
const APART: &str = "__hold-apart";
const FIRST: &str = "__hold-first";
const STEP: &str = "__hold-step";

/// Whether a PID namespace is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    IfPossible,
    Never,
}

/// The program to hold, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub grace: Duration,
    /// How long the worker may stay silent before the step ends. Time while the machine sleeps counts too.
    pub life: Option<Duration>,
    pub apart: Apart,
    /// An open file of the worker that the holder keeps open, but the step does not.
    pub lock: Option<i32>,
    pub program: String,
    pub args: Vec<String>,
}

impl Held {
    /// The arguments with which our program becomes the holder.
    pub fn words(&self) -> Vec<String> {
        self.words_of(HOLD)
    }

    fn words_of(&self, verb: &str) -> Vec<String> {
        let apart = if self.apart == Apart::IfPossible { "apart" } else { "here" };
        let lock = self.lock.map_or_else(|| "-".to_owned(), |lock| lock.to_string());
        let life = self.life.map_or_else(|| "-".to_owned(), |life| life.as_millis().to_string());
        let grace = self.grace.as_millis().to_string();
        let own = [verb.to_owned(), grace, life, apart.to_owned(), lock, self.program.clone()];
        own.into_iter().chain(self.args.iter().cloned()).collect()
    }

    fn read(words: &[String]) -> Option<Self> {
        let [_, grace, life, apart, lock, program, args @ ..] = words else { return None };
        Some(Self {
            grace: Duration::from_millis(grace.parse().ok()?),
            life: life.parse().ok().map(Duration::from_millis),
            apart: if apart == "apart" { Apart::IfPossible } else { Apart::Never },
            lock: lock.parse().ok(),
            program: program.clone(),
            args: args.to_vec(),
        })
    }
}

/// Kills what holders of this worker left behind. `false` if processes cannot be listed.
pub fn sweep(mark: &str) -> bool {
    detached::end_marked(MARK, mark)
}

/// Runs one of the holder's verbs; `None` if it is not one.
pub fn run(words: &[String]) -> Option<u8> {
    let verb = words.first()?.as_str();
    if verb == STEP {
        return Some(become_step(&words[1..]));
    }
    if ![HOLD, APART, FIRST].contains(&verb) {
        return None;
    }
    let held = Held::read(words)?;
    signal::settle();
    signal::note_interrupts();
    Some(match verb {
        HOLD => hold(&held),
        APART => hold_apart(&held),
        _ => hold_first(&held),
    })
}

fn hold(held: &Held) -> u8 {
    if held.apart == Apart::IfPossible {
        match pass_on(&held.words_of(APART)) {
            NOT_APART => {}
            code => return code,
        }
    }
    hold_here(held)
}

/// A process of its own, because a process cannot leave the namespace it created.
fn hold_apart(held: &Held) -> u8 {
    if !dies_with_parent() || apart::separate().is_err() {
        return NOT_APART;
    }
    pass_on(&held.words_of(FIRST))
}

/// The first process of the namespace; all others end with it.
fn hold_first(held: &Held) -> u8 {
    let with_parent = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    if with_parent && apart::see_own() { hold_here(held) } else { NOT_APART }
}

/// Starts our own program with these words, passes SIGTERM on, and returns its exit code.
fn pass_on(words: &[String]) -> u8 {
    let Ok(mut child) = ourselves(words).spawn() else { return NOT_APART };
    let mut asked = false;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                return status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(ENDED);
            }
            Err(_) => return ENDED,
            Ok(None) => {}
        }
        if signal::interrupted() && !asked {
            asked = true;
            let _ = pid_of(&child).map(|pid| kill_process(pid, Signal::TERM));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Uses the kernel's own link, because the file may have been replaced since we started.
fn ourselves(words: &[String]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(words);
    command
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Asks the kernel to kill this process together with its parent; `false` if the parent is gone already.
fn dies_with_parent() -> bool {
    let is_set = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    is_set && getppid().is_some_and(|parent| parent.as_raw_nonzero().get() > 1)
}

fn hold_here(held: &Held) -> u8 {
    let _ = set_child_subreaper(Some(rustix::process::getpid()));
    close_in_step(held.lock);
    let words: Vec<String> =
        [STEP.to_owned(), held.program.clone()].into_iter().chain(held.args.iter().cloned()).collect();
    let Ok(child) = ourselves(&words).stdin(Stdio::null()).spawn() else { return NOT_STARTED };
    let child = pid_of(&child);
    let mut heard = clock();
    loop {
        if let Some(status) = tree::reap(child) {
            tree::end(Duration::ZERO);
            return code_of(status);
        }
        let line = line();
        if line == Line::Alive {
            heard = clock();
        }
        let overdue = held.life.and_then(|life| clock().checked_sub(heard + life));
        if signal::interrupted() || line == Line::Closed || overdue.is_some() {
            // After a long sleep, another machine may already have begun the step again.
            let is_late = overdue.is_some_and(|overdue| overdue > held.grace);
            tree::end(if is_late { Duration::ZERO } else { held.grace });
            return ENDED;
        }
    }
}

/// The time since the machine was started, including sleep.
pub fn clock() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(now.tv_sec.try_into().unwrap_or_default(), now.tv_nsec.try_into().unwrap_or_default())
}

fn code_of(status: WaitStatus) -> u8 {
    let signal = status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(ENDED)
}

/// The state of the worker's end of our standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Alive,
    Quiet,
    Closed,
}

/// Waits briefly for input from the worker.
fn line() -> Line {
    let mut stream = [PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN)];
    if !poll(&mut stream, Some(&LOOK_AGAIN)).is_ok_and(|count| count > 0) {
        return Line::Quiet;
    }
    match rustix::io::read(rustix::stdio::stdin(), &mut [0_u8; 64]) {
        Ok(0) | Err(_) => Line::Closed,
        Ok(_) => Line::Alive,
    }
}

#[expect(unsafe_code, reason = "the number of an open file comes from the worker")]
fn close_in_step(lock: Option<i32>) {
    if let Some(lock) = lock.filter(|lock| *lock > 2) {
        // SAFETY: nothing in this process owns that number, and none of the calls closes it.
        let file = unsafe { BorrowedFd::borrow_raw(lock) };
        let _ = fcntl_setfd(file, FdFlags::CLOEXEC);
    }
}

/// Replaces itself with the program of the step, in a session of its own.
fn become_step(words: &[String]) -> u8 {
    let [program, args @ ..] = words else { return NOT_STARTED };
    let _ = setsid();
    if set_parent_process_death_signal(Some(Signal::KILL)).is_err() || getppid().is_none() {
        return NOT_STARTED;
    }
    let _ = Command::new(program).args(args).exec();
    NOT_STARTED
}
