//! What no agent's call starts: checks, filters of git, steps of runs; and lines that have no network. Run in
//! a machine of its own, like `inside`.

use super::inside::{broker, file, put_script, working, world_of};
use super::outside::Outside;
use crate::jail::world::Jailed;
use crate::runs::world::World;
use crate::support::Sandbox;
use rustix::process::{Flock, FlockType, Signal, fcntl_getlk, kill_process};
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// Tries every way out and says what came of it.
fn put_tries(sandbox: &Sandbox, sink: &Path) {
    let script = format!(
        "import socket, sys\n\
         def reach(host):\n\
         \x20   one = socket.create_connection((host, 80), 5)\n\
         \x20   one.sendall(b'GET /x HTTP/1.1\\r\\nHost: ' + host.encode() + b'\\r\\n\\r\\n')\n\
         \x20   return one.makefile().read().split()\n\
         def unix():\n\
         \x20   one = socket.socket(socket.AF_UNIX)\n\
         \x20   one.connect('{}')\n\
         \x20   return one.recv(7)\n\
         def tried(what, attempt):\n\
         \x20   try: print(what, attempt())\n\
         \x20   except OSError as error: print(what, 'failed')\n\
         tried('listed', lambda: 'seen' in reach('plain.test'))\n\
         tried('refused', lambda: '403' in reach('evil.test'))\n\
         tried('unix', unix)\n\
         tried('vsock', lambda: socket.socket(40, socket.SOCK_STREAM))\n",
        sink.display()
    );
    sandbox.put("try.py", &script);
}

const HELD: &str = "listed True\nrefused True\nunix failed\nvsock failed\n";
const CUT_OFF: &str = "listed failed\nrefused failed\nunix failed\nvsock failed\n";

/// Our hook runs them, on files that an agent wrote.
#[test]
#[ignore = "needs a machine of its own"]
fn checks_and_filters_of_git_have_the_sessions_network_or_none() {
    let check = "[[check]]\nid = \"t\"\non = \"save\"\nrun = \"python3 try.py > said\"\n";
    let world = world_of(Jailed::with, &format!("mode = \"list\"\nallow = [\"plain.test\"]\n{check}"));
    let sink = world.root().join("sink.sock");
    let outside = Outside::new(&sink);
    put_tries(&world.sandbox, &sink);
    world.sandbox.put(".gitattributes", "*.txt filter=x\n");
    world.sandbox.put("one.txt", "one\n");
    world.sandbox.git(&["init", "-q"]);
    world.sandbox.git(&["config", "user.email", "t@example.invalid"]);
    world.sandbox.git(&["config", "user.name", "t"]);
    world.sandbox.git(&["add", "."]);
    world.sandbox.git(&["commit", "-qm", "one"]);
    world.sandbox.git(&["config", "filter.x.clean", "python3 try.py > filtered; cat"]);
    world.sandbox.put("one.txt", "two\n");
    let session = working(&world);
    broker(&world, &session);
    let said = |name: &str| fs::read_to_string(world.project().join(name)).unwrap_or_default();
    session.inner.write("a.rs").silent();
    assert_eq!(said("said"), HELD);
    let _ = session.inner.stop("done");
    assert!([HELD, CUT_OFF].contains(&said("filtered").as_str()), "{}", said("filtered"));

    kill_process(broker(&world, &session), Signal::KILL).unwrap();
    let mark =
        || fcntl_getlk(fs::File::open(file(&session, "mark")).unwrap(), &Flock::from(FlockType::ReadLock));
    world.sandbox.wait_until("the broker is gone", || mark().unwrap().is_none());
    session.inner.write("b.rs").silent();
    assert_eq!(said("said"), CUT_OFF);
    assert_eq!(outside.escaped(), [""; 0]);
}

