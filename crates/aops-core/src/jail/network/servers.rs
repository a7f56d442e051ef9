//! Ends the servers of a session's network when that network ends, since nobody can reach them any more.
//!
//! Reads the kernel's list of sockets and the processes of the machine; ends processes. The process inside
//! calls it once the broker is gone, so it happens however the broker ended. Invariant: a process is ended
//! only if it is in this very network, and listens there or started a process that does.

use crate::system::process::kin;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open, pidfd_send_signal};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a server may take to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// Several rounds, since a process that starts servers may start another one before it is ended itself.
const ROUNDS: usize = 3;
const LISTENS: &str = "0A";

/// Another process in the same network.
struct Neighbour {
    /// It holds a listening socket.
    serves: bool,
    file: OwnedFd,
}

pub(super) fn end_all() {
    for round in 0..ROUNDS {
        let ended = to_end(neighbours(), kin::ancestors);
        if ended.is_empty() {
            return;
        }
        // What is started meanwhile has no time of its own: this process would outlive its session by
        // seconds.
        if round == 0 {
            for file in &ended {
                let _ = pidfd_send_signal(file, Signal::TERM);
            }
            wait(&ended);
        }
        for file in &ended {
            let _ = pidfd_send_signal(file, Signal::KILL);
        }
        wait(&ended);
    }
}

/// Waits until all of them have ended, or the time is over.
fn wait(processes: &[OwnedFd]) {
    let begun = Instant::now();
    for file in processes {
        let left = Timespec::try_from(GRACE.saturating_sub(begun.elapsed())).ok();
        let _ = poll(&mut [PollFd::new(file, PollFlags::IN)], left.as_ref());
    }
}

/// The servers, and those of their ancestors that are in this network and would start them again.
fn to_end(mut all: BTreeMap<i32, Neighbour>, above: impl Fn(i32) -> Vec<i32>) -> Vec<OwnedFd> {
    let serving = all.iter().filter(|(_, neighbour)| neighbour.serves).map(|(number, _)| *number);
    let chosen: BTreeSet<i32> =
        serving.flat_map(|number| above(number).into_iter().chain([number])).collect();
    chosen.into_iter().filter_map(|number| all.remove(&number)).map(|one| one.file).collect()
}

fn neighbours() -> BTreeMap<i32, Neighbour> {
    let mut found = BTreeMap::new();
    let Ok(network) = fs::read_link("/proc/self/ns/net") else { return found };
    let sockets = listening();
    let not_ours = [getpid().as_raw_pid(), getppid().map_or(0, Pid::as_raw_pid)];
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for number in numbers.filter(|number| !sockets.is_empty() && !not_ours.contains(number)) {
        let folder = Path::new("/proc").join(number.to_string());
        // Opened before anything is read, so that a process that reuses the ID is not signalled.
        let held = Pid::from_raw(number).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let Some(file) =
            held.filter(|_| fs::read_link(folder.join("ns/net")).is_ok_and(|its| its == network))
        else {
            continue;
        };
        found.insert(number, Neighbour { serves: holds_any(&folder, &sockets), file });
    }
    found
}

fn holds_any(process: &Path, sockets: &BTreeSet<String>) -> bool {
    let files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let mut leads = files.filter_map(|file| fs::read_link(file.path()).ok());
    leads.any(|to| to.to_str().is_some_and(|to| sockets.contains(to)))
}

/// The TCP sockets that listen in this network, in the form of a `/proc/…/fd` link target.
fn listening() -> BTreeSet<String> {
    let lists =
        ["tcp", "tcp6"].map(|kind| fs::read_to_string(format!("/proc/self/net/{kind}")).unwrap_or_default());
    lists.iter().flat_map(|list| list.lines().filter_map(socket_of)).collect()
}

/// `0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 16163 1 …`
fn socket_of(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number: u64 = words.get(9)?.parse().ok()?;
    (*words.get(3)? == LISTENS && number > 0).then(|| format!("socket:[{number}]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sockets_that_listen_are_found_in_the_kernels_list() {
        let of_state = |state: &str| {
            format!(
                "0: 0100007F:1F90 00000000:0000 {state} 00000000:00000000 00:00000000 00000000 0 0 16163 1"
            )
        };
        assert_eq!(socket_of(&of_state("0A")).as_deref(), Some("socket:[16163]"));
        assert_eq!(socket_of(&of_state("01")), None);
        assert_eq!(
            socket_of("sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt"),
            None
        );
        assert_eq!(socket_of(""), None);
    }

    #[test]
    fn whoever_started_a_server_in_this_network_is_ended_with_it() {
        let own = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
        let one = |serves| Neighbour { serves, file: own.try_clone().unwrap() };
        // 10 started 11, which started the server 12; 20 belongs to another command; 5 is the client, which
        // is outside.
        let above = |number| if number == 12 { vec![11, 10, 5, 1] } else { vec![5, 1] };
        let all = BTreeMap::from([(10, one(false)), (11, one(false)), (12, one(true)), (20, one(false))]);
        assert_eq!(to_end(all, above).len(), 3);
        assert!(to_end(BTreeMap::from([(20, one(false))]), above).is_empty());
    }
}
