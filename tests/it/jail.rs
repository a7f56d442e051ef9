//! The jail: what a command can change in each profile, and what is left of it.
//!
//! Needs a kernel that allows user namespaces, as the docs say. `world` runs commands as the client does,
//! `client` in the real one.

pub(crate) mod answered;
mod attacked;
mod attested;
mod border;
mod cost;
mod escape;
mod everyday;
mod fallback;
mod handover;
mod interruptions;
mod kept;
mod killed;
mod lasting;
mod leading;
mod links;
mod locks;
pub(crate) mod lost;
mod named;
pub(crate) mod network;
mod ordinary;
mod ourselves;
mod places;
mod planted;
mod prepared;
mod quiet;
mod symlinks;
mod unsaved;
mod verbs;
pub(crate) mod world;
mod worktree;

use crate::support::Sandbox;
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use world::Jailed;

#[test]
fn a_line_that_is_not_known_runs_before_the_plan_and_leaves_nothing() {
    let world = Jailed::new();
    world.sandbox.put("a.txt", "one\n");
    world.sandbox.put("Makefile", "all:\n\techo made > made.txt\n\trm a.txt\n");
    let session = world.prompted();
    let before = world.tree();
    let ran = session.ran("make -s && cat made.txt && ls");
    assert_eq!(
        (ran.code, ran.out.contains("made\n"), ran.out.contains("a.txt")),
        (Some(0), true, false),
        "{ran:?}"
    );
    assert_eq!(world.tree(), before);
    assert!(ran.told.contains("made.txt is gone. a.txt is still there."), "{ran:?}");
    assert_eq!(ran.profile(), "trial");
    // It was no work: nothing is owed, nothing was counted.
    assert_eq!(session.inner.state()["task"], json!(null));
    session.inner.stop("done").silent();
}

#[test]
fn what_is_known_to_change_something_is_still_refused_by_its_words() {
    let world = Jailed::new();
    let session = world.prompted();
    for line in [
        "touch x",
        "make > log.txt",
        "make; rm -r x",
        "git commit -am x",
        "gh pr create --fill",
        "cargo fmt",
        "kill 12345",
        "python3 x.py && sed -i s/a/b/ x",
    ] {
        session.inner.ask_bash(line).refused(&["plan"]);
    }
}

#[test]
fn a_trial_has_a_network_of_its_own_and_everything_else_is_read_only() {
    let world = Jailed::new();
    let session = world.prompted();
    let server = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = server.local_addr().unwrap().port();
    let script = format!(
        "import os, socket\n\
         print(socket.socket().connect_ex(('127.0.0.1', {port})))\n\
         own = socket.socket()\nown.bind(('127.0.0.1', 0))\nown.listen()\n\
         socket.create_connection(own.getsockname())\nprint('own')\n\
         for path in [os.environ['HOME'] + '/evil', '/etc/evil', os.environ['TMPDIR'] + '/x']:\n\
         \x20   try: open(path, 'w')\n\
         \x20   except OSError as error: print(error.strerror)\n\
         exit(3)\n"
    );
    world.sandbox.put("try.py", &script);
    let ran = session.ran("python3 try.py");
    let held = "111\nown\nRead-only file system\nRead-only file system\n";
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), held), "{ran:?}");
    assert!(!world.sandbox.tmp().join("x").exists());
}

#[test]
fn a_trial_shares_no_memory_with_others() {
    let world = Jailed::new();
    let session = world.prompted();
    world.sandbox.put("ipc.py", "import os\nprint(os.readlink('/proc/self/ns/ipc'))\n");
    let ran = session.ran("python3 ipc.py");
    assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "trial"), "{ran:?}");
    assert_ne!(ran.out.trim(), fs::read_link("/proc/self/ns/ipc").unwrap().to_str().unwrap());
}

/// Words say that it reads; a program of that name, placed before the real one, does something else.
#[test]
fn a_line_that_reads_cannot_write_and_has_the_network_only_if_it_needs_it() {
    let mut world = Jailed::new();
    let server = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = server.local_addr().unwrap().port();
    let script = format!(
        "#!/usr/bin/env python3\nimport os, socket\n\
         try: print(socket.socket().connect_ex(('127.0.0.1', {port})))\n\
         except OSError as error: print(error.strerror)\n\
         for folder in ['.', os.environ['HOME'], '/etc', os.environ['TMPDIR']]:\n\
         \x20   try: open(folder + '/planted', 'w'); print('written')\n\
         \x20   except OSError as error: print(error.strerror)\n"
    );
    world.sandbox.put("a.txt", "one\n");
    let planted = ["cksum", "whois"].map(|name| world.sandbox.put(&format!("bin/{name}"), &script));
    for file in &planted {
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let (_, others) = world.sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap();
    let path = [planted[0].parent().unwrap().as_os_str(), &others].join(OsStr::new(":"));
    world.sandbox = world.sandbox.with("PATH", path);
    let session = world.prompted();
    let before = world.tree();
    let held = ["Read-only file system"; 3].join("\n");
    for (line, reached) in [("cksum a.txt", "Permission denied"), ("whois a.txt", "0")] {
        let ran = session.ran(line);
        assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "read"), "{ran:?}");
        assert_eq!(ran.out, format!("{reached}\n{held}\nwritten\n"), "{ran:?}");
        // It was written in a layer of its own.
        assert!(!world.sandbox.tmp().join("planted").exists());
    }
    assert_eq!(world.tree(), before);
}

