//! Run in a machine of its own by the tests above: nothing here may run elsewhere.

use super::outside::{ABSTRACT, MACHINE, Outside};
use crate::jail::world::{Jailed, JailedSession};
use aops_network::counts::Counts;
use rustix::process::{Flock, FlockType, Signal, fcntl_getlk, kill_process};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The hosts that these tests list.
const LISTED: &str = "allow = [\"tls.test\", \"plain.test\", \"rebound.test\", \"db.test:5432\"]\n";

fn world(network: &str) -> Jailed {
    world_of(Jailed::with, network)
}

pub(super) fn world_of(make: impl FnOnce(&str) -> Jailed, network: &str) -> Jailed {
    let devices = fs::read_to_string("/proc/net/dev").unwrap();
    assert_eq!(devices.lines().count(), 3, "only in a machine of its own: {devices}");
    make(&format!("[network]\n{network}"))
}

pub(super) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/network").join(name)
}

pub(super) fn working(world: &Jailed) -> JailedSession<'_> {
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    session
}

pub(super) fn file(session: &JailedSession, name: &str) -> PathBuf {
    session.inner.folder().join("network").join(name)
}

/// The broker of this session, which is ready by now.
pub(super) fn broker(world: &Jailed, session: &JailedSession) -> rustix::process::Pid {
    let mark = file(session, "mark");
    world.sandbox.wait_until("the network is ready", || fs::read(&mark).is_ok_and(|said| said == b"ready\n"));
    let mark = fs::File::open(mark).unwrap();
    fcntl_getlk(&mark, &Flock::from(FlockType::ReadLock)).unwrap().and_then(|lock| lock.pid).unwrap()
}

pub(super) fn counts(session: &JailedSession) -> Counts {
    Counts::parse(&fs::read_to_string(file(session, "hosts")).unwrap_or_default()).unwrap()
}

/// Ways that the suite tries at least, however many it has now.
const LEAST_TRIED: usize = 280;

/// How many ways the suite found shut, and which it found open.
fn outcomes(said: &str) -> (usize, Vec<String>) {
    let hole = |line: &str| Some(line.strip_prefix("HOLE ")?.split(": ").next()?.to_owned());
    (said.lines().filter(|line| line.starts_with("held ")).count(), said.lines().filter_map(hole).collect())
}

/// Every way around the list that we know of, as the command of a session.
#[test]
#[ignore = "needs a machine of its own"]
fn no_way_leads_around_the_list() {
    let world = world(&format!("mode = \"list\"\n{LISTED}"));
    let socket = world.root().join("sink.sock");
    let outside = Outside::new(&socket);
    fs::copy(fixture("bypass.py"), world.project().join("bypass.py")).unwrap();
    // A folder that another program makes its sockets in, also later.
    let late = world.sandbox.home().join(".docker/run/late.sock");
    fs::create_dir_all(late.parent().unwrap()).unwrap();
    let session = working(&world);
    let broker = broker(&world, &session).as_raw_nonzero().get();
    let (project, at) = (world.project(), late.clone());
    let program = std::thread::spawn(move || {
        while !project.join("late.wanted").exists() {
            std::thread::yield_now();
        }
        let made = std::os::unix::net::UnixListener::bind(at).unwrap();
        fs::write(project.join("late.there"), "").unwrap();
        made
    });
    let own = std::process::id();
    let words = format!("{MACHINE} {} {ABSTRACT} {own} {broker} {}", socket.display(), late.display());
    let ran = session.ran(&format!("python3 bypass.py {words}"));
    let _made = program.join().unwrap();
    assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "work"), "{ran:?}");
    let (held, holes) = outcomes(&ran.out);
    assert!(held >= LEAST_TRIED && holes.is_empty(), "{held}: {holes:?}");
    assert_eq!(outside.escaped(), [""; 0], "{ran:?}");
    // Names were looked up by the dozen, and nobody outside heard of one that is not listed.
    let listed = ["plain.test", "rebound.test", "tls.test"];
    assert!(outside.asked().iter().all(|name| listed.contains(&name.as_str())), "{:?}", outside.asked());
}

