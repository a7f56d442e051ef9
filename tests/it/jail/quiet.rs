//! Programs that a line starts although its words only read: what they write is gone, and nobody hears from
//! them. And the profiles for lines that nobody is asked about, which hold whole or not at all.

use super::world::{Jailed, JailedSession, Ran};
use crate::support::BINARY;
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Writes wherever it can, and calls whoever listens. Its answer is one to git and to gpg, too.
const EVIL: &str = r#"#!/usr/bin/env python3
import os, socket, sys
said = ["planted"]
for folder in [os.environ["TMPDIR"], "/tmp", "/var/tmp", "/dev/shm", os.environ["HOME"], "."]:
    try:
        open(folder + "/planted-NAME", "w").write("x")
        said.append("wrote " + folder)
    except OSError:
        pass
def call(family, address):
    try:
        socket.socket(family).connect(address)
        said.append("called")
    except OSError:
        pass
call(socket.AF_INET, ("127.0.0.1", PORT))
call(socket.AF_INET6, ("::1", PORT))
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", DATAGRAMS))
except OSError:
    pass
print("; ".join(said))
print("; ".join(said), file=sys.stderr)
"#;

/// Listeners that must hear nothing, and the program that tries to reach them.
struct Planted {
    world: Jailed,
    heard: TcpListener,
    datagrams: UdpSocket,
    name: String,
    evil: PathBuf,
}

impl Planted {
    fn new(world: Jailed) -> Self {
        let heard = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        heard.set_nonblocking(true).unwrap();
        let datagrams = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        datagrams.set_nonblocking(true).unwrap();
        let ports = [heard.local_addr().unwrap().port(), datagrams.local_addr().unwrap().port()];
        let name = format!("{}-{}", std::process::id(), ports[0]);
        let text = EVIL.replace("NAME", &name).replace("PORT", &ports[0].to_string());
        let evil = executable(&world.root().join("evil"), &text.replace("DATAGRAMS", &ports[1].to_string()));
        Self { world, heard, datagrams, name, evil }
    }

    #[track_caller]
    fn nobody_called(&self, how: &str) {
        let (heard, got) = (self.heard.accept().map(drop), self.datagrams.recv(&mut [0; 8]).map(drop));
        let kinds = [heard, got].map(|got| got.unwrap_err().kind());
        assert_eq!(kinds, [std::io::ErrorKind::WouldBlock; 2], "{how}");
    }

    /// It ran, and nothing is left of it.
    #[track_caller]
    fn held(&self, how: &str, ran: &Ran, profile: &str) {
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.contains("planted"), "{how}: it did not run: {ran:?}");
        self.left_nothing(how, ran, profile);
    }

    #[track_caller]
    fn left_nothing(&self, how: &str, ran: &Ran, profile: &str) {
        assert_eq!(ran.profile(), profile, "{how}: {ran:?}");
        self.nobody_called(how);
        let shared = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
        let own = [self.world.sandbox.tmp(), self.world.sandbox.home(), self.world.project()];
        for folder in shared.into_iter().chain(own) {
            let file = folder.join(format!("planted-{}", self.name));
            assert!(!file.exists(), "{how}: {} is left: {ran:?}", file.display());
        }
    }
}

fn executable(path: &Path, text: &str) -> PathBuf {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_owned()
}

/// A repository with one file.
fn commit_one(world: &Jailed) {
    world.sandbox.put("a.txt", "one\n");
    world.sandbox.git(&["init", "-q"]);
    world.sandbox.git(&["config", "user.name", "a"]);
    world.sandbox.git(&["config", "user.email", "a@example.invalid"]);
    world.sandbox.git(&["add", "a.txt"]);
    world.sandbox.git(&["commit", "-q", "-m", "one"]);
}

