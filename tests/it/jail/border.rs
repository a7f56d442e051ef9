//! What a command reaches of other processes: signals, and the keys that a session keeps in the kernel.

use super::world::{Jailed, JailedSession, Ran};
use crate::support::{BINARY, client_pid};
use serde_json::json;
use std::fs;
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

/// The client, a hook, a process of the system's: none can be stopped by what must change nothing.
#[test]
fn a_command_that_changes_nothing_signals_nobody_outside() {
    let mut world = Jailed::new();
    world.sandbox.put("kill.py", KILL);
    // Words say that it reads.
    let planted = world.sandbox.put("bin/cksum", "#!/bin/sh\nexec python3 kill.py $(cat pids)\n");
    fs::set_permissions(&planted, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (_, system) = world.sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap();
    let path = [planted.parent().unwrap().as_os_str(), &system].join(std::ffi::OsStr::new(":"));
    world.sandbox = world.sandbox.with("PATH", path);
    let mut outside = process();
    let pids = format!("{} {}", client_pid(), outside.id());
    world.sandbox.put("pids", &pids);
    for (profile, ran) in shut_and_reviewed(&world, &format!("python3 kill.py {pids}"), "cksum pids") {
        let nothing = "Operation not permitted\n".repeat(6);
        assert_eq!((ran.profile().as_str(), ran.out.as_str()), (profile, &*format!("{nothing}own -9\n")), "{ran:?}");
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

/// Joins a keyring of its own, puts a key of this name into it and into the user's, and runs the program, which looks for it
/// and leaves one inside; then says what it finds of both. The user's keyring is that of other tests, too.
const KEYS: &str = r#"
import ctypes, os, platform, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
add, request, control = (217, 218, 219) if platform.machine() == "aarch64" else (248, 249, 250)
before, within = (word.encode() + sys.argv[1].encode() for word in ("before", "within"))
def put(name, ring): return libc.syscall(add, b"user", name, b"secret", 6, ring)
def found(name): return [ring for ring in (-3, -4, -5) if libc.syscall(control, 10, ring, b"user", name, 0) > 0]
if sys.argv[2] == "inside":
    print(found(before), libc.syscall(request, b"user", before, None, 0), flush=True)
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
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("[] -1\n[-3, -4, -5] [] 0\n", ""), "{plan}: {ran:?}");
        let _ = session.inner.post(&call);
    }
}