/// Enters both namespaces and tries the suite in the same process: a program that is started as an ordinary
/// user has no rights any more.
const WITH_RIGHTS: &str = "import ctypes, os, runpy, sys\n\
libc = ctypes.CDLL(None, use_errno=True)\n\
for space in [os.open(path, os.O_RDONLY) for path in sys.argv[1].split()]:\n\
\x20   if libc.setns(space, 0): sys.exit(os.strerror(ctypes.get_errno()))\n\
\x20   os.close(space)\n\
sys.argv = sys.argv[2:]\n\
runpy.run_path(sys.argv[0], run_name='__main__')\n";

/// The same from inside of the network with every right over it, and without the rest of the jail.
#[expect(clippy::disallowed_methods, reason = "no command of a session")]
fn with_every_right(broker: i32, socket: &Path, parts: &[&str]) -> (Option<i32>, String) {
    let own_users = rustix::process::geteuid().is_root();
    let numbers: &[i32] = if own_users { &[101] } else { &[100, 101] };
    let spaces: Vec<String> = numbers.iter().map(|number| format!("/proc/{broker}/fd/{number}")).collect();
    let mut command = Command::new("python3");
    command.args(["-c", WITH_RIGHTS, &spaces.join(" ")]).arg(fixture("bypass.py"));
    command.arg(MACHINE).arg(socket).args([
        ABSTRACT,
        &std::process::id().to_string(),
        &broker.to_string(),
        "-",
    ]);
    let ran = command.args(parts).output().unwrap();
    (ran.status.code(), String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned())
}

/// No right over the session's network leads out of it. And the suite finds what is open where the rest of
/// the jail is off.
#[test]
#[ignore = "needs a machine of its own"]
fn every_right_over_the_network_leads_nowhere_and_the_suite_finds_holes() {
    let world = world(&format!("mode = \"list\"\n{LISTED}"));
    let socket = world.root().join("sink.sock");
    let outside = Outside::new(&socket);
    let session = working(&world);
    let broker = broker(&world, &session).as_raw_nonzero().get();
    let parts = ["straight_out", "names", "hellos", "requests", "explicit_proxy", "look_ups"];
    let (code, said) = with_every_right(broker, &socket, &parts);
    assert_eq!((code, outside.escaped()), (Some(0), Vec::new()), "{said}");
    assert!(said.lines().filter(|line| line.starts_with("held ")).count() > 70, "{said}");
    let (code, said) = with_every_right(broker, &socket, &["other_sockets"]);
    assert_eq!((code, outside.escaped()), (Some(1), vec!["unix".to_owned()]), "{said}");
    for hole in ["HOLE a unix socket of a program outside", "HOLE raw sockets"] {
        assert!(said.contains(hole), "{hole}: {said}");
    }
    assert!(said.contains("held an abstract socket"), "{said}");
}

/// The suite with one part of the jail switched off: the holes that it finds, and who came out.
fn suite_without(part: &str, network: &str) -> (Vec<String>, Vec<String>) {
    let make = |text: &str| Jailed { sandbox: Jailed::with(text).sandbox.with("AOPS_TEST_WITHOUT", part) };
    let world = world_of(make, &format!("mode = \"list\"\n{LISTED}{network}"));
    let socket = world.sandbox.home().join("sink.sock");
    let outside = Outside::new(&socket);
    fs::copy(fixture("bypass.py"), world.project().join("bypass.py")).unwrap();
    let session = working(&world);
    let broker = broker(&world, &session).as_raw_nonzero().get();
    let own = std::process::id();
    let ran =
        session.ran(&format!("python3 bypass.py {MACHINE} {} {ABSTRACT} {own} {broker} -", socket.display()));
    let (held, holes) = outcomes(&ran.out);
    assert!(held + holes.len() >= LEAST_TRIED - 1, "{ran:?}");
    (holes, outside.escaped())
}

#[test]
#[ignore = "needs a machine of its own"]
fn the_suite_finds_a_socket_that_is_not_hidden() {
    let (holes, escaped) = suite_without("nothing", "sockets = [\"~/sink.sock\"]\n");
    assert_eq!(
        (holes, escaped),
        (vec!["a unix socket of a program outside".to_owned()], vec!["unix".to_owned()])
    );
}