/// A signature that nobody made, in a commit: to show it, git starts `gpg.program`.
fn signed_commit(planted: &Planted) {
    let world = &planted.world;
    let signer = "#!/bin/sh\ncat > /dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\n\
        printf '%s\\n' '-----BEGIN PGP SIGNATURE-----' '' x '-----END PGP SIGNATURE-----'\n";
    let signer = executable(&world.root().join("signer"), signer);
    world.sandbox.git(&["config", "gpg.program", signer.to_str().unwrap()]);
    world.sandbox.git(&["commit", "-q", "-S", "--allow-empty", "-m", "signed"]);
    world.sandbox.git(&["config", "gpg.program", planted.evil.to_str().unwrap()]);
    world.sandbox.git(&["config", "log.showSignature", "true"]);
}

#[test]
fn what_a_reading_line_starts_writes_nothing_and_calls_nobody() {
    let mut world = Jailed::new();
    commit_one(&world);
    let rg = "#!/bin/sh\nexec \"$(sed -n 's/^--pre=//p' \"$RIPGREP_CONFIG_PATH\")\"\n";
    fs::create_dir_all(world.root().join("bin")).unwrap();
    executable(&world.root().join("bin/rg"), rg);
    let (_, path) = world.sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap();
    let path: OsString = [world.root().join("bin").as_os_str(), &path].join(OsStr::new(":"));
    let (evil, config) = (world.root().join("evil"), world.root().join("ripgreprc"));
    fs::write(&config, format!("--pre={}\n", evil.display())).unwrap();
    world.sandbox = world.sandbox.with("PATH", path).with("RIPGREP_CONFIG_PATH", &config);
    world.sandbox = world.sandbox.with("GIT_EXTERNAL_DIFF", &evil);
    let planted = Planted::new(world);
    signed_commit(&planted);
    let world = &planted.world;
    let evil = planted.evil.to_str().unwrap();
    let session = world.prompted();
    planted.held("log.showSignature", &session.ran("git log -1"), "read");
    planted.held("RIPGREP_CONFIG_PATH", &session.ran("rg one"), "read");
    world.sandbox.put("a.txt", "two\n");
    planted.held("GIT_EXTERNAL_DIFF", &session.ran("git diff"), "read");
    world.sandbox.git(&["config", "filter.x.clean", evil]);
    world.sandbox.put(".gitattributes", "*.txt filter=x\n");
    planted.held("filter.clean", &session.ran("git status --short"), "read");
    fs::remove_file(world.project().join(".gitattributes")).unwrap();
    world.sandbox.git(&["config", "core.fsmonitor", evil]);
    planted.held("core.fsmonitor", &session.ran("git status --short"), "read");
    // The client's snapshot of the shell's start file is a part of each line.
    for (kind, text) in
        [("function", format!("cksum() {{ {evil}; }}")), ("alias", format!("alias cksum={evil}"))]
    {
        let snapshot = world.root().join("snapshot.sh");
        fs::write(&snapshot, format!("shopt -s expand_aliases\n{text}\n")).unwrap();
        planted.held(kind, &session.ran_after(&snapshot, "cksum a.txt"), "read");
    }
}

/// What real lines need: what lies in a temporary folder, and a place for what programs keep there for a
/// moment.
#[test]
fn a_reading_line_finds_and_uses_temporary_folders() {
    let world = Jailed::new();
    let session = world.prompted();
    let log = world.sandbox.tmp().join("x.log");
    fs::write(&log, "failed\n").unwrap();
    let lines = "abcdefgh\n".repeat(11_000);
    world.sandbox.put("long.txt", &lines);
    let ran = session.ran(&format!("cat {}", log.display()));
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.profile().as_str()),
        (Some(0), "failed\n", "read"),
        "{ran:?}"
    );
    let ran = session.ran("sort -S 16K long.txt | uniq -c");
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "11000 abcdefgh"), "{ran:?}");
    let here = format!("wc -l <<'END'\n{lines}END\n");
    let ran = session.ran(&here);
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "11000"), "{:?}", ran.err);
    let names: Vec<_> =
        fs::read_dir(world.sandbox.tmp()).unwrap().map(|item| item.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| name == "x.log" || name == "claude-1234-cwd"), "{names:?}");
}

