//! A guard that is itself broken: it refuses where it guards, warns everywhere else, and says how to mend it.

use crate::faults::namespace::Namespace;
use crate::faults::{LEDGER, passed, sound};
use crate::support::{Answer, BINARY, Sandbox, Session, fenced};
use aops_core::model::event::EVENTS;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::thread;

const GUARDING: [&str; 7] = [
    "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolBatch", "ConfigChange", "TaskCreated",
    "TaskCompleted",
];

/// Told apart from a rule, and with a way out.
const BROKEN: &str = "aops-hook is broken and blocks until it is fixed (no rule was broken)";
const LET_GO: &str = "aops-hook is broken and let";

/// Every event meets the same trouble: refused on the guarding ones, let go with a warning on all others.
#[track_caller]
fn everywhere(words: &[&str], mut trouble: impl FnMut(&str) -> Answer) {
    for kind in EVENTS {
        let answer = trouble(kind.name);
        told(kind.name, &answer, words);
    }
    told("SomethingNew", &trouble("SomethingNew"), words);
}

#[track_caller]
fn told(event: &str, answer: &Answer, words: &[&str]) {
    if GUARDING.contains(&event) {
        let all = [&[BROKEN, "hint: ", "a person can"], words].concat();
        answer.refused(&all);
        return;
    }
    assert_eq!(answer.code, Some(0), "{event} is never refused by a broken guard: {answer:?}");
    for word in [&[LET_GO, "hint: "], words].concat() {
        assert!(answer.err.contains(word), "{event}: `{word}` was not said: {answer:?}");
    }
    // What the host takes for a path there must stay empty.
    if event != "WorktreeCreate" && event != "SomethingNew" {
        answer.warned(words);
    } else {
        assert_eq!(answer.out, "", "{event}");
    }
}

/// The guarding events of the contract are those of the table.
#[test]
fn seven_events_guard() {
    let mut named: Vec<&str> = EVENTS.iter().filter(|kind| kind.guarding).map(|kind| kind.name).collect();
    let mut wanted = GUARDING.to_vec();
    named.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(named, wanted);
    assert_eq!(EVENTS.len(), 33);
}

#[test]
fn input_that_is_no_event() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let whole = |event: &str| session.payload(event, fields(event)).to_string();
    let cut = |event: &str| whole(event)[..whole(event).len() / 2].to_owned();
    let other = |event: &str| if event == "PreToolUse" { "PostToolUse" } else { "PreToolUse" };
    let without = |event: &str, key: &str| {
        let mut payload = session.payload(event, fields(event));
        payload.as_object_mut().unwrap().remove(key);
        payload.to_string()
    };
    everywhere(&["INPUT_INVALID", "empty"], |event| sandbox.raw(event, ""));
    everywhere(&["INPUT_INVALID", "empty"], |event| sandbox.raw(event, " \n\t"));
    everywhere(&["INPUT_INVALID", "not JSON"], |event| sandbox.raw(event, cut(event)));
    everywhere(&["INPUT_INVALID", "not JSON"], |event| sandbox.raw(event, "words"));
    everywhere(&["INPUT_INVALID", "not JSON"], |event| sandbox.raw(event, whole(event) + "{}"));
    everywhere(&["INPUT_INVALID", "not UTF-8"], |event| sandbox.raw(event, b"{\"a\":\"\xff\"}".to_vec()));
    for value in ["[]", "null", "7", "\"PreToolUse\""] {
        everywhere(&["INPUT_INVALID", "not a JSON object"], |event| sandbox.raw(event, value));
    }
    everywhere(&["INPUT_INVALID", "`hook_event_name` is missing"], |event| {
        sandbox.raw(event, without(event, "hook_event_name"))
    });
    everywhere(&["INPUT_INVALID", "but the event says"], |event| sandbox.raw(event, whole(other(event))));
    everywhere(&["INPUT_INVALID", "`session_id` is missing"], |event| {
        sandbox.raw(event, without(event, "session_id"))
    });
    assert!(!sandbox.config().exists(), "none of it left a trace on disk");
}

#[test]
fn a_panic_is_an_answer() {
    let sandbox = Sandbox::new().with("AOPS_TEST_PANIC", "1");
    let session = sandbox.session();
    everywhere(&["INTERNAL_PANIC", "a bug in aops-hook at crates/aops-core/src/"], |event| {
        session.event(event, fields(event))
    });
}

/// What the client would send with this event.
fn fields(event: &str) -> Value {
    match event {
        "PreToolUse" | "PermissionRequest" | "PostToolUse" => {
            json!({"tool_name": "Read", "tool_input": {"file_path": "/x"}, "tool_use_id": format!("of-{event}")})
        }
        "UserPromptSubmit" => json!({"prompt": "go"}),
        _ => json!({}),
    }
}

/// All events of a session, one after another.
fn all(session: &Session, words: &[&str]) {
    everywhere(words, |event| session.event(event, fields(event)));
}

/// Once mended, the very same call passes and is recorded.
#[track_caller]
fn gets_through(session: &Session) {
    passed(&session.event("PreToolUse", fields("PreToolUse")));
    sound(&session.id, &session.folder());
}

