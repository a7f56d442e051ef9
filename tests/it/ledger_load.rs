//! Many writers, many entries, huge and odd input, clocks that run backwards: no entry lost, none twice, none
//! wrong.

use crate::faults::namespace::Namespace;
use crate::faults::{self, ID, LEDGER, STATE, Workshop, passed, python_verifier, sound, steps, walk};
use crate::ledger_damage::rebuilt;
use crate::support::{Answer, BINARY, Sandbox, Session};
use aops_core::ledger::sessions::{self, SessionOnDisk};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, SystemTime};

/// A child we may kill: `assert_cmd` only waits.
#[expect(clippy::disallowed_methods, reason = "a writer that can be killed while it works")]
fn writer(sandbox: &Sandbox, event: &str) -> Command {
    let mut command = Command::new(BINARY);
    command.arg(event).env_clear().envs(sandbox.environment()).current_dir(sandbox.project());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// One event; killed after `patience` where one is given. What it said where it failed; `None` when it was
/// killed.
fn write(sandbox: &Sandbox, payload: &Value, patience: Option<Duration>) -> Option<Result<(), String>> {
    let mut child = writer(sandbox, payload["hook_event_name"].as_str().unwrap()).spawn().unwrap();
    let fed = child.stdin.take().unwrap().write_all(payload.to_string().as_bytes());
    if let Some(patience) = patience {
        thread::sleep(patience);
        let _ = child.kill();
    } else {
        fed.unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    output.status.code().map(|code| if code == 0 { Ok(()) } else { Err(format!("exit {code}: {said}")) })
}

/// What one of the writers is told to record: a call that begins, and the same one ending.
fn told(session: &Session, writer: usize, event: usize) -> Value {
    let call = event / 2;
    let fields = json!({"tool_name": "Read", "tool_input": {"file_path": format!("/{writer}/{call}")},
        "tool_use_id": format!("toolu_{writer}_{call}"), "agent_id": format!("agent-{writer}"), "agent_type": "worker"});
    session.payload(if event.is_multiple_of(2) { "PreToolUse" } else { "PostToolUse" }, fields)
}

/// So many processes at once, each with so many events; every `killed`th is killed at some moment.
fn writers(processes: usize, events: usize, killed: Option<usize>) {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    // Made here: a session counts its prompts and is not shared.
    let payloads: Vec<Vec<Value>> =
        (0..processes).map(|n| (0..events).map(|m| told(&session, n, m)).collect()).collect();
    let acknowledged = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for (n, payloads) in payloads.iter().enumerate() {
            let (sandbox, acknowledged) = (&sandbox, &acknowledged);
            scope.spawn(move || {
                for (m, payload) in payloads.iter().enumerate() {
                    let fate = killed.filter(|every| (n + m) % every == 0);
                    let patience =
                        fate.map(|_| Duration::from_micros(((n * 7919 + m * 104_729) % 6000) as u64));
                    match write(sandbox, payload, patience) {
                        Some(Ok(())) => acknowledged.lock().unwrap().push(payload),
                        Some(Err(_)) if patience.is_some() => {} // its input was cut by the kill
                        Some(Err(said)) => panic!("{said}"),
                        None => {}
                    }
                }
            });
        }
    });
    let acknowledged = acknowledged.into_inner().unwrap();
    let share = if killed.is_some() { 2 } else { 1 };
    assert!(
        acknowledged.len() >= processes * events / share,
        "only {} were acknowledged",
        acknowledged.len()
    );
    // The last process may have been killed between its entry and the state: the next event repairs that.
    session.pre(&session.call("Read", json!({"file_path": "/next"}))).silent();
    counted_once(&session, &acknowledged);
}

/// Every acknowledged event is there once; whatever else is there is whole.
fn counted_once(session: &Session, acknowledged: &[&Value]) {
    let bytes = sound(&session.id, &session.folder());
    let calls = steps(&bytes);
    let entries = faults::entries(&bytes);
    let unasked: BTreeSet<&str> = entries
        .iter()
        .filter(|entry| entry["type"] == "violation")
        .filter_map(|entry| entry["with"]["call"]["id"].as_str())
        .collect();
    for payload in acknowledged {
        let id = payload["tool_use_id"].as_str().unwrap();
        let step = if payload["hook_event_name"] == "PreToolUse" { "EXECUTING" } else { "COMPLETED" };
        let recorded = calls.get(id).is_some_and(|steps| steps.iter().any(|s| s == step));
        // The end of a call whose beginning was killed is a violation, and told as one.
        assert!(
            recorded || (step == "COMPLETED" && unasked.contains(id)),
            "{step} of {id} is lost: {:?}",
            calls.get(id)
        );
    }
    for (id, steps) in &calls {
        assert!(steps.iter().collect::<BTreeSet<_>>().len() == steps.len(), "{id} counted twice: {steps:?}");
    }
    let theirs = python_verifier::verify(&[session.folder()]);
    assert_eq!((&theirs[0]["ok"], &theirs[0]["entries"]), (&json!(true), &json!(entries.len())));
}