/// In a layer a socket is another file, at which nobody listens.
#[test]
fn a_reading_line_reaches_the_agent_that_a_variable_names() {
    let mut world = Jailed::new();
    let socket = world.sandbox.tmp().join("agent");
    let agent = UnixListener::bind(&socket).unwrap();
    agent.set_nonblocking(true).unwrap();
    let ask = "#!/usr/bin/env python3\nimport os, socket\n\
        socket.socket(socket.AF_UNIX).connect(os.environ['SSH_AUTH_SOCK'])\n";
    fs::create_dir_all(world.root().join("bin")).unwrap();
    executable(&world.root().join("bin/cksum"), ask);
    let (_, path) = world.sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap();
    let path: OsString = [world.root().join("bin").as_os_str(), &path].join(OsStr::new(":"));
    world.sandbox = world.sandbox.with("PATH", path).with("SSH_AUTH_SOCK", &socket);
    let ran = world.prompted().ran("cksum a.txt");
    assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "read"), "{ran:?}");
    assert!(agent.accept().is_ok(), "{ran:?}");
}

/// A run's step may name any profile, so these are run as one.
fn stepped(world: &Jailed, profile: &str, line: &str) -> Ran {
    let mut command = world.started([BINARY, "__line", profile]);
    Ran::of(&command.arg(line).output().unwrap())
}

/// A world with a repository, and a socket in the project on which somebody listens.
fn quiet_world() -> (Jailed, UnixListener) {
    let world = Jailed::new();
    commit_one(&world);
    world.sandbox.put(".claude/settings.json", "{}");
    let daemon = UnixListener::bind(world.project().join("daemon")).unwrap();
    daemon.set_nonblocking(true).unwrap();
    (world, daemon)
}

const OWN_LOOPBACK: &str = "import socket\nown = socket.socket()\nown.bind(('127.0.0.1', 0))\nown.listen()\n\
    socket.create_connection(own.getsockname())\nprint('own')\n";

#[test]
fn quiet_read_changes_nothing_and_reaches_nobody() {
    let (world, daemon) = quiet_world();
    let planted = Planted::new(world);
    let world = &planted.world;
    let before = world.tree();
    let ran = stepped(world, "quiet-read", planted.evil.to_str().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    planted.held(
        "quiet-read",
        &Ran { step: serde_json::json!({"end": {"under": {"jailed": {"profile": "-"}}}}), ..ran },
        "-",
    );
    let connect = "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('daemon')\"";
    let ran = stepped(world, "quiet-read", connect);
    assert!(ran.err.contains("Permission denied"), "{ran:?}");
    assert_eq!(daemon.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    let ran = stepped(world, "quiet-read", &format!("python3 -c \"{OWN_LOOPBACK}\""));
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "own\n"), "{ran:?}");
    let ran = stepped(world, "quiet-read", "cat a.txt; git status --short a.txt; ls /proc/self/net/dev");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "one\n/proc/self/net/dev\n"), "{ran:?}");
    assert_eq!(world.tree(), before);
}

#[test]
fn quiet_work_changes_the_project_and_nothing_else() {
    let (world, _daemon) = quiet_world();
    let cache = world.sandbox.home().join(".cache");
    fs::create_dir_all(&cache).unwrap();
    let planted = Planted::new(world);
    let world = &planted.world;
    let git = fs::read(world.project().join(".git/index")).unwrap();
    let script = "echo two > a.txt; mkdir -p out && echo made > out/app; git status --short a.txt\n\
        for path in .git/hooks/x .git/config .git/index.lock .claude/settings.json .claude/x ~/.cache/x ~/x $TMPDIR/x; do\n\
        \x20 (echo x >> $path) 2> /dev/null && echo \"wrote $path\"\ndone\n\
        mv .claude moved 2> /dev/null && echo moved; mv .git moved 2> /dev/null && echo moved; true\n";
    world.sandbox.put("build.sh", script);
    let ran = stepped(world, "quiet-work", "sh build.sh");
    let (home, tmp) = (world.sandbox.home(), world.sandbox.tmp());
    let thrown_away = format!(" M a.txt\nwrote {0}/x\nwrote {1}/x\n", cache.display(), tmp.display());
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), thrown_away.as_str()), "{ran:?}");
    assert_eq!(fs::read_to_string(world.project().join("a.txt")).unwrap(), "two\n");
    assert!(world.project().join("out/app").exists());
    assert_eq!(fs::read(world.project().join(".git/index")).unwrap(), git);
    for gone in [cache.join("x"), home.join("x"), tmp.join("x"), world.project().join(".git/hooks/x")] {
        assert!(!gone.exists(), "{}", gone.display());
    }
    assert_eq!(fs::read_to_string(world.project().join(".claude/settings.json")).unwrap(), "{}");
    let _ = stepped(world, "quiet-work", planted.evil.to_str().unwrap());
    planted.nobody_called("quiet-work");
    // What a build starts itself can be reached.
    let ran = stepped(world, "quiet-work", &format!("python3 -c \"{OWN_LOOPBACK}\""));
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "own\n"), "{ran:?}");
}

