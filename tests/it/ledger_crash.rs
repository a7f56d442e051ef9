//! The hook killed, starved or failed at every system call: nothing acknowledged is lost, and the next event
//! works.

use crate::faults::namespace::Namespace;
use crate::faults::strace::{self, End, Point};
use crate::faults::{Files, LEDGER, STATE, files, passed, put_back, sound, steps};
use crate::support::{BINARY, Sandbox, Session};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// One event in the situation it is to be met in.
struct Context<'a> {
    sandbox: &'a Sandbox,
    session: Session<'a>,
    event: &'static str,
    payload: Value,
    /// The session's files before the event, and the exported heads.
    before: Files,
    heads: Option<Vec<u8>>,
}

impl<'a> Context<'a> {
    /// A session with some calls behind it and one running.
    fn new(sandbox: &'a Sandbox, event: &'static str, fields: impl Fn(&Session) -> Value) -> Self {
        let session = sandbox.session();
        passed(&session.start("startup"));
        passed(&session.prompt("go"));
        for _ in 0..2 {
            let call = session.call("Read", json!({"file_path": "/x"}));
            session.pre(&call).silent();
            session.post(&call).silent();
        }
        passed(&session.stop("so far"));
        let running = session.call("Read", json!({"file_path": "/running"}));
        session.pre(&running).silent();
        let payload = session.payload(event, fields(&session));
        let before = files(&session.folder());
        let heads = fs::read(heads(sandbox)).ok();
        Self { sandbox, session, event, payload, before, heads }
    }

    fn put_back(&self) {
        put_back(&self.session.folder(), &self.before);
        match &self.heads {
            Some(bytes) => fs::write(heads(self.sandbox), bytes).unwrap(),
            None => drop(fs::remove_file(heads(self.sandbox))),
        }
    }

    fn points(&self) -> Vec<Point> {
        let points = strace::points(self.sandbox, self.event, &self.payload);
        self.put_back();
        points
    }

    fn inject(&self, point: &Point, what: &str) -> End {
        strace::inject(self.sandbox, point, what, self.event, &self.payload)
    }

    /// What was acknowledged is there, the next event works, and the ledger is sound after it.
    #[track_caller]
    fn holds(&self, end: &End, case: &str) {
        let next = self.session.call("Read", json!({"file_path": "/next"}));
        self.session.pre(&next).silent();
        let bytes = sound(&self.session.id, &self.session.folder());
        let old = &self.before[LEDGER];
        let kept = whole_batches(&self.session.id, old);
        assert_eq!(bytes[..kept], old[..kept], "{case}: an acknowledged entry is gone or changed");
        let now = crate::faults::entries(&bytes[kept..]);
        assert_eq!(steps(&bytes)[&next.id], ["PENDING", "AUTHORIZED", "EXECUTING"], "{case}");
        let of_event = now.iter().filter(|entry| self.is_of_event(entry)).count();
        if end.code == Some(0) {
            assert_eq!(of_event, 1, "{case}: acknowledged and recorded once: {end:?}");
        } else {
            assert!(of_event <= 1, "{case}: recorded {of_event} times");
        }
    }

    fn is_of_event(&self, entry: &Value) -> bool {
        match self.payload["tool_use_id"].as_str() {
            Some(id) => entry["with"]["call"]["id"] == id && entry["with"]["to"] == "PENDING",
            None => entry["with"]["event"] == self.event && entry["type"] == "event",
        }
    }
}

fn heads(sandbox: &Sandbox) -> PathBuf {
    sandbox.config().join("aops/heads.jsonl")
}

fn whole_batches(trace: &str, ledger: &[u8]) -> usize {
    let rest = crate::faults::walk(trace, ledger).unwrap().1;
    ledger.len() - rest
}

fn new_call(session: &Session) -> Value {
    let call = session.call("Bash", json!({"command": "ls", "description": "look"}));
    json!({"tool_name": call.tool, "tool_input": call.input, "tool_use_id": call.id})
}

fn a_stop(_: &Session) -> Value {
    json!({"stop_hook_active": false, "last_assistant_message": "done"})
}

/// The same event on a ledger that a killed write left torn.
fn torn(sandbox: &Sandbox) -> Context<'_> {
    let mut context = Context::new(sandbox, "PreToolUse", new_call);
    let ledger = context.before.get_mut(LEDGER).unwrap();
    let again = ledger[..200].to_vec();
    ledger.extend(again);
    context.put_back();
    context
}

fn killed_everywhere(context: &Context) {
    for point in context.points() {
        context.put_back();
        let end = context.inject(&point, "signal=KILL");
        assert_eq!(end.signal, Some(9), "{point:?}: {end:?}");
        context.holds(&end, &format!("killed at {point:?}"));
    }
}

#[test]
fn killed_at_every_system_call_of_a_call() {
    let sandbox = Sandbox::new();
    killed_everywhere(&Context::new(&sandbox, "PreToolUse", new_call));
}

#[test]
fn killed_at_every_system_call_of_a_stop() {
    let sandbox = Sandbox::new();
    killed_everywhere(&Context::new(&sandbox, "Stop", a_stop));
}

