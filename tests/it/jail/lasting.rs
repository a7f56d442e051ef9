//! Nothing of a command that is tried out goes on when it is over: the kernel kills it with the keeper. What
//! is meant to go on needs the plan first.

use super::world::{Jailed, JailedSession, Ran, around};
use crate::support::BINARY;
use rustix::process::{Flock, FlockType, Pid, Signal, fcntl_getlk, kill_process};
use serde_json::json;
use std::fs;
use std::process::{Child, Stdio};

/// Leaves a process behind that no group, session or signal holds.
const DAEMON: &str = "import os, signal, socket, sys, time\n\
    port = socket.create_server(('127.0.0.1', 0)) if 'serve' in sys.argv else None\n\
    ready, done = os.pipe()\n\
    if os.fork() == 0:\n\
    \x20   os.setsid()\n\
    \x20   if os.fork() != 0: os._exit(0)\n\
    \x20   for number in range(1, 32):\n\
    \x20       try: signal.signal(number, signal.SIG_IGN)\n\
    \x20       except OSError: pass\n\
    \x20   for stream in range(3): os.close(stream)\n\
    \x20   os.write(done, b'x')\n\
    \x20   while True: time.sleep(1)\n\
    os.read(ready, 1)\n\
    print(port.getsockname()[1] if port else 'left')\n";

fn world() -> Jailed {
    let world = Jailed::new();
    world.sandbox.put("daemon.py", DAEMON);
    world.sandbox.put(
        "run.sh",
        "python3 daemon.py\necho begun > /dev/null\nexec python3 -c 'import time; time.sleep(1000)'\n",
    );
    world.sandbox.put("Makefile", "build:\n\t@echo x > built\n");
    world
}

/// Processes of this world's commands.
fn of_commands(world: &Jailed) -> Vec<(i32, String)> {
    let mut all = world.sandbox.alive();
    all.retain(|(_, line)| {
        line.contains("daemon.py") || line.contains("time.sleep(1000)") || line.contains("run.sh")
    });
    all
}

fn is_over(world: &Jailed) {
    world.sandbox.wait_until("nothing is left", || of_commands(world).is_empty());
}

/// Both are running: the command, and what it left behind. A command that has ended instead has said why on
/// stderr.
fn is_running(world: &Jailed, child: &mut Child) {
    world.sandbox.wait_until("it runs", || {
        if let Some(status) = child.try_wait().unwrap() {
            panic!("it ended with {status}");
        }
        let all = of_commands(world);
        ["daemon.py", "time.sleep(1000)"].iter().all(|name| all.iter().any(|(_, line)| line.contains(name)))
    });
}

/// The keeper of the command that runs.
fn keeper(session: &JailedSession) -> Pid {
    let folder = session.inner.folder().join("jail");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut marks = names.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("prepared."));
    let locked =
        |path| fcntl_getlk(fs::File::open(path).unwrap(), &Flock::from(FlockType::ReadLock)).unwrap()?.pid;
    marks.find_map(locked).expect("a keeper")
}

fn wait(mut child: Child) -> Ran {
    let _ = child.wait().unwrap();
    Ran::of(&child.wait_with_output().unwrap())
}

#[test]
fn what_a_command_leaves_running_ends_with_it() {
    let world = world();
    let session = world.prompted();
    let ran = session.ran("python3 daemon.py");
    assert_eq!((ran.code, ran.out.as_str(), ran.told.as_str()), (Some(0), "left\n", ""), "{ran:?}");
    is_over(&world);
    // A server that nobody can reach any more is said.
    let ran = session.ran("python3 daemon.py serve");
    let words = format!("The server on port {} was stopped.", ran.out.trim());
    assert!(
        ran.told.contains(&words) && ran.told.ends_with("Start prompt-hydrator, then run it again."),
        "{ran:?}"
    );
    is_over(&world);
}

