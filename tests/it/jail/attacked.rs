//! Attacks on the answers in a person's place: a proof used twice, a client inside a session, ways out
//! without a network, and reading lines of all kinds in a project that was made to tell on them.

use super::answered::{READING, answering, commit_all, decision, is_answered, run_answered};
use super::interruptions::{lines, lines_in};
use super::world::{Jailed, Ran};
use crate::support::{Answer, BINARY, Session};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};

/// The files of a session that prove how its commands ran.
fn receipts(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder.join("jail")).unwrap().map(|item| item.unwrap().path());
    let is_mark = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().contains("prepared");
    all.filter(|path| !is_mark(path)).collect()
}

/// One answer is for one run: a second one of the same text is nobody's.
#[test]
fn an_answered_line_runs_once() {
    let world = answering(READING);
    let session = world.prompted();
    let call = session.inner.call("Bash", json!({"command": "cat a.txt"}));
    assert_eq!(decision(&session.inner.pre(&call)), "allow");
    let first = Ran::of(&session.line("cat a.txt").output().unwrap());
    assert_eq!((first.code, first.out.as_str()), (Some(0), "one\n"), "{first:?}");
    let second = Ran::of(&session.line("cat a.txt").output().unwrap());
    assert_eq!((second.code, second.out.as_str()), (Some(126), ""), "{second:?}");
    let _ = session.inner.post(&call);
    let proven = session.inner.entries().pop().unwrap();
    assert_eq!(proven["with"]["end"]["under"]["jailed"]["profile"], "quiet-read", "{proven}");
    assert!(is_answered(&session, "cat a.txt"), "what came of it is no reason to end it");
}

/// A copy of the proof that a line ran held proves nothing about another run of it.
#[test]
fn a_receipt_that_is_put_back_proves_no_other_run() {
    let world = answering(READING);
    let session = world.prompted();
    let call = session.inner.call("Bash", json!({"command": "cat a.txt"}));
    assert_eq!(decision(&session.inner.pre(&call)), "allow");
    assert_eq!(Ran::of(&session.line("cat a.txt").output().unwrap()).out, "one\n");
    let written = receipts(&session.inner.folder());
    let [receipt] = written.as_slice() else { panic!("{written:?}") };
    let bytes = fs::read(receipt).unwrap();
    let _ = session.inner.post(&call);
    assert!(!receipt.exists(), "it is taken away with its call");
    fs::write(receipt, bytes).unwrap();
    let again = session.inner.call("Bash", json!({"command": "cat a.txt"}));
    assert_eq!(decision(&session.inner.pre(&again)), "allow");
    // Somebody starts it past us.
    let ended = session.inner.post(&again);
    assert!(ended.out.contains("nothing more is approved"), "{ended:?}");
    assert!(!is_answered(&session, "ls"));
}

fn event_of(world: &Jailed, pid: u32, session: &Session, name: &str, fields: Value) -> Answer {
    let mut command = world.sandbox.command(BINARY);
    command.arg(name).envs(world.sandbox.inside_client()).env("CLAUDE_PID", pid.to_string());
    command.env("CLAUDE_CODE_SESSION_ATTENDED", "1");
    Answer::of(name, &command.write_stdin(session.payload(name, fields).to_string()).output().unwrap())
}

/// Whether a client with this process id gets an answer in this session.
fn answers(world: &Jailed, pid: u32, session: &Session) -> bool {
    let _ = event_of(world, pid, session, "SessionStart", json!({"source": "startup"}));
    let _ = event_of(world, pid, session, "UserPromptSubmit", json!({"prompt": "go"}));
    let call = session.call("Bash", json!({"command": "ls"}));
    decision(&event_of(world, pid, session, "PreToolUse", call.fields())) == "allow"
}

/// The outer client is the process that runs this test, the inner one is this test.
#[test]
fn a_client_that_a_session_started_is_answered_nothing() {
    let world = answering(READING);
    let alone = world.sandbox.session();
    assert!(answers(&world, std::process::id(), &alone), "with no session above it");
    let world = answering(READING);
    let outer = world.sandbox.session();
    assert!(answers(&world, parent_id(), &outer));
    assert!(!answers(&world, std::process::id(), &world.sandbox.session()), "a session of its own");
    assert!(!answers(&world, std::process::id(), &outer), "the same session");
}

/// Every way out is tried, and said.
const OUT: &str = r"
import socket
def tried(what, act):
    try: print(what, act())
    except OSError: print(what, 'failed')
def unix():
    s = socket.socket(socket.AF_UNIX)
    s.connect('\0NAME')
    return 'connected'
