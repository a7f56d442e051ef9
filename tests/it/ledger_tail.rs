//! What would be worth taking back is exported at once, so that a cut tail is noticed; and a process that
//! holds a lock keeps nothing from the record.

use crate::faults::{LEDGER, STATE, passed};
use crate::support::{Answer, BINARY, NO_TRACKER, Sandbox, Session, fenced};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::PathBuf;

/// The two files that whoever takes something back would restore.
struct Copy {
    files: [(PathBuf, Vec<u8>); 2],
}

impl Copy {
    fn of(session: &Session) -> Self {
        let keep = |name: &str| session.folder().join(name);
        Self { files: [LEDGER, STATE].map(|name| (keep(name), fs::read(keep(name)).unwrap())) }
    }

    fn restore(&self) {
        for (path, bytes) in &self.files {
            fs::write(path, bytes).unwrap();
        }
    }

    /// The ledger cut where it was, and no state at all.
    fn cut(&self) {
        let [(ledger, bytes), (state, _)] = &self.files;
        let file = File::options().write(true).open(ledger).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
        fs::remove_file(state).unwrap();
    }
}

fn write(session: &Session, sandbox: &Sandbox, name: &str) -> Answer {
    session.pre(&session.call("Write", json!({"file_path": sandbox.project().join(name), "content": "x"})))
}

fn block() -> String {
    fenced(json!({"verdict": "BLOCK", "violation": "it left the plan"}))
}

