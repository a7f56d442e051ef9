//! Appends that fail, and the commands that work on a ledger beside the hooks.

use crate::faults::{ID, LEDGER, STATE, Workshop, passed, sound};
use crate::support::{BINARY, Sandbox};
use aops_core::ledger::open::Ledger;
use aops_core::ledger::session_folder::SessionKey;
use aops_core::session::fact::{Blocked, Fact, Opened, Recovered};
use aops_core::system::env::Env;
use aops_hook::run::artifacts::RunArtifacts;
use aops_hook::run::attempt::{AttemptFact, Begun, Init};
use serde_json::json;
use std::fs::{self, OpenOptions};
use std::io::Write;

fn open(workshop: &Workshop, env: &Env) -> Ledger {
    let transcript = workshop.env.projects().join(format!("-p/{ID}.jsonl"));
    let key = SessionKey { session_id: ID, transcript_path: transcript.to_str().unwrap(), cwd: "" };
    Ledger::lock(env, key, false).unwrap()
}

fn note(what: &str) -> Fact {
    Fact::Recovery(Recovered { what: what.to_owned(), ..Recovered::default() })
}

/// A failed append leaves the session in memory ahead of the disk; a second one must not build on that.
#[test]
fn an_append_after_a_failed_one_leaves_no_gap() {
    let workshop = Workshop::new();
    workshop.event("SessionStart", &json!({"source": "startup"})).unwrap();
    workshop.pre("a").unwrap();
    let before = workshop.file(LEDGER);
    let spare = workshop.folder().join(".session-state.spare");
    fs::remove_file(&spare).unwrap();
    fs::create_dir_all(spare.join("in the way")).unwrap();
    let mut ledger = open(&workshop, &workshop.env);
    ledger.append(&workshop.env, vec![note("lost")]).expect_err("the state cannot be written");
    assert_eq!(workshop.file(LEDGER), before, "a failed append leaves no trace");
    fs::remove_dir_all(&spare).unwrap();
    let again = ledger.append(&workshop.env, vec![note("second")]);
    drop(ledger);
    workshop.pre("b").unwrap();
    let bytes = sound(ID, &workshop.folder());
    assert!(bytes.starts_with(&before));
    let recorded = crate::faults::entries(&bytes).iter().any(|entry| entry["with"]["what"] == "second");
    assert_eq!(recorded, again.is_ok(), "acknowledged and recorded are the same");
}

#[test]
fn an_entry_counts_when_its_head_cannot_be_exported() {
    let workshop = Workshop::new();
    workshop.event("SessionStart", &json!({"source": "startup"})).unwrap();
    fs::create_dir_all(workshop.env.config.join("aops/heads.jsonl")).unwrap();
    let mut ledger = open(&workshop, &workshop.env);
    let block = Blocked { by: "a test".to_owned(), reason: "why not".to_owned() };
    let said = ledger.append(&workshop.env, vec![Fact::Block(block)]);
    drop(ledger);
    let state: serde_json::Value = serde_json::from_slice(&workshop.file(STATE)).unwrap();
    assert_eq!(state["state"]["custodiet_blocked"], true, "the block is recorded");
    assert!(said.is_ok(), "a committed entry is not reported as failed: {said:?}");
}

#[test]
fn a_dry_run_may_be_as_long_as_it_likes() {
    let workshop = Workshop::new();
    let env = Env { dry_run: true, ..workshop.env.clone() };
    let mut ledger = open(&workshop, &env);
    let first = [Fact::Open(Opened::default())];
    ledger.append(&env, first.into_iter().chain((0..1500).map(|_| note("long"))).collect()).unwrap();
    ledger.append(&env, vec![note("more")]).unwrap();
    assert_eq!(ledger.session().seq, 1502);
}

/// A driver that was killed in the middle of a write, at every byte of the last line.
#[test]
fn an_attempt_ledger_torn_anywhere_takes_the_next_line() {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = RunArtifacts::of(folder.path());
    let path = folder.path().join("artifacts/loop_state/attempt_ledger.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    artifacts.append("r", AttemptFact::Init(Init { task: "größer".to_owned(), ..Init::default() })).unwrap();
    let whole = fs::read(&path).unwrap();
    for cut in 1..whole.len() {
        fs::write(&path, &whole).unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(&whole[..cut]).unwrap();
        let runs = artifacts.runs().unwrap_or_else(|failure| panic!("cut at {cut}: {failure}"));
        assert_eq!(runs.len(), 1, "cut at {cut}");
        artifacts.append("r", AttemptFact::Step(Begun { step: "ä".to_owned(), ..Begun::default() })).unwrap();
        let lines = fs::read_to_string(&path).unwrap();
        assert_eq!(lines.lines().count(), 2, "cut at {cut}: the torn line is gone");
        assert_eq!(artifacts.runs().unwrap()[0].executed().len(), 0, "cut at {cut}");
    }
}

/// A hook that is writing must have finished before its folder is renamed.
#[test]
fn a_ledger_is_set_aside_under_its_lock() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let path = session.folder().join(LEDGER);
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 100;
    bytes[last] ^= 1;
    fs::write(&path, bytes).unwrap();
    let trace = sandbox.tmp().join("trace");
    let mut strace = sandbox.command("strace");
    let wanted = "trace=openat,flock,close,rename,renameat,renameat2";
    let output = strace
        .args(["-f", "-y", "-e", wanted, "-o", trace.to_str().unwrap(), BINARY])
        .args(["verify", &session.id, "--quarantine", "--yes"])
        .output()
        .expect("`strace` is needed");
    assert!(output.status.success(), "{output:?}");
    let text = fs::read_to_string(&trace).unwrap();
    let folder = session.folder();
    let lock = format!("{}/.lock>", folder.display());
    let lines: Vec<&str> = text.lines().collect();
    let moved = lines.iter().position(|line| line.contains("rename") && line.contains(".broken-1"));
    let moved = moved.unwrap_or_else(|| panic!("nothing was renamed:\n{text}"));
    let exclusive = |line: &&&str| line.contains(&lock) && line.contains("LOCK_EX");
    let taken = lines[..moved].iter().rposition(|line| exclusive(&line));
    let taken = taken.unwrap_or_else(|| panic!("renamed without the session's lock:\n{text}"));
    let closed = |line: &&str| line.contains("close(") && line.contains(&lock);
    assert!(!lines[taken..moved].iter().any(closed), "the lock was dropped before the rename:\n{text}");
}
