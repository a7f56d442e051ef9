//! The log over all sessions: made, signed, sealed, checked; what an attacker does to it, and what a kill
//! leaves.

mod attacks;
mod attested;
mod crash;
mod gone;
mod kinds;
mod mutants;
mod odd;
mod proofs;
mod shown;
mod witness;

pub(crate) use proofs::second;

use crate::faults::strace;
use crate::support::{Answer, BINARY, NO_TRACKER, Sandbox, Session};
use aops_proof::checkpoint::Checkpoint;
use aops_proof::key::PublicKey;
use aops_proof::note::Note;
use aops_proof::tree::{Hash, leaf_hash, root};
use aops_proof::whole::Whole;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;

pub(crate) fn log(sandbox: &Sandbox) -> PathBuf {
    sandbox.config().join("aops/log")
}

pub(crate) fn keys(sandbox: &Sandbox) -> PathBuf {
    sandbox.config().join("aops/keys")
}

/// A sandbox with a key, in which the kernel holds commands and nothing runs in the background.
pub(crate) fn world() -> Sandbox {
    keyed(held())
}

fn held() -> Sandbox {
    Sandbox::new().with("CLAUDE_CODE_SHELL_PREFIX", format!("{BINARY} --shell"))
}

fn keyed(sandbox: Sandbox) -> Sandbox {
    sandbox.configure(&format!("mode.level = \"guard\"\n{NO_TRACKER}"));
    sandbox.person(&["key", "init"]).said(&["made the key of log aops-log.local/"]);
    sandbox
}

/// A turn of a session: a prompt, a call, and its end.
pub(crate) fn turn(session: &Session) {
    let _ = session.prompt("go on");
    let call = session.call("Read", json!({"file_path": "/x"}));
    session.pre(&call).silent();
    session.post(&call).silent();
    ended(&session.stop("done"));
}

#[track_caller]
pub(crate) fn ended(answer: &Answer) {
    assert!(answer.code == Some(0) && answer.err.is_empty(), "{answer:#?}");
}

pub(crate) fn session(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.session();
    let _ = session.start("startup");
    turn(&session);
    session
}

pub(crate) fn digest(entry: &Value) -> Vec<u8> {
    let hex = entry["_digest"].as_str().unwrap();
    (0..32).map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap()).collect()
}

pub(crate) fn leaves(sandbox: &Sandbox) -> Vec<Vec<u8>> {
    let bytes = fs::read(log(sandbox).join("leaves")).unwrap();
    assert_eq!(bytes.len() % 32, 0, "a leaf is cut short");
    bytes.chunks(32).map(<[u8]>::to_vec).collect()
}

/// The log as a tree, by the library alone.
pub(crate) fn tree(sandbox: &Sandbox) -> Whole {
    Whole::new(leaves(sandbox).iter().map(|leaf| leaf_hash(leaf)).collect())
}

pub(crate) fn public_key(sandbox: &Sandbox) -> PublicKey {
    let shown = sandbox.person(&["key", "show", "--json"]).json();
    PublicKey::parse(shown["key"].as_str().unwrap()).unwrap()
}

/// `--key` for each key that signs.
pub(crate) fn key_arguments(sandbox: &Sandbox) -> [String; 4] {
    let shown = sandbox.person(&["key", "show", "--json"]).json();
    let [key, ml_dsa] = ["key", "ml_dsa"].map(|name| shown[name].as_str().unwrap().to_owned());
    ["--key".to_owned(), key, "--key".to_owned(), ml_dsa]
}

/// The checkpoint, which our key signed and whose root is that of the leaves.
#[track_caller]
pub(crate) fn checkpoint(sandbox: &Sandbox) -> (u64, Hash) {
    let note = Note::parse(&fs::read_to_string(log(sandbox).join("checkpoint")).unwrap()).unwrap();
    let head = Checkpoint::parse(&note.text).unwrap();
    assert_eq!(note.signers(&[public_key(sandbox)]).unwrap().len(), 1, "not signed by our key");
    assert_eq!(root(&tree(sandbox), head.size).unwrap(), head.root, "another root");
    (head.size, head.root)
}