#[test]
fn sixteen_writers() {
    writers(16, 60, None);
}

#[test]
fn sixteen_writers_some_killed() {
    writers(16, 40, Some(3));
}

/// `tests/long-run` runs these two; they take minutes.
#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn sixty_four_writers() {
    writers(64, 1000, None);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn ten_thousand_kills() {
    writers(64, 313, Some(2));
}

/// A session of so many entries, most of them in two-call steps.
fn grown(entries: u64) -> Workshop {
    let workshop = Workshop::new();
    workshop.event("SessionStart", &json!({"source": "startup"})).unwrap();
    for n in 0.. {
        workshop.pre(&format!("call-{n}")).unwrap();
        workshop.post(&format!("call-{n}")).unwrap();
        if n % 64 == 0 && workshop.found().unwrap().seq >= entries {
            break;
        }
    }
    workshop
}

#[test]
fn a_snapshot_at_least_every_1024_entries_and_a_lost_state_is_rebuilt_from_it() {
    let workshop = grown(3000);
    let bytes = workshop.file(LEDGER);
    let entries = faults::entries(&bytes);
    let snapshots: Vec<u64> = entries
        .iter()
        .filter(|entry| entry["type"] == "snapshot")
        .map(|entry| entry["sequence_number"].as_u64().unwrap())
        .collect();
    assert!(snapshots.len() >= 2, "{snapshots:?}");
    // A batch is never cut, and the longest here has three entries.
    let close = |gap: u64| (1000..=1024 + 3).contains(&gap);
    assert!(close(snapshots[0]) && snapshots.windows(2).all(|two| close(two[1] - two[0])), "{snapshots:?}");
    let truth = workshop.found().unwrap();
    // Damage before the last snapshot is not met on the way: the rebuild begins after it.
    let mut damaged = bytes.clone();
    damaged[200] ^= 1;
    fs::write(workshop.folder().join(LEDGER), &damaged).unwrap();
    fs::remove_file(workshop.folder().join(STATE)).unwrap();
    rebuilt(&workshop.found().unwrap(), &truth, "from the last snapshot");
    assert!(walk(ID, &damaged).is_err(), "a full walk still sees it");
    // A state that was made before the snapshots catches up as well.
    let mut mended = workshop.file(LEDGER);
    mended[200] ^= 1;
    fs::write(workshop.folder().join(LEDGER), &mended).unwrap();
    workshop.pre("after").unwrap();
    sound(ID, &workshop.folder());
}

/// The parts between snapshots are checked at the same time; the answer is that of one walk from the
/// beginning.
#[test]
fn parts_that_are_checked_together_say_what_one_walk_says() {
    let workshop = grown(3000);
    let good = workshop.file(LEDGER);
    let found =
        SessionOnDisk { session_id: ID.to_owned(), path: workshop.folder(), changed: SystemTime::UNIX_EPOCH };
    let check = |bytes: &[u8]| {
        fs::write(workshop.folder().join(LEDGER), bytes).unwrap();
        sessions::check(&workshop.env, &found).unwrap()
    };
    let whole = check(&good);
    assert!(whole.failure.is_none(), "{:?}", whole.failure);
    rebuilt(&whole.session, &walk(ID, &good).unwrap().0.folded, "whole");
    let lines: Vec<&[u8]> = good.split_inclusive(|byte| *byte == b'\n').collect();
    let snapshot = |line: &&[u8]| memchr::memmem::find(line, b",\"type\":\"snapshot\",").is_some();
    let first = lines.iter().position(snapshot).unwrap();
    let mut cases: Vec<Vec<u8>> = vec![
        [&lines[..first - 8], &lines[first..]].concat().concat(),
        [&lines[..first], &lines[first + 1..]].concat().concat(),
        [&lines[..=first], &lines[first..]].concat().concat(),
    ];
    for byte in (100..good.len()).step_by(good.len() / 12) {
        let mut bad = good.clone();
        bad[byte] ^= 2;
        cases.push(bad);
    }
    for (n, bad) in cases.iter().enumerate() {
        let (said, damage) = (check(bad), walk(ID, bad).unwrap_err());
        let code = said.failure.map(|failure| failure.code);
        assert_eq!((code, said.seq), (Some(damage.kind.into()), Some(damage.seq)), "case {n}");
    }
}