/// A run has a network of its own: its command steps, and what its driver starts.
#[test]
#[ignore = "needs a machine of its own"]
fn a_runs_steps_have_the_network_of_the_run() {
    let steps =
        "  - {id: one, name: One, description: o, run: 'python3 try.py > said; cat said >> effects'}\n";
    let world = World::new(&[("steps", steps)]);
    let sink = world.sandbox.home().join("sink.sock");
    let outside = Outside::new(&sink);
    put_tries(&world.sandbox, &sink);
    world.commit();
    world.configure("[network]\nmode = \"list\"\nallow = [\"plain.test\"]\n");
    let ran = world.person(&["run", "make it so", "--workflow", "steps"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said = fs::read_to_string(world.sandbox.project().join("said")).unwrap();
    assert_eq!((said.as_str(), outside.escaped()), (HELD, Vec::new()));
    // Nobody could be asked meanwhile.
    let words = "network: refused to the steps of this run: evil.test; `aops-hook network allow HOST`";
    assert!(format!("{}{}", ran.out, ran.err).contains(words), "{ran:?}");

    // What a step planted is started before the next run has its network: then it has none.
    world.sandbox.put(".git/info/attributes", "* filter=x\n");
    world.sandbox.git(&["config", "filter.x.clean", "python3 try.py >> filtered; cat"]);
    // The same content, written anew: git looks at it again.
    let text = fs::read_to_string(world.sandbox.project().join("try.py")).unwrap();
    world.sandbox.put("try.py", &text);
    let _ = world.person(&["run", "make it so", "--workflow", "steps"]);
    let filtered = fs::read_to_string(world.sandbox.project().join("filtered")).unwrap();
    assert!(filtered.starts_with(CUT_OFF), "{filtered}");
    let of_runs = filtered.replace(CUT_OFF, "").replace(HELD, "");
    assert_eq!((of_runs.as_str(), outside.escaped()), ("", Vec::new()));
}

/// A line that reads has no network, and one that is tried out an empty one: neither reaches a socket of a
/// program outside.
#[test]
#[ignore = "needs a machine of its own"]
fn a_line_without_a_network_reaches_no_socket_outside() {
    let world = world_of(Jailed::with, "mode = \"list\"\n");
    let sink = world.sandbox.home().join("sink.sock");
    let outside = Outside::new(&sink);
    world.sandbox.git(&["init", "-q"]);
    let script = format!(
        "import socket, sys\nprint('was run', file=sys.stderr)\none = socket.socket(socket.AF_UNIX)\n\
         try: one.connect('{}')\nexcept OSError: sys.exit(1)\nprint(one.recv(7))\n",
        sink.display()
    );
    put_script(&world, "unix.py", &script);
    let hook = world
        .sandbox
        .put("monitor.sh", &format!("#!/bin/sh\npython3 {}/unix.py\n", world.project().display()));
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    world.sandbox.git(&["config", "core.fsmonitor", hook.to_str().unwrap()]);
    let session = world.prompted();
    let ran = session.ran("git status --short");
    assert_eq!((ran.profile().as_str(), outside.escaped()), ("read", Vec::new()), "{ran:?}");
    assert!(ran.err.contains("was run"), "nothing was tried: {ran:?}");
    // In the jail that waited for it, and in one of its own.
    for prepared in [true, false] {
        if !prepared {
            let _ = fs::remove_file(session.prepared());
        }
        let ran = session.ran("python3 unix.py");
        assert_eq!((ran.profile().as_str(), ran.code), ("trial", Some(1)), "{ran:?}");
        assert_eq!(outside.escaped(), [""; 0], "{ran:?}");
    }
}

/// A hook or server that the client starts has the machine's network, and with `servers = true` the session's.
#[test]
#[ignore = "needs a machine of its own"]
fn what_the_client_starts_is_held_where_that_is_wanted() {
    for servers in [false, true] {
        let world = world_of(Jailed::with, &format!("mode = \"list\"\nservers = {servers}\n"));
        let session = working(&world);
        broker(&world, &session);
        let mut command = world.sandbox.command(crate::support::BINARY);
        command.args(["shell", "readlink /proc/self/ns/net"]).env("AI_AGENT", "claude-code_harness");
        let ran = command.env("CLAUDE_CODE_SESSION_ID", &session.inner.id).output().unwrap();
        let said = String::from_utf8(ran.stdout).unwrap();
        let own = fs::read_link("/proc/self/ns/net").unwrap();
        assert!(ran.status.success() && said.starts_with("net:["), "{servers}: {said}");
        assert_eq!(said.trim_end() != own.to_str().unwrap(), servers, "{said}");
    }
}

/// Otherwise its next command would find the socket by a name that the kernel does not list.
#[test]
#[ignore = "needs a machine of its own"]
fn no_command_moves_a_folder_above_a_hidden_socket() {
    let world = world_of(Jailed::with, "mode = \"list\"\nallow = [\"plain.test\"]\n");
    let home = world.sandbox.home();
    let folders = [home.join(".docker/desktop"), world.project().join("made")];
    let reached = folders.map(|folder| {
        fs::create_dir_all(&folder).unwrap();
        let listening = UnixListener::bind(folder.join("s.sock")).unwrap();
        listening.set_nonblocking(true).unwrap();
        listening
    });
    let session = working(&world);
    world.sandbox.put("reach.py", "import socket, sys\nsocket.socket(socket.AF_UNIX).connect(sys.argv[1])\n");
    for (from, to, below) in [("~/.docker", "~/.docker2", "desktop/"), ("made", "moved", "")] {
        let ran = session.ran(&format!("mv {from} {to} || echo held"));
        assert!(ran.out.contains("held"), "{ran:?}");
        let ran = session.ran(&format!("python3 reach.py {from}/{below}s.sock {to}/{below}s.sock"));
        assert_ne!(ran.code, Some(0), "{ran:?}");
    }
    assert!(reached.iter().all(|listening| listening.accept().is_err()), "nobody was reached");
    let ran = session.ran("mkdir -p ~/.docker/other && mv ~/.docker/other ~/.docker/another && mkdir made/x");
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