#[test]
fn a_command_ends_with_its_keeper_and_with_its_session() {
    let world = world();
    let session = world.prompted();
    let mut child = session.begin("sh run.sh");
    is_running(&world, &mut child);
    kill_process(keeper(&session), Signal::KILL).unwrap();
    is_over(&world);
    assert_eq!(wait(child).signal, Some(9));
    let mut child = session.begin("sh run.sh; true");
    is_running(&world, &mut child);
    session.inner.end().silent();
    is_over(&world);
    assert_eq!(wait(child).signal, Some(9));
    let left =
        fs::read_dir(session.inner.folder().join("jail")).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_str().unwrap().starts_with("prepared")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// What a killed keeper left keeps no later command of the same number from a jail.
#[test]
fn a_mark_without_a_keeper_is_in_nobodys_way() {
    let world = world();
    let session = world.prompted();
    session.inner.pre(&session.inner.call("Bash", json!({"command": "make build"}))).silent();
    session.keeper();
    fs::remove_file(session.prepared()).unwrap();
    let file = world.sandbox.tmp().join("claude-1234-cwd");
    let line = around("make build", &file).replace('\'', "'\\''");
    let folder = session.inner.folder().join("jail");
    let script = format!("touch {}/prepared.$$; exec {BINARY} --shell '{line}'", folder.display());
    let mut stale = world.started(["/bin/sh", "-c", &script]);
    let stale = Ran::of(&stale.env("CLAUDE_CODE_SESSION_ID", &session.inner.id).output().unwrap());
    assert_eq!(stale.code, Some(0), "{stale:?}");
}

/// The client is killed: no hook hears of it.
#[test]
fn a_command_ends_with_the_client_that_started_it() {
    let world = world();
    let session = world.prompted();
    let line = "sh run.sh";
    session.inner.pre(&session.inner.call("Bash", json!({"command": line}))).silent();
    let id = ("CLAUDE_CODE_SESSION_ID", session.inner.id.as_str());
    // In a group of its own, as the client starts it: no hangup reaches it.
    let mut client = world.started(["/bin/sh", "-c", &format!("setsid -w {BINARY} --shell '{line}'; true")]);
    let mut client = client.env(id.0, id.1).stdout(Stdio::null()).spawn().unwrap();
    is_running(&world, &mut client);
    kill_process(Pid::from_child(&client), Signal::KILL).unwrap();
    client.wait().unwrap();
    // `setsid` is what waits for the command here: the client is named by its variable too.
    for (pid, words) in world.sandbox.alive() {
        if words.starts_with("setsid") {
            kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        }
    }
    is_over(&world);
    session.inner.pre(&session.inner.call("Bash", json!({"command": line}))).silent();
    let mut other = world.started(["/bin/sh", "-c", "read x"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut child =
        session.line(line).env("CLAUDE_PID", other.id().to_string()).stdout(Stdio::null()).spawn().unwrap();
    is_running(&world, &mut child);
    other.kill().unwrap();
    other.wait().unwrap();
    is_over(&world);
    assert_eq!(wait(child).signal, Some(9));
}

/// The process that the client started is another than the command, and behaves as if it were the same.
#[test]
fn signals_streams_and_exit_codes_pass_through() {
    let world = world();
    let session = world.prompted();
    let line = "trap 'echo bye; exit 7' TERM; echo ready; python3 -c 'import time; time.sleep(1000)'";
    let call = session.inner.call("Bash", json!({"command": line}));
    session.inner.pre(&call).silent();
    let mut child = session.line(line).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut first = [0; 6];
    std::io::Read::read_exact(&mut out, &mut first).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let rest = std::io::read_to_string(out).unwrap();
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("bye\n", Some(7)));
    for (line, code, signal) in [
        ("sh -c 'exit 3'", Some(3), None),
        ("python3 -c 'import os; os.kill(os.getpid(), 11)'", Some(139), None),
        ("python3 -c 1; kill -9 $$", None, Some(9)),
        ("python3 -c 1; exec python3 -c 'import os; os.abort()'", None, Some(6)),
    ] {
        if session.inner.pre(&session.inner.call("Bash", json!({"command": line}))).code == Some(0) {
            let ran = Ran::of(&session.line(line).output().unwrap());
            assert_eq!((ran.code, ran.signal), (code, signal), "{line}: {ran:?}");
        }
    }
    // Numbers of processes are those that `/proc` shows.
    let line = "python3 -c 'import os; print(os.readlink(\"/proc/self\") == str(os.getpid()), os.path.exists(\"/proc/%d\" % os.getppid()))'";
    let ran = session.ran(line);
    assert_eq!(ran.out, "True True\n", "{ran:?}");
}

#[test]
fn what_is_meant_to_go_on_needs_the_plan() {
    let world = world();
    let session = world.prompted();
    for line in
        ["make build &", "nohup make build", "setsid make build", "(sleep 1; make build) & echo started"]
    {
        session.inner.ask_bash(line).refused(&[
            "continue in the background",
            "no plan yet",
            "prompt-hydrator",
        ]);
    }
    for line in ["npm start", "python3 -m http.server 8000", "make serve"] {
        session.inner.ask_bash(line).refused(&["starts a server", "no plan yet", "prompt-hydrator"]);
    }
    let behind = |line: &str| session.inner.call("Bash", json!({"command": line, "run_in_background": true}));
    session.inner.pre(&behind("make build")).refused(&["continue in the background", "no plan yet"]);
    // What waits for its own background is over when it comes back; what only reads may go on.
    assert_eq!(session.ran("make build & wait").code, Some(0));
    session.inner.pre(&behind("tail -f run.sh")).silent();
    session.inner.hydrate("minor-edit", "new");
    let ran = session.ran("make build & echo started");
    assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "work"), "{ran:?}");
    session.inner.pre(&behind("make build")).silent();
}
