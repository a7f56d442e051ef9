//! What a command reaches of other processes: signals, and the keys that a session keeps in the kernel.

use super::world::{Jailed, JailedSession, Ran};
use crate::support::BINARY;
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

/// Tries to end each process that its arguments name, then its own child; says what the kernel said.
const KILL: &str = "\
import os, signal, socket, subprocess, sys
for pid in sys.argv[1:]:
    for send in (lambda: os.kill(int(pid), 0), lambda: os.kill(int(pid), signal.SIGTERM), lambda: signal.pidfd_send_signal(os.pidfd_open(int(pid)), signal.SIGTERM)):
        try: send(); print('sent')
        except OSError as error: print(error.strerror)
child = subprocess.Popen(['sleep', '100'])
child.kill()
print('own', child.wait())
";

/// A terminal in which a person types: tells its name, and at the end what a program wrote to it.
const TERMINAL: &str = "\
import os, select, sys
ours, theirs = os.openpty()
print(os.ttyname(theirs), flush=True)
os.write(ours, b'password\\n')
sys.stdin.readline()
os.set_blocking(ours, False)
shown = os.read(ours, 1000).decode()
print('spoofed' if 'spoofed' in shown else 'left alone')
";

/// Reads, writes and changes the terminal that it is given, then makes one of its own.
const LOOK: &str = "\
import os, sys, termios
try:
    other = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
    os.write(other, b'spoofed\\n')
    print(termios.tcgetattr(other)[3], os.read(other, 100))
except OSError as error: print(error.strerror)
ours, theirs = os.openpty()
os.write(theirs, b'own')
print(os.read(ours, 100).decode(), os.ttyname(theirs))
";

