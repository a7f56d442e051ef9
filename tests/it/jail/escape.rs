//! Ways out of the jail with the sandbox open: each is tried, and what guards the session must be as it was.

use super::world::{Jailed, JailedSession};
use crate::support::BINARY;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Shell lines; `$S` is the settings file, `$C` the configuration, `$L` the session's folder.
const ATTEMPTS: &[(&str, &str)] = &[
    ("a redirection", "echo x > $S; echo x >> $C; echo x > $L/ledger.jsonl; echo x > $L/session-state.json"),
    ("python", "for f in $S $C $L/ledger.jsonl $B; do python3 -c \"open('$f','r+b')\"; done"),
    ("perl", "perl -e 'open(F,\">>\",$ENV{S}) and print F \"x\"; unlink $ENV{C}'"),
    ("make", "printf 'all:\\n\\techo x > $(S); rm -f $(C)\\n' > M; make -f M"),
    (
        "a git hook",
        "git init -q g; cd g; printf '#!/bin/sh\\necho x > $S\\n' > .git/hooks/pre-commit; \
        chmod +x .git/hooks/pre-commit; git -c user.email=t@example.invalid -c user.name=t commit -q --allow-empty -m x",
    ),
    ("removing", "rm -f $S $C; rm -rf $L $HOME/.claude/aops; find $HOME -name config.toml -delete"),
    ("a rename over it", "echo x > new; mv -f new $S; cp new $C; install new $S; ln -sf $PWD/new $S"),
    (
        "a hard link",
        "ln $S link && echo x > link; ln $L/ledger.jsonl l2 && echo x > l2; ls link l2 && exit 99",
    ),
    ("mode and owner", "chmod 600 $B; chmod -x $B; chmod 777 $S; chown 1:1 $S; truncate -s 0 $S; touch $S"),
    (
        "moving a parent",
        "mv $HOME/.claude $HOME/c2; mv $HOME $HOME.2; mv ../project ../p2; mv .claude c2; mv $HOME/.config x",
    ),
    (
        "a missing file",
        "echo '{\"disableAllHooks\":true}' > .claude/settings.local.json; \
        mkdir -p .claude/x; echo x > .aops/config.toml",
    ),
    (
        "the root of this process",
        "echo x > /proc/self/root$S; echo x > /proc/$$/root$S; echo x > /proc/self/cwd/../home/.claude/settings.json",
    ),
    (
        "the root of the client",
        "echo x > /proc/$CLIENT/root$S; echo x > /proc/1/root$S; ls /proc/$CLIENT/root && exit 99",
    ),
    (
        "files of the client",
        "for f in /proc/$CLIENT/fd/*; do echo x > $f; done; ls /proc/$CLIENT/cwd/ && exit 99",
    ),
    (
        "entering its namespace",
        "nsenter -t $CLIENT -m sh -c \"echo x > $S\"; nsenter -t 1 -a sh -c \"echo x > $S\"; nsenter -U -t $CLIENT true && exit 99",
    ),
    (
        "a namespace of its own",
        "unshare -rm sh -c \"umount $S; umount -l $HOME/.claude; mount -o remount,rw,bind $S; echo x > $S\"; \
        unshare -Urm sh -c \"umount -R $L; echo x > $L/ledger.jsonl\"",
    ),
    (
        "a root of its own",
        "for f in $HOME $PWD; do unshare -Urm sh -c \"mount --rbind $f $f && cd $f && exec perl -e '\
        my (\\$pivot, \\$umount) = \\`uname -m\\` =~ /aarch64/ ? (41, 39) : (155, 166); my \\$here = q(.); \
        syscall(\\$pivot, \\$here, \\$here) == 0 or exit 9; syscall(\\$umount, \\$here, 2) == 0 or exit 9; chdir q(/); \
        rename q(.claude), q(c2); rename q(.config), q(c3); rename q(.aops), q(c4); \
        mkdir q(.claude); open my \\$f, q(>), q(.claude/settings.json) and print \\$f q(x)'\" && exit 98; done",
    ),
    (
        "undoing mounts",
        "umount $S; umount -l $S; umount -R $HOME/.claude; mount -o remount,rw,bind $S $S; mount -o remount,rw /; echo x > $S",
    ),
    (
        "a nested jail",
        "CLAUDE_CODE_SESSION_ID= AI_AGENT=x_harness $B shell \"echo x > $S\"; \
        HOME=/tmp CLAUDE_CONFIG_DIR=/tmp/none $B shell \"echo x > $S\"; $B --shell \"echo x > $C\"",
    ),
    (
        "a process that stays",
        "setsid sh -c \"sleep 0.2; echo x > $S; echo x > $C\" > /dev/null 2>&1 & sleep 0.5; wait",
    ),
    (
        "a tracer",
        "gdb -p $CLIENT -batch 2>&1 | grep -q 'Attaching succeeded' && exit 99; timeout 2 strace -p $CLIENT 2>&1 | grep -q attached && exit 99",
    ),
    (
        "keys",
        "cat $HOME/.claude/aops/keys/sign.key && exit 99; echo x > $HOME/.claude/aops/keys/sign.key && exit 99",
    ),
    ("a receipt", "mkdir -p $L/jail; echo x > $L/jail/forged && exit 99; rm -rf $L/jail"),
    (
        "settings of the kernel",
        "test $(id -u) = 0 || exit 0; echo x > /proc/sys/kernel/core_pattern && exit 99; echo b > /proc/sysrq-trigger && exit 99; \
        touch /sys/fs/cgroup/x && exit 99",
    ),
];