pub(crate) fn verify(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = ["verify", "--json"].iter().chain(arguments).copied().collect();
    sandbox.person(&arguments).json_of_any_exit()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn install_makes_the_key_and_nobody_else_reads_it() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.person(&["install", "--dry-run"]).code, Some(0));
    assert!(!keys(&sandbox).exists());
    assert_eq!(sandbox.person(&["install"]).code, Some(0));
    assert_eq!(mode(&keys(&sandbox)), 0o700);
    let names: Vec<_> = fs::read_dir(keys(&sandbox)).unwrap().map(|item| item.unwrap().path()).collect();
    assert!(names.len() >= 2, "{names:?}");
    assert!(names.iter().all(|path| mode(path) == 0o600), "{names:?}");
    let before = fs::read(keys(&sandbox).join("note.key")).unwrap();
    assert_eq!(sandbox.person(&["install"]).code, Some(0));
    assert_eq!(
        fs::read(keys(&sandbox).join("note.key")).unwrap(),
        before,
        "a second installation keeps the key"
    );
    sandbox.person(&["key", "init"]).failed(2, &["there is a key already", "key rotate"]);
    let secret = String::from_utf8(before).unwrap();
    // `PRIVATE+KEY+name+id+key`, and the key itself may hold a `+`.
    let secret = secret.trim_end().splitn(5, '+').last().unwrap();
    assert!(secret.len() > 40, "a whole key");
    for line in [&["key", "show"][..], &["key", "show", "--json"], &["key", "export", "--yes"]] {
        let answer = sandbox.person(line);
        assert!(answer.code == Some(0) && !answer.out.contains(secret), "{answer:?}");
    }
    sandbox.inside(&["key", "export", "--seal", "--yes"]).failed(2, &["inside a tool call"]);
    sandbox.inside(&["key", "rotate", "--yes"]).failed(2, &["inside a tool call"]);
}

#[test]
fn a_turns_end_is_signed_and_sealed() {
    let sandbox = world();
    let one = session(&sandbox);
    let two = session(&sandbox);
    turn(&one);
    let (size, _) = checkpoint(&sandbox);
    let all = leaves(&sandbox);
    assert_eq!(size, all.len() as u64);
    for session in [&one, &two] {
        let mut at = 0;
        for entry in session.entries() {
            let found = all[at..].iter().position(|leaf| *leaf == digest(&entry));
            at += found.unwrap_or_else(|| panic!("not in the log, or not in order: {entry}")) + 1;
        }
    }
    assert_eq!(
        all.len(),
        one.entries().len() + two.entries().len() + 1,
        "each once, and the log's own first entry"
    );
    // The tile that any web server can serve.
    let tile = fs::read(log(&sandbox).join(format!("tile/0/000.p/{size}"))).unwrap();
    assert_eq!(tile[..32], leaf_hash(&all[0]));
    let seals = fs::read_to_string(log(&sandbox).join("seals")).unwrap();
    assert_eq!(seals.lines().count(), 4, "{seals}");

    let said = verify(&sandbox, &[&one.id]);
    assert_eq!((&said["ok"], &said["tier"]), (&json!(true), &json!("sealed")), "{said}");
    assert_eq!(said["why_not_next"], "no witness is configured");
    assert_eq!(said["first_unwitnessed"], 1);
    let call = two.call("Read", json!({"file_path": "/y"}));
    two.pre(&call).silent();
    let said = verify(&sandbox, &[&two.id]);
    assert_eq!(said["tier"], "intact", "{said}");
    assert_eq!(said["sealed_to"].as_u64().unwrap() + 3, two.entries().len() as u64);
    let all = verify(&sandbox, &["--all"]);
    assert_eq!((&all["ok"], &all["sessions"].as_array().unwrap().len()), (&json!(true), &2), "{all}");
    assert_eq!(all["log"]["signed"], size);
    sandbox
        .person(&["verify", "--all"])
        .said(&["2 sessions: 0 witnessed, 1 sealed, 1 intact, 0 damaged", "4 seals"]);
}

