//! A network is made before its command comes, and whatever becomes of it, the command has one of its own.

use super::world::{Jailed, JailedSession, Ran};
use serde_json::json;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Stdio;

const LINE: &str = "python3 where.py";

/// A project with a program that says in which namespaces it is, and how many devices its network has.
fn world() -> Jailed {
    let world = Jailed::new();
    let script = "import os, socket\n\
        print(*[os.stat('/proc/self/ns/' + kind).st_ino for kind in ['net', 'ipc']])\n\
        print(*[name for _, name in socket.if_nameindex()])\n\
        own = socket.create_server(('127.0.0.1', 0))\n\
        socket.create_connection(own.getsockname())\n";
    world.sandbox.put("where.py", script);
    world
}

struct Waiting<'a> {
    session: JailedSession<'a>,
}

impl<'a> Waiting<'a> {
    fn new(world: &'a Jailed) -> Self {
        Self { session: world.prompted() }
    }

    fn file(&self) -> PathBuf {
        self.session.network()
    }

    /// The process that keeps the network, and the network's number.
    fn record(&self) -> (i32, String) {
        let text = fs::read_to_string(self.file()).unwrap();
        let words: Vec<&str> = text.split(' ').collect();
        (words[0].parse().unwrap(), words[1].to_owned())
    }

    /// A hook is asked about the command, which lets it go.
    fn asked(&self) -> (i32, String) {
        self.session.inner.pre(&self.session.inner.call("Bash", json!({"command": LINE}))).silent();
        self.record()
    }

    /// The network in which the command runs.
    fn ran(&self) -> String {
        let ran = Ran::of(&self.session.line(LINE).output().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
        let words: Vec<&str> = ran.out.split_whitespace().collect();
        assert_eq!(words[2], "lo", "{ran:?}");
        assert!(words[0] != host("net") && words[1] != host("ipc"), "{ran:?}");
        words[0].to_owned()
    }
}

/// The number of the namespace in which we are.
fn host(kind: &str) -> String {
    fs::metadata(format!("/proc/self/ns/{kind}")).unwrap().ino().to_string()
}

fn is_alive(pid: i32) -> bool {
    // What nobody has waited for yet has no namespaces any more.
    fs::read_link(format!("/proc/{pid}/ns/net")).is_ok()
}

#[test]
fn a_network_waits_for_the_command_which_has_it_alone() {
    let world = world();
    let waiting = Waiting::new(&world);
    let (keeper, network) = waiting.asked();
    assert!(is_alive(keeper));
    // The same one waits for the next command, if none came.
    assert_eq!(waiting.asked(), (keeper, network.clone()));
    assert_eq!(waiting.ran(), network);
    assert!(!waiting.file().exists());
    world.sandbox.wait_until("nobody keeps it", || !is_alive(keeper));
    // Nobody was asked about the next one since.
    assert_ne!(waiting.ran(), network);
}

#[test]
fn without_one_that_waits_a_command_makes_its_own() {
    let world = world();
    let waiting = Waiting::new(&world);
    let (keeper, network) = waiting.asked();
    let killed = rustix::process::Pid::from_raw(keeper).unwrap();
    rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
    world.sandbox.wait_until("it is dead", || !is_alive(keeper));
    assert_ne!(waiting.ran(), network);
    // Its number is another process's by now: ours, with the machine's network. Then nothing that can be read.
    for text in [format!("{} 1 0", std::process::id()), "x".to_owned()] {
        let (_, network) = waiting.asked();
        fs::write(waiting.file(), text).unwrap();
        assert_ne!(waiting.ran(), network);
    }
    // Not ready, so it waits for the command after this one.
    let (_, network) = waiting.asked();
    assert_eq!(waiting.asked().1, network);
    let file = fs::File::open(waiting.file()).unwrap();
    file.lock().unwrap();
    assert_ne!(waiting.ran(), network);
    drop(file);
    assert_eq!(waiting.ran(), network);
}

/// A command that still runs looks for the process that keeps the next one's network.
#[test]
fn no_other_command_gets_into_a_network_that_waits() {
    let world = world();
    let script = "import os, sys\n\
        def keeper():\n\
        \x20   while True:\n\
        \x20       for pid in filter(str.isdigit, os.listdir('/proc')):\n\
        \x20           try:\n\
        \x20               words = open(f'/proc/{pid}/cmdline').read()\n\
        \x20               if 'PreToolUse' in words and open(f'/proc/{pid}/stat').read().split()[5] == pid: return pid\n\
        \x20           except OSError: pass\n\
        pid = keeper()\n\
        for kind in ['user', 'net', 'ipc']:\n\
        \x20   try: os.open(f'/proc/{pid}/ns/{kind}', os.O_RDONLY); print('opened')\n\
        \x20   except OSError as error: print(error.strerror)\n";
    world.sandbox.put("look.py", script);
    let waiting = Waiting::new(&world);
    let line = "python3 look.py";
    waiting.session.inner.pre(&waiting.session.inner.call("Bash", json!({"command": line}))).silent();
    let (keeper, _) = waiting.record();
    let looking = waiting.session.line(line).stdout(Stdio::piped()).spawn().unwrap();
    world.sandbox.wait_until("its own is taken", || !is_alive(keeper));
    let (keeper, network) = waiting.asked();
    let looked = Ran::of(&looking.wait_with_output().unwrap());
    assert_eq!(looked.out, "Permission denied\n".repeat(3), "{looked:?}");
    assert!(is_alive(keeper));
    assert_eq!(waiting.ran(), network);
}

#[test]
fn only_a_command_that_is_tried_out_has_one_made() {
    let world = Jailed::with("[jail]\ntest_network = true\n");
    let session = world.prompted();
    session.ran("cat /etc/hostname");
    session.inner.ask_bash("touch x").refused(&["plan"]);
    session.inner.hydrate("minor-edit", "new");
    let _ = session.inner.event("SubagentStart", json!({"agent_id": "a1", "agent_type": "qa-verifier"}));
    session.ran_by("python3 -c 1", Some(("a1", "qa-verifier")));
    assert!(!session.network().exists());
}