#[test]
fn a_file_stands_where_the_folder_should_be() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    fs::create_dir_all(sandbox.config()).unwrap();
    let projects = sandbox.config().join("projects");
    fs::write(&projects, "in the way").unwrap();
    all(&session, &["STORAGE_FAILED", "make the folder writable"]);
    fs::remove_file(&projects).unwrap();
    gets_through(&session);
}

#[test]
fn a_read_only_folder() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let config = sandbox.config();
    let mounts = format!("mount --bind {0} {0}; mount -o remount,bind,ro {0}", config.display());
    let frozen = Namespace::new(&mounts);
    let before = fs::read(session.folder().join(LEDGER)).unwrap();
    everywhere(&["STORAGE_FAILED", "Read-only file system", "make the folder writable"], |event| {
        frozen.hook(&sandbox, event, &session.payload(event, fields(event)))
    });
    let other = sandbox.session();
    everywhere(&["STORAGE_FAILED", "Read-only file system"], |event| {
        frozen.hook(&sandbox, event, &other.payload(event, fields(event)))
    });
    assert_eq!(fs::read(session.folder().join(LEDGER)).unwrap(), before);
    drop(frozen);
    gets_through(&session);
    gets_through(&other);
}

#[test]
fn a_full_disk() {
    let sandbox = Sandbox::new();
    let config = sandbox.config();
    fs::create_dir(&config).unwrap();
    let disk = Namespace::new(&format!("mount -t tmpfs -o size=64k none {}", config.display()));
    let ballast = disk.path(&config.join("ballast"));
    fs::write(&ballast, vec![0; 64 << 10]).unwrap();
    let session = sandbox.session();
    everywhere(&["STORAGE_FAILED", "No space left", "free some space"], |event| {
        disk.hook(&sandbox, event, &session.payload(event, fields(event)))
    });
    fs::remove_file(&ballast).unwrap();
    passed(&disk.hook(&sandbox, "PreToolUse", &session.payload("PreToolUse", fields("PreToolUse"))));
}

/// What a command fills keeps no BLOCK out of the record: there is room that was set aside before.
#[test]
fn a_full_disk_keeps_no_block_out() {
    let sandbox = Sandbox::repository("0");
    let config = sandbox.config();
    fs::create_dir_all(&config).unwrap();
    let disk = Namespace::new(&format!("mount -t tmpfs -o size=4m none {}", config.display()));
    let session = sandbox.session();
    let hook = |event: &str, fields: Value| disk.hook(&sandbox, event, &session.payload(event, fields));
    passed(&hook("SessionStart", json!({"source": "startup"})));
    passed(&hook("UserPromptSubmit", json!({"prompt": ". go on"})));
    let agent = json!({"tool_name": "Agent", "tool_use_id": "a", "tool_input": {"subagent_type": "custodiet", "prompt": "look", "description": "d"}});
    passed(&hook("PreToolUse", agent));
    let of_agent = json!({"agent_id": "c", "agent_type": "custodiet"});
    passed(&hook("SubagentStart", of_agent));
    let ballast = disk.path(&config.join("ballast"));
    let mut left = File::create(&ballast).unwrap();
    while left.write_all(&[0; 512]).is_ok() {}
    let report = "x ".repeat(5000) + &fenced(json!({"verdict": "BLOCK", "violation": "it left the plan"}));
    let answer = hook(
        "SubagentStop",
        json!({"agent_id": "c", "agent_type": "custodiet", "last_assistant_message": report}),
    );
    answer.warned(&["it is kept, and the next event records it first"]);
    drop(left);
    fs::remove_file(&ballast).unwrap();
    let read = json!({"tool_name": "Read", "tool_use_id": "r", "tool_input": {"file_path": "/x"}});
    hook("PreToolUse", read).refused(&["it left the plan"]);
}

/// No home, no configuration folder: there is no place to stand.
#[test]
fn no_folder_at_all() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    everywhere(&["STORAGE_FAILED"], |event| {
        let mut payload = session.payload(event, fields(event));
        payload["transcript_path"] = json!("");
        let mut command = sandbox.command(BINARY);
        command.arg(event).env_remove("HOME").write_stdin(payload.to_string());
        Answer::of(event, &command.output().unwrap())
    });
}

#[test]
fn the_lock_is_held() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let lock = File::options().write(true).open(session.folder().join(".lock")).unwrap();
    lock.lock().unwrap();
    // All at once: each of them waits to the end of its patience.
    let given: Vec<_> =
        EVENTS.iter().map(|kind| (kind.name, session.payload(kind.name, fields(kind.name)))).collect();
    thread::scope(|scope| {
        let asked: Vec<_> = given
            .iter()
            .map(|(event, payload)| (event, scope.spawn(|| sandbox.hook(event, payload))))
            .collect();
        for (event, answer) in asked {
            told(event, &answer.join().unwrap(), &["STATE_LOCK_ACQUIRE_FAILED"]);
        }
    });
    lock.unlock().unwrap();
    gets_through(&session);
}