/// A megabyte of payloads brings the snapshot early.
#[test]
fn a_snapshot_after_a_megabyte() {
    let workshop = Workshop::new();
    workshop.event("SessionStart", &json!({"source": "startup"})).unwrap();
    let wide: Value =
        (0..6).map(|n| (format!("k{n}"), json!("x".repeat(1900)))).collect::<serde_json::Map<_, _>>().into();
    for n in 0..150 {
        let call = json!({"tool_name": "Read", "tool_input": wide, "tool_use_id": format!("wide-{n}")});
        workshop.event("PreToolUse", &call).unwrap();
        workshop.event("PostToolUse", &call).unwrap();
    }
    let bytes = sound(ID, &workshop.folder());
    assert!(bytes.len() > 1 << 20, "{}", bytes.len());
    assert!(faults::entries(&bytes).iter().any(|entry| entry["type"] == "snapshot"));
}

/// The index of ended calls is a hint: whatever happens to it, the answer is the same.
#[test]
fn the_index_may_be_anything() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let calls: Vec<_> =
        (0..20).map(|n| session.call("Read", json!({"file_path": format!("/{n}")}))).collect();
    let mut stale = None;
    for (n, call) in calls.iter().enumerate() {
        session.pre(call).silent();
        session.post(call).silent();
        stale = if n == 14 { fs::read(session.folder().join("calls.index")).ok() } else { stale };
    }
    let path = session.folder().join("calls.index");
    let good = fs::read(&path).unwrap();
    let mut garbage_slots = good.clone();
    garbage_slots[40..].fill(0x5a);
    let cases: Vec<(&str, Option<Vec<u8>>)> = vec![
        ("as it is", Some(good.clone())),
        ("deleted", None),
        ("empty", Some(Vec::new())),
        ("cut in the header", Some(good[..20].to_vec())),
        ("cut in the slots", Some(good[..good.len() - 7].to_vec())),
        ("an older one", stale),
        ("garbage", Some(vec![0xff; good.len()])),
        ("words", Some(b"not an index\n".repeat(100))),
        ("garbage in all slots", Some(garbage_slots)),
    ];
    for (case, index) in cases {
        match index {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        for call in &calls {
            let answer = session.pre(call);
            assert_eq!(answer.code, Some(2), "{case}: {} ended already: {answer:?}", call.id);
            answer.refused(&["already ended: COMPLETED"]);
        }
        let new = session.call("Read", json!({"file_path": case}));
        session.pre(&new).silent();
        session.post(&new).silent();
        sound(&session.id, &session.folder());
    }
}

/// A power loss can keep the header of the index and lose its slots: after another boot it is made anew.
#[test]
fn an_index_that_lost_its_slots_with_the_power() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let call = session.call("Read", json!({"file_path": "/x"}));
    session.pre(&call).silent();
    session.post(&call).silent();
    for n in 0..20 {
        // The end of the ledger is read without the index.
        let other = session.call("Read", json!({"file_path": format!("/{n}")}));
        session.pre(&other).silent();
        session.post(&other).silent();
    }
    session.pre(&call).refused(&["already ended"]);
    let path = session.folder().join("calls.index");
    let mut lost = fs::read(&path).unwrap();
    assert!(lost[40..].iter().any(|byte| *byte != 0), "the call is in it");
    lost[40..].fill(0);
    fs::write(&path, lost).unwrap();
    let boot = sandbox.tmp().join("boot_id");
    fs::write(&boot, "00000000-1111-4222-8333-444444444444\n").unwrap();
    let mount = format!("mount --bind {} /proc/sys/kernel/random/boot_id", boot.display());
    let booted = Namespace::new(&mount);
    passed(&booted.hook(
        &sandbox,
        "SessionStart",
        &session.payload("SessionStart", json!({"source": "resume"})),
    ));
    session.pre(&call).refused(&["already ended"]);
}

