//! Kills every process that a program left behind, found by a variable in its environment; and tells what is above a process.
//!
//! Reads `/proc`, sends signals. The process group does not tell: the client runs each command in a session of its own, and
//! the command lives on when the client is killed. Pids do not tell either: they are reused. Invariants: never kills itself;
//! does nothing without `/proc` (macOS), or to a process of another user.

use super::{Task, run};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Number of scans, and the time between two: a process that is just being started has no environment yet.
const LOOKS: usize = 40;
const APART: Duration = Duration::from_millis(10);

const MOST_ABOVE: usize = 64;
const SOON: Duration = Duration::from_secs(2);

/// Kills every process with `name=value` in its environment and its descendants, until none is left. False without
/// `/proc`.
pub fn end(name: &str, value: &str) -> bool {
    if !Path::new("/proc/self/environ").exists() {
        return false;
    }
    let mark = format!("{name}={value}").into_bytes();
    let mut quiet = 0;
    for _ in 0..LOOKS {
        let found = marked(Path::new("/proc"), &mark);
        quiet = if found.is_empty() { quiet + 1 } else { 0 };
        if quiet == 2 {
            break;
        }
        for pid in found.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(APART);
    }
    true
}

/// Processes with the mark, and their descendants; never this process.
fn marked(proc: &Path, mark: &[u8]) -> BTreeSet<i32> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let pids = fs::read_dir(proc).into_iter().flatten().flatten();
    let pids = pids.filter_map(|item| item.file_name().to_str()?.parse::<i32>().ok()).filter(|pid| *pid != own);
    let mut above = BTreeMap::new();
    let mut found = BTreeSet::new();
    for pid in pids {
        let folder = proc.join(pid.to_string());
        above.insert(pid, parent(&fs::read_to_string(folder.join("stat")).unwrap_or_default()));
        let variables = fs::read(folder.join("environ")).unwrap_or_default();
        if variables.split(|byte| *byte == 0).any(|variable| variable == mark) {
            found.insert(pid);
        }
    }
    loop {
        let below = |pid: &i32| above.get(pid).is_some_and(|parent| found.contains(parent));
        let more: Vec<i32> = above.keys().copied().filter(|pid| !found.contains(pid) && below(pid)).collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// The processes above this one, the nearest first.
pub fn ancestors(pid: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut at = pid;
    while found.len() < MOST_ABOVE {
        at = stat(at, "ppid").map_or(0, |said| said.parse().unwrap_or_default());
        if at <= 0 {
            break;
        }
        found.push(at);
    }
    found
}

/// When this process was started, as the system counts; nothing where there is none.
pub fn started(pid: i32) -> Option<String> {
    stat(pid, "lstart")
}

/// The words that a process was started with.
pub fn command_line(pid: i32) -> Vec<String> {
    if let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) {
        let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        return words.collect();
    }
    stat(pid, "command").unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Parent or start of a process, from `/proc`; where there is none, from `ps`.
fn stat(pid: i32, what: &str) -> Option<String> {
    if Path::new("/proc/self/stat").exists() {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let after = stat.rsplit_once(')').map(|(_, rest)| rest)?;
        // State, parent, …; the start is the twenty-second field of the line.
        return after.split_whitespace().nth(if what == "ppid" { 1 } else { 19 }).map(str::to_owned);
    }
    let args = ["-o", &format!("{what}="), "-p", &pid.to_string()].map(str::to_owned);
    let (program, folder) = (Path::new("/bin/ps"), Path::new("/"));
    let task = Task { program, args: &args, folder, variables: &[], input: b"", timeout: SOON, keep: 64 << 10 };
    let said = run(&task).ok()?;
    Some(String::from_utf8_lossy(&said.stdout).trim().to_owned()).filter(|text| !text.is_empty())
}

/// The parent in a line of `stat`; the name before it may contain anything, brackets too.
fn parent(stat: &str) -> i32 {
    let after = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    after.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_ones_and_what_they_started() {
        let proc = tempfile::tempdir().unwrap();
        for (pid, parent, name, variables) in [
            ("10", "1", "client", "A=1\0X=here\0"),
            ("11", "10", "cleared) 1 7", ""),
            ("12", "11", "below", ""),
            ("13", "1", "gone from it", "X=here\0B=2"),
            ("14", "1", "other", "X=here-too\0YX=here\0"),
            ("15", "14", "other's", ""),
        ] {
            let folder = proc.path().join(pid);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("stat"), format!("{pid} ({name}) S {parent} 1 1 0")).unwrap();
            fs::write(folder.join("environ"), variables).unwrap();
        }
        fs::create_dir(proc.path().join("self")).unwrap();
        assert_eq!(marked(proc.path(), b"X=here"), BTreeSet::from([10, 11, 12, 13]));
        assert_eq!(marked(&proc.path().join("none"), b"X=here"), BTreeSet::new());
    }
}