#[test]
fn killed_at_every_system_call_of_a_repair() {
    let sandbox = Sandbox::new();
    killed_everywhere(&torn(&sandbox));
}

/// Errors a disk gives.
const ERRORS: [&str; 5] = ["EIO", "ENOSPC", "EINTR", "EACCES", "EROFS"];

/// So many errors at every system call, in rotation. `guarding`: it must then refuse; else let go.
fn failing_everywhere(context: &Context, guarding: bool, errors: usize) {
    let points = context.points();
    let mut refused = BTreeSet::new();
    for (n, point) in points.iter().enumerate() {
        for error in ERRORS.iter().cycle().skip(n % ERRORS.len()).take(errors) {
            context.put_back();
            let end = context.inject(point, &format!("error={error}"));
            let case = format!("{error} at {point:?}: {end:?}");
            let allowed: &[i32] = if guarding { &[0, 2] } else { &[0] };
            assert!(end.code.is_some_and(|code| allowed.contains(&code)), "{case}");
            if end.code == Some(2) {
                assert!(end.err.contains("aops-hook is broken") && end.err.contains("hint: "), "{case}");
                assert!(end.out.contains("is broken"), "{case}");
                refused.insert(point.call.clone());
            }
            // On an event that may not refuse, a warning says that nothing was recorded.
            let unheard = End { code: if end.err.is_empty() { end.code } else { None }, ..end };
            context.holds(&unheard, &case);
        }
    }
    assert!(!guarding || refused.contains("write"), "a failed write refuses: {refused:?}");
}

#[test]
fn errors_at_every_system_call_of_a_call() {
    let sandbox = Sandbox::new();
    failing_everywhere(&Context::new(&sandbox, "PreToolUse", new_call), true, 1);
}

#[test]
fn errors_at_every_system_call_of_a_stop() {
    let sandbox = Sandbox::new();
    failing_everywhere(&Context::new(&sandbox, "Stop", a_stop), false, 1);
}

#[test]
fn errors_at_every_system_call_of_a_repair() {
    let sandbox = Sandbox::new();
    failing_everywhere(&torn(&sandbox), true, 1);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn every_error_at_every_system_call() {
    let all = ERRORS.len();
    failing_everywhere(&Context::new(&Sandbox::new(), "PreToolUse", new_call), true, all);
    failing_everywhere(&Context::new(&Sandbox::new(), "Stop", a_stop), false, all);
    failing_everywhere(&torn(&Sandbox::new()), true, all);
}

/// The very first event makes every folder and file on its way.
#[test]
fn killed_at_every_system_call_of_a_first_event() {
    let sandbox = Sandbox::new();
    let payload = |session: &Session| session.payload("PreToolUse", new_call(session));
    let first = sandbox.session();
    for point in strace::points(&sandbox, "PreToolUse", &payload(&first)) {
        fs::remove_dir_all(sandbox.config()).unwrap();
        let session = sandbox.session();
        let end = strace::inject(&sandbox, &point, "signal=KILL", "PreToolUse", &payload(&session));
        assert_eq!(end.signal, Some(9), "{point:?}: {end:?}");
        let next = session.call("Read", json!({"file_path": "/next"}));
        // The person is told that no start was seen.
        passed(&session.pre(&next));
        let bytes = sound(&session.id, &session.folder());
        assert!(steps(&bytes).contains_key(&next.id), "killed at {point:?}");
    }
}

/// A power loss brings back any older version of any file; what was synced is never among the lost.
#[test]
fn every_mix_of_file_versions_after_a_power_loss() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let mut versions = vec![files(&session.folder())];
    for _ in 0..3 {
        let call = session.call("Read", json!({"file_path": "/x"}));
        session.pre(&call).silent();
        session.post(&call).silent();
        versions.push(files(&session.folder()));
    }
    let another_boot = sandbox.tmp().join("boot_id");
    fs::write(&another_boot, "00000000-1111-4222-8333-444444444444\n").unwrap();
    let booted =
        Namespace::new(&format!("mount --bind {} /proc/sys/kernel/random/boot_id", another_boot.display()));
    for (l, ledger) in versions.iter().enumerate() {
        for (s, state) in versions.iter().enumerate() {
            for (i, index) in versions.iter().enumerate() {
                let mut mix = Files::from([
                    (LEDGER.to_owned(), ledger[LEDGER].clone()),
                    (STATE.to_owned(), state[STATE].clone()),
                ]);
                mix.extend(index.get("calls.index").map(|bytes| ("calls.index".to_owned(), bytes.clone())));
                let case = format!("ledger {l}, state {s}, index {i}");
                one_mix(&sandbox, &session, &booted, &mix, s > l, &case);
            }
        }
    }
}