#[test]
fn without_a_key_everything_works_as_before() {
    let sandbox = held();
    sandbox.configure(&format!("mode.level = \"guard\"\n{NO_TRACKER}"));
    let session = session(&sandbox);
    assert!(!log(&sandbox).exists() && !keys(&sandbox).exists());
    let said = verify(&sandbox, &[&session.id]);
    assert_eq!((&said["ok"], &said["tier"]), (&json!(true), &json!("intact")));
    assert!(said["why_not_next"].as_str().unwrap().contains("aops-hook key init"), "{said}");
    sandbox.person(&["verify", "--all"]).said(&["1 session: 0 witnessed, 0 sealed, 1 intact", "no log"]);
    sandbox.person(&["key", "show"]).failed(2, &["no key can be seen from here"]);
    // With a key from now on the old session is added at its next turn.
    sandbox.person(&["key", "init", "--origin", "example.com/ledger"]).said(&["example.com/ledger"]);
    turn(&session);
    assert_eq!(verify(&sandbox, &[&session.id])["tier"], "sealed");
}

#[test]
fn a_block_is_signed_at_once() {
    let sandbox = world();
    let session = session(&sandbox);
    let (before, _) = checkpoint(&sandbox);
    sandbox.person(&["block", &session.id, "--reason", "let me look"]).said(&["blocked"]);
    let (blocked, _) = checkpoint(&sandbox);
    assert_eq!(blocked, before + 1);
    sandbox.person(&["clear-block", &session.id, "--yes"]).said(&["no longer blocked"]);
    assert_eq!(checkpoint(&sandbox).0, before + 2);
}

/// Nobody waits: who cannot get the log leaves a note, and the next one adds for both.
#[test]
fn who_cannot_get_the_log_leaves_it_to_the_next() {
    let sandbox = world();
    let (one, two) = (session(&sandbox), session(&sandbox));
    let (before, _) = checkpoint(&sandbox);
    let lock = File::options().write(true).open(log(&sandbox).join(".lock")).unwrap();
    lock.lock().unwrap();
    turn(&one);
    let _ = one.end();
    assert_eq!(leaves(&sandbox).len() as u64, before);
    drop(lock);
    assert_eq!(verify(&sandbox, &[&one.id])["tier"], "intact");
    turn(&two);
    assert_eq!(verify(&sandbox, &[&one.id])["tier"], "sealed");
    assert_eq!(checkpoint(&sandbox).0, (one.entries().len() + two.entries().len() + 1) as u64);
    assert_eq!(fs::read_dir(log(&sandbox).join("late")).unwrap().count(), 0);
}

/// A turn that ended is sealed, though many end at once: who had the log looks for notes when it is free
/// again.
#[test]
fn of_turns_that_end_at_once_none_waits_for_another_one() {
    let sandbox = world();
    let ids: Vec<String> = (0..24).map(|_| sandbox.session().id).collect();
    thread::scope(|threads| {
        for id in &ids {
            threads.spawn(|| {
                let session = Session::new(&sandbox, id);
                let _ = session.start("startup");
                turn(&session);
            });
        }
    });
    let tiers: Vec<_> = ids.iter().map(|id| verify(&sandbox, &[id])["tier"].clone()).collect();
    assert!(tiers.iter().all(|tier| tier == "sealed"), "{tiers:?}");
    assert_eq!(fs::read_dir(log(&sandbox).join("late")).map_or(0, Iterator::count), 0);
}

