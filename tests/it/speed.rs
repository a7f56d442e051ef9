//! What an event may cost, counted where counting does not depend on the machine.

use crate::faults::{Workshop, passed};
use crate::support::{BINARY, Sandbox};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// The contract's bound for one `PreToolUse` in a session that is under way.
const MOST_SYSTEM_CALLS: usize = 60;

/// Each of them is counted, so that the ones that bring the index of ended calls up to date are among them.
#[test]
fn few_system_calls() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    passed(&session.prompt("go"));
    for n in 0..60 {
        let path = if n % 2 == 0 { "/x" } else { "/etc/hostname" };
        let call = session.call("Read", json!({"file_path": path}));
        let fields = json!({"tool_name": call.tool, "tool_input": call.input, "tool_use_id": call.id});
        let calls = counted(&sandbox, &session.payload("PreToolUse", fields));
        assert!(calls.len() > 20, "the trace shows an event: {calls:?}");
        assert!(!calls.iter().any(|call| call.contains(" socket(")), "nobody is spoken to: {calls:#?}");
        assert!(calls.len() <= MOST_SYSTEM_CALLS, "{} system calls:\n{}", calls.len(), calls.join("\n"));
        session.post(&call).silent();
    }
}

/// With a database that machines share, reachable or not, an event makes the very same calls.
#[test]
fn a_fleet_costs_an_event_nothing() {
    same_calls_with("fleet.url = \"postgresql://aops@127.0.0.1:9/aops\"\n");
}

/// So it does with a network of the session's own: that is made at its start.
#[test]
fn a_network_costs_an_event_nothing() {
    same_calls_with("network.mode = \"list\"\nnetwork.allow = [\"a.test\"]\n");
}

#[track_caller]
fn same_calls_with(setting: &str) {
    let counts = ["", setting].map(|setting| {
        let sandbox = Sandbox::new();
        sandbox.configure(&format!("{}{setting}", crate::support::NO_TRACKER));
        let session = sandbox.session();
        passed(&session.start("startup"));
        passed(&session.prompt("go"));
        // A shell line too: what it may reach is known without a look.
        let asked = (0..12).map(|n| match n % 2 {
            0 => session.call("Read", json!({"file_path": "/x"})),
            _ => session.call("Bash", json!({"command": "ls /x"})),
        });
        let calls = asked.map(|call| {
            let fields = json!({"tool_name": call.tool, "tool_input": call.input, "tool_use_id": call.id});
            let calls = counted(&sandbox, &session.payload("PreToolUse", fields));
            session.post(&call).silent();
            calls.len()
        });
        calls.collect::<Vec<_>>()
    });
    assert_eq!(counts[0], counts[1]);
}

/// What the program can do beside judging costs an event nothing: no library runs before `main` (each has an
/// address in `.init_array`; the two are Rust's arguments and the C start-up).
#[test]
#[cfg(target_os = "linux")]
fn no_library_starts_with_the_program() {
    const INIT_ARRAY: usize = 14;
    let elf = fs::read(BINARY).unwrap();
    let number = |at: usize, long: usize| {
        let bytes = elf[at..at + long].iter().rev();
        bytes.fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte))
    };
    let (table, size, count) = (number(40, 8), number(58, 2), number(60, 2));
    let sections = (0..count).map(|n| table + n * size);
    let initial: usize =
        sections.filter(|at| number(at + 4, 4) == INIT_ARRAY).map(|at| number(at + 32, 8)).sum();
    assert_eq!(initial, 2 * 8, "bytes of addresses that are called before `main`");
}

/// The crate that serves events has no argument parser, no database, no encrypted connection and no screen.
#[test]
fn what_runs_at_every_event_links_none_of_the_rest() {
    let mut cargo = assert_cmd::Command::new(env!("CARGO"));
    cargo.args([
        "tree", "--locked", "--offline", "-p", "aops-core", "-e", "normal", "--prefix", "none", "-f", "{lib}",
    ]);
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let tree = String::from_utf8(output.stdout).unwrap();
    let linked: BTreeSet<&str> = tree.lines().map(str::trim).collect();
    assert!(linked.contains("aops_shell") && linked.contains("serde_json"), "{linked:?}");
    let foreign =
        ["clap", "anyhow", "rustls", "ring", "tokio", "postgres", "aops_fleet", "ratatui", "crossterm"];
    let found: Vec<_> = foreign.iter().filter(|name| linked.contains(**name)).collect();
    assert!(found.is_empty(), "{found:?}");
}