fn one_mix(sandbox: &Sandbox, session: &Session, booted: &Namespace, mix: &Files, lost: bool, case: &str) {
    let folder = session.folder();
    let next = session.payload("PreToolUse", new_call(session));
    put_back(&folder, mix);
    let here = sandbox.hook("PreToolUse", &next);
    if lost {
        here.refused(&["STATE_RECOVERY_FAILED", "verify --quarantine"]);
        assert_eq!(fs::read(folder.join(LEDGER)).unwrap(), mix[LEDGER], "{case}: a refusal changes nothing");
        put_back(&folder, mix);
        passed(&booted.hook(sandbox, "PreToolUse", &next));
    } else {
        here.silent();
    }
    let bytes = sound(&session.id, &folder);
    assert!(bytes.starts_with(&mix[LEDGER]), "{case}: what was there is gone");
    let told = crate::faults::entries(&bytes).iter().any(|entry| entry["with"]["lost_after"].is_u64());
    assert_eq!(told, lost, "{case}: a loss is recorded, and only a loss");
    assert!(steps(&bytes).contains_key(next["tool_use_id"].as_str().unwrap()), "{case}");
}

/// What was synced may not be lost, whatever the boot.
#[test]
fn a_lost_stop_is_no_power_loss() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let before = files(&session.folder());
    passed(&session.stop("done"));
    let mut mix = files(&session.folder());
    mix.insert(LEDGER.to_owned(), before[LEDGER].clone());
    let another_boot = sandbox.tmp().join("boot_id");
    fs::write(&another_boot, "00000000-1111-4222-8333-444444444444\n").unwrap();
    let booted =
        Namespace::new(&format!("mount --bind {} /proc/sys/kernel/random/boot_id", another_boot.display()));
    for state in [true, false] {
        let mut mix = mix.clone();
        if !state {
            mix.remove(STATE); // the exported head alone proves it
        }
        put_back(&session.folder(), &mix);
        let next = session.payload("PreToolUse", new_call(&session));
        booted.hook(&sandbox, "PreToolUse", &next).refused(&["STATE_RECOVERY_FAILED"]);
    }
}

#[test]
fn a_file_size_limit_refuses_and_loses_nothing() {
    let sandbox = Sandbox::new();
    let context = Context::new(&sandbox, "PreToolUse", new_call);
    let (mut refused, mut passed) = (0, 0);
    for blocks in 0..40 {
        context.put_back();
        let script = format!("ulimit -f {blocks} && exec \"$0\" PreToolUse");
        let mut command = sandbox.command("sh");
        let output =
            command.args(["-c", &script, BINARY]).write_stdin(context.payload.to_string()).output().unwrap();
        let end = End {
            code: output.status.code(),
            signal: None,
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        let case = format!("limit of {blocks} blocks: {output:?}");
        match end.code {
            Some(0) => passed += 1,
            Some(2) => {
                refused += 1;
                assert!(end.err.contains("STORAGE_FAILED") && end.err.contains("free some space"), "{case}");
            }
            _ => panic!("{case}"),
        }
        context.holds(&end, &case);
    }
    assert!(refused > 0 && passed > 0, "the limits reach from too small to enough: {refused} {passed}");
}

#[test]
fn a_disk_that_fills_up_and_is_freed_again() {
    let sandbox = Sandbox::new();
    let config = sandbox.config();
    fs::create_dir(&config).unwrap();
    let disk = Namespace::new(&format!("mount -t tmpfs -o size=192k none {}", config.display()));
    let session = sandbox.session();
    let inside = |path: &Path| disk.path(path);
    passed(&disk.hook(
        &sandbox,
        "SessionStart",
        &session.payload("SessionStart", json!({"source": "startup"})),
    ));
    let mut acknowledged = Vec::new();
    let ballast = inside(&config.join("ballast"));
    for (round, kilobytes) in [128, 96, 64].into_iter().enumerate() {
        fs::write(&ballast, vec![b'x'; kilobytes << 10]).unwrap();
        loop {
            let payload = session.payload("PreToolUse", new_call(&session));
            let answer = disk.hook(&sandbox, "PreToolUse", &payload);
            if answer.code == Some(2) {
                answer.refused(&["STORAGE_FAILED", "free some space", "no rule was broken"]);
                break;
            }
            answer.silent();
            acknowledged.push(payload["tool_use_id"].as_str().unwrap().to_owned());
        }
        let stop = disk.hook(&sandbox, "Stop", &session.payload("Stop", a_stop(&session)));
        assert_eq!(stop.code, Some(0), "nobody is trapped: {stop:?}");
        fs::remove_file(&ballast).unwrap();
        let payload = session.payload("PreToolUse", new_call(&session));
        passed(&disk.hook(&sandbox, "PreToolUse", &payload));
        let sessions = inside(&sandbox.sessions());
        let mut items = fs::read_dir(sessions).unwrap().map(|item| item.unwrap().path());
        let folder = items.find(|path| path.is_dir()).unwrap();
        let calls = steps(&sound(&session.id, &folder));
        let lost: Vec<_> = acknowledged.iter().filter(|id| !calls.contains_key(*id)).collect();
        assert!(lost.is_empty(), "round {round}: {lost:?}");
    }
    assert!(acknowledged.len() > 5, "the disk took something before it was full");
}