#[test]
#[ignore = "needs a machine of its own"]
fn the_suite_finds_what_the_filter_alone_holds() {
    let (holes, escaped) = suite_without("filter", "");
    let of_filter = ["a socket of the family", "io_uring", "a socket by", "socketcall by"];
    assert!(holes.iter().all(|hole| of_filter.iter().any(|begin| hole.starts_with(begin))), "{holes:?}");
    assert!(holes.iter().any(|hole| hole.starts_with("io_uring")), "{holes:?}");
    assert_eq!(escaped, [""; 0]);
}

/// Connects as programs do, without any variable: what comes back from each host.
const REACH: &str = "import socket, sys\n\
def reach(host, port, data, most=24):\n\
\x20   one = socket.create_connection((host, port), 5)\n\
\x20   said = b''\n\
\x20   try:\n\
\x20       one.sendall(data)\n\
\x20       while len(said) < most:\n\
\x20           piece = one.recv(4096)\n\
\x20           if not piece: break\n\
\x20           said += piece\n\
\x20   except ConnectionError: pass\n\
\x20   return said\n";

pub(super) fn put_script(world: &Jailed, name: &str, script: &str) {
    world.sandbox.put(name, &format!("{REACH}{script}"));
}

/// A hello for this name, in Python's hexadecimal digits.
pub(super) fn hello(name: &str) -> String {
    let long = |bytes: &[u8]| [&u16::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat();
    let names = long(&[&[0], &long(name.as_bytes())[..]].concat());
    let extensions = [&[0, 0][..], &long(&names)].concat();
    let body = [&[3, 3][..], &[7; 32], &[0], &long(&[0x13, 1]), &[1, 0], &long(&extensions)].concat();
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    let record = long(&[&[1][..], &length[1..], &body].concat());
    let bytes = [&[22, 3, 1][..], &record].concat();
    bytes.iter().fold(String::new(), |all, byte| format!("{all}{byte:02x}"))
}

#[test]
#[ignore = "needs a machine of its own"]
fn listed_hosts_are_reached_by_every_kind_of_connection() {
    let private = "private = [\"inner.test\"]\nlocal = [5432]\n";
    let listed = LISTED.replace("\"rebound.test\"", "\"inner.test\"");
    let world = world(&format!("mode = \"list\"\n{listed}{private}"));
    let outside = Outside::new(&world.root().join("sink.sock"));
    let tls = hello("tls.test");
    let request = "b'GET /x HTTP/1.1\\r\\nHost: %s\\r\\nConnection: keep-alive\\r\\n\\r\\n'";
    let script = format!(
        "tls = bytes.fromhex('{tls}')\n\
         print(reach('tls.test', 443, tls))\n\
         print(reach('tls.test', 22, b'x'))\n\
         print(reach('db.test', 5432, b'hello'))\n\
         print(b'seen plain.test' in reach('plain.test', 80, {request} % b'plain.test', 9999))\n\
         print(b'seen inner.test' in reach('inner.test', 80, {request} % b'inner.test', 9999))\n\
         print(reach('127.0.0.1', 5432, b'hello'))\n\
         one = socket.create_connection(('127.0.0.1', 3128))\n\
         one.sendall(b'CONNECT tls.test:443 HTTP/1.1\\r\\nHost: tls.test:443\\r\\n\\r\\n')\n\
         assert b' 200 ' in one.recv(100)\n\
         one.sendall(tls)\n\
         print(one.recv(100))\n\
         post = b'POST / HTTP/1.1\\r\\nHost: plain.test\\r\\nContent-Length: 300000\\r\\n\\r\\n' + b'x' * 300000\n\
         print(b'with 300000' in reach('plain.test', 80, post, 9999))\n"
    );
    put_script(&world, "reach.py", &script);
    let session = working(&world);
    let ran = session.ran("env -i PATH=\"$PATH\" python3 reach.py");
    let wanted = "b'answered by 93.184.216.1:443'\nb'SSH-2.0-93.184.216.1\\r\\n'\nb'database 93.184.216.3 hello'\nTrue\nTrue\n\
                  b'database 127.0.0.1 hello'\nb'answered by 93.184.216.1:443'\nTrue\n";
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), wanted), "{ran:?}");
    assert_eq!(outside.escaped(), [""; 0]);
    let twice = || counts(&session).row_of("tls.test", 443).is_some_and(|row| row.connections == 2);
    world.sandbox.wait_until("the counts are saved", twice);
    let all = counts(&session);
    let (_, _, row) = all.rows().find(|(host, port, _)| (*host, *port) == ("tls.test", 443)).unwrap();
    assert_eq!((row.connections, row.refused), (2, 0), "{all}");
}