/// Thirty-two sessions work at once, and all of them end in the same moment. No entry is lost, each is signed,
/// and both verifiers find every ledger and the log whole.
#[test]
fn thirty_two_sessions_that_end_at_once_are_whole_for_both_verifiers() {
    const SESSIONS: usize = 32;
    let sandbox = world();
    let ids: Vec<String> = (0..SESSIONS).map(|_| sandbox.session().id).collect();
    let together = &Barrier::new(SESSIONS);
    let world = &sandbox;
    thread::scope(|threads| {
        for id in &ids {
            threads.spawn(move || {
                let session = Session::new(world, id);
                let started = session.start("startup");
                turn(&session);
                let call = session.call("Write", json!({"file_path": format!("{id}.txt"), "content": "x"}));
                let asked = session.pre(&call);
                let done = session.post(&call);
                together.wait();
                let ended = session.end();
                for answer in [started, asked, done, ended] {
                    assert_eq!(answer.code, Some(0), "{answer:?}");
                }
            });
        }
    });
    let said = verify(&sandbox, &["--all"]);
    assert_eq!((&said["ok"], &said["log"]["faults"]), (&json!(true), &json!([])), "{said}");
    let keys = key_arguments(&sandbox);
    let sessions: Vec<Session> = ids.iter().map(|id| Session::new(&sandbox, id)).collect();
    let folders: Vec<String> =
        sessions.iter().map(|session| session.folder().display().to_string()).collect();
    let log = log(&sandbox).display().to_string();
    let words = ["--all", "--log", &log].into_iter().chain(keys.iter().chain(&folders).map(String::as_str));
    let other = second(&words.collect::<Vec<_>>());
    assert_eq!((&other["ok"], &other["lost"]), (&json!(true), &json!(0)), "{other}");
    for (session, theirs) in sessions.iter().zip(other["sessions"].as_array().unwrap()) {
        let ours = verify(&sandbox, &[&session.id]);
        assert_eq!((&ours["tier"], &theirs["tier"]), (&json!("sealed"), &json!("sealed")), "{ours} {theirs}");
        let entries = session.entries();
        let events = ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"];
        for event in events {
            let seen =
                entries.iter().filter(|entry| entry["type"] == "event" && entry["with"]["event"] == event);
            assert_eq!(seen.count(), 1, "{event}: {entries:#?}");
        }
        let ends = entries.iter().filter(|entry| entry["with"]["to"] == "COMPLETED");
        assert_eq!(ends.count(), 2, "{entries:#?}");
    }
}

/// A turn that ends while another one is being signed leaves a note after that one has looked for notes.
#[test]
fn a_note_that_comes_while_the_log_is_signed_is_not_left_to_the_next_turn() {
    let sandbox = world();
    let (slow, quick) = (session(&sandbox), session(&sandbox));
    let _ = slow.prompt("go on");
    let payload = slow.payload("Stop", json!({"last_assistant_message": "done", "background_tasks": []}));
    let leaves = log(&sandbox).join("leaves");
    thread::scope(|threads| {
        let signs = || strace::inject_at_sync(&sandbox, &leaves, "delay_enter=3000000", "Stop", &payload);
        let signing = threads.spawn(signs);
        let is_locked = || File::open(log(&sandbox).join(".lock")).unwrap().try_lock().is_err();
        sandbox.wait_until("the log is being signed", is_locked);
        turn(&quick);
        assert_eq!(signing.join().unwrap().code, Some(0));
    });
    for session in [&slow, &quick] {
        assert_eq!(verify(&sandbox, &[&session.id])["tier"], "sealed");
    }
    assert_eq!(fs::read_dir(log(&sandbox).join("late")).map_or(0, Iterator::count), 0);
}

/// Any process of the user can raise the limit of another one and end it by a signal that writes a core. A hard
/// limit of nothing can be raised by nobody in the jail.
#[test]
fn a_process_that_reads_keys_leaves_no_core() {
    let sandbox = world();
    let session = session(&sandbox);
    let trace = sandbox.tmp().join("trace");
    let mut strace = sandbox.command("strace");
    strace.args([
        "-f",
        "-e",
        "trace=prlimit64,openat,pread64,read",
        "-o",
        trace.to_str().unwrap(),
        BINARY,
        "Stop",
    ]);
    let fields = json!({"stop_hook_active": false, "last_assistant_message": "done"});
    let output = strace.write_stdin(session.payload("Stop", fields).to_string()).output();
    assert!(output.expect("`strace` is needed: install the package of that name").status.success());
    let text = fs::read_to_string(&trace).unwrap();
    let limited = text.find("RLIMIT_CORE, {rlim_cur=0, rlim_max=0}").expect("the limit is set");
    let read = text.find("PRIVATE+KEY").expect("the key is read");
    assert!(limited < read, "{text}");
}