#[test]
fn a_clock_set_back_changes_no_order() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let at = |ms: i64, name: &str, fields: Value| {
        let mut command = sandbox.command(BINARY);
        command.arg(name).env("AOPS_TEST_NOW_MS", ms.to_string());
        let output = command.write_stdin(session.payload(name, fields).to_string()).output().unwrap();
        passed(&Answer::of(name, &output));
    };
    let day = 86_400_000;
    let noon = 1_768_298_400_000;
    let moments = [noon, noon + 1, noon - 3 * day, 0, noon + 40 * day, noon];
    at(noon, "SessionStart", json!({"source": "startup"}));
    for (n, moment) in moments.into_iter().enumerate() {
        let call = json!({"tool_name": "Read", "tool_input": {}, "tool_use_id": format!("call-{n}")});
        at(moment, "PreToolUse", call.clone());
        at(moment - 1, "PostToolUse", call);
    }
    let bytes = sound(&session.id, &session.folder());
    assert_eq!(steps(&bytes).len(), moments.len());
    let stamps: Vec<String> =
        faults::entries(&bytes).iter().map(|e| e["ts"].as_str().unwrap().to_owned()).collect();
    assert!(
        stamps.iter().any(|ts| ts.starts_with("1970")),
        "the clock was believed, not the order: {stamps:?}"
    );
    assert!(!stamps.is_sorted());
}

/// Odd input the host would send on: recorded within bounds, and answered.
#[test]
fn huge_and_odd_input() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let payload = |id: &str, input: &str| {
        let plain =
            session.payload("PreToolUse", json!({"tool_name": "Read", "tool_use_id": id, "tool_input": 0}));
        plain.to_string().replace("\"tool_input\":0", &format!("\"tool_input\":{input}"))
    };
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_objects = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let wide = format!("[{}0]", "0,".repeat(300_000));
    let huge = format!("{{\"content\":\"{}\"}}", "x".repeat(10 << 20));
    let cases = [
        ("huge", huge.as_str()),
        ("deep", &deep),
        ("deep_objects", &deep_objects),
        ("wide", &wide),
        ("surrogates", r#"{"a":"\ud800","b":"\udc00\ud800","\ud83d":1}"#),
        ("twice", r#"{"a":1,"a":2,"tool_input":3,"a":{"a":4}}"#),
        (
            "numbers",
            r#"{"a":9007199254740993,"b":-18446744073709551616,"c":1e400,"d":1e-400,"e":-0.0,"f":123456789012345678901234567890}"#,
        ),
        ("escapes", r#"{"a":"\u0000\u001b[31m\u202e\n\"\\"}"#),
        ("null", "null"),
        ("text", "\"words\""),
    ];
    for (id, input) in cases {
        let before = fs::metadata(session.folder().join(LEDGER)).unwrap().len();
        if !input.starts_with('{') {
            sandbox.raw("PreToolUse", payload(id, input)).refused(&["INPUT_INVALID", "is not an object"]);
            continue;
        }
        sandbox.raw("PreToolUse", payload(id, input)).silent();
        let grown = fs::metadata(session.folder().join(LEDGER)).unwrap().len() - before;
        assert!(grown < 20_000, "{id} left {grown} bytes");
        sandbox.raw("PreToolUse", payload(id, input)).silent(); // the same call in flight: the same answer
    }
    let bytes = sound(&session.id, &session.folder());
    let calls = steps(&bytes);
    assert_eq!(calls.len(), cases.iter().filter(|(_, input)| input.starts_with('{')).count(), "{calls:?}");
    let other = sandbox.raw("PreToolUse", payload("numbers", r#"{"a":9007199254740992}"#));
    other.refused(&["STATE_CONCURRENT_EXECUTION"]);
    let theirs = python_verifier::verify(&[session.folder()]);
    assert_eq!(theirs[0]["code"], Value::Null, "{theirs:?}");
}

/// Two integers that a double cannot tell apart are two inputs.
#[test]
fn integers_above_2_53_are_told_apart() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let ask = |number: &str| {
        let plain =
            session.payload("PreToolUse", json!({"tool_name": "Read", "tool_use_id": "n", "tool_input": 0}));
        let text =
            plain.to_string().replace("\"tool_input\":0", &format!("\"tool_input\":{{\"n\":{number}}}"));
        sandbox.raw("PreToolUse", text)
    };
    ask("9007199254740993").silent();
    ask("9007199254740993").silent();
    ask("9007199254740992").refused(&["STATE_CONCURRENT_EXECUTION"]);
}