/// A refusal says what to do, in the words of what was spoken; what is refused is noted at once.
#[test]
#[ignore = "needs a machine of its own"]
fn a_refusal_says_host_reason_and_next_step() {
    let world = world("mode = \"list\"\nallow = [\"plain.test\"]\ndeny = [\"evil.test\"]\n");
    let _outside = Outside::new(&world.root().join("sink.sock"));
    let session = working(&world);
    put_script(
        &world,
        "refused.py",
        "for host in [b'tls.test', b'evil.test']:\n\
         \x20   one = socket.create_connection((host, 80), 5)\n\
         \x20   one.sendall(b'GET / HTTP/1.1\\r\\nHost: ' + host + b'\\r\\n\\r\\n')\n\
         \x20   print(one.makefile().read())\n",
    );
    let ran = session.ran("python3 refused.py");
    let first = "aops-hook: `tls.test:80` refused, it is not on this project's list\n\
                 hint: ask the person to run `aops-hook network allow tls.test`\n";
    let second = "aops-hook: `evil.test:80` refused, it is denied (person)\n";
    assert!(
        ran.out.contains("403 Forbidden") && ran.out.contains(first) && ran.out.contains(second),
        "{ran:?}"
    );
    let told = "network: tls.test:80 refused, it is not on this project's list. Ask the person to run: \
                aops-hook network allow tls.test";
    assert!(ran.told.contains(told), "{ran:?}");
    assert!(ran.told.contains("network: evil.test:80 refused, it is denied (person)"), "{ran:?}");
    assert_eq!(session.ran("true").told, "", "each is told once");
    assert_eq!(counts(&session).rows().filter(|(.., row)| row.refused == 1).count(), 2);
}

/// The list is read again at a signal. One that cannot be read leaves the old one; a host that fell off is
/// cut off.
#[test]
#[ignore = "needs a machine of its own"]
fn a_list_that_changes_holds_at_once_and_a_broken_one_never() {
    let world = world("mode = \"list\"\nallow = [\"db.test:5432\"]\n");
    let outside = Outside::new(&world.root().join("sink.sock"));
    let session = working(&world);
    let broker = broker(&world, &session);
    let old = fs::read_to_string(file(&session, "list")).unwrap();
    put_script(&world, "db.py", "print(reach('db.test', 5432, b'hello'))\n");
    put_script(&world, "evil.py", "print(reach('evil.test', 5432, b'hello'))\n");
    let faulty = [Some("mode everything\n"), Some(""), Some("mode list\nallow * person\n"), None];
    for (n, list) in faulty.into_iter().enumerate() {
        match list {
            Some(list) => fs::write(file(&session, "list"), list).unwrap(),
            None => fs::remove_file(file(&session, "list")).unwrap(),
        }
        kill_process(broker, Signal::HUP).unwrap();
        let told = || fs::read_to_string(file(&session, "told")).unwrap_or_default();
        world.sandbox.wait_until("it is told", || told().lines().count() == n + 1);
        assert!(told().contains("the old one stays"), "{}", told());
        assert_eq!(session.ran("python3 db.py").out, "b'database 93.184.216.3 hello'\n");
        assert_eq!(session.ran("python3 evil.py").out, "b''\n");
    }
    // A connection that stands ends when its host falls off.
    put_script(
        &world,
        "stand.py",
        "one = socket.create_connection(('db.test', 5432))\nprint(one.recv(9), flush=True)\nprint(one.recv(99)); print(one.recv(9))\n",
    );
    let call = session.inner.call("Bash", serde_json::json!({"command": "python3 stand.py"}));
    session.inner.pre(&call).silent();
    let mut standing = session.line("python3 stand.py").stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 13];
    standing.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    fs::write(file(&session, "list"), old.replace("allow db.test:5432", "allow evil.test:5432")).unwrap();
    kill_process(broker, Signal::HUP).unwrap();
    let mut rest = String::new();
    standing.stdout.as_mut().unwrap().read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("b''\n"), "{rest}");
    assert!(standing.wait().unwrap().success());
    let _ = session.inner.post(&call);
    assert_eq!(session.ran("python3 db.py").out, "b''\n");
    assert_eq!(outside.escaped(), [""; 0]);
    assert_eq!(session.ran("python3 evil.py").out, "b'database 93.184.216.66 hello'\n");
}

