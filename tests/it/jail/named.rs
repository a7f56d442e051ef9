//! A name opens no jail: what leaves it is a file that only the superuser can change, started with the words
//! that were judged.

use super::ordinary::STAND_INS;
use super::world::{Jailed, JailedSession, Ran};
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Every program that gets more than others, and one that the user's configuration names.
const NAMES: [&str; 8] = ["buildah", "doas", "fusermount", "newuidmap", "podman", "su", "sudo", "own-tool"];
/// Says where it runs, and what it can reach there.
const PROBE: &str = "#!/bin/sh\nreadlink /proc/self/ns/mnt\ncat ~/.claude/aops/keys/sign.key 2>/dev/null && echo KEY\n\
    (: >> ~/.claude/settings.json) 2>/dev/null && echo WRITABLE\nexit 0\n";

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// With these entries before the system's own in `PATH`, and something to guard.
fn world(entries: &[&str]) -> Jailed {
    let mut world = Jailed::with(
        "[jail]\nwithout = [\"own-tool\", \"env\"]\n[gates]\naudit = \"off\"\n[danger]\nsecret-print = \"off\"\n",
    );
    let (_, system) = world.sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap();
    let root = world.root();
    let entry = |entry: &&str| entry.replace("ROOT", root.to_str().unwrap());
    let mut path = OsString::from(entries.iter().map(entry).collect::<Vec<_>>().join(":"));
    path.push(":");
    path.push(system);
    world.sandbox = world.sandbox.with("PATH", path);
    fs::create_dir_all(world.sandbox.config().join("aops/keys")).unwrap();
    fs::write(world.sandbox.config().join("aops/keys/sign.key"), "secret\n").unwrap();
    fs::write(world.sandbox.config().join("settings.json"), "{}").unwrap();
    executable(&world.sandbox.put("probe.sh", PROBE));
    world
}

/// A file of this name, planted in one of several ways. Called with `probe.sh` as its word, each runs the
/// probe.
fn plant(world: &Jailed, at: &Path, way: usize) {
    let probe = world.project().join("probe.sh");
    match way % 5 {
        0 => drop(fs::copy(probe, at).unwrap()),
        1 => symlink(probe, at).unwrap(),
        2 => fs::hard_link(probe, at).unwrap(),
        // The system's own program, under another name.
        3 => symlink("/bin/sh", at).unwrap(),
        _ => drop(fs::copy("/bin/sh", at).unwrap()),
    }
}

#[track_caller]
fn is_held(ran: &Ran, what: &str) {
    let outside = fs::read_link("/proc/self/ns/mnt").unwrap();
    assert_eq!((ran.code, ran.out.lines().count()), (Some(0), 1), "{what}: {ran:?}");
    assert_ne!(ran.out.trim(), outside.to_str().unwrap(), "{what}");
    assert!(["trial", "read", "work"].contains(&ran.profile().as_str()), "{what}: {ran:?}");
}

/// Names × folders of `PATH` × ways of planting × states of the session, each compared with what any script
/// can do.
#[test]
fn no_name_gets_more_than_a_plain_script() {
    let folders =
        [("ROOT/project/bin", "bin"), ("ROOT/home/.local/bin", "../home/.local/bin"), ("ROOT/tmp", "../tmp")];
    let folders = [&folders[..], &[("rel", "rel"), ("", ".")]].concat();
    let entries: Vec<&str> = folders.iter().map(|(entry, _)| *entry).collect();
    let world = world(&entries);
    for (_, folder) in &folders {
        fs::create_dir_all(world.project().join(folder)).unwrap();
    }
    let session = world.prompted();
    each_planted(&world, &session, &folders);
    session.inner.hydrate("minor-edit", "new");
    each_planted(&world, &session, &folders);
}

