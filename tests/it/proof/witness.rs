//! Real witnesses over loopback: they sign what continues what they saw, and find what our own keys cannot.

use super::proofs::second;
use super::{checkpoint, ended, keys, log, public_key, session, turn, verify, world};
use crate::faults::Workshop;
use crate::support::{BINARY, NO_TRACKER, Sandbox, Session};
use aops_core::config::policy::Policy;
use aops_core::ledger::open::Ledger;
use aops_core::ledger::session_folder::SessionKey;
use aops_core::proof::store::Store;
use aops_core::proof::unheld::Commands;
use aops_core::proof::{append, ask, check, life, trust};
use aops_core::session::fact::{FORMAT, Fact, Opened};
use aops_core::system::env::boot_id;
use aops_core::text::sha256::NO_DIGEST;
use aops_proof::key::{SecretKey, Use};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A witness in a process of its own, ended with the value.
pub(super) struct Server {
    child: Child,
    address: String,
    pub(super) key: String,
    folder: PathBuf,
}

impl Server {
    #[expect(clippy::disallowed_methods, reason = "a server lives longer than a call")]
    pub(super) fn start(folder: &Path, logs: &[&str]) -> Self {
        let mut command = Command::new(BINARY);
        command.args(["witness", "serve", "--json", "--listen", "127.0.0.1:0", "--state"]).arg(folder);
        for log in logs {
            command.args(["--log", log]);
        }
        // A process without any variable may belong to every sandbox.
        let mut child = command
            .env_clear()
            .env("HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| said[name].as_str().unwrap().to_owned();
        Self { child, address: text("listens"), key: text("key"), folder: folder.to_owned() }
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The same witness after a restart.
    fn again(self, logs: &[&str]) -> Self {
        let folder = self.folder.clone();
        drop(self);
        Self::start(&folder, logs)
    }

    fn post(&self, path: &str, body: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let long = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {long}\r\nConnection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(super) fn configure(sandbox: &Sandbox, servers: &[&Server], quorum: usize) {
    let list = |of: fn(&Server) -> String| {
        servers.iter().map(|server| format!("{:?}", of(server))).collect::<Vec<_>>().join(", ")
    };
    let (urls, keys) = (list(Server::url), list(|server| server.key.clone()));
    sandbox.configure(&format!(
        "mode.level = \"guard\"\n{NO_TRACKER}\n[witness]\nurl = [{urls}]\nkey = [{keys}]\nquorum = {quorum}\n"
    ));
}

/// A turn whose checkpoint the witnesses have answered.
pub(super) fn witnessed_turn(sandbox: &Sandbox, session: &Session) {
    turn(session);
    let (size, _) = checkpoint(sandbox);
    let seen = || fs::read_to_string(log(sandbox).join("witnessed")).unwrap_or_default();
    sandbox.wait_until("the witnesses signed", || seen().lines().nth(1) == Some(&size.to_string()));
    sandbox.wait_until("the refresher is gone", || sandbox.alive().is_empty());
}

/// More than are served at a time, each with the beginning of a request and no more.
#[test]
fn idle_connections_keep_nobody_away() {
    let folder = tempfile::tempdir().unwrap();
    let log = SecretKey::new("a.example/log", Use::Note, &[1; 32]).unwrap().public().to_string();
    let server = Server::start(folder.path(), &[&log]);
    let begin = || {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.write_all(b"POST /add-checkpoint HTTP/1.1").unwrap();
        stream
    };
    let idle: Vec<TcpStream> = (0..80).map(|_| begin()).collect();
    for _ in 0..3 {
        assert_eq!(server.post("/add-checkpoint", "x").0, 400);
    }
    drop(idle);
}

/// A turn after which `verify` says this of the session.
fn troubled_turn(sandbox: &Sandbox, session: &Session, words: &str) {
    let _ = session.prompt("go on");
    ended(&session.stop("done"));
    let trouble = || fs::read_to_string(log(sandbox).join("witness-trouble")).unwrap_or_default();
    sandbox.wait_until(words, || trouble().contains(words));
    sandbox.wait_until("the refresher is gone", || sandbox.alive().is_empty());
}

#[test]
fn witnesses_sign_what_continues_what_they_saw() {
    let sandbox = world();
    let key = public_key(&sandbox).to_string();
    let (first, other) = (
        Server::start(&sandbox.tmp().join("w1"), &[&key]),
        Server::start(&sandbox.tmp().join("w2"), &[&key]),
    );
    configure(&sandbox, &[&first, &other], 2);
    let one = session(&sandbox);
    witnessed_turn(&sandbox, &one);
    let said = verify(&sandbox, &[&one.id]);
    assert_eq!(
        (&said["ok"], &said["tier"], &said["first_unwitnessed"]),
        (&json!(true), &json!("witnessed"), &Value::Null),
        "{said}"
    );
    assert!(said["witnessed_at"].as_str().unwrap().starts_with("20"), "{said}");
    sandbox.person(&["verify", &one.id]).said(&["tier: witnessed", "seen by witnesses at 20"]);
    let doctor = sandbox.person(&["doctor"]).out;
    assert!(doctor.contains("ok   witness        ") && doctor.contains(" of the log seen by "), "{doctor}");
    // The other verifier reads the same cosignatures, in the log and in a proof.
    let folder = log(&sandbox);
    let keys = ["--key", &key, "--witness", &first.key, "--witness", &other.key];
    let log_line = [&["--log", folder.to_str().unwrap()], &keys[..]].concat();
    let theirs = second(&log_line);
    assert_eq!((&theirs["ok"], &theirs["witnessed"]), (&json!(true), &theirs["signed"]), "{theirs}");
    let file = sandbox.tmp().join("x.tlog-proof");
    sandbox
        .person(&["prove", &format!("{}:3", one.id), "-o", file.to_str().unwrap()])
        .said(&["entry 3, witnessed"]);
    let theirs = second(&[&["--proof", file.to_str().unwrap()], &keys[..]].concat());
    assert_eq!(
        (&theirs["ok"], &theirs["tier"], theirs["times"].as_object().unwrap().len()),
        (&json!(true), &json!("witnessed"), 2),
        "{theirs}"
    );
    // What came since is not witnessed yet, and that is said.
    let call = one.call("Read", json!({"file_path": "/y"}));
    one.pre(&call).silent();
    let said = verify(&sandbox, &[&one.id]);
    assert_eq!(
        said["first_unwitnessed"].as_u64(),
        Some(said["witnessed_to"].as_u64().unwrap() + 1),
        "{said}"
    );
    // We forget what they have seen: they say it, 409.
    for item in fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .filter(|item| item.file_name().to_string_lossy().starts_with("witnessed-"))
    {
        fs::remove_file(item.path()).unwrap();
    }
    let first = first.again(&[&key]);
    configure(&sandbox, &[&first, &other], 2);
    witnessed_turn(&sandbox, &one);
}

#[test]
fn a_quorum_counts_and_a_missing_witness_is_told() {
    let sandbox = world();
    let key = public_key(&sandbox).to_string();
    let (first, mut gone) = (
        Server::start(&sandbox.tmp().join("w1"), &[&key]),
        Server::start(&sandbox.tmp().join("w2"), &[&key]),
    );
    configure(&sandbox, &[&first, &gone], 2);
    let url = gone.url();
    gone.stop();
    let one = session(&sandbox);
    troubled_turn(&sandbox, &one, &url);
    let said = verify(&sandbox, &[&one.id]);
    assert_eq!((&said["ok"], &said["tier"]), (&json!(true), &json!("sealed")), "{said}");
    assert!(said["why_not_next"].as_str().unwrap().contains(&url), "{said}");
    let doctor = sandbox.person(&["doctor"]).out;
    assert!(doctor.contains(&format!("note witness        {url}")), "{doctor}");
    configure(&sandbox, &[&first, &gone], 1);
    witnessed_turn(&sandbox, &one);
    assert_eq!(verify(&sandbox, &[&one.id])["tier"], "witnessed");
    // A witness that does not know this log.
    let strange = Server::start(&sandbox.tmp().join("w3"), &[&public_key(&world()).to_string()]);
    configure(&sandbox, &[&strange], 1);
    troubled_turn(&sandbox, &one, "it does not know this log");
}

/// The attacker has everything, the keys too: at the next checkpoint the witness knows better.
#[test]
fn who_has_the_keys_is_found_by_a_witness() {
    let sandbox = world();
    let key = public_key(&sandbox).to_string();
    let witness = Server::start(&sandbox.tmp().join("w"), &[&key]);
    configure(&sandbox, &[&witness], 1);
    let one = session(&sandbox);
    sandbox.wait_until("the refresher is gone", || sandbox.alive().is_empty());
    let old: Vec<(PathBuf, Vec<u8>)> = sandbox
        .files()
        .into_iter()
        .filter(|(path, _)| path.starts_with(sandbox.config()) && path.is_file())
        .collect();
    witnessed_turn(&sandbox, &one);
    witnessed_turn(&sandbox, &one);
    // All of it is put back, and another history begins: the chain, the log and every signature are right.
    for (path, _) in
        sandbox.files().into_iter().filter(|(path, _)| path.starts_with(sandbox.config()) && path.is_file())
    {
        fs::remove_file(path).unwrap();
    }
    for (path, bytes) in old {
        fs::write(path, bytes).unwrap();
    }
    assert!(keys(&sandbox).join("note.key").exists());
    troubled_turn(&sandbox, &one, "the log was put back from a copy");
    assert_eq!(verify(&sandbox, &[&one.id])["tier"], "sealed");
    // It grows beyond what the witness saw: then it is another history.
    for _ in 0..3 {
        turn(&one);
        sandbox.wait_until("the refresher is gone", || sandbox.alive().is_empty());
    }
    troubled_turn(&sandbox, &one, "it has seen another history of this log");
    let said = verify(&sandbox, &[&one.id]);
    assert!(
        said["tier"] == "sealed" && said["why_not_next"].as_str().unwrap().contains("another history"),
        "{said}"
    );
}

#[test]
fn what_a_witness_answers() {
    let sandbox = world();
    let key = public_key(&sandbox).to_string();
    let witness = Server::start(&sandbox.tmp().join("w"), &[&key]);
    let one = session(&sandbox);
    let note = fs::read_to_string(log(&sandbox).join("checkpoint")).unwrap();
    let ask = |old: u64, note: &str| witness.post("/add-checkpoint", &format!("old {old}\n\n{note}"));
    let (status, _, line) = ask(0, &note);
    assert!(status == 200 && line.starts_with("— aops-witness.local "), "{line}");
    let (size, _) = checkpoint(&sandbox);
    turn(&one);
    let newer = fs::read_to_string(log(&sandbox).join("checkpoint")).unwrap();
    let (status, head, body) = ask(0, &newer);
    assert_eq!((status, body), (409, format!("{size}\n")));
    assert!(head.contains("text/x.tlog.size"), "{head}");
    assert_eq!(ask(size, &newer).0, 422, "without a proof");
    assert_eq!(ask(0, &newer.replace("\n\n", "\nx\n\n")).0, 403, "the text is another one");
    let other = world();
    let foreign = fs::read_to_string(log(&other).join("checkpoint")).unwrap();
    assert_eq!(ask(0, &foreign).0, 404, "a log that it does not know");
    assert_eq!(witness.post("/add-checkpoint", "words").0, 400);
    assert_eq!(witness.post("/other", "").0, 404);
    sandbox.person(&["witness", "serve", "--state", "w", "--log", "words"]).failed(2, &["is not a key"]);
    sandbox.inside(&["witness", "serve", "--state", "w", "--log", &key]).failed(2, &["inside a tool call"]);
}

#[test]
fn a_hundred_sessions_are_cosigned() {
    cosign(100);
}

#[test]
#[ignore = "takes half a minute: run `tests/long-run`"]
fn a_thousand_sessions_are_cosigned() {
    cosign(1000);
}

/// So many sessions, one after the other, each checkpoint signed by a real witness over loopback.
fn cosign(sessions: u64) {
    let workshop = Workshop::new();
    let env = &workshop.env;
    let key = life::begin(env, None, None).unwrap();
    let server = Server::start(&workshop.path().join("witness"), &[&key.to_string()]);
    let mut policy = Policy::default();
    policy.witness.key = vec![server.key.clone()];
    let trust = trust::of(&policy).unwrap();
    let mut post = |_: &str, body: &str| {
        let (status, _, said) = server.post("/add-checkpoint", body);
        Ok((status, said))
    };
    let urls = [server.url()];
    for n in 0..sessions {
        let id = format!("5f0c1f3a-0000-4000-8000-{n:012}");
        let session = SessionKey { session_id: &id, transcript_path: "", cwd: "/p" };
        let mut ledger = Ledger::lock(env, session, false).unwrap();
        let opened = Opened {
            binary: "0".to_owned(),
            boot: boot_id(),
            format: FORMAT,
            policy_hash: NO_DIGEST.to_owned(),
            project: ledger.project(),
            ..Opened::default()
        };
        ledger.append(env, vec![Fact::Open(opened)]).unwrap();
        append::add(env, &id, &ledger.place().path, Commands::Held).unwrap();
        let (signed, _) = Store::look(env).unwrap().unwrap().checkpoint().unwrap().unwrap();
        assert_eq!(signed.size, n + 2);
        assert!(ask::ask(env, &urls, &trust, &mut post).unwrap(), "session {n}");
    }
    let log = check::examine(env, &trust).unwrap();
    let all = sessions + 1;
    assert_eq!((log.faults.len(), log.signed, log.witnessed.unwrap().size, log.seals), (0, all, all, all));
}

/// Checkpoints in the repository, pushed with the work, and read from there.
#[test]
fn git_notes_are_a_witness_of_the_team() {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure(&format!("mode.level = \"guard\"\n{NO_TRACKER}\n[witness]\ngit = \"notes\"\n"));
    sandbox.person(&["key", "init"]).said(&["made the key"]);
    let git = |arguments: &[&str]| {
        let output = sandbox.command("git").args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    sandbox.put("more.txt", "more\n");
    git(&["add", "more.txt"]);
    git(&["commit", "-q", "-m", "more"]);
    let pushed = || git(&["ls-remote", "origin"]).contains("refs/notes/aops");
    let one = session(&sandbox);
    let noted = || {
        sandbox
            .command("git")
            .args(["notes", "--ref", "aops", "show", "HEAD"])
            .output()
            .unwrap()
            .status
            .success()
    };
    sandbox.wait_until("a note is there", noted);
    sandbox.wait_until("the refresher is gone", || sandbox.alive().is_empty());
    assert!(!pushed(), "nothing is pushed before the work is");
    git(&["push", "--quiet"]);
    let mut old = sandbox.files();
    old.retain(|path, _| path.is_file());
    turn(&one);
    sandbox.wait_until("it is pushed", pushed);
    sandbox.wait_until("the refresher is gone", || sandbox.alive().is_empty());
    assert_eq!(git(&["rev-list", "main", "--count"]).trim(), "2", "no commit of ours on the branch");
    let said = verify(&sandbox, &["--all", "--git"]);
    assert_eq!(
        (&said["ok"], said["git"]["checkpoints"].as_u64() >= Some(2), &said["git"]["remote"]),
        (&json!(true), true, &json!(true)),
        "{said}"
    );
    // Everything here is put back, keys and notes too; the remote knows better.
    let aops = sandbox.config().join("aops");
    for (path, _) in sandbox.files().into_iter().filter(|(path, _)| path.starts_with(&aops) && path.is_file())
    {
        fs::remove_file(path).unwrap();
    }
    for (path, bytes) in old.into_iter().filter(|(path, _)| path.starts_with(&aops)) {
        fs::write(path, bytes).unwrap();
    }
    git(&["update-ref", "-d", "refs/notes/aops"]);
    assert_eq!(verify(&sandbox, &["--all"])["log"]["faults"], json!([]));
    let said = verify(&sandbox, &["--all", "--git"]);
    let faults = said["log"]["faults"].to_string();
    assert!(said["ok"] == false && faults.contains("a checkpoint in git covers"), "{said}");
}