/// The system calls of one `PreToolUse` that passes.
pub(crate) fn counted(sandbox: &Sandbox, payload: &Value) -> Vec<String> {
    let trace = sandbox.tmp().join("trace");
    let mut strace = sandbox.command("strace");
    let output = strace
        .args(["-f", "-o", trace.to_str().unwrap(), BINARY, "PreToolUse"])
        .write_stdin(payload.to_string())
        .output()
        .expect("`strace` is needed: install the package of that name");
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    let text = fs::read_to_string(&trace).unwrap();
    // A debug build asks before each close whether the file is open; the one that ships does not.
    let asked = |line: &&str| {
        let whole = line.contains('(') && !line.contains("<unfinished");
        (whole || line.contains(" resumed>")) && !line.contains("F_GETFD")
    };
    text.lines().filter(asked).map(str::to_owned).collect()
}

/// What was uncommitted when the session began is in one entry. An event that does not need it does not read
/// it, write it or hash it; a Stop that needs it finds it there.
#[test]
fn many_uncommitted_files_cost_an_event_nothing() {
    let moved = |files: usize| {
        let sandbox = Sandbox::repository("0.0");
        for n in 0..files {
            sandbox.put(&format!("older/{n:04}"), "dirt\n");
        }
        let session = sandbox.working();
        session.write("hello.txt").silent();
        // A call that another thread's interrupted is told in two lines; the second has the number.
        let is_call = |line: &str, call: &str| {
            line.contains(&format!("{call}(")) || line.contains(&format!(" {call} resumed"))
        };
        let moves =
            |line: &&String| ["read", "pread64", "write", "pwrite64"].iter().any(|call| is_call(line, call));
        // The end of the ledger that its index of ended calls does not cover yet is read too: sometimes there
        // is none.
        let counts = (0..8).map(|_| {
            let call = session.call("Read", json!({"file_path": "/x"}));
            let fields = json!({"tool_name": call.tool, "tool_input": call.input, "tool_use_id": call.id});
            let calls = counted(&sandbox, &session.payload("PreToolUse", fields));
            session.post(&call).silent();
            let bytes =
                calls.iter().filter(moves).filter_map(|line| line.rsplit_once("= ")?.1.parse::<u64>().ok());
            // How much of the index is looked at depends on the call's id: a kilobyte at most.
            bytes.filter(|bytes| *bytes > 1024).sum::<u64>()
        });
        let least = counts.min().unwrap();
        let stop = session.stop("Done.");
        assert!(stop.err.contains("hello.txt") || stop.out.contains("hello.txt"), "{stop:?}");
        assert!(!format!("{stop:?}").contains("older/"), "{stop:?}");
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
        least
    };
    let (few, many) = (moved(1), moved(400));
    assert!(many < few + 200, "{few} bytes read and written with one uncommitted file, {many} with 400");
}

/// A long ledger is not read again: the bytes an event reads do not grow with it.
#[test]
fn a_long_ledger_costs_what_a_young_one_does() {
    let read = |calls: usize| {
        let workshop = Workshop::new();
        workshop.event("SessionStart", &json!({"source": "startup"})).unwrap();
        for n in 0..calls {
            workshop.pre(&format!("call-{n:05}")).unwrap();
            workshop.post(&format!("call-{n:05}")).unwrap();
        }
        let sandbox = Sandbox::new();
        let trace = sandbox.tmp().join("trace");
        let payload = workshop.payload("PreToolUse", &crate::faults::tool("one-more"));
        let mut strace = sandbox.command("strace");
        strace
            .env_clear()
            .env("HOME", workshop.path())
            .env("AOPS_TEST_NOW_MS", workshop.env.now_ms.to_string());
        strace.args(["-f", "-e", "trace=read,pread64", "-o", trace.to_str().unwrap(), BINARY, "PreToolUse"]);
        // The first one brings the index of ended calls up to the ledger's end.
        for call in ["first", "one-more"] {
            let text = payload.to_string().replace("one-more", call);
            let output = strace.write_stdin(text).output().expect("`strace` is needed");
            assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
        }
        let text = fs::read_to_string(&trace).unwrap();
        let bytes = text.lines().filter_map(|line| line.rsplit_once("= ")?.1.parse::<u64>().ok());
        bytes.sum::<u64>()
    };
    let (young, long) = (read(2), read(600));
    // The end of the ledger that its index does not cover yet is at most 8 KiB.
    assert!(long < young + (8 << 10) + 2000, "{young} bytes read on a young ledger, {long} on a long one");
}