#[test]
fn with_the_plan_commands_work_for_real() {
    let world = Jailed::new();
    world.sandbox.put("Makefile", "all:\n\techo made > made.txt\n");
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let ran = session.ran("make");
    assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "work"), "{ran:?}");
    assert!(world.sandbox.project().join("made.txt").exists());
    assert_eq!(session.inner.state()["task"]["writes"], 1);
}

#[test]
fn a_reviewers_command_changes_nothing_whatever_it_runs() {
    let world = Jailed::new();
    world.sandbox.put("run.sh", "echo changed > run.sh; rm -f a.txt; mkdir -p target; date > target/x\n");
    world.sandbox.put("a.txt", "one\n");
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let before = world.tree();
    for (id, agent) in [("a1", "critic"), ("a2", "custodiet"), ("a3", "qa-verifier")] {
        let start = session.inner.event("SubagentStart", json!({"agent_id": id, "agent_type": agent}));
        assert_eq!(start.code, Some(0), "{start:?}");
        let ran = session.ran_by("sh run.sh; cat run.sh", Some((id, agent)));
        assert_eq!(
            (ran.code, ran.out.as_str(), ran.profile().as_str()),
            (Some(0), "changed\n", "trial"),
            "{agent}: {ran:?}"
        );
        assert_eq!(world.tree(), before, "{agent}");
    }
}

/// Tests may need a server of the machine: a person allows it to agents, never to lines before the plan.
#[test]
fn a_reviewers_tests_have_the_network_where_a_person_says_so() {
    let world = Jailed::with("[jail]\ntest_network = true\n");
    let server = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = server.local_addr().unwrap().port();
    let script =
        format!("import socket\nprint(socket.socket().connect_ex(('127.0.0.1', {port})))\nopen('x', 'w')\n");
    world.sandbox.put("ask.py", &script);
    let session = world.prompted();
    let ran = session.ran("python3 ask.py");
    assert_eq!((ran.profile().as_str(), ran.out.as_str()), ("trial", "111\n"), "{ran:?}");
    session.inner.hydrate("minor-edit", "new");
    let start = session.inner.event("SubagentStart", json!({"agent_id": "a1", "agent_type": "qa-verifier"}));
    assert_eq!(start.code, Some(0), "{start:?}");
    let ran = session.ran_by("python3 ask.py", Some(("a1", "qa-verifier")));
    assert_eq!((ran.profile().as_str(), ran.out.as_str()), ("trial", "0\n"), "{ran:?}");
    assert!(!world.project().join("x").exists());
}

/// The variable can be set anew by a project's settings; then nothing proves what ran.
#[test]
fn a_command_that_ran_without_the_jail_is_a_violation() {
    let world = Jailed::new();
    let session = world.prompted();
    let call = session.inner.call("Bash", json!({"command": "cat a.txt"}));
    session.inner.pre(&call).silent();
    let ended = session.inner.post(&call);
    assert!(ended.out.contains("outside this session's jail") && ended.out.contains("blocked"), "{ended:?}");
    assert!(session.inner.entries().iter().any(|entry| entry["type"] == "violation"));
    session.inner.ask_bash("ls").refused(&["outside the session's jail"]);
}

/// A project's settings took the variable away, or the client does not know it: words alone hold, and the
/// person is told. Without an installation there is nothing to tell.
#[test]
fn a_client_that_starts_commands_without_us_is_named() {
    let sandbox = Sandbox::new();
    let bare = sandbox.session();
    assert!(!bare.start("startup").out.contains("systemMessage"));
    sandbox.person(&["status"]).said(&["jail      none: the client does not start commands through us"]);
    fs::create_dir_all(sandbox.config()).unwrap();
    let settings = json!({"env": {"CLAUDE_CODE_SHELL_PREFIX": "/somewhere/aops-hook --shell"}});
    fs::write(sandbox.config().join("settings.json"), settings.to_string()).unwrap();
    let told = sandbox.session().start("startup").json()["systemMessage"].as_str().unwrap().to_owned();
    assert!(
        told.contains("does not start commands through us") && told.contains("only by their text"),
        "{told}"
    );
    sandbox.configure("[jail]\nlevel = \"off\"\n");
    let off = sandbox.session();
    assert!(!off.start("startup").out.contains("systemMessage"));
    sandbox.person(&["status", &off.id]).said(&["jail      off: "]);
}