fn heads(sandbox: &Sandbox) -> Vec<Value> {
    let text = fs::read_to_string(sandbox.config().join("aops/heads.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Everything since the last Stop that someone might want to take back, one at a time.
const DEEDS: [&str; 5] = ["refusal", "verdict", "block", "refused prompt", "waiver"];

fn do_it(deed: &str, sandbox: &Sandbox, session: &Session) {
    match deed {
        "refusal" => assert_eq!(write(session, sandbox, "x").code, Some(2)),
        "verdict" => drop(session.hydrate("minor-edit", "new")),
        "block" => {
            assert_eq!(session.begin_agent("c", "custodiet").code, Some(0));
            let _ = session.stop_agent("c", "custodiet", &block());
        }
        "refused prompt" => {
            assert_eq!(sandbox.person(&["block", &session.id, "--reason", "enough"]).code, Some(0));
            assert_eq!(session.prompt("on").code, Some(2));
        }
        _ => assert_eq!(session.prompt(". do it").code, Some(0)),
    }
}

#[test]
fn e01_e02_what_was_taken_back_is_noticed() {
    for deed in DEEDS {
        for cut in [false, true] {
            let sandbox = Sandbox::repository("0");
            let session = sandbox.session();
            passed(&session.start("startup"));
            passed(&session.prompt("add a greeting"));
            let _ = session.stop("nothing yet");
            let (copy, before) = (Copy::of(&session), session.entries().len());
            do_it(deed, &sandbox, &session);
            let exported = heads(&sandbox).last().unwrap().clone();
            let new = session.entries().into_iter().skip(before);
            assert!(
                new.into_iter().any(|entry| entry["_digest"] == exported["digest"]),
                "{deed}: exported at once"
            );
            if cut {
                copy.cut();
            } else {
                copy.restore();
            }
            let case = format!("{deed}, cut {cut}");
            let verified = sandbox.person(&["verify", &session.id]);
            assert_eq!(verified.code, Some(4), "{case}: {verified:?}");
            session.prompt("go on").refused(&["STATE_RECOVERY_FAILED"]);
            // Without a state the heads are asked at every event; else at the next that is worth an export.
            let next = write(&session, &sandbox, "y");
            next.refused(&["STATE_RECOVERY_FAILED"]);
            assert_eq!(heads(&sandbox).last(), Some(&exported), "{case}: no newer head hides it");
            // The way out that is named.
            let aside = sandbox.person(&["verify", &session.id, "--quarantine", "--yes"]);
            assert_eq!(aside.code, Some(0), "{case}: {aside:?}");
            let intact = sandbox.person(&["verify", &session.id]);
            assert_eq!(intact.code, Some(0), "{case}: {intact:?}");
        }
    }
}

/// Entries that pass the number of the exported one do not make up for it.
#[test]
fn a_tail_that_grew_again_is_another_tail() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.session();
    passed(&session.start("startup"));
    passed(&session.prompt("add a greeting"));
    let _ = session.stop("nothing yet");
    let copy = Copy::of(&session);
    assert_eq!(write(&session, &sandbox, "x").code, Some(2));
    copy.restore();
    for _ in 0..40 {
        let call = session.call("Read", json!({"file_path": "/x"}));
        session.pre(&call).silent();
        session.post(&call).silent();
    }
    assert_eq!(sandbox.person(&["verify", &session.id]).code, Some(4));
    session.prompt("go on").refused(&["STATE_RECOVERY_FAILED", "is not the one that was exported"]);
    write(&session, &sandbox, "y").refused(&["STATE_RECOVERY_FAILED"]);
}

/// A refusal that was not forced to the disk may be lost with the power: that is recorded, and nothing stands
/// still.
#[test]
fn a_power_loss_is_told_apart() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.session();
    passed(&session.start("startup"));
    passed(&session.prompt("add a greeting"));
    let copy = Copy::of(&session);
    assert_eq!(write(&session, &sandbox, "x").code, Some(2));
    let path = sandbox.config().join("aops/heads.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let head: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let boot = head["boot"].as_str().expect("it says when it was written").to_owned();
    copy.restore();
    session.prompt("go on").refused(&["STATE_RECOVERY_FAILED"]);
    fs::write(&path, text.replace(&boot, "an-older-boot")).unwrap();
    passed(&session.prompt("go on"));
    let lost = session.entries().into_iter().find(|entry| entry["type"] == "recovery").unwrap();
    assert!(lost["with"]["what"].as_str().unwrap().contains("power loss"), "{lost}");
    assert_eq!(sandbox.person(&["verify", &session.id]).code, Some(0));
    assert_eq!(write(&session, &sandbox, "y").code, Some(2));
    assert_eq!(sandbox.person(&["verify", &session.id]).code, Some(0));
}

/// What a refusal writes: its batch, the state, and one line for the heads that nobody waits for.
#[test]
fn exporting_a_refusal_is_one_append() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.session();
    passed(&session.start("startup"));
    passed(&session.prompt("add a greeting"));
    assert_eq!(write(&session, &sandbox, "x").code, Some(2));
    let call = json!({"tool_name": "Write", "tool_use_id": "t", "tool_input": {"file_path": sandbox.project().join("y"), "content": "x"}});
    let trace = sandbox.tmp().join("trace");
    let mut strace = sandbox.command("strace");
    strace.args(["-f", "-y", "-o", trace.to_str().unwrap(), BINARY, "PreToolUse"]);
    let payload = session.payload("PreToolUse", call);
    let output = strace.write_stdin(payload.to_string()).output().expect("`strace` is needed");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let text = fs::read_to_string(&trace).unwrap();
    let heads: Vec<&str> =
        text.lines().filter(|line| line.contains("heads.") && !line.contains("F_GETFD")).collect();
    let of = |call: &str| heads.iter().filter(|line| line.contains(call)).count();
    assert_eq!(of(" write("), 1, "{heads:#?}");
    assert_eq!((of("sync("), of("flock("), of("heads.lock")), (0, 0, 0), "{heads:#?}");
    // Found, compared, appended, and looked at whether the file still has its name.
    assert!(heads.len() <= 11, "{} system calls: {heads:#?}", heads.len());
}

/// A process that may only read the file holds its lock until this is dropped.
fn hold(path: PathBuf) -> File {
    let lock = File::options().write(true).open(path).unwrap();
    lock.lock().unwrap();
    lock
}

fn spool(sandbox: &Sandbox) -> usize {
    let sessions = fs::read_dir(sandbox.config().join("aops/spool")).into_iter().flatten().flatten();
    sessions.flat_map(|session| fs::read_dir(session.path()).unwrap()).count()
}

fn audited(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.working();
    assert_eq!(session.begin_agent("c", "custodiet").code, Some(0));
    session
}

#[test]
fn e04_b30_a_block_outlives_a_held_lock() {
    let sandbox = Sandbox::repository("0");
    let session = audited(&sandbox);
    let before = session.entries().len();
    let lock = hold(session.folder().join(".lock"));
    let answer = session.stop_agent("c", "custodiet", &block());
    answer.warned(&["STATE_LOCK_ACQUIRE_FAILED", "it is kept, and the next event records it first"]);
    assert_eq!((session.entries().len(), spool(&sandbox)), (before, 1));
    // Meanwhile nothing that guards passes.
    session.pre(&session.call("Read", json!({"file_path": "/x"}))).refused(&["STATE_LOCK_ACQUIRE_FAILED"]);
    drop(lock);
    session.pre(&session.call("Read", json!({"file_path": "/x"}))).refused(&["it left the plan"]);
    assert_eq!(spool(&sandbox), 0);
    let entries = session.entries();
    let of = |kind: &str| entries[before..].iter().filter(|entry| entry["type"] == kind).count();
    assert_eq!((of("violation"), of("verdict"), of("block")), (1, 1, 1), "{entries:#?}");
    assert!(session.folder().join("halt-report.md").exists());
    assert_eq!(heads(&sandbox).last().unwrap()["blocked"], true);
    assert_eq!(sandbox.person(&["verify", &session.id]).code, Some(0));
}

/// The lock was held when the audit began, too: its start is recorded late, and a BLOCK stands.
#[test]
fn e04_a_block_of_an_audit_whose_start_was_missed() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.working();
    let input = json!({"subagent_type": "custodiet", "prompt": "p", "description": "d"});
    passed(&session.pre(&session.call("Agent", input)));
    let lock = hold(session.folder().join(".lock"));
    let start = session.event("SubagentStart", json!({"agent_id": "c", "agent_type": "custodiet"}));
    start.warned(&["STATE_LOCK_ACQUIRE_FAILED", "it is kept, and the next event records it first"]);
    drop(lock);
    let _ = session.stop_agent("c", "custodiet", &block());
    let entries = session.entries();
    assert!(entries.iter().any(|entry| entry["with"]["event"] == "SubagentStart"), "{entries:#?}");
    session.pre(&session.call("Read", json!({"file_path": "/x"}))).refused(&["it left the plan"]);
    // Any other verdict of such an agent does not count.
    let other = sandbox.working();
    let _ = other.stop_agent("q", "qa-verifier", &fenced(json!({"verdict": "VERIFIED", "issues": []})));
    assert!(
        !other.entries().iter().any(|entry| entry["with"]["agent"] == "qa-verifier"),
        "{:#?}",
        other.entries()
    );
}

