//! What attesting costs an event: nothing where it is off, little where nothing was committed.

use super::{head, idle, note, world};
use crate::support::{BINARY, NO_TRACKER, Sandbox, Session};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// The system calls of one event of this session, by all its threads: how they share the work depends on the
/// machine. Left out are those for memory, whose number depends on lengths of texts, and those by which
/// threads begin, wait and end.
fn counted(sandbox: &Sandbox, event: &str, payload: &Value) -> Vec<String> {
    traced(sandbox, event, payload, Whose::All)
}

/// Whose system calls are counted: the hook's own, or also those of what it starts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Own,
    All,
}

fn traced(sandbox: &Sandbox, event: &str, payload: &Value, whose: Whose) -> Vec<String> {
    let trace = sandbox.tmp().join("trace");
    let mut strace = sandbox.command("strace");
    let output = strace
        .args(["-f", "-o", trace.to_str().unwrap(), BINARY, event])
        .write_stdin(payload.to_string())
        .output();
    let output = output.expect("`strace` is needed: install the package of that name");
    assert!(output.status.success(), "{output:?}");
    let is_other = |line: &&str| {
        // A debug build asks before each close whether the file is open; the one that ships does not.
        let memory =
            ["brk(", "mmap(", "munmap(", "mremap(", "mprotect(", "madvise(", "F_GETFD", "getrandom("];
        let threads = [
            "futex", "clone3", "sched_", "rseq(", "set_robust_list(", "rt_sigprocmask", "sigaltstack(",
            "exit(",
        ];
        let left_out = memory.iter().chain(&threads);
        line.contains('(')
            && !line.contains(" resumed>")
            && !left_out.into_iter().any(|name| line.contains(name))
    };
    // Each line begins with the thread's number.
    // And the folder in which all of this was built may have any name.
    let made = |line: &str| {
        let line = line.replace(env!("CARGO_MANIFEST_DIR"), "");
        line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').to_owned()
    };
    let text = fs::read_to_string(&trace).unwrap();
    let others = if whose == Whose::Own { started(&text) } else { BTreeSet::new() };
    let is_counted = |line: &&str| is_other(line) && !others.contains(number(line));
    text.lines().filter(is_counted).map(made).collect()
}

