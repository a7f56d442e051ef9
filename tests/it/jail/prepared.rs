//! A jail is made before its command comes, and whatever becomes of it, the command has one of its own.

use super::world::{Jailed, JailedSession, Ran};
use crate::support::BINARY;
use rustix::fs::{CWD, FileType, FlockOperation, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;

const LINE: &str = "python3 where.py";

/// A project with a program that says in which namespaces it is, and how many devices its network has. Its
/// jails wait until the test is over, however busy the machine is.
fn world() -> Jailed {
    world_with(Jailed { sandbox: Jailed::new().sandbox.with("AOPS_TEST_JAIL_MS", "120000") })
}

fn world_with(world: Jailed) -> Jailed {
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

    /// A hook is asked about the command, which lets it go. Gives the process that keeps the jail, and the
    /// number of its network.
    fn asked(&self) -> (Pid, String) {
        self.session.inner.pre(&self.session.inner.call("Bash", json!({"command": LINE}))).silent();
        let keeper = self.session.keeper().unwrap();
        (keeper, namespace(&keeper.as_raw_nonzero().to_string(), "net").unwrap())
    }

    /// The network in which the command runs.
    fn ran(&self) -> String {
        self.ran_with(&[])
    }

    fn ran_with(&self, variables: &[(&str, &Path)]) -> String {
        let ran = Ran::of(&self.session.line(LINE).envs(variables.iter().copied()).output().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
        let words: Vec<&str> = ran.out.split_whitespace().collect();
        assert_eq!(words[2], "lo", "{ran:?}");
        let [network, ipc] = ["net", "ipc"].map(|kind| namespace("self", kind).unwrap());
        assert!(words[0] != network && words[1] != ipc, "{ran:?}");
        words[0].to_owned()
    }
}

/// The number of a process's namespace; a process that has ended has none, also while it is a zombie.
fn namespace(process: &str, kind: &str) -> Option<String> {
    fs::metadata(format!("/proc/{process}/ns/{kind}")).ok().map(|space| space.ino().to_string())
}

fn is_alive(keeper: Pid) -> bool {
    namespace(&keeper.as_raw_nonzero().to_string(), "net").is_some()
}

#[test]
fn a_jail_waits_for_the_command_which_has_it_alone() {
    let world = world();
    let waiting = Waiting::new(&world);
    let (keeper, network) = waiting.asked();
    assert!(is_alive(keeper));
    // The same one waits for the next command, if none came.
    assert_eq!(waiting.asked(), (keeper, network.clone()));
    assert_eq!(waiting.ran(), network);
    assert!(!waiting.session.prepared().exists());
    world.sandbox.wait_until("its keeper has ended", || !is_alive(keeper));
    // No hook was asked about the next command.
    assert_ne!(waiting.ran(), network);
}

#[test]
fn without_one_that_waits_a_command_makes_its_own() {
    let world = world();
    let waiting = Waiting::new(&world);
    let (keeper, network) = waiting.asked();
    kill_process(keeper, Signal::KILL).unwrap();
    world.sandbox.wait_until("it is dead", || !is_alive(keeper));
    let own = waiting.ran();
    assert!(!waiting.session.prepared().exists(), "{own} {network}");
    // A process that got the keeper's number, or its network's, cannot lock the file for writing: it is not
    // believed.
    let (keeper, network) = waiting.asked();
    let text = format!("{} {network}", std::process::id());
    fs::remove_file(waiting.session.prepared()).unwrap();
    fs::write(waiting.session.prepared(), text).unwrap();
    let file = fs::File::open(waiting.session.prepared()).unwrap();
    rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockShared).unwrap();
    file.lock().unwrap();
    assert_ne!(waiting.ran(), network);
    assert!(is_alive(keeper) && !waiting.session.prepared().exists());
    // No file at all: nothing is opened that could wait.
    let (_, network) = waiting.asked();
    fs::remove_file(waiting.session.prepared()).unwrap();
    mknodat(CWD, waiting.session.prepared(), FileType::Fifo, Mode::RWXU, 0).unwrap();
    assert_ne!(waiting.ran(), network);
}

/// A command that still runs looks for the process that keeps the next one's jail.
#[test]
fn no_other_command_gets_into_a_jail_that_waits() {
    let world = world();
    let script = "import os, sys\n\
        def keeper():\n\
        \x20   while True:\n\
        \x20       for pid in filter(str.isdigit, os.listdir('/proc')):\n\
        \x20           try:\n\
        \x20               words = open(f'/proc/{pid}/cmdline').read()\n\
        \x20               if 'PreToolUse' in words and open(f'/proc/{pid}/stat').read().split()[5] == pid and pid != own: return pid\n\
        \x20           except OSError: pass\n\
        own, path = open('record').read().split('\\n')\n\
        pid = keeper()\n\
        for kind in ['user', 'mnt', 'net', 'ipc']:\n\
        \x20   try: os.open(f'/proc/{pid}/ns/{kind}', os.O_RDONLY); print('opened')\n\
        \x20   except OSError as error: print(error.strerror)\n\
        import fcntl\n\
        for how in ['r+', 'r']:\n\
        \x20   try: fcntl.lockf(open(path, how), fcntl.LOCK_EX | fcntl.LOCK_NB); print('locked')\n\
        \x20   except OSError as error: print(error.strerror)\n";
    world.sandbox.put("look.py", script);
    let waiting = Waiting::new(&world);
    let look = || {
        let line = "python3 look.py";
        waiting.session.inner.pre(&waiting.session.inner.call("Bash", json!({"command": line}))).silent();
        let keeper = waiting.session.keeper().unwrap();
        let record = waiting.session.prepared();
        world.sandbox.put("record", &format!("{}\n{}", keeper.as_raw_nonzero(), record.to_str().unwrap()));
        let looking = waiting.session.line(line).stdout(Stdio::piped()).spawn().unwrap();
        world.sandbox.wait_until("its own is taken", || !waiting.session.prepared().exists());
        let asked = waiting.asked();
        (Ran::of(&looking.wait_with_output().unwrap()), asked)
    };
    // It may look before the jail is there: then it looks at the next one.
    let mut tries = std::iter::repeat_with(look).take(20);
    let was_there = |(looked, (keeper, _)): &(Ran, (Pid, String))| {
        is_alive(*keeper) && !looked.out.contains("No such file")
    };
    let (looked, (_, network)) = tries.find(was_there).expect("a jail that waits");
    let held = "Permission denied\n".repeat(4) + "Read-only file system\nBad file descriptor\n";
    assert_eq!(looked.out, held, "{looked:?}");
    assert_eq!(waiting.ran(), network);
}

/// A command can stop the process that is to make the jail at once: it must hold nothing of the hook's even
/// then.
#[test]
fn the_keeper_never_has_a_lock_or_a_stream_of_the_hook() {
    let world = world();
    let waiting = Waiting::new(&world);
    let session = &waiting.session.inner;
    let payload = session.payload("PreToolUse", session.call("Bash", json!({"command": LINE})).fields());
    let trace = world.sandbox.tmp().join("trace");
    let mut hook = world.sandbox.command("strace");
    hook.args([
        "-o",
        trace.to_str().unwrap(),
        "-e",
        "trace=close_range,clone,clone3,fork,vfork",
        BINARY,
        "PreToolUse",
    ]);
    let answer = hook.env("CLAUDECODE", "1").write_stdin(payload.to_string()).output();
    let answer = answer.expect("`strace` is needed: install the package of that name");
    assert_eq!((answer.status.code(), answer.stdout.len()), (Some(0), 0), "{answer:?}");
    let keeper = waiting.session.keeper().unwrap().as_raw_nonzero().to_string();
    let files = fs::read_dir(format!("/proc/{keeper}/fd")).unwrap();
    let files: Vec<String> =
        files.map(|file| fs::read_link(file.unwrap().path()).unwrap().display().to_string()).collect();
    let outside: Vec<&String> =
        files.iter().filter(|file| file.starts_with(world.root().to_str().unwrap())).collect();
    // It compares with the project, which is read-only to it as to the command.
    let known = [session.folder().join("jail"), world.project()];
    assert!(
        outside.iter().all(|file| known.iter().any(|known| Path::new(file).starts_with(known))),
        "{files:?}"
    );
    assert!(!files.iter().any(|file| file.starts_with("pipe:") || file.starts_with("/dev")), "{files:?}");
    let calls = fs::read_to_string(trace).unwrap();
    let names: Vec<&str> =
        calls.lines().filter_map(|call| call.split_once('(')).map(|(name, _)| name).collect();
    assert!(names.ends_with(&["close_range", "close_range", "clone"]), "{calls}");
}

/// What is made in it is told, and the client's file for the working directory is the client's own.
#[test]
fn a_command_in_a_jail_that_waited_is_as_in_its_own() {
    let world = world();
    let waiting = Waiting::new(&world);
    world.sandbox.put("make.py", "import os\nos.mkdir('new')\nopen('new/a', 'w')\n");
    let (file, line) =
        (world.sandbox.tmp().join("claude-1234-cwd"), "python3 where.py && python3 make.py && cd new");
    let call = waiting.session.inner.call("Bash", json!({"command": line}));
    waiting.session.inner.pre(&call).silent();
    let network = namespace(&waiting.session.keeper().unwrap().as_raw_nonzero().to_string(), "net").unwrap();
    let ran = Ran::of(&waiting.session.line(line).output().unwrap());
    assert!(ran.code == Some(0) && ran.out.starts_with(&network), "{ran:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("{}/new\n", world.project().display()));
    let ended = waiting.session.inner.post(&call).json();
    let told = ended["reason"].as_str().unwrap();
    assert!(told.contains("new/a is gone."), "{told}");
    assert!(!world.project().join("new").exists());
}

/// What the jail depends on may change between the hook and the command.
#[test]
fn a_jail_for_other_folders_is_not_entered() {
    let world = world();
    let waiting = Waiting::new(&world);
    let desktop = world.sandbox.home().join(".docker/run");
    let (cache, mut variables) = (world.root().join("cache"), Vec::new());
    for change in [0, 1, 2] {
        let (keeper, network) = waiting.asked();
        match change {
            0 => variables.push(("npm_config_cache", cache.as_path())),
            // Whoever answers there is out of sight.
            1 => fs::create_dir_all(&desktop).unwrap(),
            // The signing keys are hidden from the command.
            _ => fs::create_dir_all(world.sandbox.config().join("aops/keys")).unwrap(),
        }
        assert_ne!(waiting.ran_with(&variables), network);
        world.sandbox.wait_until("its keeper has ended", || !is_alive(keeper));
        variables.clear();
    }
    let (_, network) = waiting.asked();
    assert_eq!(waiting.ran(), network);
}

/// The keeper has rights in the command's own user namespace, and files outside of the jail.
#[test]
fn a_command_cannot_look_into_the_process_that_waits_for_its_end() {
    let world = world();
    let script = "import os, sys\n\
        pid = open('keeper').read()\n\
        def tried(what):\n\
        \x20   try: what(); print('done')\n\
        \x20   except OSError as error: print(error.strerror)\n\
        for name in ['root', 'cwd', 'fd/100', 'ns/mnt']:\n\
        \x20   tried(lambda: os.readlink(f'/proc/{pid}/{name}'))\n\
        tried(lambda: open(f'/proc/{pid}/mem', 'rb'))\n\
        import ctypes\n\
        c = ctypes.CDLL(None, use_errno=True)\n\
        for call in [lambda: c.ptrace(16, int(pid), 0, 0), lambda: c.syscall(438, os.pidfd_open(int(pid)), 100, 0)]:\n\
        \x20   print(os.strerror(ctypes.get_errno()) if call() < 0 else 'done')\n";
    world.sandbox.put("look.py", script);
    let waiting = Waiting::new(&world);
    let line = "python3 look.py";
    waiting.session.inner.pre(&waiting.session.inner.call("Bash", json!({"command": line}))).silent();
    let keeper = waiting.session.keeper().unwrap();
    // It is the first process of the command's namespace.
    world.sandbox.put("keeper", "1");
    let looked = Ran::of(&waiting.session.line(line).output().unwrap());
    let refused = "Permission denied\n".repeat(5) + &"Operation not permitted\n".repeat(2);
    assert_eq!((looked.out, looked.err), (refused, String::new()));
    world.sandbox.wait_until("it has ended", || !is_alive(keeper));
}

#[test]
fn a_jail_that_no_command_wants_is_given_up() {
    let world = world_with(Jailed { sandbox: Jailed::new().sandbox.with("AOPS_TEST_JAIL_MS", "1") });
    let waiting = Waiting::new(&world);
    waiting.session.inner.pre(&waiting.session.inner.call("Bash", json!({"command": LINE}))).silent();
    world.sandbox.wait_until("it is gone", || !waiting.session.prepared().exists());
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
    assert!(!session.prepared().exists());
}