/// The same for a port of this machine.
#[test]
#[ignore = "needs a machine of its own"]
fn a_port_of_this_machine_that_falls_off_is_cut_off() {
    let world = world("mode = \"list\"\nlocal = [5432]\n");
    let _outside = Outside::new(&world.root().join("sink.sock"));
    let session = working(&world);
    let broker = broker(&world, &session);
    put_script(
        &world,
        "stand.py",
        "one = socket.create_connection(('127.0.0.1', 5432))\nprint(one.recv(9), flush=True)\nprint(one.recv(99)); print(one.recv(9))\n",
    );
    let call = session.inner.call("Bash", serde_json::json!({"command": "python3 stand.py"}));
    session.inner.pre(&call).silent();
    let mut standing = session.line("python3 stand.py").stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 13];
    standing.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    let list = fs::read_to_string(file(&session, "list")).unwrap();
    fs::write(file(&session, "list"), list.replace("local 5432\n", "")).unwrap();
    kill_process(broker, Signal::HUP).unwrap();
    let mut rest = String::new();
    standing.stdout.as_mut().unwrap().read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("b''\n"), "{rest}");
    assert!(standing.wait().unwrap().success());
}

/// A server of one command is there for the next, and for a person outside; no longer than it runs.
#[test]
#[ignore = "needs a machine of its own"]
fn a_server_is_reached_by_the_next_command_and_from_outside() {
    let world = world("mode = \"list\"\n");
    // Taken on this machine, so the next port is opened.
    let taken = std::net::TcpListener::bind(("127.0.0.1", 8123)).unwrap();
    let session = working(&world);
    for (name, family, address) in [("four.py", "AF_INET", "127.0.0.1"), ("six.py", "AF_INET6", "::1")] {
        let script = format!(
            "listener = socket.socket(socket.{family})\nlistener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n\
             listener.bind(('{address}', 8123)); listener.listen()\n\
             while True:\n\x20   one, _ = listener.accept()\n\x20   said = one.recv(9)\n\x20   one.sendall(b'served ' + said); one.close()\n\
             \x20   if said == b'end': break\n"
        );
        put_script(&world, name, &script);
        put_script(&world, "ask.py", &format!("print(reach('{address}', 8123, b'x'))\n"));
        let mut running = session.begin(&format!("python3 {name}"));
        let served = || counts(&session).served.first().copied();
        world.sandbox.wait_until("the server is opened", || served().is_some());
        let port = served().unwrap();
        assert_eq!((port.inside, port.outside), (8123, 8124));
        let ran = session.ran("python3 ask.py");
        assert_eq!(ran.out, "b'served x'\n");
        let told = "network: the server at port 8123 is at http://localhost:8124 for the person";
        assert!(ran.told.starts_with(told), "{ran:?}");
        assert_eq!(session.ran("true").told, "", "it is told once");
        let mut outside = TcpStream::connect(("127.0.0.1", 8124)).unwrap();
        outside.write_all(b"end").unwrap();
        let mut said = String::new();
        outside.read_to_string(&mut said).unwrap();
        assert_eq!(said, "served end");
        assert!(running.wait().unwrap().success());
        world.sandbox.wait_until("the server is closed", || served().is_none());
    }
    drop(taken);
}