/// Everything that guards the session, with bytes and modes.
fn guarded(world: &Jailed, session: &JailedSession) -> BTreeMap<PathBuf, String> {
    let (sandbox, mut found) = (&world.sandbox, BTreeMap::new());
    let mut all = vec![
        sandbox.config(),
        sandbox.home().join(".config"),
        world.project().join(".claude"),
        world.project().join(".aops"),
    ];
    all.extend([session.inner.folder(), PathBuf::from(BINARY)]);
    while let Some(path) = all.pop() {
        let meta = fs::symlink_metadata(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let is_read = meta.is_file() && path != Path::new(BINARY);
        let bytes = if is_read { fs::read(&path).unwrap() } else { Vec::new() };
        // The receipt of the attempt itself is written on the way in.
        if meta.is_dir() && path != session.inner.folder().join("jail") {
            all.extend(fs::read_dir(&path).unwrap().map(|item| item.unwrap().path()));
        }
        if path != session.inner.folder().join("jail") {
            found.insert(path, format!("{:?} {} {bytes:?}", meta.permissions(), meta.is_dir()));
        }
    }
    found
}

#[test]
fn no_way_out_changes_what_guards_the_session() {
    let world = Jailed::new();
    let sandbox = &world.sandbox;
    let settings = sandbox.config().join("settings.json");
    fs::create_dir_all(sandbox.config().join("aops/keys")).unwrap();
    fs::write(sandbox.config().join("aops/keys/sign.key"), "secret\n").unwrap();
    fs::write(&settings, "{\"model\":\"x\"}\n").unwrap();
    sandbox.put(".claude/commands/a.md", "a\n");
    sandbox.put(".aops/config.toml", "");
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let run = sandbox.put("run.sh", "");
    for (name, attempt) in ATTEMPTS {
        fs::write(&run, format!("{attempt}\nexit 0\n")).unwrap();
        let call = session.inner.call("Bash", json!({"command": "sh run.sh"}));
        session.inner.pre(&call).silent();
        let before = guarded(&world, &session);
        let mut command = session.line("sh run.sh");
        command.env("S", &settings).env("C", sandbox.home().join(".config/aops/config.toml"));
        command
            .env("L", session.inner.folder())
            .env("B", BINARY)
            .env("CLIENT", std::process::id().to_string());
        let ran = command.output().unwrap();
        assert_eq!(guarded(&world, &session), before, "{name}: {ran:?}");
        assert_eq!(ran.status.code(), Some(0), "{name}: {ran:?}");
        let ended = session.inner.post(&call);
        assert!(!ended.out.contains("systemMessage"), "{name}: {ended:?}");
    }
}

/// Programs that run outside would do what they are asked; with the sandbox open they are a person's to use.
#[test]
fn sockets_of_services_are_out_of_sight_in_a_trial() {
    let mut world = Jailed::new();
    let home = world.sandbox.home();
    let [docker, agent, gpg] =
        [".docker/run/docker.sock", "agents/ssh", ".gnupg/S.gpg-agent"].map(|name| home.join(name));
    let servers = [&docker, &agent, &gpg].map(|socket| {
        fs::create_dir_all(socket.parent().unwrap()).unwrap();
        std::os::unix::net::UnixListener::bind(socket).unwrap()
    });
    world.sandbox = world.sandbox.with("SSH_AUTH_SOCK", agent.to_str().unwrap());
    world.sandbox.put(
        "ask.py",
        "import os, socket\nfor name in ['.docker/run/docker.sock', 'agents/ssh', '.gnupg/S.gpg-agent']:\n\
         \x20   try: socket.socket(socket.AF_UNIX).connect(os.environ['HOME'] + '/' + name); print('open')\n\
         \x20   except OSError: print('held')\n",
    );
    let session = world.prompted();
    let ran = session.ran("python3 ask.py");
    assert_eq!((ran.profile().as_str(), ran.out.as_str()), ("trial", "held\nheld\nheld\n"), "{ran:?}");
    session.inner.hydrate("minor-edit", "new");
    let ran = session.ran("python3 ask.py");
    assert_eq!((ran.profile().as_str(), ran.out.as_str()), ("work", "open\nopen\nopen\n"), "{ran:?}");
    drop(servers);
}

/// What a person's project needs stays as it is.
#[test]
fn what_is_not_protected_can_be_changed() {
    let world = Jailed::new();
    world.sandbox.put(".claude/commands/a.md", "a\n");
    fs::create_dir_all(world.sandbox.config()).unwrap();
    fs::write(world.sandbox.config().join("settings.json"), "{}").unwrap();
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    world.sandbox.put("run.sh", "set -e; echo b > .claude/commands/a.md; echo c > .claude/commands/c.md; echo d > $HOME/d; \
        echo e > $TMPDIR/e; mkdir -p $HOME/.claude/skills/x; echo f > $HOME/.claude/skills/x/f; mv $HOME/d d; ln d e; mv d f; \
        mkdir -p $HOME/.cache; ln f $HOME/.cache/f; ln $HOME/.cache/f g; python3 -c 'import os; os.rename(\"g\", os.environ[\"HOME\"] + \"/.cache/g\")'\n");
    let ran = session.ran("sh run.sh");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    for file in [
        "project/.claude/commands/c.md",
        "project/e",
        "project/f",
        "tmp/e",
        "home/.claude/skills/x/f",
        "home/.cache/f",
        "home/.cache/g",
    ] {
        assert!(world.project().parent().unwrap().join(file).exists(), "{file}");
    }
}

/// What is written into a terminal so is read by the shell that started the client, outside of any jail.
#[test]
fn no_command_types_into_a_terminal() {
    let world = Jailed::new();
    world.sandbox.put(
        "type.py",
        "import fcntl, os, struct, termios\n\
         master, slave = os.openpty()\nif os.fork() == 0:\n\
         \x20   os.setsid(); fcntl.ioctl(slave, termios.TIOCSCTTY, 0)\n\
         \x20   for request in [termios.TIOCSTI, termios.TIOCLINUX, termios.TIOCGWINSZ]:\n\
         \x20       try: fcntl.ioctl(slave, request, bytes([2] * 8)); print('done', flush=True)\n\
         \x20       except OSError as error: print(error.strerror, flush=True)\n\
         \x20   os._exit(0)\nos.wait()\n",
    );
    let session = world.prompted();
    let refused = "Operation not permitted\nOperation not permitted\ndone\n";
    let ran = session.ran("python3 type.py");
    assert_eq!((ran.profile().as_str(), ran.out.as_str()), ("trial", refused), "{ran:?}");
    session.inner.hydrate("minor-edit", "new");
    let ran = session.ran("python3 type.py");
    assert_eq!((ran.profile().as_str(), ran.out.as_str()), ("work", refused), "{ran:?}");
}