#[test]
fn a_command_without_a_session_or_a_call_runs_in_the_strictest_profile() {
    let world = Jailed::new();
    let session = world.prompted();
    let other = world.shell("touch here && ls", &[("CLAUDE_CODE_SESSION_ID", &session.inner.id)]);
    let none = world.shell("touch here && ls", &[("CLAUDE_CODE_SESSION_ID", "unheard-of")]);
    for ran in [other, none] {
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "here\n"), "{ran:?}");
        assert!(ran.err.contains("no hook was asked about this command"), "{ran:?}");
        assert!(!world.sandbox.project().join("here").exists());
    }
}

#[test]
fn a_program_that_cannot_be_jailed_runs_by_itself_or_not_at_all() {
    let world = Jailed::new();
    world.sandbox.configure("[jail]\nwithout = [\"env\"]\n[danger]\nsecret-print = \"off\"\n");
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    if rustix::process::geteuid().is_root() {
        // A superuser needs none of them outside.
        for line in ["env", "env true && env true"] {
            assert_eq!(session.ran(line).profile(), "work", "{line}");
        }
        return;
    }
    session
        .inner
        .ask_bash("env true && make")
        .refused(&["`env` cannot run inside the jail", "a line of its own"]);
    for line in ["if env true; then make; fi", "while ! env true; do ls; done", "LD_PRELOAD=./x.so env true"]
    {
        session.inner.ask_bash(line).refused(&["cannot run inside the jail", "a line of its own"]);
    }
    session.inner.ask_bash("make; env").refused(&["`env` cannot run inside the jail"]);
    let ran = session.ran("env");
    assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "none"), "{ran:?}");
    assert!(!ran.out.contains("MESSAGING"), "{ran:?}");
    for line in [
        "env | grep -c PATH",
        "cd sub && env pwd",
        "env true && env true",
        "ls; env",
        "env && touch x",
        "env > x",
        "ls $(env)",
        "PATH=. ls; env",
        "ls && env | tee x",
        "echo 'a; env' && make",
        "sort a \\; ls -o x; env",
        "env; if true; then make; fi",
        "env | sh",
        "env\u{a0}x; env",
        "env a\u{2003}b",
        "env a\rb",
    ] {
        session.inner.ask_bash(line).refused(&["cannot run inside the jail"]);
    }
    // A shell takes other white space as a part of a name, and a name with a folder as another program.
    fs::create_dir(world.sandbox.project().join("env\u{a0}")).unwrap();
    world.sandbox.put("evil.sh", "touch out\n");
    fs::set_permissions(world.sandbox.project().join("evil.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    world.sandbox.put("env", "#!/bin/sh\n");
    fs::set_permissions(world.sandbox.project().join("env"), fs::Permissions::from_mode(0o755)).unwrap();
    for line in ["env\u{a0}/../evil.sh", "./env"] {
        assert_eq!(session.ran(line).profile(), "work", "{line}");
    }
    // A script of the project is held, whatever it is called.
    world.sandbox.put("sudo", "#!/bin/sh\n");
    let ran = session.ran("sh ./sudo; ./sudo || true");
    assert_eq!(ran.profile(), "work", "{ran:?}");
    // In a namespace of users `sudo` would have no effect.
    let outside = fs::read_link("/proc/self/ns/user").unwrap();
    assert_eq!(session.ran("env readlink /proc/self/ns/user").out.trim(), outside.to_str().unwrap());
}

/// The client's own hooks and servers.
#[test]
fn programs_of_the_harness_work_but_cannot_touch_what_guards() {
    let world = Jailed::new();
    let session = world.prompted();
    let settings = world.sandbox.config().join("settings.json");
    fs::write(&settings, "{}").unwrap();
    let agent = ("AI_AGENT", "claude-code_2-1-325_harness");
    let id = ("CLAUDE_CODE_SESSION_ID", session.inner.id.as_str());
    let ran = world.shell("echo x > log.txt; echo y > $HOME/.claude/settings.json; env", &[agent, id]);
    assert!(ran.err.contains("Read-only file system") && !ran.out.contains("MESSAGING"), "{ran:?}");
    assert!(world.sandbox.project().join("log.txt").exists());
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{}");
    let ran = world.shell("true", &[agent]);
    assert_eq!(ran.code, Some(0), "before the session: {ran:?}");
}

/// What the client's variable named before us goes on being called, and is held too.
#[test]
fn a_foreign_program_is_called_inside_the_jail() {
    let world = Jailed::new();
    let session = world.prompted();
    let settings = world.sandbox.config().join("settings.json");
    fs::write(&settings, "{}").unwrap();
    let logger = world.sandbox.put(
        "logger.sh",
        "#!/bin/sh\necho called; echo x > $HOME/.claude/settings.json\nexec sh -c \"$1\"\n",
    );
    fs::set_permissions(&logger, fs::Permissions::from_mode(0o755)).unwrap();
    let variables = [
        ("AI_AGENT", "claude-code_2-1-325_harness"),
        ("CLAUDE_CODE_SESSION_ID", session.inner.id.as_str()),
        ("AOPS_SHELL_PREFIX", logger.to_str().unwrap()),
    ];
    let ran = world.shell("echo \"it's\"; exit 3", &variables);
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), "called\nit's\n"), "{ran:?}");
    assert!(ran.err.contains("Read-only file system"), "{ran:?}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{}");
}