/// Nobody was asked, so a weaker jail would be a pretence.
#[test]
fn a_quiet_profile_that_does_not_hold_runs_nothing() {
    let off = Jailed::with("[jail]\nlevel = \"off\"\n");
    for profile in ["quiet-read", "quiet-work"] {
        let ran = stepped(&off, profile, "touch ran");
        assert_eq!(ran.code, Some(126), "{ran:?}");
        assert!(ran.err.contains("does not work here"), "{ran:?}");
        let world = Jailed::new();
        let landlock = super::fallback::stepped_by_landlock(&world, profile, "touch ran");
        assert!(landlock.err.contains("does not work here"), "{landlock:?}");
        assert!(!off.project().join("ran").exists() && !world.project().join("ran").exists());
    }
}

const READING: &str = "tracker.command = \"none\"\nmode.level = \"guard\"\n[quiet]\nallow = \"reading\"\n";

/// The line is answered, and runs.
#[track_caller]
fn run_answered(session: &JailedSession, line: &str) -> Ran {
    let call = session.inner.call("Bash", json!({"command": line}));
    let said = session.inner.pre(&call);
    assert!(said.out.contains("\"permissionDecision\":\"allow\""), "{line}: {said:?}");
    session.run_and_end(&call, line)
}

/// Everything that git starts by itself, where a line is answered because it reads.
#[test]
fn what_an_answered_line_starts_writes_nothing_and_calls_nobody() {
    let world = Jailed::attended(READING);
    commit_one(&world);
    for folder in ["bare.git", "module", "deep"] {
        fs::create_dir_all(world.project().join(folder)).unwrap();
    }
    world.sandbox.put("deep/b.txt", "one\n");
    let module = world.project().join("module");
    let git = |folder: &Path, words: &[&str]| {
        let done = world.sandbox.command("git").current_dir(folder).args(words).output().unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
    };
    git(&world.project().join("bare.git"), &["init", "-q", "--bare"]);
    git(&module, &["init", "-q"]);
    git(
        &module,
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.invalid",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ],
    );
    world.sandbox.git(&["add", "deep", "module"]);
    world.sandbox.git(&["commit", "-q", "-m", "two"]);
    let planted = Planted::new(world);
    let (world, evil) = (&planted.world, planted.evil.display().to_string());
    let config = |words: &[&str]| drop(world.sandbox.git(&[&["config"][..], words].concat()));
    let session = world.prompted();
    world.sandbox.put("a.txt", "two\n");
    world.sandbox.put(".gitattributes", "*.txt diff=x\n");
    config(&["diff.x.textconv", &evil]);
    planted.held("textconv", &run_answered(&session, "git diff"), "quiet-read");
    planted.held("textconv of a commit", &run_answered(&session, "git show HEAD~1"), "quiet-read");
    fs::remove_file(world.project().join(".gitattributes")).unwrap();
    config(&["filter.x.clean", &evil]);
    world.sandbox.put("deep/.gitattributes", "*.txt filter=x\n");
    world.sandbox.put("deep/b.txt", "two\n");
    planted.held("attributes of a subfolder", &run_answered(&session, "git status --short"), "quiet-read");
    fs::remove_file(world.project().join("deep/.gitattributes")).unwrap();
    let included = world.root().join("included");
    fs::write(&included, format!("[core]\n\tfsmonitor = {evil}\n")).unwrap();
    config(&["include.path", &included.display().to_string()]);
    planted.held("include.path", &run_answered(&session, "git status --short"), "quiet-read");
    config(&["--unset", "include.path"]);
    fs::write(module.join(".git/config"), format!("[core]\n\tfsmonitor = {evil}\n")).unwrap();
    planted.held("a submodule", &run_answered(&session, "git status --short"), "quiet-read");
    fs::write(module.join(".git/config"), "").unwrap();
    fs::write(
        world.project().join("bare.git/config"),
        format!("[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = {evil}\n"),
    )
    .unwrap();
    for line in ["cd bare.git && git status --short", "git -C bare.git log"] {
        planted.left_nothing("a bare repository", &run_answered(&session, line), "quiet-read");
    }
    // Only a terminal gets a pager.
    for name in ["core.pager", "pager.log", "core.editor", "core.askPass", "sequence.editor"] {
        config(&[name, &evil]);
    }
    planted.left_nothing("a pager", &run_answered(&session, "git log -1"), "quiet-read");
    // Whoever reaches other machines is not answered, so what git starts for them does not run.
    config(&["core.sshCommand", &evil]);
    config(&["credential.helper", &format!("!{evil}")]);
    for line in ["git ls-remote ssh://x.invalid/a", "git fetch", "git remote show origin"] {
        let said = session.inner.pre(&session.inner.call("Bash", json!({"command": line})));
        assert!(!said.out.contains("\"permissionDecision\":\"allow\""), "{line}: {said:?}");
    }
}