/// A world with a program that does this under a name that says that it only reads.
fn with_cksum(script: &str) -> Jailed {
    let mut world = Jailed::new();
    let planted = world.sandbox.put("bin/cksum", &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&planted, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (_, system) = world.sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap();
    let path = [planted.parent().unwrap().as_os_str(), &system].join(std::ffi::OsStr::new(":"));
    world.sandbox = world.sandbox.with("PATH", path);
    world
}

/// Shared memory and message queues of programs outside are no files that could be read-only.
#[test]
fn a_command_that_changes_nothing_shares_no_memory_with_programs_outside() {
    let world = with_cksum("exec readlink /proc/self/ns/ipc");
    let own = fs::read_link("/proc/self/ns/ipc").unwrap();
    for (profile, ran) in shut_and_reviewed(
        &world,
        "python3 -c 'import os; print(os.readlink(\"/proc/self/ns/ipc\"))'",
        "cksum x",
    ) {
        assert_eq!((ran.profile().as_str(), ran.code), (profile, Some(0)), "{ran:?}");
        assert_ne!(ran.out.trim(), own.to_str().unwrap(), "{profile}");
    }
}

#[test]
fn a_command_that_changes_nothing_opens_no_terminal_of_a_person() {
    let world = with_cksum("exec python3 look.py \"$1\"");
    world.sandbox.put("look.py", LOOK);
    #[expect(clippy::disallowed_methods, reason = "a person's terminal, which no session knows")]
    let mut terminal = std::process::Command::new("python3");
    let mut terminal =
        terminal.args(["-c", TERMINAL]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(terminal.stdout.take().unwrap());
    let mut name = String::new();
    said.read_line(&mut name).unwrap();
    let name = name.trim();
    for (profile, ran) in
        shut_and_reviewed(&world, &format!("python3 look.py {name}"), &format!("cksum {name}"))
    {
        let lines: Vec<&str> = ran.out.lines().collect();
        assert_eq!(
            (ran.profile().as_str(), &lines[..]),
            (profile, &["No such file or directory", "own /dev/pts/0"][..]),
            "{ran:?}"
        );
    }
    writeln!(terminal.stdin.take().unwrap()).unwrap();
    let mut end = String::new();
    said.read_line(&mut end).unwrap();
    assert_eq!(end, "left alone\n");
    terminal.wait().unwrap();
}

fn process() -> Child {
    #[expect(clippy::disallowed_methods, reason = "a process that only has to be there")]
    let mut command = std::process::Command::new("sleep");
    command.arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

fn shut_and_reviewed<'a>(world: &'a Jailed, line: &str, read: &str) -> Vec<(&'static str, Ran)> {
    let session: JailedSession<'a> = world.prompted();
    let mut all = vec![("trial", session.ran(line)), ("read", session.ran(read))];
    session.inner.hydrate("minor-edit", "new");
    let start = session.inner.event("SubagentStart", json!({"agent_id": "a1", "agent_type": "critic"}));
    assert_eq!(start.code, Some(0), "{start:?}");
    all.push(("trial", session.ran_by(line, Some(("a1", "critic")))));
    all
}

/// A client, a hook or the network's broker without room for a file would record nothing.
#[test]
fn no_command_limits_another_process() {
    let world = Jailed::new();
    let mut outside = process();
    let script = "import resource, subprocess, sys\n\
        try: resource.prlimit(int(sys.argv[1]), resource.RLIMIT_FSIZE, (0, 0))\n\
        except OSError as error: print(error.strerror)\n\
        print(resource.prlimit(int(sys.argv[1]), resource.RLIMIT_FSIZE)[0] == 0)\n\
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n";
    world.sandbox.put("limit.py", script);
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let ran = session.ran(&format!("python3 limit.py {}", outside.id()));
    assert_eq!((ran.profile().as_str(), ran.code), ("work", Some(0)), "{ran:?}");
    assert_eq!(ran.out, "Operation not permitted\nFalse\n", "{ran:?}");
    outside.kill().unwrap();
    let _ = outside.wait();
}

/// The client, a hook, a process of the system's: none can be stopped by what must change nothing.
#[test]
fn a_command_that_changes_nothing_signals_nobody_outside() {
    let world = with_cksum("exec python3 kill.py $(cat pids)");
    world.sandbox.put("kill.py", KILL);
    let mut outside = process();
    let pids = format!("{} {}", world.sandbox.client_pid(), outside.id());
    world.sandbox.put("pids", &pids);
    for (profile, ran) in shut_and_reviewed(&world, &format!("python3 kill.py {pids}"), "cksum pids") {
        // In a throwaway layer they are not even there.
        let nothing =
            if profile == "trial" { "No such process\n" } else { "Operation not permitted\n" }.repeat(6);
        assert_eq!(
            (ran.profile().as_str(), ran.out.as_str()),
            (profile, &*format!("{nothing}own -9\n")),
            "{ran:?}"
        );
    }
    assert_eq!(outside.try_wait().unwrap(), None);
    outside.kill().unwrap();
    outside.wait().unwrap();
}

/// Everyday work: a server that one command started is ended by another, and the client ends what it started.
#[test]
fn a_command_that_works_ends_what_an_earlier_one_began() {
    let world = Jailed::new();
    world.sandbox.put("serve.sh", "sleep 1000 > /dev/null 2>&1 & echo $! > server.pid\n");
    world.sandbox.put("stop.sh", "kill $(cat server.pid) && rm server.pid\n");
    world.sandbox.put("jobs.sh", "set -m; sleep 100 & kill %1; wait %1; timeout 0.1 sleep 100; exit 0\n");
    world.sandbox.put("wait.sh", "sleep 1000\n");
    let session = world.prompted();
    let ran = session.ran("bash jobs.sh");
    assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "trial"), "{ran:?}");
    let mut begun = session.begin("sh wait.sh");
    // The client is outside, and may.
    begun.kill().unwrap();
    assert!(!begun.wait().unwrap().success());
    session.inner.hydrate("minor-edit", "new");
    assert_eq!(session.ran("sh serve.sh").code, Some(0));
    let ran = session.ran("bash jobs.sh && sh stop.sh");
    assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "work"), "{ran:?}");
}

/// Joins a keyring of its own, puts a key of this name into it and into the user's, and runs the program,
/// which looks for it and leaves one inside; then says what it finds of both. The user's keyring is that of
/// other tests, too.
const KEYS: &str = r#"
import ctypes, os, platform, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
add, request, control = (217, 218, 219) if platform.machine() == "aarch64" else (248, 249, 250)
before, within = (word.encode() + sys.argv[1].encode() for word in ("before", "within"))
def put(name, ring): return libc.syscall(add, b"user", name, b"secret", 6, ring)
def found(name): return [ring for ring in (-3, -4, -5) if libc.syscall(control, 10, ring, b"user", name, 0) > 0]
def by_number():
    """The keyring of the user has a number that everybody can read, and may be linked to one's own."""
    ring = next(int(line.split()[0], 16) for line in open("/proc/keys") if f"_uid.{os.getuid()}:" in line)
    return libc.syscall(control, 8, ring, -3), libc.syscall(control, 7, ring)