fn each_planted(world: &Jailed, session: &JailedSession, folders: &[(&str, &str)]) {
    is_held(&session.ran("sh probe.sh"), "a plain script");
    for (n, name) in NAMES.iter().enumerate() {
        for (m, (_, folder)) in folders.iter().enumerate() {
            let at = world.project().join(folder).join(name);
            plant(world, &at, n + m);
            let reads = *name == "podman" && (n + m) % 5 < 3;
            let line = if reads { "podman ps".to_owned() } else { format!("{name} probe.sh") };
            is_held(&session.ran(&line), &format!("`{line}` planted in `{folder}`, way {}", (n + m) % 5));
            fs::remove_file(at).unwrap();
        }
    }
}

/// What comes first counts, and it is looked at again when the command starts.
#[test]
fn a_program_that_was_planted_after_it_was_judged_does_not_run() {
    if is_root() {
        return;
    }
    let world = world(&["ROOT/home/bin"]);
    fs::create_dir(world.sandbox.home().join("bin")).unwrap();
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let call = session.inner.call("Bash", json!({"command": "env true"}));
    session.inner.pre(&call).silent();
    let planted = world.sandbox.home().join("bin/env");
    fs::write(&planted, PROBE).unwrap();
    executable(&planted);
    let ran = Ran::of(&session.line("env true").output().unwrap());
    assert_eq!((ran.code, ran.out.as_str()), (Some(126), ""), "{ran:?}");
    assert!(ran.err.contains("only the superuser can write"), "{ran:?}");
    // Planted, it is a command like any other; gone, the system's own leaves again.
    is_held(&session.ran("env ps"), "planted");
    fs::remove_file(planted).unwrap();
    assert_eq!(session.ran("env true").profile(), "none");
}

/// The words go to the program as they were judged, and nothing that anybody else can write has a part in it.
#[test]
fn what_leaves_the_jail_is_started_without_a_shell() {
    let mut world = world(&["ROOT/home/bin"]);
    world.sandbox.put("brought.sh", "touch brought\nenv() { touch function; }\n");
    let brought = world.project().join("brought.sh");
    world.sandbox = world.sandbox.with("BASH_ENV", brought).with("PYTHONPATH", "/tmp");
    fs::create_dir(world.sandbox.home().join("bin")).unwrap();
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    if is_root() {
        // A superuser needs none of these programs outside.
        assert_eq!(session.ran("env sh probe.sh").profile(), "work");
        return;
    }
    let ran = session.ran("env");
    assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "none"), "{ran:?}");
    let variable = |name: &str| ran.out.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    assert_eq!((variable("BASH_ENV"), variable("PYTHONPATH")), (None, None), "{ran:?}");
    let path = variable("PATH").unwrap();
    assert!(path.contains("/usr/bin") && !path.contains("home/bin") && !path.contains("/."), "{path}");
    let ran = session.ran("env printf '%s|' 'a b' \"c;d\" -x");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "a b|c;d|-x|"), "{ran:?}");
    assert!(!world.project().join("brought").exists() && !world.project().join("function").exists());
    // The input is the empty one that the client gives.
    let ran = session.ran("env cat");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{ran:?}");
    for line in ["env ls *.sh", "env ls ~/x", "env \"$HOME\"", "env ls > x", "env ls #x", "env ls; ls"] {
        session.inner.ask_bash(line).refused(&["`env` cannot run inside the jail", "plain words"]);
    }
}

/// A `sudo` that asks for no password, and a `podman`: stand-ins that root owns.
#[expect(clippy::disallowed_methods, reason = "the variable is the tests' own")]
fn stand_ins() -> Option<PathBuf> {
    std::env::var_os(STAND_INS).map(PathBuf::from)
}