#[test]
fn e05_what_a_stop_owes_is_asked_by_the_next_event() {
    let sandbox = Sandbox::repository("0");
    sandbox.configure(NO_TRACKER);
    let session = sandbox.working();
    let call =
        session.call("Write", json!({"file_path": sandbox.put("hello.txt", "hello"), "content": "hello"}));
    session.pre(&call).silent();
    passed(&session.post(&call));
    let lock = hold(session.folder().join(".lock"));
    session.stop("done").warned(&["STATE_LOCK_ACQUIRE_FAILED", "it is kept"]);
    assert_eq!(spool(&sandbox), 1);
    drop(lock);
    let answer = session.prompt("thanks, and now the docs");
    let context = answer.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
    for word in ["could not write this session's record", "commit", "qa"] {
        assert!(context.contains(word), "{word}: {context}");
    }
    assert_eq!(spool(&sandbox), 0);
    let stops = session
        .entries()
        .into_iter()
        .filter(|entry| entry["with"]["event"] == "Stop" && entry["type"] == "event");
    assert_eq!(stops.count(), 1, "recorded once");
    let again = session.prompt("and on");
    assert!(!again.out.contains("could not write this session's record"), "asked once: {again:?}");
}

/// Several events at once find the same kept one: it counts once.
#[test]
fn a_kept_event_is_recorded_once() {
    let sandbox = Sandbox::repository("0");
    let session = audited(&sandbox);
    let lock = hold(session.folder().join(".lock"));
    let ok = fenced(json!({"verdict": "OK"}));
    let _ = session.stop_agent("c", "custodiet", &ok);
    drop(lock);
    let calls: Vec<Value> = (0..6)
        .map(|n| {
            session.payload(
                "PreToolUse",
                json!({"tool_name": "Read", "tool_input": {"file_path": "/x"}, "tool_use_id": format!("r{n}")}),
            )
        })
        .collect();
    std::thread::scope(|scope| {
        for call in &calls {
            scope.spawn(|| passed(&sandbox.hook("PreToolUse", call)));
        }
    });
    let verdicts = session
        .entries()
        .into_iter()
        .filter(|entry| entry["type"] == "verdict" && entry["with"]["agent"] == "custodiet");
    assert_eq!((verdicts.count(), spool(&sandbox)), (1, 0));
    assert_eq!(sandbox.person(&["verify", &session.id]).code, Some(0));
}