/// The number of the thread, or of its process.
fn number(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

/// The processes that the first one started, and all of their threads and processes.
fn started(trace: &str) -> BTreeSet<&str> {
    let first = number(trace);
    let executed = |line: &&str| line.contains("execve(") && number(line) != first;
    let mut others: BTreeSet<&str> = trace.lines().filter(executed).map(number).collect();
    for line in trace.lines().filter(|line| line.contains("clone") || line.contains("fork")) {
        let made = line.rsplit_once("= ").map(|(_, made)| made.trim());
        let made = made.filter(|made| made.bytes().all(|byte| byte.is_ascii_digit()));
        others.extend(made.filter(|_| others.contains(number(line))));
    }
    others
}

/// Begin and end of a call, each with its system calls.
fn call(sandbox: &Sandbox, session: &Session, tool: &str, input: Value) -> [Vec<String>; 2] {
    let call = session.call(tool, input);
    let pre = counted(sandbox, "PreToolUse", &session.payload("PreToolUse", call.fields()));
    let mut fields = call.fields();
    fields["tool_response"] = json!({"stdout": ""});
    [pre, counted(sandbox, "PostToolUse", &session.payload("PostToolUse", fields))]
}

fn with(witness: &str) -> Sandbox {
    let sandbox = world();
    sandbox.configure(&format!("mode.level = \"guard\"\n{witness}{NO_TRACKER}"));
    sandbox
}

/// Where `HEAD` went is read, and a process is started: system calls of the hook for a commit, beside those
/// of every call that may write.
const MOST_OF_A_COMMIT: usize = 40;

/// By these it would be known that something is looked at.
const LOOKS: [&str; 3] = ["logs/HEAD", "/tree-", "/attest"];

#[test]
fn what_is_off_makes_no_system_call() {
    for (tool, input) in [
        ("Bash", json!({"command": "touch x"})),
        ("Write", json!({"file_path": "x.txt", "content": "x\n"})),
        ("Read", json!({"file_path": "/z"})),
    ] {
        let made = ["", "witness.attest = \"off\"\n"].map(|witness| {
            let sandbox = with(witness);
            let session = sandbox.begun("work");
            // Before the first change a checkpoint is taken, which reads what is young.
            let _ = call(&sandbox, &session, "Bash", json!({"command": "touch w"}));
            let made = call(&sandbox, &session, tool, input.clone());
            for line in made.iter().flatten() {
                assert!(!LOOKS.iter().any(|look| line.contains(look)), "{tool}: {line}");
            }
            // A longer configuration may take one read more; no other file is asked for.
            let asks = [
                "openat(", "statx(", "newfstatat(", "readlink", "rename", "unlink", "mkdir", "clone",
                "execve(",
            ];
            let is_asked = |line: &&String| asks.iter().any(|name| line.starts_with(name));
            made.map(|lines| lines.iter().filter(is_asked).count())
        });
        assert_eq!(made[0], made[1], "{tool}: as where the key is not set");
    }
}

/// A call that only reads: nothing more, at its begin and at its end.
#[test]
fn what_only_reads_is_not_looked_at() {
    for (tool, input) in [("Read", json!({"file_path": "/z"})), ("Grep", json!({"pattern": "z"}))] {
        let made = ["off", "notes"].map(|attest| {
            let sandbox = with(&format!("witness.attest = \"{attest}\"\n"));
            let session = sandbox.begun("read");
            call(&sandbox, &session, tool, input.clone()).map(|lines| lines.len())
        });
        assert_eq!(made[0], made[1], "{tool}");
    }
}

/// One look at the log of `HEAD`; the tree is walked, with about one system call a file, and nothing is
/// started.
#[test]
fn a_call_that_writes_costs_what_the_docs_say() {
    let made = |attest: &str, files: usize| {
        let sandbox = with(&format!("witness.attest = \"{attest}\"\n"));
        for n in 0..files {
            sandbox.put(&format!("many/{n:03}.txt"), "x\n");
        }
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", "many"]);
        let session = sandbox.begun("work");
        // The first look has nothing to compare with, and keeps what it finds.
        let _ = call(&sandbox, &session, "Bash", json!({"command": "touch x"}));
        call(&sandbox, &session, "Bash", json!({"command": "touch y"}))
    };
    let (off, few, many) = (made("off", 10), made("notes", 10), made("notes", 60));
    for (at, moment) in ["begin", "end"].into_iter().enumerate() {
        let heads =
            |made: &[Vec<String>; 2]| made[at].iter().filter(|line| line.contains("logs/HEAD")).count();
        assert_eq!((heads(&off), heads(&few)), (0, 1), "{moment}: {:#?}", few[at]);
        let more = few[at].len().saturating_sub(off[at].len());
        let of_fifty = many[at].len().saturating_sub(few[at].len());
        assert!(of_fifty <= 60, "{moment}: {of_fifty} for fifty files more");
        assert!(more <= 160, "{moment}: {more} more: {:#?}", few[at]);
        let starts = |made: &[Vec<String>; 2]| made[at].iter().filter(|line| line.contains("exec")).count();
        assert_eq!(starts(&few), starts(&off), "{moment}: nothing is started");
    }
}

/// How often this event starts whoever attests.
fn attests(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.contains("execve(") && line.contains("__attest")).count()
}

