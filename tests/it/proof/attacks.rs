//! An attacker has every file of the user except the keys. What is done, and by which tier it is found.

use super::{keys, leaves, log, session, turn, verify, world};
use crate::support::{Answer, BINARY, NO_TRACKER, Sandbox, Session};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Every file below Claude's folder but the keys.
fn copy(sandbox: &Sandbox) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = sandbox.files();
    files.retain(|path, _| {
        path.starts_with(sandbox.config()) && !path.starts_with(keys(sandbox)) && path.is_file()
    });
    files
}

fn put_back(sandbox: &Sandbox, files: &BTreeMap<PathBuf, Vec<u8>>) {
    for path in copy(sandbox).keys().filter(|path| !files.contains_key(*path)) {
        fs::remove_file(path).unwrap();
    }
    for (path, bytes) in files {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// A ledger that says something else from some entry on, with all digests right, its state and head too: what
/// whoever can rewrite every file can do to a chain. Made by the program itself, in another home.
fn forged(like: &Session) -> BTreeMap<String, Vec<u8>> {
    let elsewhere = Sandbox::new();
    elsewhere.configure(&format!("mode.level = \"guard\"\n{NO_TRACKER}"));
    let other = Session::new(&elsewhere, &like.id);
    let _ = other.start("startup");
    turn(&other);
    turn(&other);
    let folder = other.folder();
    let read = |name: &str| (name.to_owned(), fs::read(folder.join(name)).unwrap());
    let mut files: BTreeMap<String, Vec<u8>> = ["ledger.jsonl", "session-state.json"].map(read).into();
    let heads = fs::read(elsewhere.config().join("aops/heads.jsonl")).unwrap();
    files.insert("heads.jsonl".to_owned(), heads);
    files
}

#[track_caller]
fn found(answer: &Answer, words: &[&str]) {
    assert_eq!(answer.code, Some(4), "{answer:?}");
    assert!(words.iter().all(|word| answer.out.contains(word)), "{answer:?}");
}

fn faults(said: &Value) -> String {
    said["log"]["faults"].to_string()
}

#[test]
fn a_ledger_rewritten_from_the_first_entry_is_found() {
    let sandbox = world();
    let victim = session(&sandbox);
    turn(&victim);
    let forged = forged(&victim);
    for name in ["ledger.jsonl", "session-state.json"] {
        fs::write(victim.folder().join(name), &forged[name]).unwrap();
    }
    fs::write(sandbox.config().join("aops/heads.jsonl"), &forged["heads.jsonl"]).unwrap();
    // The chain alone believes it: without the log this is a healthy ledger.
    let said = verify(&sandbox, &[&victim.id]);
    assert_eq!(
        (&said["ok"], &said["tier"], &said["code"]),
        (&json!(false), &Value::Null, &json!("STATE_RECOVERY_FAILED"))
    );
    assert!(said["missing"].as_u64().unwrap() > 5, "{said}");
    found(
        &sandbox.person(&["verify", &victim.id]),
        &["damaged:", "entries of this session that its ledger does not have"],
    );
    // The record of the session is gone too: the log still has leaves that nothing accounts for.
    fs::remove_dir_all(log(&sandbox).join("sessions")).unwrap();
    let said = verify(&sandbox, &["--all"]);
    assert_eq!((&said["ok"], &said["lost"][0]["session_id"]), (&json!(false), &Value::Null), "{said}");
    let said = verify(&sandbox, &[&victim.id]);
    assert_eq!((&said["ok"], &said["tier"]), (&json!(false), &Value::Null), "{said}");
}

#[test]
fn a_cut_ledger_and_a_deleted_session_are_found() {
    let sandbox = world();
    let (cut, gone) = (session(&sandbox), session(&sandbox));
    let early = copy(&sandbox);
    turn(&cut);
    let now = copy(&sandbox);
    // The ledger, its state and the heads are put back to the turn before; the log is not.
    let log = log(&sandbox);
    let mut mixed = now.clone();
    mixed.extend(early.into_iter().filter(|(path, _)| !path.starts_with(&log)));
    put_back(&sandbox, &mixed);
    let said = verify(&sandbox, &[&cut.id]);
    assert_eq!(said["code"], "STATE_RECOVERY_FAILED", "{said}");
    put_back(&sandbox, &now);
    assert_eq!(verify(&sandbox, &["--all"])["ok"], true);
    // A session is deleted, with everything that names it outside of the log.
    let entries = gone.entries().len();
    fs::remove_dir_all(gone.folder()).unwrap();
    let heads = sandbox.config().join("aops/heads.jsonl");
    let text = fs::read_to_string(&heads).unwrap();
    let kept: String = text.split_inclusive('\n').filter(|line| !line.contains(&gone.id)).collect();
    fs::write(&heads, kept).unwrap();
    let said = verify(&sandbox, &["--all"]);
    assert_eq!(said["lost"], json!([{"session_id": gone.id, "entries": entries}]), "{said}");
    found(&sandbox.person(&["verify", "--all"]), &["lost:", &gone.id, "in the log and nowhere else"]);
}

#[test]
fn everything_put_back_to_an_older_copy_is_found() {
    let sandbox = world();
    let session = session(&sandbox);
    let old = copy(&sandbox);
    turn(&session);
    put_back(&sandbox, &old);
    // The keys were out of reach: they know how far the log was signed.
    let said = verify(&sandbox, &[&session.id]);
    assert_eq!(said["ok"], false, "{said}");
    assert!(said["log_faults"][0].as_str().unwrap().contains("covers"), "{said}");
    // At the end of the next turn at the latest, and nothing is signed over it.
    let _ = session.prompt("go on");
    let answer = session.stop("done");
    assert!(
        answer.code == Some(0)
            && answer.out.contains("the log was not signed")
            && answer.out.contains("put back from a copy"),
        "{answer:?}"
    );
    assert_eq!(verify(&sandbox, &["--all"])["ok"], false);
    // A person's way out.
    sandbox.person(&["key", "rotate", "--new-log", "--yes"]).said(&["another has begun"]);
    turn(&session);
    assert_eq!(verify(&sandbox, &["--all"])["ok"], true);
}

#[test]
fn a_changed_leaf_or_a_swap_between_sessions_is_found() {
    let sandbox = world();
    let (one, two) = (session(&sandbox), session(&sandbox));
    let path = log(&sandbox).join("leaves");
    let good = fs::read(&path).unwrap();
    let (first, other) = (super::digest(&one.entries()[2]), super::digest(&two.entries()[2]));
    let at = |leaf: &Vec<u8>| leaves(&sandbox).iter().position(|known| known == leaf).unwrap() * 32;
    let (a, b) = (at(&first), at(&other));
    let mut swapped = good.clone();
    swapped[a..a + 32].copy_from_slice(&other);
    swapped[b..b + 32].copy_from_slice(&first);
    let mut flipped = good.clone();
    flipped[40] ^= 1;
    for bad in [swapped, flipped, good[..good.len() - 32].to_vec()] {
        fs::write(&path, bad).unwrap();
        let said = verify(&sandbox, &["--all"]);
        assert!(said["ok"] == false && faults(&said).contains("leaves"), "{said}");
    }
    fs::write(&path, good).unwrap();
    // An entry of another session, moved into this one: the chain says so.
    let ledger = one.folder().join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).unwrap();
    let line =
        fs::read_to_string(two.folder().join("ledger.jsonl")).unwrap().lines().nth(2).unwrap().to_owned();
    let swapped: Vec<String> =
        text.lines().enumerate().map(|(n, own)| if n == 2 { line.clone() } else { own.to_owned() }).collect();
    fs::write(&ledger, swapped.join("\n") + "\n").unwrap();
    assert_eq!(verify(&sandbox, &[&one.id])["ok"], false);
}

/// An old checkpoint, a foreign one and a tile of something else.
#[test]
fn a_replayed_or_foreign_checkpoint_is_found() {
    let sandbox = world();
    let session = session(&sandbox);
    let path = log(&sandbox).join("checkpoint");
    let old = fs::read(&path).unwrap();
    turn(&session);
    let good = fs::read(&path).unwrap();
    fs::write(&path, &old).unwrap();
    let said = verify(&sandbox, &[&session.id]);
    assert_eq!(said["tier"], "intact", "{said}");
    assert!(said["why_not_next"].as_str().unwrap().contains("the checkpoint is old"), "{said}");
    let other = world();
    let _ = super::session(&other);
    fs::write(&path, fs::read(log(&other).join("checkpoint")).unwrap()).unwrap();
    assert!(faults(&verify(&sandbox, &["--all"])).contains("not known here"));
    fs::write(&path, good).unwrap();
    let tile = fs::read_dir(log(&sandbox).join("tile/0/000.p"))
        .unwrap()
        .map(|item| item.unwrap().path())
        .max_by_key(|path| number(path))
        .unwrap();
    let mut bytes = fs::read(&tile).unwrap();
    bytes[3] ^= 1;
    fs::write(&tile, bytes).unwrap();
    assert!(faults(&verify(&sandbox, &["--all"])).contains("tiles do not match the leaves"));
    // Whatever was replaced, the next turn's end signs the truth.
    fs::write(&path, &old).unwrap();
    turn(&session);
    super::checkpoint(&sandbox);
}

fn number(path: &Path) -> u32 {
    path.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// Removed by a person, or set aside: the log says so itself, and nothing is missed.
#[test]
fn what_a_person_removes_or_sets_aside_is_no_alarm() {
    let sandbox = world().of_client(2_147_483_646);
    let (gone, kept) = (session(&sandbox), session(&sandbox));
    let _ = gone.end();
    let _ = kept.end();
    let ledger = kept.folder().join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).unwrap();
    fs::write(&ledger, text.replacen("go on", "go off", 1)).unwrap();
    assert_eq!(verify(&sandbox, &["--all"])["ok"], false);
    sandbox.person(&["verify", &kept.id, "--quarantine", "--yes"]).said(&["set aside as"]);
    let then = (aops_core::system::env::now_ms() + 100 * 86_400_000).to_string();
    let mut command = sandbox.command(BINARY);
    let line = command
        .args(["sessions", "gc", "--older-than", "90d", "--yes", "--json"])
        .env("AOPS_TEST_NOW_MS", then);
    let removed: Value = serde_json::from_slice(&line.output().unwrap().stdout).unwrap();
    assert!(removed["removed"].as_array().unwrap().contains(&json!(gone.id)), "{removed}");
    let said = verify(&sandbox, &["--all"]);
    assert_eq!((&said["ok"], &said["lost"]), (&json!(true), &json!([])), "{said}");
    super::checkpoint(&sandbox);
    let events = fs::read_to_string(log(&sandbox).join("events.jsonl")).unwrap();
    assert!(events.contains("\"type\":\"removed\"") && events.contains("\"type\":\"aside\""), "{events}");
}