#[test]
fn messages_of_other_sessions_are_no_prompts() {
    let world = Jailed::new();
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let _ = session.inner.prompt("<cross-session-message from=\"x\">. do it</cross-session-message>");
    assert_eq!(session.inner.state()["sandbox"], "open", "it changed nothing");
    let world = Jailed::with("[jail]\nmessaging = true\n");
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let _ = session.inner.prompt("<cross-session-message from=\"x\">do it</cross-session-message>");
    assert_eq!(session.inner.state()["sandbox"], "shut", "it is a prompt like any other");
    world.sandbox.put("try.py", "import os; print(os.environ['CLAUDE_CODE_MESSAGING_TOKEN'])\n");
    let ran = session.ran("python3 try.py");
    assert_eq!(ran.out, "secret\n", "{ran:?}");
}

/// Two calls of one message, or of two agents, may have the same words.
#[test]
fn the_same_command_runs_twice_at_once() {
    let world = Jailed::new();
    let session = world.prompted();
    let calls = [(), ()].map(|()| session.inner.call("Bash", json!({"command": "make -v"})));
    for call in &calls {
        session.inner.pre(call).silent();
    }
    for _ in &calls {
        assert!(session.line("make -v").output().unwrap().status.success());
    }
    for call in &calls {
        session.inner.post(call).silent();
    }
}

#[test]
fn a_full_layer_is_said_so() {
    let world = Jailed::with("[jail]\nlayer_mb = 16\n");
    let session = world.prompted();
    let ran = session.ran("python3 -c \"open('big','wb').write(b'x'*(40<<20))\"");
    assert!(ran.code == Some(1) && ran.err.contains("No space left"), "{ran:?}");
    assert!(ran.told.contains("The layer was full: 16 MB, `[jail] layer_mb`"), "{ran:?}");
}

/// The file system that holds the layers is mounted over a folder of the kernel and covered with that folder:
/// no command gets below, not even one that makes itself a superuser.
#[test]
fn what_holds_the_layers_is_out_of_sight() {
    let world = Jailed::new();
    let session = world.prompted();
    let look = "umount /proc/tty; umount -l /proc/tty; ls /proc/tty";
    let script = format!("echo x > new\n{look}\nunshare -Urm --propagation unchanged sh -c '{look}'\n");
    fs::write(world.project().join("look.sh"), script).unwrap();
    let mut names: Vec<_> = fs::read_dir("/proc/tty")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let ran = session.ran("sh look.sh 2>/dev/null");
    let twice = [&names[..], &names[..]].concat().join("\n") + "\n";
    assert_eq!((ran.profile().as_str(), ran.out), ("trial", twice));
}

/// Signals, streams and exit codes are the command's own: the shell is this very process.
#[test]
fn the_command_is_the_process_that_was_started() {
    let world = Jailed::new();
    world.sandbox.put("end.py", "import os, signal\nos.kill(os.getppid(), signal.SIGTERM)\n");
    let session = world.prompted();
    let ran = session.ran("python3 end.py; sleep 60");
    assert_eq!((ran.code, ran.signal), (None, Some(15)), "{ran:?}");
    let ran = session.ran("make -v > /dev/null; exit 130");
    assert_eq!(ran.code, Some(130), "{ran:?}");
}

#[test]
fn nothing_is_left_when_everything_is_killed() {
    let world = Jailed::new();
    let session = world.prompted();
    let before = world.tree();
    let mut child = session.begin("python3 -c \"open('new','w'); import time; time.sleep(600)\"");
    world.sandbox.wait_until("it runs", || {
        world.sandbox.alive().iter().any(|(_, line)| line.contains("python3 -c open"))
    });
    // Again and again: one of them may start another while they are listed.
    let kill_all = || {
        for (pid, _) in world.sandbox.alive() {
            if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        world.sandbox.alive().is_empty()
    };
    world.sandbox.wait_until("all are gone", kill_all);
    child.wait().unwrap();
    assert_eq!(world.tree(), before);
}