/// Without a key nobody attests: it is tried with the commit and at the ends of a few turns, and never between.
#[test]
fn a_commit_that_cannot_be_attested_costs_later_events_nothing() {
    let sandbox = world();
    let session = sandbox.begun("add a greeting");
    let (keys, aside) = (crate::proof::keys(&sandbox), sandbox.tmp().join("keys"));
    fs::rename(&keys, &aside).unwrap();
    let line = "echo a > a.txt && git add -A && git commit -q -m one";
    let made = session.call("Bash", json!({"command": line}));
    let begin = counted(&sandbox, "PreToolUse", &session.payload("PreToolUse", made.fields()));
    assert!(sandbox.command("sh").args(["-c", line]).output().unwrap().status.success());
    let mut fields = made.fields();
    fields["tool_response"] = json!({"stdout": ""});
    let end = counted(&sandbox, "PostToolUse", &session.payload("PostToolUse", fields));
    assert_eq!((attests(&begin), attests(&end)), (0, 1), "with the commit");
    let mut later = Vec::new();
    for n in 0..5 {
        later.extend(call(&sandbox, &session, "Bash", json!({"command": format!("touch {n}")})));
    }
    assert_eq!((later.len(), later.iter().map(|lines| attests(lines)).sum::<usize>()), (10, 0));
    let turns = (0..6).map(|n| {
        let stop = json!({"stop_hook_active": false, "last_assistant_message": "done"});
        let ended = attests(&counted(&sandbox, "Stop", &session.payload("Stop", stop)));
        let _ = session.prompt(&format!("prompt {n}"));
        ended
    });
    assert_eq!(turns.collect::<Vec<_>>(), [1, 1, 1, 0, 0, 0], "at the ends of three turns");
    idle(&sandbox);
    // A person still can.
    fs::rename(&aside, &keys).unwrap();
    sandbox.person(&["attest", "HEAD"]).said(&["has 2 lines in `refs/notes/aops-attest`"]);
    let _ = note(&sandbox, &head(&sandbox), 1);
}

/// A commit by hand is noticed before the next call that may write, and attested from there.
#[test]
fn a_commit_by_hand_is_attested_by_the_event_that_sees_it() {
    let sandbox = world();
    let session = sandbox.begun("add a greeting");
    let _ = call(&sandbox, &session, "Bash", json!({"command": "touch w"}));
    sandbox.put("by-hand.txt", "by hand\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "by hand"]);
    let seen = call(&sandbox, &session, "Bash", json!({"command": "touch x"}));
    assert_eq!(seen.each_ref().map(|lines| attests(lines)), [1, 0]);
    let _ = note(&sandbox, &head(&sandbox), 1);
}

/// The end of the call that commits, which the client waits for: it starts who attests, and nothing else; git
/// is not asked what it tracks, though its index is new.
#[test]
fn the_end_of_a_call_that_commits_starts_who_attests_alone() {
    let ended = |attest: &str, line: &str| {
        let sandbox = with(&format!("witness.attest = \"{attest}\"\n"));
        let session = sandbox.begun("work");
        let _ = call(&sandbox, &session, "Bash", json!({"command": "touch w"}));
        sandbox.put("a.txt", "a\n");
        let _ = call(&sandbox, &session, "Bash", json!({"command": "touch x"}));
        let call = session.call("Bash", json!({"command": line}));
        let _ = session.pre(&call);
        assert!(sandbox.command("sh").args(["-c", line]).output().unwrap().status.success());
        let mut fields = call.fields();
        fields["tool_response"] = json!({"stdout": ""});
        let made = traced(&sandbox, "PostToolUse", &session.payload("PostToolUse", fields), Whose::Own);
        idle(&sandbox);
        made
    };
    let commit = "git add -A && git commit -q -m one";
    let made = ["off", "notes"].map(|attest| [ended(attest, "touch y"), ended(attest, commit)]);
    for lines in made.iter().flatten() {
        let starts = lines.iter().filter(|line| line.contains("execve(")).count();
        assert_eq!(starts, 1, "nothing is started and waited for: {lines:#?}");
    }
    let [off, on] = made.map(|both| both.map(|lines| lines.len()));
    let more = (on[1] + off[0]).saturating_sub(on[0] + off[1]);
    assert!(more <= MOST_OF_A_COMMIT, "{more} more for the commit: {off:?} {on:?}");
}
