//! What looking costs, counted: calls of the system and bytes, which a busy machine does not change.

use super::{prompted, terminate};
use crate::support::{BINARY, NO_TRACKER, Sandbox};
use std::fs;
use std::process::{Command, Stdio};

const SESSIONS: usize = 40;

/// The calls of each whole look at the sessions after the first ones, as `strace` has them.
fn looks(trace: &str, root: &str) -> Vec<Vec<String>> {
    let begins = |line: &&str| line.contains(&format!("\"{root}\""));
    let lines: Vec<&str> = trace.lines().collect();
    let at: Vec<usize> = lines.iter().enumerate().filter(|(_, line)| begins(line)).map(|(n, _)| n).collect();
    let look = |pair: &[usize]| lines[pair[0]..pair[1]].iter().map(|line| (*line).to_owned()).collect();
    at.windows(2).map(look).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it is traced while it goes on")]
fn sessions_at_rest_are_looked_at_and_not_read() {
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    for n in 0..SESSIONS {
        let session = prompted(&sandbox, &format!("task {n}"));
        if n > 0 {
            let _ = session.end();
        }
    }
    let (trace, root) = (sandbox.tmp().join("trace"), sandbox.config().join("projects"));
    let mut command = Command::new("strace");
    command.args(["-f", "-s", "4096", "-o", trace.to_str().unwrap(), BINARY, "watch", "--json"]);
    command.env_clear().envs(sandbox.environment()).current_dir(sandbox.project());
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let mut child = child
        .unwrap_or_else(|error| panic!("`strace` is needed: install the package of that name ({error})"));
    let root = root.to_str().unwrap();
    let read = || looks(&fs::read_to_string(&trace).unwrap_or_default(), root);
    // The first looks read everything, and list folders that changed a moment ago once more.
    sandbox.wait_until("it looked often", || read().len() >= 8);
    // What is traced, not the tracer: without it the other would go on.
    terminate(&sandbox, "-TERM");
    child.wait().unwrap();
    // The exported heads of all sessions are read at once, and not for each.
    let heads = fs::read_to_string(&trace).unwrap().matches("\"heads.jsonl\"").count();
    assert!((1..=8).contains(&heads), "they are opened {heads} times for {SESSIONS} sessions");
    let quiet = read().pop().unwrap();
    let of = |names: &[&str]| {
        let called = |line: &&String| names.iter().any(|name| line.contains(&format!(" {name}(")));
        quiet.iter().filter(called).count()
    };
    let (seen, opened) = (of(&["stat", "lstat", "statx", "newfstatat"]), of(&["open", "openat"]));
    assert!(
        (2 * SESSIONS..=2 * SESSIONS + 8).contains(&seen),
        "{seen} looks at {SESSIONS} sessions: {quiet:#?}"
    );
    // One is live: its process is looked at.
    assert!(opened <= 2, "{opened} files are opened: {quiet:#?}");
    assert!(quiet.len() <= 2 * SESSIONS + 40, "{} calls: {quiet:#?}", quiet.len());
}
