//! Kills and power losses while the log is signed: never a signature for something lost, never two heads of
//! one size.

use super::{checkpoint, digest, ended, leaves, log, session, turn, verify, world};
use crate::faults::strace::{self, Point};
use crate::support::{BINARY, Sandbox, Session};
use aops_proof::tree::{Hash, root};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

fn a_stop(session: &Session) -> Value {
    session.payload("Stop", json!({"stop_hook_active": false, "last_assistant_message": "done"}))
}

/// The system calls of a turn's end from the moment it looks for the key.
fn points(sandbox: &Sandbox, session: &Session) -> Vec<Point> {
    points_of(sandbox, &["Stop"], &a_stop(session).to_string())
}

/// The same of any command.
fn points_of(sandbox: &Sandbox, line: &[&str], input: &str) -> Vec<Point> {
    let trace = sandbox.tmp().join("trace");
    let mut strace = sandbox.command("strace");
    strace.args(["-o", trace.to_str().unwrap(), BINARY]).args(line);
    let output = strace.write_stdin(input).output();
    assert!(output.expect("`strace` is needed: install the package of that name").status.success());
    let (mut counts, mut points, mut signs) = (BTreeMap::new(), Vec::new(), false);
    for line in fs::read_to_string(&trace).unwrap().lines() {
        let Some((call, _)) =
            line.split_once('(').filter(|(name, _)| !name.is_empty() && !name.contains(' '))
        else {
            continue;
        };
        let nth = counts.entry(call.to_owned()).and_modify(|n| *n += 1).or_insert(1_usize);
        signs |= line.contains("aops/keys");
        if signs && !matches!(call, "exit_group" | "fcntl" | "close" | "munmap" | "brk" | "mmap" | "futex") {
            points.push(Point { call: call.to_owned(), nth: *nth });
        }
    }
    assert!(points.len() > 20, "the trace shows the log being signed: {points:?}");
    points
}

/// Roots of every head that was ever seen, by size.
#[derive(Default)]
struct Heads(BTreeMap<u64, Hash>);

impl Heads {
    /// Every head that is on the disk is of one history, and nothing of it is lost.
    #[track_caller]
    fn see(&mut self, sandbox: &Sandbox, case: &str) {
        let text = fs::read_to_string(log(sandbox).join("checkpoint")).unwrap();
        let note = aops_proof::note::Note::parse(&text).unwrap_or_else(|why| panic!("{case}: {why}"));
        let head = aops_proof::checkpoint::Checkpoint::parse(&note.text).unwrap();
        let before = self.0.insert(head.size, head.root);
        assert!(before.is_none_or(|root| root == head.root), "{case}: two heads of size {}", head.size);
        let tree = tree_of_whole_leaves(sandbox);
        for (size, known) in &self.0 {
            assert_eq!(root(&tree, *size).as_ref(), Ok(known), "{case}: what was signed at {size} is lost");
        }
    }
}

fn tree_of_whole_leaves(sandbox: &Sandbox) -> aops_proof::whole::Whole {
    let bytes = fs::read(log(sandbox).join("leaves")).unwrap();
    let leaves = bytes.chunks_exact(32).map(aops_proof::tree::leaf_hash);
    aops_proof::whole::Whole::new(leaves.collect())
}

/// Each entry is in the log once, and all is well.
#[track_caller]
fn sound(sandbox: &Sandbox, session: &Session, case: &str) {
    checkpoint(sandbox);
    let all = leaves(sandbox);
    for entry in session.entries() {
        let leaf = digest(&entry);
        assert_eq!(all.iter().filter(|known| **known == leaf).count(), 1, "{case}: {entry}");
    }
    let said = verify(sandbox, &["--all"]);
    assert_eq!(
        (&said["ok"], &said["sessions"][0]["tier"]),
        (&json!(true), &json!("sealed")),
        "{case}: {said}"
    );
}