/// Whoever listens on every address inside is nobody's neighbour: outside only loopback is opened.
#[test]
#[ignore = "needs a machine of its own"]
fn a_server_on_every_address_is_opened_on_loopback_alone() {
    let world = world("mode = \"list\"\n");
    let session = working(&world);
    put_script(
        &world,
        "serve.py",
        "listener = socket.socket()\nlistener.bind(('0.0.0.0', 8125)); listener.listen()\n\
         one, _ = listener.accept()\none.sendall(b'served'); one.close()\n",
    );
    let mut running = session.begin("python3 serve.py");
    world.sandbox.wait_until("the server is opened", || !counts(&session).served.is_empty());
    let port = counts(&session).served[0].outside;
    // Every address is this machine's here, so whatever listens on all of them would answer.
    for address in [MACHINE, "10.9.8.7", "127.0.0.2"] {
        let error = TcpStream::connect((address, port)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused, "{address}");
    }
    let mut said = String::new();
    TcpStream::connect(("127.0.0.1", port)).unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "served");
    assert!(running.wait().unwrap().success());
}

/// In `observe` every name is passed, private ones too, and every port of this machine, and noted; nothing
/// else is closed.
#[test]
#[ignore = "needs a machine of its own"]
fn an_observer_passes_and_notes_everything() {
    let world = world("mode = \"observe\"\n");
    let socket = world.root().join("sink.sock");
    let _outside = Outside::new(&socket);
    let session = working(&world);
    let script = format!(
        "for host in ['evil.test', 'inner.test']: print(reach(host, 443, bytes.fromhex('{}' if host == 'evil.test' else '{}')))\n\
         print(reach('127.0.0.1', 5432, b'hello'))\n\
         one = socket.socket(socket.AF_UNIX); one.connect('{}'); print(one.recv(7))\n",
        hello("evil.test"),
        hello("inner.test"),
        socket.display()
    );
    put_script(&world, "all.py", &script);
    let ran = session.ran("python3 all.py");
    let wanted = "b'answered by 93.184.216.66:443'\nb'answered by 10.9.8.7:443'\nb'database 127.0.0.1 hello'\nb'ESCAPED'\n";
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), wanted), "{ran:?}");
    world.sandbox.wait_until("all are noted", || counts(&session).rows().count() == 3);
    assert!(counts(&session).rows().all(|(_, _, row)| row.word.is_none() && row.refused == 0));
}

/// What is no TLS at 443, or TLS for another name, works in `observe` as without us.
#[test]
#[ignore = "needs a machine of its own"]
fn an_observer_passes_what_it_cannot_read() {
    let world = world("mode = \"observe\"\n");
    let outside = Outside::new(&world.root().join("sink.sock"));
    let session = working(&world);
    let script = format!(
        "for bytes in [b'SSH-2.0-x\\r\\n', bytes.fromhex('{}')]: print(reach('evil.test', 443, bytes))\n",
        hello("other.test")
    );
    put_script(&world, "odd.py", &script);
    let ran = session.ran("python3 odd.py");
    assert!(ran.out.lines().all(|line| line.contains("answered")), "{ran:?}");
    assert_eq!(ran.out.lines().count(), 2, "{ran:?}");
    world.sandbox.wait_until("it is noted", || counts(&session).rows().count() == 1);
    assert!(counts(&session).rows().all(|(_, _, row)| row.refused == 0));
    drop(outside);
}

/// Without the broker there is no network, and no command; with the session's end there is no broker.
#[test]
#[ignore = "needs a machine of its own"]
fn a_network_that_is_gone_lets_no_command_run() {
    let world = world("mode = \"list\"\nallow = [\"plain.test\"]\n");
    let session = working(&world);
    assert_eq!(session.ran("readlink /proc/self/ns/net").code, Some(0));
    let broker = broker(&world, &session);
    let refused = || counts(&session).row_of("evil.test", 80).map(|row| row.refused);
    session.ran("curl -s -m 5 http://evil.test/");
    assert_eq!(refused(), Some(1));

    kill_process(broker, Signal::KILL).unwrap();
    let held = || {
        fcntl_getlk(fs::File::open(file(&session, "mark")).unwrap(), &Flock::from(FlockType::ReadLock))
            .unwrap()
    };
    world.sandbox.wait_until("the broker is gone", || held().is_none());
    let ran = session.ran("touch x; make");
    assert_eq!(ran.code, Some(126), "{ran:?}");
    assert!(ran.err.contains("its session's network has ended"), "{ran:?}");
    // A list that is missing allows nothing: no network begins with it.
    fs::remove_file(file(&session, "list")).unwrap();
    let folder = session.inner.folder().display().to_string();
    assert_eq!(world.sandbox.person(&["__network", &folder, "", ""]).code, Some(1));
    let ran = session.ran("touch x; make");
    assert!(ran.code == Some(126) && ran.err.contains("its session has no network: broker: "), "{ran:?}");
    // The session starts anew, and so does its network; what was counted before stays.
    let _ = session.inner.start("resume");
    assert_eq!(session.ran("touch x; ls").code, Some(0));
    session.ran("curl -s -m 5 http://evil.test/");
    assert_eq!(refused(), Some(2));

    let next = self::broker(&world, &session);
    let _ = session.inner.event("SessionEnd", serde_json::json!({"reason": "other"}));
    let held = || {
        fcntl_getlk(fs::File::open(file(&session, "mark")).unwrap(), &Flock::from(FlockType::ReadLock))
            .unwrap()
    };
    world.sandbox.wait_until("the broker has ended", || held().is_none());
    assert_ne!(next, broker);
}