/// A head is exported without a lock: whoever holds the file delays nothing.
#[test]
fn the_heads_are_locked() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    passed(&session.stop("done"));
    let lock = File::create(sandbox.config().join("aops/heads.lock")).unwrap();
    lock.lock().unwrap();
    session.stop("again").silent();
    let heads = fs::read_to_string(sandbox.config().join("aops/heads.jsonl")).unwrap();
    let last: Value = serde_json::from_str(heads.lines().last().unwrap()).unwrap();
    assert_eq!(last["digest"], session.entries().last().unwrap()["_digest"]);
    lock.unlock().unwrap();
    gets_through(&session);
}

/// Its hook was killed, and the client let it run: the record says so.
#[test]
fn a_call_that_ended_unasked_is_a_violation() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let call = session.call("Bash", serde_json::json!({"command": "touch x"}));
    let _ = session.post(&call);
    let last =
        session.entries().into_iter().rfind(|entry| entry["type"] == "violation").expect("it is recorded");
    let why = last["with"]["violation"].as_str().unwrap();
    assert!(why.contains("never authorized") && last["with"]["call"]["id"] == call.id.as_str(), "{last}");
}

#[test]
fn a_ledger_that_does_not_hold() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let path = session.folder().join(LEDGER);
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 100;
    bytes[last] ^= 1;
    fs::write(&path, bytes).unwrap();
    all(&session, &["STATE_CHECKSUM_MISMATCH", "verify", "--quarantine"]);
    // The message's own advice.
    assert_eq!(sandbox.person(&["verify", &session.id]).code, Some(4));
    let inside = sandbox.inside(&["verify", &session.id, "--quarantine", "--yes"]);
    assert_eq!(inside.code, Some(2), "a person's verb: {inside:?}");
    let aside = sandbox.person(&["verify", &session.id, "--quarantine", "--yes"]);
    assert_eq!(aside.code, Some(0), "{aside:?}");
    gets_through(&session);
    assert_eq!(sandbox.person(&["verify", &session.id]).code, Some(0));
}

/// Streams that are closed, full or gone: a refusal is never lost with them.
#[test]
fn streams_that_do_not_work() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let run = |event: &str, redirection: &str, input: &str| {
        let mut command = sandbox.command("sh");
        command.args(["-c", &format!("exec \"$0\" \"$1\" {redirection}"), BINARY, event]);
        // Without the client's variable, bytes that say nothing are some other client's.
        command.env("CLAUDECODE", "1").write_stdin(input).output().unwrap()
    };
    for event in GUARDING {
        let good = session.payload(event, fields(event)).to_string();
        for redirection in [">&-", ">/dev/full", "2>&-", "2>/dev/full", ">&- 2>&-", ">/dev/full 2>/dev/full"]
        {
            let output = run(event, redirection, "{}");
            assert_eq!(output.status.code(), Some(2), "{event} {redirection}: {output:?}");
        }
        for redirection in ["<&-", "</dev/null", "<."] {
            let output = run(event, redirection, &good);
            assert_eq!(output.status.code(), Some(2), "{event} {redirection}: {output:?}");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains(BROKEN) && said.contains("INPUT_INVALID"), "{event} {redirection}: {said}");
        }
        // A silent pass writes nothing, so a lost stream loses nothing.
        assert_eq!(run(event, ">&- 2>&-", &good).status.code(), Some(0), "{event}");
    }
    for event in ["Stop", "SessionEnd", "SubagentStop", "PostToolUse"] {
        for redirection in ["<&-", "<&- >&- 2>&-", "<&- >/dev/full 2>/dev/full"] {
            assert_eq!(run(event, redirection, "").status.code(), Some(0), "{event} {redirection}");
        }
    }
}

/// A refusal of a rule does not read like a broken guard.
#[test]
fn a_rule_is_told_apart() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let blocked = sandbox.person(&["block", &session.id, "--reason", "enough"]);
    assert_eq!(blocked.code, Some(0), "{blocked:?}");
    let answer = session.event("PreToolUse", fields("PreToolUse"));
    answer.refused(&["enough", "clear-block"]);
    assert!(!answer.err.contains("broken"), "{answer:?}");
}

/// Everything the messages tell a person to run is there.
#[test]
fn the_advice_can_be_followed() {
    let sandbox = Sandbox::new();
    for command in ["doctor", "verify", "uninstall", "clear-block"] {
        let answer = sandbox.person(&[command, "--help"]);
        assert!(answer.code == Some(0) && answer.out.contains(command), "{answer:?}");
    }
}

/// A dangling link in the place of the session folder is not followed either.
#[test]
fn a_link_in_place_of_the_folder() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let folder = session.folder();
    fs::remove_dir_all(&folder).unwrap();
    symlink(sandbox.tmp().join("nowhere"), &folder).unwrap();
    let answer = session.event("PreToolUse", fields("PreToolUse"));
    answer.refused(&[BROKEN, "STORAGE_FAILED", "is not a folder of ours"]);
    fs::remove_file(&folder).unwrap();
    gets_through(&session);
}