/// A call waits for none of this.
#[test]
fn a_call_opens_nothing_of_the_log() {
    let sandbox = world();
    let session = session(&sandbox);
    let trace = sandbox.tmp().join("trace");
    let mut calls = Vec::new();
    for (event, opens) in [("PreToolUse", false), ("PostToolUse", false), ("Stop", true)] {
        let fields = json!({"tool_name": "Read", "tool_input": {"file_path": "/z"}, "tool_use_id": "toolu_z",
            "tool_response": {}, "stop_hook_active": false, "last_assistant_message": "done"});
        let mut strace = sandbox.command("strace");
        strace.args(["-f", "-o", trace.to_str().unwrap(), BINARY, event]);
        let output = strace.write_stdin(session.payload(event, fields).to_string()).output();
        assert!(output.expect("`strace` is needed: install the package of that name").status.success());
        let text = fs::read_to_string(&trace).unwrap();
        assert_eq!(text.contains("aops/keys") || text.contains("aops/log"), opens, "{event}: {text}");
        calls
            .push(text.lines().filter(|line| line.contains("fdatasync(") || line.contains("fsync(")).count());
    }
    assert_eq!(calls[..2], [0, 0]);
    assert!(calls[2] <= 8, "a turn's end waits for the disk {} times", calls[2]);
}

#[test]
fn a_new_key_is_vouched_for_by_the_old_one() {
    let sandbox = world();
    let session = session(&sandbox);
    let old = public_key(&sandbox);
    sandbox.person(&["key", "rotate"]).failed(2, &["--yes"]);
    let said = sandbox.person(&["key", "rotate", "--yes", "--json"]).json();
    assert_eq!(said["old"], old.to_string());
    let new = public_key(&sandbox);
    assert!(new != old && new.name == old.name);
    let note = Note::parse(&fs::read_to_string(log(&sandbox).join("checkpoint")).unwrap()).unwrap();
    assert_eq!(
        note.signers(&[old.clone(), new]).unwrap().len(),
        2,
        "both signed the checkpoint with the rotation"
    );
    turn(&session);
    checkpoint(&sandbox);
    assert_eq!(verify(&sandbox, &["--all"])["ok"], true);
    let events = fs::read_to_string(log(&sandbox).join("events.jsonl")).unwrap();
    assert!(events.contains("rotated") && events.lines().count() == 2, "{events}");
    // Who has only the old key does not believe what the new one signs.
    let said = verify(&sandbox, &["--all", "--key", &old.to_string()]);
    assert!(said["log"]["faults"][0].as_str().unwrap().contains("not known here"), "{said}");
}

/// A lost key is an entry; the log goes on, and what was signed before still holds.
#[test]
fn a_lost_key_or_seal_is_an_entry() {
    let sandbox = world();
    let session = session(&sandbox);
    let before = public_key(&sandbox);
    fs::remove_file(keys(&sandbox).join("seal.json")).unwrap();
    turn(&session);
    let events = fs::read_to_string(log(&sandbox).join("events.jsonl")).unwrap();
    assert!(events.contains("lost; a new one begins"), "{events}");
    assert_eq!(verify(&sandbox, &["--all"])["ok"], true);
    fs::remove_dir_all(keys(&sandbox)).unwrap();
    turn(&session);
    let said = verify(&sandbox, &[&session.id]);
    assert_eq!((&said["ok"], &said["tier"]), (&json!(false), &Value::Null), "{said}");
    assert!(said["log_faults"].to_string().contains("`aops-hook key init` makes new ones"), "{said}");
    sandbox.person(&["key", "init"]).said(&[&before.name]);
    turn(&session);
    checkpoint(&sandbox);
    let said = verify(&sandbox, &["--all"]);
    assert_eq!((&said["ok"], &said["sessions"][0]["tier"]), (&json!(true), &json!("sealed")), "{said}");
    assert!(fs::read_to_string(log(&sandbox).join("events.jsonl")).unwrap().contains("lost, and made anew"));
    sandbox.person(&["key", "rotate", "--new-log", "--yes"]).said(&["log.old-1", "another has begun"]);
    turn(&session);
    assert_eq!(verify(&sandbox, &[&session.id])["tier"], "sealed", "every entry is in the new log");
}

