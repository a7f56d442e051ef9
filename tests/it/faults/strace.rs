//! The hook under `strace`, which fails or kills it at one chosen system call. What the hook leaves running
//! behind it is not followed.

use crate::support::{BINARY, Sandbox};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

/// The nth call of this name since the program started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) call: String,
    pub(crate) nth: usize,
}

/// How a hook ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The set-up of the C library and of Rust: over before `main`, and no storage trouble can be met there.
const LAST_OF_START: &str = "rt_sigaction(SIGXFSZ";
/// Leaving cannot fail; a system where it does has no way to end a process.
const LEAVING: &str = "exit_group";

/// Every system call of this event, in order, from the first of our own on.
pub(crate) fn points(sandbox: &Sandbox, event: &str, payload: &Value) -> Vec<Point> {
    let trace = sandbox.tmp().join("trace");
    let end = run(sandbox, &["-o", trace.to_str().unwrap()], event, payload);
    assert_eq!(end.code, Some(0), "the event passes when nothing fails: {end:?}");
    let text = fs::read_to_string(&trace).unwrap();
    let (mut counts, mut points, mut started) = (BTreeMap::new(), Vec::new(), false);
    for line in text.lines() {
        let Some((call, _)) =
            line.split_once('(').filter(|(name, _)| !name.is_empty() && !name.contains(' '))
        else {
            continue;
        };
        let nth = counts.entry(call.to_owned()).and_modify(|n| *n += 1).or_insert(1_usize);
        if started && call != LEAVING {
            points.push(Point { call: call.to_owned(), nth: *nth });
        }
        started |= line.starts_with(LAST_OF_START);
    }
    assert!(points.len() > 15, "the trace shows an event being recorded: {text}");
    points
}

/// The event, with `what` (`signal=KILL`, `error=EIO`) at this point.
pub(crate) fn inject(sandbox: &Sandbox, point: &Point, what: &str, event: &str, payload: &Value) -> End {
    let inject = format!("inject={}:{what}:when={}", point.call, point.nth);
    run(sandbox, &["-o", "/dev/null", "-e", &inject], event, payload)
}

/// The event, with `what` at the first sync of this file in each thread.
pub(crate) fn inject_at_sync(
    sandbox: &Sandbox,
    file: &Path,
    what: &str,
    event: &str,
    payload: &Value,
) -> End {
    let inject = format!("inject=fdatasync:{what}:when=1");
    let file = file.to_str().unwrap();
    run(
        sandbox,
        &["-f", "-o", "/dev/null", "-P", file, "-e", "trace=fdatasync", "-e", &inject],
        event,
        payload,
    )
}

fn run(sandbox: &Sandbox, options: &[&str], event: &str, payload: &Value) -> End {
    let mut strace = sandbox.command("strace");
    let output = strace.args(options).args([BINARY, event]).write_stdin(payload.to_string()).output();
    let output = output
        .unwrap_or_else(|error| panic!("`strace` is needed: install the package of that name ({error})"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let end = End {
        code: output.status.code(),
        signal: output.status.signal(),
        out: text(&output.stdout),
        err: text(&output.stderr),
    };
    assert!(!end.err.contains("ptrace"), "this place does not let `strace` work: allow ptrace ({})", end.err);
    end
}