def packet(server, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((server, port))
    s.send(b'x')
    return 'sent'
def asked():
    lines = [line.split() for line in open('/etc/resolv.conf')]
    for server in [words[1] for words in lines if words[:1] == ['nameserver']] + ['192.0.2.53']:
        packet(server, 53)
    return 'sent'
tried('abstract', unix)
tried('packet', lambda: packet('127.0.0.1', PORT))
tried('name', lambda: socket.getaddrinfo('a-name.example', 80))
tried('server', asked)
";

/// Nothing of the network is there: no socket without a file, no name, no packet.
#[test]
fn an_answered_line_reaches_no_name_and_no_abstract_socket() {
    const CONTAINED: &str =
        "tracker.command = \"none\"\nmode.level = \"guard\"\n[quiet]\nallow = \"contained\"\n";
    let world = answering(CONTAINED);
    let name = format!("aops-test-{}", std::process::id());
    let heard = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    heard.set_nonblocking(true).unwrap();
    let packets = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    packets.set_nonblocking(true).unwrap();
    let port = packets.local_addr().unwrap().port();
    world.sandbox.put("out.py", &OUT.replace("NAME", &name).replace("PORT", &port.to_string()));
    commit_all(&world);
    let outside = world.bare("python3 out.py");
    assert!(outside.out.starts_with("abstract connected\npacket sent\n"), "{outside:?}");
    assert!(heard.accept().is_ok() && packets.recv(&mut [0; 8]).is_ok(), "the way is open for others");
    let session = world.prompted();
    let (_, ran) = run_answered(&session, "python3 out.py");
    assert_eq!(ran.profile(), "quiet-work", "{ran:?}");
    let said: Vec<&str> = ran.out.lines().collect();
    assert_eq!(said.len(), 4, "{ran:?}");
    // A packet to a loopback of its own reaches nobody.
    assert!(
        said[0] == "abstract failed" && said[2] == "name failed" && said[3] == "server failed",
        "{ran:?}"
    );
    assert!(heard.accept().is_err() && packets.recv(&mut [0; 8]).is_err(), "{ran:?}");
}

/// What a generated line begins with, its options, and what it looks at.
const PROGRAMS: [&str; 28] = [
    "cat",
    "ls",
    "head -1",
    "tail -n 2",
    "wc -l",
    "grep -rn one",
    "rg one",
    "find . -name '*.txt' -print",
    "sort",
    "git status --short",
    "git diff",
    "git log -p -1 --",
    "git show HEAD --stat --",
    "git blame",
    "git grep one --",
    "git ls-files",
    "git diff --stat HEAD --",
    "git log --show-signature -1 --",
    "git describe --always",
    "sed -n 1p",
    "awk '{ print $1 }'",
    "stat",
    "file",
    "less",
    "man ls; cat",
    "diff a.txt",
    "git check-attr -a",
    "du -s",
];
const OPERANDS: [&str; 6] = ["a.txt", "sub/b.txt", "sub", "*.txt", ".", "./sub/../a.txt"];
/// Lines that know the port; none may be answered with a way to it.
const KNOWING: [&str; 6] = [
    "cat < /dev/tcp/127.0.0.1/PORT",
    "git ls-remote git://127.0.0.1:PORT/x",
    "curl -s http://127.0.0.1:PORT/",
    "git fetch http://127.0.0.1:PORT/x",
    "read x < /dev/tcp/127.0.0.1/PORT",
    "nc -z 127.0.0.1 PORT",
];

fn line() -> impl Strategy<Value = String> {
    let plain = || {
        (proptest::sample::select(&PROGRAMS[..]), proptest::sample::select(&OPERANDS[..]))
            .prop_map(|(program, operand)| format!("{program} {operand}"))
    };
    let knowing = proptest::sample::select(&KNOWING[..]).prop_map(str::to_owned);
    let one = prop_oneof![9 => plain(), 1 => knowing];
    let shaped = (one, plain(), 0..9).prop_map(|(one, other, shape)| match shape {
        0 => format!("{one} | head -3"),
        1 => format!("cd sub && {one} 2>/dev/null"),
        2 => format!("{one}; {other}"),
        3 => format!("for f in a.txt sub/b.txt; do {one}; done"),
        4 => format!("if {one}; then {other}; fi"),
        5 => format!("{one} || {other} | sort -u"),
        6 => format!("(cd sub; {one}) && echo done"),
        7 => format!("while read -r x; do echo \"$x\"; done < a.txt; {one}"),
        _ => one,
    });
    shaped.boxed()
}

/// Git, pagers and searches are set to start a program of the project, which writes wherever it can and calls
/// a listener.
fn told_on(world: &Jailed, port: u16) {
    let spy = format!(
        "#!/bin/bash\nfor f in {0}/spied {1}/spied {2}/spied /tmp/aops-spied-{port}; do echo x > $f; done\n\
        exec 3<>/dev/tcp/127.0.0.1/{port}\ncat \"$@\" 2>/dev/null\n",
        world.project().display(),
        world.sandbox.home().display(),
        world.sandbox.tmp().display(),
    );
    let path = world.sandbox.put("spy", &spy);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let spy = path.display().to_string();
    world.sandbox.put("sub/b.txt", "two\none\n");
    world.sandbox.put(".gitattributes", "*.txt diff=spy filter=spy\n");
    world.sandbox.put(".ripgreprc", &format!("--pre={spy}\n"));
    commit_all(world);
    for key in [
        "core.fsmonitor", "core.pager", "diff.external", "diff.spy.textconv", "filter.spy.clean",
        "gpg.program", "core.sshCommand", "credential.helper", "pager.log", "interactive.diffFilter",
    ] {
        world.sandbox.git(&["config", key, &spy]);
    }
    world.sandbox.put("a.txt", "one\nmore\n");
}

/// Seen from outside: files of project, home and temporary folders, and who was called.
#[test]
fn generated_reading_lines_change_nothing_and_call_nobody() {
    generated(40);
}

#[test]
#[ignore = "minutes: run `tests/long-run`"]
fn many_generated_reading_lines_change_nothing_and_call_nobody() {
    generated(1_000);
}

fn generated(count: usize) {
    let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[34; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), seed);
    let lines: Vec<String> = (0..count).map(|_| line().new_tree(&mut runner).unwrap().current()).collect();
    let answered = watched(|_| lines);
    assert!(answered > count / 3, "{answered} of {count} lines are answered");
}

