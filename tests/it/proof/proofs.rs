//! One entry in one file, and a second verifier in another language that agrees on logs and proofs.

use super::{key_arguments, log, public_key, session, turn, verify, world};
use crate::support::{NO_TRACKER, Sandbox};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What `tests/verify_ledger.py` says.
#[track_caller]
pub(crate) fn second(arguments: &[&str]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify_ledger.py");
    let mut command = assert_cmd::Command::new("/usr/bin/env");
    let output = command.args(["python3", "-I"]).arg(script).args(arguments).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    let need =
        "`python3` 3.9 or later with the package `cryptography` is needed (`pip install cryptography`)";
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{need}: {err}"));
    assert_eq!(output.status.code(), Some(if said["ok"] == true { 0 } else { 4 }), "{said}");
    said
}

/// The same program, asked again and again.
pub(super) struct Second {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Second {
    #[expect(clippy::disallowed_methods, reason = "it is started once for a thousand questions")]
    pub(super) fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify_ledger.py");
        let mut command = Command::new("/usr/bin/env");
        let command = command.args(["python3", "-I"]).arg(script).arg("--batch");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (asks, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, asks, answers }
    }

    #[track_caller]
    pub(super) fn ask(&mut self, arguments: &[String]) -> Value {
        writeln!(self.asks, "{}", json!(arguments)).unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?} to {arguments:?}"))
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Every byte of every file of the log is looked at by both, or by neither.
#[test]
fn both_verifiers_agree_on_a_log_and_on_every_kind_of_damage() {
    let sandbox = world();
    let seal = sandbox.person(&["key", "export", "--seal", "--yes"]).out;
    let (one, two) = (session(&sandbox), session(&sandbox));
    turn(&one);
    let call = two.call("Read", json!({"file_path": "/y"}));
    two.pre(&call).silent();
    let file = sandbox.tmp().join("seal.txt");
    fs::write(&file, &seal).unwrap();
    let (keys, folder) = (key_arguments(&sandbox), log(&sandbox));
    let keys = keys.each_ref().map(String::as_str);
    let ours = || verify(&sandbox, &["--all", "--seal", text(&file)]);
    let folders = [one.folder(), two.folder()];
    let theirs = || {
        let line = ["--log", text(&folder), "--seal", &seal, text(&folders[0]), text(&folders[1])];
        second(&[&line, &keys[..]].concat())
    };
    let (said, other) = (ours(), theirs());
    assert_eq!((&said["ok"], &other["ok"]), (&json!(true), &json!(true)), "{said} {other}");
    for name in ["signed", "seals", "leaves", "origin"] {
        assert_eq!(said["log"][name], other[name], "{name}");
    }
    for (at, session) in [&one, &two].iter().enumerate() {
        let own =
            said["sessions"].as_array().unwrap().iter().find(|row| row["session_id"] == session.id).unwrap();
        assert_eq!(own["sealed_to"], other["sessions"][at]["sealed_to"]);
    }
    let mut bits = 0x9E37_79B9_7F4A_7C15_u64;
    for name in ["leaves", "checkpoint", "seals"] {
        let path = folder.join(name);
        let good = fs::read(&path).unwrap();
        for _ in 0..12 {
            bits = bits.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            // The first seal is older than the exported key: its last word cannot be checked.
            let from =
                if name == "seals" { good.iter().position(|byte| *byte == b'\n').unwrap() + 1 } else { 0 };
            let at = from + usize::try_from(bits >> 33).unwrap() % (good.len() - from);
            let mut bad = good.clone();
            bad[at] ^= 1 << (bits >> 61);
            fs::write(&path, bad).unwrap();
            let (said, other) = (ours(), theirs());
            let sealed = said["sessions"].as_array().unwrap().iter().any(|row| row["tier"] == "sealed");
            assert!(said["ok"] == false || !sealed, "{name} at {at}: {said}");
            assert_eq!(other["ok"], false, "{name} at {at}: {other}");
        }
        fs::write(&path, good).unwrap();
    }
    assert_eq!((&ours()["ok"], &theirs()["ok"]), (&json!(true), &json!(true)));
}

#[test]
fn every_entry_can_be_proven_offline() {
    let sandbox = world();
    let one = session(&sandbox);
    let _ = session(&sandbox);
    let keys = key_arguments(&sandbox);
    let keys = keys.each_ref().map(String::as_str);
    let file = sandbox.tmp().join("x.tlog-proof");
    let check = || second(&[&["--proof", text(&file)], &keys[..]].concat());
    let ledger = fs::read_to_string(one.folder().join("ledger.jsonl")).unwrap();
    for (line, seq) in ledger.lines().zip(1..) {
        let asked = format!("{}:{seq}", one.id);
        let said = sandbox.person(&["prove", &asked, "-o", text(&file), "--json"]).json();
        assert_eq!(said["tier"], "sealed", "{said}");
        let other = check();
        assert_eq!(
            (&other["ok"], &other["tier"], &other["entry"]),
            (&json!(true), &json!("sealed"), &json!(line)),
            "{other}"
        );
    }
    // A changed entry, another index, another key.
    let good = fs::read_to_string(&file).unwrap();
    let other = public_key(&world()).to_string();
    assert_eq!(second(&["--proof", text(&file), "--key", &other])["ok"], false);
    for (n, line) in good.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let changed = line.replace('A', "B").replace("index 1", "index 2").replace('e', "d");
        let lines = good.lines().enumerate().map(|(at, own)| if at == n { changed.as_str() } else { own });
        let bad = lines.collect::<Vec<_>>().join("\n") + "\n";
        fs::write(&file, bad).unwrap();
        let said = check();
        assert!(said["ok"] == false || changed == line, "line {n}: {said}");
    }
    let asked = format!("{}:2", one.id);
    sandbox.person(&["prove", &asked, "--digest-only", "-o", text(&file)]).said(&["entry 2, sealed"]);
    let said = check();
    assert_eq!((&said["ok"], said["entry"].as_str().unwrap().len()), (&json!(true), 64), "{said}");
    assert!(!fs::read_to_string(&file).unwrap().contains(&one.id));
    sandbox.person(&["prove", "nonsense"]).failed(2, &["names no entry"]);
    sandbox.person(&["prove", &format!("{}:9999", one.id)]).failed(2, &["has no entry 9999"]);
}

#[test]
fn without_a_key_a_proof_says_how_little_it_proves() {
    let sandbox = Sandbox::new();
    sandbox.configure(&format!("mode.level = \"guard\"\n{NO_TRACKER}"));
    let one = session(&sandbox);
    let file = sandbox.tmp().join("x.tlog-proof");
    let asked = format!("{}:1", one.id);
    sandbox.person(&["prove", &asked, "-o", text(&file)]).said(&["entry 1, intact"]);
    let said = second(&["--proof", text(&file)]);
    assert_eq!((&said["ok"], &said["tier"]), (&json!(true), &json!("intact")), "{said}");
    sandbox.person(&["prove", &asked]).said(&["aops-proof/v1 intact"]);
}