/// Run as an ordinary user by a superuser, who alone can make such files.
#[test]
fn what_sudo_is_told_to_run_is_known_or_a_persons_to_allow() {
    let Some(folder) = stand_ins() else { return };
    let mut world = world(&[folder.to_str().unwrap()]);
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let outside = fs::read_link("/proc/self/ns/mnt").unwrap();
    let ran = session.ran("sudo readlink /proc/self/ns/mnt");
    assert_eq!((ran.out.trim(), ran.profile().as_str()), (outside.to_str().unwrap(), "none"), "{ran:?}");
    assert_eq!(session.ran("podman ps").profile(), "none");
    for line in [
        "sudo ./probe.sh",
        "sudo sh probe.sh",
        "sudo -E true",
        "sudo -s",
        "sudo env X=y true",
        "sudo PATH=. true",
        "su -c ./probe.sh",
        "podman run -v /:/h alpine ls",
        "podman ps --runtime ./probe.sh",
    ] {
        session.inner.ask_bash(line).refused(&["runs outside of the jail", "is not known", "ask the user"]);
    }
    // A program's own configuration says what it starts.
    let own = world.sandbox.home().join(".config/containers");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("containers.conf"), "[engine]\nhelper_binaries_dir = [\"/tmp\"]\n").unwrap();
    session.inner.ask_bash("podman ps").refused(&["containers.conf"]);
    world.sandbox = world.sandbox.with("CLAUDE_CODE_SESSION_ATTENDED", "1");
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    allowed(&session, "sudo ./probe.sh", outside.to_str().unwrap());
}

/// No jail hides the keys from a reader that `sudo` starts, so its words are looked up, and it takes no file
/// where a link may be planted even after that.
#[test]
fn what_sudo_reads_is_no_link_to_the_keys() {
    let Some(folder) = stand_ins() else { return };
    let mut world = world(&[folder.to_str().unwrap()]);
    let keys = world.sandbox.config().join("aops/keys");
    let links = [
        ("k", keys.join("sign.key")),
        ("d", keys.clone()),
        ("h", world.sandbox.home()),
        ("n", "harmless".into()),
    ];
    for (name, to) in links {
        symlink(to, world.project().join(name)).unwrap();
    }
    world.sandbox.put("harmless", "x\n");
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let to_keys =
        ["cat k", "cat -- k", "head -n 9 k", "tail k", "grep -r . d", "grep -R . d", "cat d/sign.key"];
    // Where the others lead can be changed until they are read.
    let others = [
        "cat n",
        "cat harmless",
        "wc n",
        "grep -fk x",
        "grep -r x .",
        "grep -d recurse . ..",
        "grep . -r",
        "grep --directories=recurse . /etc",
        "grep --dereference-recursive . /etc",
        "du --files0-from=n",
        "cat /proc/1/root/x",
    ];
    for line in to_keys.into_iter().chain(others) {
        session
            .inner
            .ask_bash(&format!("sudo {line}"))
            .refused(&["runs outside of the jail", "is not known"]);
    }
    // The same without it is held, and sees no key.
    for line in ["cat k", "cat n", "tail harmless", "wc n"] {
        let ran = session.ran(line);
        assert!(!ran.out.contains("secret") && ran.profile() != "none", "{line}: {ran:?}");
    }
    for line in [
        "cat /etc/passwd",
        "head -n 1 /etc/passwd",
        "grep -c root /etc/passwd",
        "ls d",
        "readlink k",
        "du -s /etc/apt",
    ] {
        assert_eq!(session.ran(&format!("sudo {line}")).profile(), "none", "{line}");
    }
    world.sandbox = world.sandbox.with("CLAUDE_CODE_SESSION_ATTENDED", "1");
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    for line in to_keys {
        session.inner.ask_bash(&format!("sudo {line}")).refused(&["secret-file"]);
    }
    for line in others.iter().filter(|line| !line.ends_with('.')) {
        let call = session.inner.call("Bash", json!({"command": format!("sudo {line}")}));
        assert_eq!(
            session.inner.pre(&call).json()["hookSpecificOutput"]["permissionDecision"],
            "ask",
            "{line}"
        );
    }
}

/// A person is asked and says yes: it runs outside, as asked.
fn allowed(session: &JailedSession, line: &str, outside: &str) {
    let call = session.inner.call("Bash", json!({"command": line}));
    let asked = session.inner.pre(&call).json();
    assert_eq!(asked["hookSpecificOutput"]["permissionDecision"], "ask", "{asked}");
    let ran = Ran::of(&session.line(line).output().unwrap());
    assert!(ran.code == Some(0) && ran.out.contains(outside) && ran.out.contains("WRITABLE"), "{ran:?}");
}
