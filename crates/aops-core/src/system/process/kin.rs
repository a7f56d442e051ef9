//! What is known of another process: what is above it, when it was started, with which words.
//!
//! Reads `/proc`; where there is none (macOS), asks `ps`. Writes nothing. The environment of a process is not
//! read.

use super::program::Program;
use super::{Task, run};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// More processes than any system lets one user have: a chain of parents ends before.
const MOST_ABOVE: usize = 1 << 16;
const SOON: Duration = Duration::from_secs(2);

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

/// The nearest process above us that runs a program of this name.
pub fn named_above(name: &str) -> Option<i32> {
    let own = i32::try_from(std::process::id()).ok()?;
    let called = |word: &String| {
        word.rsplit('/').next().map(|last| last.strip_suffix(".js").unwrap_or(last).to_owned())
    };
    let is = |pid: &i32| {
        let line: Vec<String> = command_line(*pid).iter().take(5).filter_map(called).collect();
        let Some((first, rest)) = line.split_first() else { return false };
        // A script has its interpreter before it.
        first == name
            || matches!(first.as_str(), "node" | "bun" | "deno") && rest.iter().any(|word| word == name)
    };
    ancestors(own).into_iter().find(is)
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
    let program = Program::fixed("/bin/ps");
    let task = Task { keep: 64 << 10, ..Task::new(&program, &args, Path::new("/"), &[], SOON) };
    let said = run(&task).ok()?;
    Some(String::from_utf8_lossy(&said.stdout).trim().to_owned()).filter(|text| !text.is_empty())
}