/// A file that is no event is set aside, and no session waits for it.
#[test]
fn what_cannot_be_read_is_set_aside() {
    let sandbox = Sandbox::repository("0");
    let session = audited(&sandbox);
    let lock = hold(session.folder().join(".lock"));
    let _ = session.stop_agent("c", "custodiet", &block());
    drop(lock);
    let folder = fs::read_dir(sandbox.config().join("aops/spool")).unwrap().next().unwrap().unwrap().path();
    fs::write(folder.join("000-1.json"), "no event").unwrap();
    let other = json!({"hook_event_name": "Stop", "session_id": "another", "cwd": "/"}).to_string();
    fs::write(folder.join("000-2.json"), other).unwrap();
    session.pre(&session.call("Read", json!({"file_path": "/x"}))).refused(&["it left the plan"]);
    let mut left: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, ["000-1.unreadable", "000-2.unreadable"]);
}

#[test]
fn e06_a_block_reaches_the_heads_whoever_holds_their_lock() {
    let sandbox = Sandbox::repository("0");
    let session = audited(&sandbox);
    let _ = session.stop("not yet");
    let aops = sandbox.config().join("aops");
    let _ = File::create(aops.join("heads.lock")).unwrap();
    let lock = hold(aops.join("heads.lock"));
    assert_eq!(session.stop_agent("c", "custodiet", &block()).code, Some(0));
    assert_eq!(heads(&sandbox).last().unwrap()["blocked"], true);
    fs::remove_dir_all(session.folder()).unwrap();
    let answer = session.pre(&session.call("Read", json!({"file_path": "/x"})));
    assert_eq!(answer.code, Some(2), "{answer:?}");
    drop(lock);
}

/// Secrets are taken out of a kept event, too.
#[test]
fn a_kept_event_holds_no_secret() {
    let sandbox = Sandbox::repository("0");
    let session = audited(&sandbox);
    let lock = hold(session.folder().join(".lock"));
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let _ = session.stop_agent("c", "custodiet", &format!("I saw {token}. {}", block()));
    let folder = fs::read_dir(sandbox.config().join("aops/spool")).unwrap().next().unwrap().unwrap().path();
    let kept = fs::read_to_string(fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()).unwrap();
    assert!(kept.contains("[redacted:github-token]") && !kept.contains(&token), "{kept}");
    drop(lock);
}
