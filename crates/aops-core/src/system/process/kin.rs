//! Information about another process: its ancestors, when it was started, its command line.
//!
//! Reads `/proc`, or if there is none (macOS), asks `ps`. Writes nothing. No process's environment is read.

use super::program::Program;
use super::{Task, run};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// More processes than any system allows one user: a chain of parents ends before.
const MOST_ABOVE: usize = 1 << 16;
const SOON: Duration = Duration::from_secs(2);

/// The ancestors of this process, the nearest first.
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

/// The nearest of our ancestors that runs a program of this name.
pub fn named_above(name: &str) -> Option<i32> {
    let own = i32::try_from(std::process::id()).ok()?;
    let called = |word: &String| {
        word.rsplit('/').next().map(|last| last.strip_suffix(".js").unwrap_or(last).to_owned())
    };
    let is = |pid: &i32| {
        let line: Vec<String> = command_line(*pid).iter().take(5).filter_map(called).collect();
        let Some((first, rest)) = line.split_first() else { return false };
        // A script is preceded by its interpreter.
        first == name
            || matches!(first.as_str(), "node" | "bun" | "deno") && rest.iter().any(|word| word == name)
    };
    ancestors(own).into_iter().find(is)
}

/// When this process was started, in the system's own unit; `None` if it does not exist.
pub fn started(pid: i32) -> Option<String> {
    stat(pid, "lstart")
}

/// The words with which a process was started.
pub fn command_line(pid: i32) -> Vec<String> {
    if let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) {
        let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        return words.collect();
    }
    stat(pid, "command").unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Parent or start time of a process, from `/proc`, or if there is none, from `ps`.
fn stat(pid: i32, what: &str) -> Option<String> {
    if Path::new("/proc/self/stat").exists() {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let after = stat.rsplit_once(')').map(|(_, rest)| rest)?;
        // State, parent, …; the start time is the twenty-second field of the line.
        return after.split_whitespace().nth(if what == "ppid" { 1 } else { 19 }).map(str::to_owned);
    }
    let args = ["-o", &format!("{what}="), "-p", &pid.to_string()].map(str::to_owned);
    let program = Program::fixed("/bin/ps");
    let task = Task { keep: 64 << 10, ..Task::new(&program, &args, Path::new("/"), &[], SOON) };
    let said = run(&task).ok()?;
    Some(String::from_utf8_lossy(&said.stdout).trim().to_owned()).filter(|text| !text.is_empty())
}