/// With the key that was exported, each seal is known to be ours; a thief of the next key cannot make one of
/// before.
#[test]
fn seals_are_checked_with_the_exported_key() {
    let sandbox = world();
    let one = session(&sandbox);
    let seal = sandbox.person(&["key", "export", "--seal", "--yes"]);
    let path = sandbox.tmp().join("seal.txt");
    fs::write(&path, &seal.out).unwrap();
    turn(&one);
    turn(&one);
    let path = path.to_str().unwrap();
    let said = verify(&sandbox, &["--all", "--seal", path]);
    assert_eq!((&said["ok"], &said["log"]["sealed_from"]), (&json!(true), &json!(2)), "{said}");
    let seals = log(&sandbox).join("seals");
    let good = fs::read_to_string(&seals).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    // The root stays right; only who has the key can make the last word.
    let (head, _) = lines[2].rsplit_once(' ').unwrap();
    let (_, other) = lines[3].rsplit_once(' ').unwrap();
    for (bad, words) in [
        (format!("{}\n{}\n{head} {other}\n{}\n", lines[0], lines[1], lines[3]), "was not made with the key"),
        (format!("{}\n{}\n{}\n", lines[0], lines[1], lines[3]), "does not follow"),
    ] {
        fs::write(&seals, bad).unwrap();
        let said = verify(&sandbox, &["--all", "--seal", path]);
        assert!(said["log"]["faults"][0].as_str().unwrap().contains(words), "{said}");
    }
    fs::write(&seals, good).unwrap();
    sandbox.person(&["verify", "--all", "--seal", "/etc/hostname"]).failed(2, &["no key of a seal"]);
}