if sys.argv[2] == "inside":
    print(found(before), libc.syscall(request, b"user", before, None, 0), by_number(), flush=True)
    for ring in (-3, -4): put(within, ring)
else:
    assert libc.syscall(control, 1, None) > 0
    keys = [(put(before, ring), ring) for ring in (-3, -4)]
    assert all(key > 0 for key, ring in keys)
    code = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL).returncode
    print(found(before), found(within), code)
    for key, ring in keys: libc.syscall(control, 9, key, ring)
"#;

#[test]
fn keys_that_the_session_keeps_in_the_kernel_are_out_of_reach() {
    let world = Jailed::new();
    let keys = world.sandbox.put("keys.py", KEYS);
    let session = world.prompted();
    for plan in [false, true] {
        if plan {
            session.inner.hydrate("minor-edit", "new");
        }
        let name = std::process::id().to_string();
        let line = &format!("python3 keys.py {name} inside");
        let call = session.inner.call("Bash", json!({"command": line}));
        session.inner.pre(&call).silent();
        let mut around = world.sandbox.command("python3");
        around.args([keys.to_str().unwrap(), &name, BINARY, "--shell", line]);
        around.env("AI_AGENT", "claude-code_agent").env("CLAUDE_CODE_SESSION_ID", &session.inner.id);
        let ran = Ran::of(&around.output().unwrap());
        assert_eq!(
            (ran.out.as_str(), ran.err.as_str()),
            ("[] -1 (-1, -1)\n[-3, -4, -5] [] 0\n", ""),
            "{plan}: {ran:?}"
        );
        let _ = session.inner.post(&call);
    }
}

/// Keeps a folder open, makes namespaces without our mounts, and renames what only they hold; then kills by a
/// control group.
const OUTSIDE: &str = r#"
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
config = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
uid, gid = os.getuid(), os.getgid()
def tried(what, result): print(what, "done" if result == 0 else os.strerror(ctypes.get_errno()))
tried("unshare", libc.unshare(0x10000000 | 0x20000 | 0x02000000))
if uid: open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write(f"{uid} {uid} 1"); open("/proc/self/gid_map", "w").write(f"{gid} {gid} 1")
new = os.getcwd() + "/root"; os.makedirs(new, exist_ok=True)
libc.mount(b"none", b"/", None, 0x40000 | 0x4000, None)
tried("tmpfs", libc.mount(b"none", new.encode(), b"tmpfs", 0, None))
tried("cgroup2", libc.mount(b"none", new.encode(), b"cgroup2", 0, None))
tried("bind", libc.mount(sys.argv[1].encode(), new.encode(), None, 4096, None))
os.chdir(new); tried("pivot_root", libc.syscall(155 if os.uname().machine == "x86_64" else 41, b".", b"."))
for name in ("settings.json", "aops", "projects"):
    try: os.rename(name, name + "-away", src_dir_fd=config, dst_dir_fd=config); print(name, "is away")
    except OSError as error: pass
"#;

/// Our mounts hold where they are seen. So no command makes a place in which they are not.
#[test]
fn no_command_makes_mounts_of_its_own() {
    for plan in [false, true] {
        let world = Jailed::new();
        world.sandbox.person(&["install"]).said(&["registered"]);
        world.sandbox.put("outside.py", OUTSIDE);
        let session = world.prompted();
        if plan {
            session.inner.hydrate("minor-edit", "new");
        }
        let ran = session.ran(&format!("python3 outside.py {}", world.sandbox.config().display()));
        let refused = "tmpfs Operation not permitted\ncgroup2 Operation not permitted\nbind Operation not permitted\n\
                       pivot_root Operation not permitted\n";
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(0), format!("unshare done\n{refused}").as_str()),
            "{plan}: {ran:?}"
        );
        // Everyday work: files still move between folders, and are linked.
        world.sandbox.put(
            "move.sh",
            "mkdir -p a b; echo x > a/x; mv a/x b/x; ln b/x a/y; cat a/y; unshare -Ur true\n",
        );
        let ran = session.ran("sh move.sh");
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "x\n"), "{plan}: {ran:?}");
    }
}
