//! The processes below one process, and how to end them.
//!
//! Reads `/proc`, sends signals. Invariant: when `end` returns, nothing is left below this process, provided
//! that orphans become its children.

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Every process below this one, by the kernel's list. The ids are those of the namespace that `/proc` shows.
pub fn below(of: i32) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for item in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = item.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let stat = fs::read_to_string(item.path().join("stat")).unwrap_or_default();
        // The name in brackets comes first, and may contain anything.
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        if let Some(parent) = after.split_whitespace().nth(1).and_then(|word| word.parse().ok()) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = children.remove(&of).unwrap_or_default();
    let mut at = 0;
    while at < found.len() {
        found.extend(children.remove(&found[at]).unwrap_or_default());
        at += 1;
    }
    found
}

pub fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// Reaps every child that has ended. Returns the status of this one.
pub fn reap(child: Option<Pid>) -> Option<WaitStatus> {
    let mut ended = None;
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if Some(pid) == child {
            ended = Some(status);
        }
    }
    ended
}

fn signal(pids: &[i32], signal: Signal) {
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        let _ = kill_process(pid, signal);
    }
}

/// Asks everything below this process to end; after `grace` it kills what is left, until nothing is.
pub fn end(grace: Duration) {
    let began = Instant::now();
    let me = own_pid();
    if !grace.is_zero() {
        signal(&below(me), Signal::TERM);
    }
    loop {
        reap(None);
        let left = below(me);
        if left.is_empty() {
            return;
        }
        if began.elapsed() >= grace {
            signal(&left, Signal::KILL);
        }
        thread::sleep(LOOK_AGAIN);
    }
}