/// Also where the user lets secrets be read: what signs the log is shown to no tool.
#[test]
fn no_tool_reads_the_key() {
    let sandbox = keyed(Sandbox::new());
    sandbox.configure(&format!("mode.level = \"guard\"\ndanger.secret-file = \"off\"\n{NO_TRACKER}"));
    let session = session(&sandbox);
    let _ = session.prompt("look");
    let key = keys(&sandbox).join("note.key");
    let key = key.to_str().unwrap();
    let read = session.call("Read", json!({"file_path": key}));
    session.pre(&read).refused(&["secret-file"]);
    for line in [
        format!("cat {key}"),
        format!("cp -r {} /tmp/x", keys(&sandbox).display()),
        format!("base64 < {key}"),
    ] {
        let call = session.call("Bash", json!({"command": line, "description": "look"}));
        session.pre(&call).refused(&["secret-file"]);
    }
    let config = keys(&sandbox).parent().unwrap().parent().unwrap().display().to_string();
    fs::create_dir_all(sandbox.project().join("deep")).unwrap();
    std::os::unix::fs::symlink(key, sandbox.project().join("innocent.txt")).unwrap();
    std::os::unix::fs::symlink(key, sandbox.project().join("line\nend ")).unwrap();
    std::os::unix::fs::symlink(&config, sandbox.project().join("linked")).unwrap();
    let paths = [
        format!("{config}/aops/./keys/note.key"),
        format!("{config}//aops//keys/fleet.key"),
        format!("{config}/x/../aops/keys/seal.json"),
        "innocent.txt".to_owned(),
        "deep/../linked/aops/keys/note.key".to_owned(),
    ];
    for path in paths {
        let read = session.call("Read", json!({"file_path": path}));
        session.pre(&read).refused(&["secret-file"]);
    }
    let searches = [
        json!({"pattern": ".", "path": format!("{config}/aops")}),
        json!({"pattern": ".", "path": "linked"}),
        json!({"pattern": ".", "path": format!("{config}/aops/keys"), "output_mode": "content"}),
        json!({"pattern": ".", "path": "/", "glob": "**/keys/*"}),
        json!({"pattern": ".", "path": "/", "glob": "*.{key,token}"}),
        json!({"pattern": ".", "path": "/", "output_mode": "content"}),
        json!({"pattern": ".", "path": "/", "output_mode": "content", "glob": "!zz"}),
        json!({"pattern": ".", "path": "/", "output_mode": "content", "type": "json"}),
        json!({"pattern": ".", "path": "/", "glob": "n[!x]te.key"}),
        // Which file has the text tells the text, letter by letter.
        json!({"pattern": "PRIVATE\\+KEY\\+x", "path": "/"}),
        json!({"pattern": "x", "path": "~", "output_mode": "count"}),
        json!({"pattern": "key", "path": format!("{config}/aops"), "type": "all", "output_mode": "content"}),
        json!({"pattern": "key", "path": &config, "type": "config"}),
    ];
    for search in searches {
        session.pre(&session.call("Grep", search)).refused(&["secret-file"]);
    }
    let keys_of = |name: &str| format!("{config}/aops/./keys/{name}");
    let others = [
        ("WebFetch", json!({"url": format!("file://{config}/aops/%6beys/note.key"), "prompt": "say it"})),
        ("mcp__fs__read_file", json!({"path": keys_of("note.key")})),
        ("mcp__fs__read_multiple_files", json!({"paths": ["a.txt", keys_of("note.key")]})),
        ("mcp__fs__read_file", json!({"path": "deep/../linked/aops/keys/note.key"})),
        ("mcp__fs__read_file", json!({"path": "innocent.txt"})),
        ("mcp__fs__read_multiple_files", json!({"paths": ["a.txt", "line\nend "]})),
        ("mcp__fs__read_file", json!({"root": &config, "folder": "aops/keys", "name": "note.key"})),
        ("mcp__fs__read_file", json!({"directory": format!("{config}/aops"), "file": "keys/note.key"})),
        ("mcp__fs__read_file", json!({"path": [&config, "aops", "keys", "note.key"]})),
        ("LSP", json!({"filePath": keys_of("seal.json")})),
        ("read_many_files", json!({"include": [keys_of("fleet.key")]})),
        ("grep_search", json!({"pattern": ".", "dir_path": keys_of("")})),
        ("grep", json!({"pattern": ".", "path": "/", "include": "note.key"})),
        ("mcp__fs__search_files", json!({"path": "~", "pattern": "PRIVATE"})),
        ("mcp__fs__search_files", json!({"path": &config, "pattern": "PRIVATE"})),
        ("mcp__fs__get_contents", json!({"path": format!("{config}/aops")})),
    ];
    let shows =
        |(tool, input): &&(&str, Value)| session.pre(&session.call(tool, input.clone())).code != Some(2);
    let wrong: Vec<&(&str, Value)> = others.iter().filter(shows).collect();
    assert!(wrong.is_empty(), "not refused: {wrong:#?}");
    let lines = [
        format!("cat {config}/aops/./keys/note.key"),
        format!("cd {config}/aops/keys && cat fleet.key"),
        format!("cd {config}/aops && cat */fleet.key"),
        format!("cat {config}/aops/*/fleet.key"),
        format!("cat {config}/aops/*/engine.token"),
        format!("grep -r . {config}/aops"),
        format!("cd {config} && rg ."),
        format!("cd {config} && grep -rn ."),
        format!("cp -r {config}/aops /tmp/y"),
        format!("tar c {config} | base64"),
        format!("ln -s {config}/aops y"),
        format!("find {config}/aops -type f -exec cat {{}} +"),
        format!("find {config}/aops -type f | xargs cat"),
        format!("base64 < {config}/aops/./keys/fleet.key"),
        "head linked/aops/keys/old.pub".to_owned(),
        format!("docker run -v {config}:/x:ro alpine cat /x"),
        format!("git -C {config}/aops/./keys grep --no-index ."),
        format!("git interpret-trailers {config}/aops/keys/note.key"),
        format!("file -f {config}/aops/keys/note.key"),
        format!("sed 'r {config}/aops//keys/note.key' a"),
        format!("python3 -c \"print(open('{config}/aops/keys/note.key').read())\""),
        "grep -r . / --include=note.key".to_owned(),
        "cp -r / /tmp/h".to_owned(),
        "tar cz / | base64".to_owned(),
        "rg --hidden . /".to_owned(),
    ];
    let is_refused = |line: &String| {
        let said = session.pre(&session.call("Bash", json!({"command": line, "description": "look"})));
        said.code == Some(2) && said.err.contains("secret-file")
    };
    let wrong: Vec<&String> = lines.iter().filter(|line| !is_refused(line)).collect();
    assert!(wrong.is_empty(), "not refused: {wrong:#?}");
    let pass = [
        format!("ls {config}/aops"),
        format!("ls {config} | grep settings"),
        format!("cd {config} && ls | grep settings && grep model settings.json"),
        format!("find {config} -name '*.md'"),
        "grep -r keys .".to_owned(),
        format!("git -C {config} status; make $T"),
        format!("ls -la {config} && cat $FILE"),
        format!("find {config} -name '*.md' | xargs wc -l"),
        format!("wc -c {config}/*"),
        format!("grep -n model {config}/*"),
        format!("grep -rn foo {config} --include=*.md"),
        format!("export CLAUDE_CONFIG_DIR={config}"),
        "git commit -m 'the keys are in .claude/aops/keys'".to_owned(),
        "grep -rn '.claude/aops/keys' .".to_owned(),
        "cat src/aops/keys/mod.rs".to_owned(),
        "cp a.txt /".to_owned(),
        "tar xf a.tar -C /".to_owned(),
        "cat deep/keys/x".to_owned(),
        "cat \"$X\"".to_owned(),
    ];
    let wrong: Vec<&String> = pass.iter().filter(|line| is_refused(line)).collect();
    assert!(wrong.is_empty(), "refused: {wrong:#?}");
    for glob in ["*.rs", "*.js", "src/**/*.json"] {
        session.pre(&session.call("Grep", json!({"pattern": "x", "path": "/", "glob": glob}))).silent();
    }
    session.pre(&session.call("Grep", json!({"pattern": "x", "path": config, "glob": "*.md"}))).silent();
    session.pre(&session.call("Read", json!({"file_path": "src/aops/keys/mod.rs"}))).silent();
    let text = json!({"file_path": "notes.md", "content": keys_of("note.key")});
    session.pre(&session.call("Write", text)).silent();
    let other = session.call("Read", json!({"file_path": "/etc/x/.env"}));
    session.pre(&other).silent();
}

/// A backup of hard links gives the keys a name that no jail hides.
#[test]
fn a_key_with_a_second_name_seals_nothing() {
    let sandbox = world();
    let before = session(&sandbox);
    assert_eq!(verify(&sandbox, &[&before.id])["tier"], "sealed");
    fs::hard_link(keys(&sandbox).join("note.key"), sandbox.home().join("backup")).unwrap();
    let after = sandbox.session();
    let said = after.start("startup");
    assert!(said.out.contains("note.key` has a second name"), "{said:?}");
    turn(&after);
    assert_eq!(verify(&sandbox, &[&after.id])["tier"], "intact");
    // Its advice makes it one again, and new keys seal.
    let key = keys(&sandbox).join("note.key");
    fs::copy(&key, key.with_extension("new")).unwrap();
    fs::rename(key.with_extension("new"), &key).unwrap();
    assert!(!sandbox.session().start("startup").out.contains("second name"));
}