/// What a shell or a pager would start first, by a variable.
#[test]
fn variables_that_name_programs_start_nothing_that_stays() {
    let mut world = Jailed::attended(READING);
    commit_one(&world);
    let evil = world.root().join("evil");
    for (name, value) in [
        ("LESSOPEN", format!("||{} %s", evil.display())),
        ("PAGER", evil.display().to_string()),
        ("GIT_PAGER", evil.display().to_string()),
        ("MANPAGER", evil.display().to_string()),
        ("GIT_SSH_COMMAND", evil.display().to_string()),
        ("GIT_ASKPASS", evil.display().to_string()),
    ] {
        world.sandbox = world.sandbox.with(name, value);
    }
    let planted = Planted::new(world);
    let session = planted.world.prompted();
    for line in ["less a.txt", "git log -1", "git diff", "cat a.txt", "no-such-program-at-all", "man ls"] {
        let call = session.inner.call("Bash", json!({"command": line}));
        let is_answered = session.inner.pre(&call).out.contains("\"permissionDecision\":\"allow\"");
        if is_answered {
            planted.left_nothing(line, &session.run_and_end(&call, line), "quiet-read");
        } else {
            let _ = session.inner.batch(&[&call]);
        }
    }
    // The client's snapshot of the shell's start file is a part of each line.
    let snapshot = planted.world.root().join("snapshot.sh");
    fs::write(&snapshot, format!("command_not_found_handle() {{ {} ; }}\n", planted.evil.display())).unwrap();
    let call = session.inner.call("Bash", json!({"command": "ls"}));
    assert!(session.inner.pre(&call).out.contains("\"permissionDecision\":\"allow\""));
    let ran = session.run_and_end_with(&format!("source {} && ", snapshot.display()), &call, "ls");
    planted.left_nothing("command_not_found_handle", &ran, "quiet-read");
}

/// An answer is for the session's own home.
#[test]
fn an_answer_is_not_known_in_another_home() {
    let world = Jailed::attended(READING);
    world.sandbox.put("a.txt", "one\n");
    let session = world.prompted();
    let call = session.inner.call("Bash", json!({"command": "cat a.txt"}));
    assert!(session.inner.pre(&call).out.contains("\"permissionDecision\":\"allow\""));
    let mut elsewhere = session.line("cat a.txt");
    let ran = Ran::of(&elsewhere.env("HOME", world.root()).output().unwrap());
    assert!(ran.err.contains("runs in a throwaway layer"), "no session is known there: {ran:?}");
}