#[test]
fn killed_at_system_calls_of_signing() {
    killed_while_signing(4);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn killed_at_every_system_call_of_signing() {
    killed_while_signing(1);
}

/// At one of so many system calls.
fn killed_while_signing(every: usize) {
    let sandbox = world();
    let session = session(&sandbox);
    let mut heads = Heads::default();
    heads.see(&sandbox, "before");
    for point in points(&sandbox, &session).into_iter().step_by(every) {
        let case = format!("killed at {point:?}");
        let end = strace::inject(&sandbox, &point, "signal=KILL", "Stop", &a_stop(&session));
        assert!(end.signal == Some(9) || end.code == Some(0), "{case}: {end:?}");
        heads.see(&sandbox, &case);
        let said = verify(&sandbox, &["--all"]);
        assert_eq!(said["ok"], true, "{case}: no false alarm: {said}");
        ended(&session.stop("done"));
        heads.see(&sandbox, &case);
    }
    sound(&sandbox, &session, "after all");
}

#[test]
fn trouble_with_the_disk_at_every_system_call_of_signing() {
    let sandbox = world();
    let session = session(&sandbox);
    let mut heads = Heads::default();
    let errors = ["EIO", "ENOSPC", "EACCES", "EROFS"];
    for (n, point) in points(&sandbox, &session).iter().enumerate() {
        let case = format!("{} at {point:?}", errors[n % 4]);
        let end =
            strace::inject(&sandbox, point, &format!("error={}", errors[n % 4]), "Stop", &a_stop(&session));
        assert_eq!(end.code, Some(0), "{case}: a turn ends all the same: {end:?}");
        heads.see(&sandbox, &case);
        ended(&session.stop("done"));
        heads.see(&sandbox, &case);
    }
    sound(&sandbox, &session, "after all");
}

#[test]
fn trouble_with_the_disk_and_kills_while_it_is_waited_for() {
    let sandbox = world();
    let session = session(&sandbox);
    let mut heads = Heads::default();
    for file in ["log/leaves", "keys/.seal.spare"] {
        for what in ["error=EIO", "error=ENOSPC", "signal=KILL"] {
            let case = format!("{what} at {file}");
            let at = sandbox.config().join("aops").join(file);
            let signed = fs::read(log(&sandbox).join("checkpoint")).unwrap();
            let end = strace::inject_at_sync(&sandbox, &at, what, "Stop", &a_stop(&session));
            assert_eq!(
                (end.code, end.signal),
                if what == "signal=KILL" { (None, Some(9)) } else { (Some(0), None) },
                "{case}: {end:?}"
            );
            assert_eq!(
                signed,
                fs::read(log(&sandbox).join("checkpoint")).unwrap(),
                "{case}: nothing is signed"
            );
            let said = verify(&sandbox, &["--all"]);
            assert_eq!(said["ok"], true, "{case}: no false alarm: {said}");
            ended(&session.stop("done"));
            heads.see(&sandbox, &case);
        }
    }
    sound(&sandbox, &session, "after all");
}

const ROTATE: [&str; 3] = ["key", "rotate", "--yes"];

/// Either the old key is in force or the new one, and nobody is alarmed.
#[test]
fn a_rotation_that_is_killed_is_no_alarm() {
    rotation_is_killed(5);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn a_rotation_that_is_killed_at_any_system_call_is_no_alarm() {
    rotation_is_killed(1);
}

/// At one of so many system calls.
fn rotation_is_killed(every: usize) {
    let sandbox = world();
    let session = session(&sandbox);
    let mut heads = Heads::default();
    let all = points_of(&sandbox, &ROTATE, "");
    let (mut kept, mut rotated) = (0, 0);
    for (n, point) in all.iter().step_by(every).enumerate() {
        let case = format!("killed at {point:?}");
        let before = super::public_key(&sandbox).to_string();
        let inject = format!("inject={}:signal=KILL:when={}", point.call, point.nth);
        let mut strace = sandbox.command("strace");
        let output = strace.args(["-o", "/dev/null", "-e", &inject, BINARY]).args(ROTATE).output().unwrap();
        assert!(!String::from_utf8_lossy(&output.stderr).contains("ptrace"), "{case}: {output:?}");
        heads.see(&sandbox, &case);
        let said = verify(&sandbox, &["--all"]);
        assert_eq!(said["ok"], true, "{case}: no alarm: {said}");
        let now = super::public_key(&sandbox).to_string();
        // Whoever comes next ends what is left of it, be it a turn's end or another rotation.
        if n % 3 == 2 {
            sandbox.person(&ROTATE).said(&["tell your witnesses"]);
        } else {
            ended(&session.stop("done"));
            assert_eq!(
                super::public_key(&sandbox).to_string(),
                now,
                "{case}: the key that is in force stays"
            );
        }
        assert!(!sandbox.config().join("aops/keys/next.keys").exists(), "{case}");
        heads.see(&sandbox, &case);
        sound(&sandbox, &session, &case);
        *(if now == before { &mut kept } else { &mut rotated }) += 1;
    }
    assert!(kept > 10 / every && rotated > 5 / every, "kills on both sides of the moment: {kept}, {rotated}");
}

/// The old key signs the checkpoint that holds the rotation, also where another process writes it.
#[test]
fn the_old_key_vouches_for_the_new_one_after_a_kill() {
    let sandbox = world();
    let session = session(&sandbox);
    let old = super::public_key(&sandbox);
    let all = points_of(&sandbox, &ROTATE, "");
    // The state of the seal is exchanged: from then on the new keys count.
    let renames = all.iter().enumerate().filter(|(_, point)| point.call == "renameat2");
    let (at, _) =
        renames.into_iter().nth(1).expect("first the new keys get their file, then the state is exchanged");
    let (point, old_now) = (&all[at + 1], super::public_key(&sandbox));
    assert_ne!(old.to_string(), old_now.to_string(), "the trace itself was a rotation");
    let inject = format!("inject={}:signal=KILL:when={}", point.call, point.nth);
    let mut strace = sandbox.command("strace");
    let _ = strace.args(["-o", "/dev/null", "-e", &inject, BINARY]).args(ROTATE).output().unwrap();
    let new = super::public_key(&sandbox);
    assert_ne!(new.to_string(), old_now.to_string(), "the new key counts");
    ended(&session.stop("done"));
    let text = fs::read_to_string(log(&sandbox).join("checkpoint")).unwrap();
    let note = aops_proof::note::Note::parse(&text).unwrap();
    assert_eq!(note.signers(&[old_now, new]).unwrap().len(), 2, "{text}");
    sound(&sandbox, &session, "after the kill");
}

/// The disk may have taken the leaves of a turn's end, and not yet its entries.
#[test]
fn leaves_whose_entries_a_power_loss_took_are_taken_back() {
    let sandbox = world();
    let session = session(&sandbox);
    let files =
        || -> BTreeMap<_, _> { sandbox.files().into_iter().filter(|(path, _)| path.is_file()).collect() };
    let old = files();
    turn(&session);
    let leaves = fs::read(log(&sandbox).join("leaves")).unwrap();
    put(&old, &files());
    fs::write(log(&sandbox).join("leaves"), leaves).unwrap();
    turn(&session);
    sound(&sandbox, &session, "after the next turn");
}

/// The files that a turn's end writes. The second becomes the new one after the first is on the disk; the
/// others can be lost at any time.
const FILES: [&str; 6] =
    ["log/leaves", "keys/seal.json", "log/seals", "log/checkpoint", "log/sessions", "log/tile"];

fn read(sandbox: &Sandbox, name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let at = sandbox.config().join("aops").join(name);
    sandbox.files().into_iter().filter(|(path, _)| path.starts_with(&at) && path.is_file()).collect()
}

fn put(files: &BTreeMap<PathBuf, Vec<u8>>, others: &BTreeMap<PathBuf, Vec<u8>>) {
    for path in others.keys().filter(|path| !files.contains_key(*path)) {
        let _ = fs::remove_file(path);
    }
    for (path, bytes) in files {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// The power goes at any time of a turn's end: every mix of old and new files that its order allows.
#[test]
fn every_mix_of_files_after_a_power_loss() {
    let sandbox = world();
    let session = session(&sandbox);
    let old = FILES.map(|name| read(&sandbox, name));
    turn(&session);
    let new = FILES.map(|name| read(&sandbox, name));
    let mut heads = Heads::default();
    heads.see(&sandbox, "before");
    for mix in 0..64_u32 {
        let is_new = |at: usize| mix & (1 << at) != 0;
        if is_new(1) && !is_new(0) {
            continue;
        }
        for at in 0..FILES.len() {
            let (now, other) = if is_new(at) { (&new[at], &old[at]) } else { (&old[at], &new[at]) };
            put(now, other);
        }
        // The checkpoint of the lost end was seen by nobody unless its leaves were on the disk.
        if is_new(3) && !is_new(0) {
            continue;
        }
        let case = format!("{mix:06b}");
        let call = session.call("Read", json!({"file_path": "/y"}));
        session.pre(&call).silent();
        ended(&session.stop("done"));
        let mut seen = Heads::default();
        seen.0.clone_from(&heads.0);
        seen.see(&sandbox, &case);
        sound(&sandbox, &session, &case);
        let grown = FILES.map(|name| read(&sandbox, name));
        grown.iter().zip(&new).for_each(|(grown, new)| put(new, grown));
    }
}