/// A command can stop the broker. The next command continues it, and so does the session's end.
#[test]
#[ignore = "needs a machine of its own"]
fn a_stopped_broker_goes_on() {
    let world = world("mode = \"list\"\nallow = [\"db.test:5432\"]\n");
    let _outside = Outside::new(&world.root().join("sink.sock"));
    let session = working(&world);
    let broker = broker(&world, &session);
    put_script(&world, "db.py", "print(reach('db.test', 5432, b'hello'))\n");
    kill_process(broker, Signal::STOP).unwrap();
    assert_eq!(session.ran("python3 db.py").out, "b'database 93.184.216.3 hello'\n");
    kill_process(broker, Signal::STOP).unwrap();
    let _ = session.inner.event("SessionEnd", serde_json::json!({"reason": "other"}));
    let held = || {
        fcntl_getlk(fs::File::open(file(&session, "mark")).unwrap(), &Flock::from(FlockType::ReadLock))
            .unwrap()
    };
    world.sandbox.wait_until("the broker has ended", || held().is_none());
}

/// A server that speaks TLS as others do, with a certificate that is given to each program.
#[expect(clippy::disallowed_methods, reason = "no command of a session")]
fn tls_server(folder: &Path) -> std::process::Child {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tls.test"])
        .args(["-addext", "subjectAltName=DNS:tls.test", "-keyout", "key.pem", "-out", "ca.pem"])
        .current_dir(folder)
        .output()
        .expect("`openssl` is needed");
    assert!(made.status.success(), "{made:?}");
    let mut server = Command::new("openssl");
    server.args(["s_server", "-accept", "443", "-cert", "ca.pem", "-key", "key.pem", "-www", "-quiet"]);
    server
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "needs a machine of its own"]
fn everyday_programs_reach_listed_hosts_with_an_empty_environment() {
    let world = world(&format!("mode = \"list\"\n{LISTED}"));
    let outside = Outside::without_tls(&world.root().join("sink.sock"));
    let mut server = tls_server(&world.root());
    world.sandbox.wait_until("the server listens", || TcpStream::connect(("93.184.216.1", 443)).is_ok());
    fs::copy(world.root().join("ca.pem"), world.project().join("ca.pem")).unwrap();
    world.sandbox.put("fetch.py", "import ssl, sys, urllib.request\n\
        trust = ssl.create_default_context(cafile='ca.pem')\n\
        for url in sys.argv[1:]: print(urllib.request.urlopen(url, context=trust if url[4] == 's' else None).read().decode())\n");
    let node =
        "for (const url of process.argv.slice(1)) fetch(url).then(said => said.text()).then(console.log)";
    world.sandbox.put("fetch.mjs", &node.replace("slice(1)", "slice(2)"));
    let session = working(&world);
    let bare = "env -i PATH=\"$PATH\" HOME=\"$HOME\"";
    let mut lines = vec![
        format!("{bare} curl -sS --cacert ca.pem https://tls.test/ http://plain.test/"),
        format!("{bare} python3 fetch.py https://tls.test/ http://plain.test/"),
    ];
    let there = |name: &str| session.ran(&format!("command -v {name}")).code == Some(0);
    if there("wget") {
        lines.push(format!(
            "{bare} wget -q -O - --ca-certificate=ca.pem https://tls.test/ http://plain.test/"
        ));
    }
    if there("node") {
        lines.push(format!(
            "{bare} NODE_EXTRA_CA_CERTS=ca.pem node fetch.mjs https://tls.test/ http://plain.test/"
        ));
    }
    for line in lines {
        let ran = session.ran(&line);
        let both = ran.out.contains("s_server") && ran.out.contains("seen plain.test");
        assert!(ran.code == Some(0) && both, "{line}: {ran:?}");
    }
    // A refusal is told apart from a broken network.
    let ran = session.ran("env -i PATH=\"$PATH\" NO_PROXY='*' curl -sS https://evil.test/");
    assert!(ran.code == Some(35) && ran.err.contains("access denied"), "{ran:?}");
    server.kill().unwrap();
    let _ = server.wait();
    assert_eq!(outside.escaped(), [""; 0]);
}