/// What agents run most; with `AOPS_REAL_LINES` those of a file, as in `interruptions`.
#[test]
fn lines_of_real_agents_change_nothing_and_call_nobody() {
    let lines = lines();
    let all = lines.chunks(150).map(|lines| watched(|world| lines_in(&world.sandbox, lines)));
    let answered = all.sum::<usize>();
    assert!(answered > lines.len() / 5, "{answered} of {} lines are answered", lines.len());
}

/// Runs those of these lines that are answered, and says how many they were.
fn watched(lines: impl FnOnce(&Jailed) -> Vec<String>) -> usize {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let world = answering(READING);
    told_on(&world, port);
    let session = world.prompted();
    let tree = || {
        let mut tree = world.tree();
        // The hooks ask git, too.
        tree.retain(|path, _| !path.ends_with(".git/index"));
        tree
    };
    let names = |folder: PathBuf| {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let spied = PathBuf::from(format!("/tmp/aops-spied-{port}"));
    let own = || (tree(), names(world.sandbox.home()), names(world.sandbox.tmp()), spied.exists());
    // The file that a line tells its folder in is there from now on.
    run_answered(&session, "pwd");
    let mut answered = 0;
    for line in lines(&world) {
        let line = line.replace("PORT", &port.to_string());
        let call = session.inner.call("Bash", json!({"command": line}));
        let is_answered = decision(&session.inner.pre(&call)) == "allow";
        // Git runs the project's filters for the hook as for everybody, in a jail of their own.
        while listener.accept().is_ok() {}
        if is_answered {
            let before = own();
            let ran = Ran::of(&session.line(&line).output().unwrap());
            assert!(listener.accept().is_err(), "{line} called somebody: {ran:?}");
            assert!(own() == before, "{line} changed something: {ran:?}");
            let _ = if ran.code == Some(0) {
                session.inner.post(&call)
            } else {
                session.inner.fail(&call, &format!("Exit code {}", ran.code.unwrap_or(143)))
            };
            let entries = session.inner.entries();
            let ended = entries.iter().rfind(|entry| entry["with"].get("end").is_some()).unwrap();
            let jailed = &ended["with"]["end"]["under"]["jailed"];
            assert_eq!(jailed["profile"], "quiet-read", "{line}: {ran:?} {ended} {:?}", entries.last());
            answered += 1;
        } else {
            let _ = session.inner.batch(&[&call]);
            let _ = session.inner.prompt("go on");
        }
    }
    // It would have been seen.
    let _ = world.bare("git diff --ext-diff; ./spy a.txt");
    assert!(listener.accept().is_ok() && world.project().join("spied").exists() && spied.exists());
    fs::remove_file(spied).unwrap();
    answered
}