/// A line that reads and needs a network has the session's; so have reviewers' tests, where a person lets
/// them have one.
#[test]
#[ignore = "needs a machine of its own"]
fn reading_and_reviewing_use_the_same_network() {
    let world = world("mode = \"list\"\nallow = [\"plain.test\"]\n[jail]\ntest_network = true\n");
    let outside = Outside::new(&world.root().join("sink.sock"));
    let session = world.prompted();
    let ran = session.ran("curl -sS http://plain.test/ http://evil.test/");
    assert_eq!(ran.profile(), "read", "{ran:?}");
    assert!(ran.out.contains("seen plain.test") && ran.out.contains("refused"), "{ran:?}");
    session.inner.hydrate("minor-edit", "new");
    let start = session
        .inner
        .event("SubagentStart", serde_json::json!({"agent_id": "a1", "agent_type": "qa-verifier"}));
    assert_eq!(start.code, Some(0), "{start:?}");
    put_script(
        &world,
        "both.py",
        "import urllib.request, urllib.error\nopen('x', 'w')\n\
        print(urllib.request.urlopen('http://plain.test/').read())\n\
        try: urllib.request.urlopen('http://evil.test/')\n\
        except urllib.error.HTTPError as error: print(error.code)\n",
    );
    let ran = session.ran_by("python3 both.py", Some(("a1", "qa-verifier")));
    assert_eq!(
        (ran.profile().as_str(), ran.out.as_str()),
        ("trial", "b'seen plain.test with 0\\n'\n403\n"),
        "{ran:?}"
    );
    assert!(!world.project().join("x").exists());
    assert_eq!(outside.escaped(), [""; 0]);
}

/// With the mode off nothing is made and nothing is entered.
#[test]
#[ignore = "needs a machine of its own"]
fn with_the_mode_off_there_is_nothing() {
    let world = world("allow = [\"plain.test\"]\n");
    let session = working(&world);
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    assert_eq!(session.ran("readlink /proc/self/ns/net").out.trim(), own.to_str().unwrap());
    assert!(!session.inner.folder().join("network").exists());
}

/// A command can kill the broker. What it sent until then is known up to the last megabyte.
#[test]
#[ignore = "needs a machine of its own"]
fn what_was_sent_is_known_after_the_broker_was_killed() {
    let world = world("mode = \"list\"\nallow = [\"db.test:5432\"]\n");
    let _outside = Outside::new(&world.root().join("sink.sock"));
    let session = working(&world);
    let broker = broker(&world, &session).as_raw_nonzero().get();
    // The other side sends everything back, so that the script knows what has left.
    let script = format!(
        "import os, socket\n\
         one = socket.create_connection(('db.test', 5432), 5)\n\
         back = 0\n\
         for n in range(300):\n\
         \x20   one.sendall(b'x' * 10000)\n\
         \x20   while back < 10000 * n: back += len(one.recv(10000))\n\
         os.kill({broker}, 9)\n\
         print(back > 2900000)\n"
    );
    world.sandbox.put("send.py", &script);
    let ran = session.ran("python3 send.py");
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "True"), "{ran:?}");
    let sent = counts(&session).row_of("db.test", 5432).map(|row| row.up);
    assert!(sent.is_some_and(|sent| sent >= 2_000_000), "{sent:?}");
}
