//! Projects in odd places: on another file system, behind a link, with a disk inside, of another group.

use super::world::Jailed;
use crate::support::{Answer, BINARY, Session};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The project is a link to a folder in memory, as `/dev/shm` is on every Linux.
#[test]
fn a_project_behind_a_link_on_another_file_system_is_held() {
    let world = Jailed::new();
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    fs::remove_dir(world.project()).unwrap();
    symlink(elsewhere.path(), world.project()).unwrap();
    world.sandbox.put("a.txt", "one\n");
    world.sandbox.put(".claude/settings.json", "{}\n");
    world
        .sandbox
        .put("try.sh", "echo two > a.txt; rm try.sh; echo x > .claude/settings.json; cat a.txt; ls\n");
    let session = world.prompted();
    let before = world.tree();
    let ran = session.ran("sh try.sh");
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.profile().as_str()),
        (Some(0), "two\na.txt\n", "trial"),
        "{ran:?}"
    );
    assert_eq!(world.tree(), before);
    session.inner.hydrate("minor-edit", "new");
    let ran = session.ran("sh try.sh");
    assert!(ran.err.contains("Read-only file system") && ran.profile() == "work", "{ran:?}");
    assert_eq!(fs::read_to_string(elsewhere.path().join("a.txt")).unwrap(), "two\n");
    assert_eq!(fs::read_to_string(elsewhere.path().join(".claude/settings.json")).unwrap(), "{}\n");
}

/// Runs this with a disk mounted in the project, and tells on stderr what is left on it.
pub(super) fn with_disk(world: &Jailed, session: &Session, arguments: &[&str], input: &str) -> Answer {
    let script =
        "mount -t tmpfs none disk && echo one > disk/a && \"$0\" \"$@\"; code=$?; ls disk >&2; exit $code";
    let mut command = world.sandbox.command("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, BINARY]).args(arguments);
    command.envs([
        ("CLAUDECODE", "1"),
        ("AI_AGENT", "claude-code_agent"),
        ("CLAUDE_CODE_SESSION_ID", &session.id),
    ]);
    Answer::of("", &command.write_stdin(input).output().expect("`unshare` is needed: install util-linux"))
}

#[test]
fn a_disk_inside_a_project_is_thrown_away_too() {
    let world = Jailed::new();
    world.sandbox.put("disk/.keep", "");
    let line = "sh try.sh";
    world.sandbox.put("try.sh", "echo x > disk/new; rm disk/a; ls disk; df --output=fstype disk | tail -1\n");
    let session = world.sandbox.session();
    let event = |name: &str, fields: Value| {
        with_disk(&world, &session, &[name], &session.payload(name, fields).to_string())
    };
    let started = event("SessionStart", json!({"source": "startup"}));
    assert!(!started.out.contains("systemMessage"), "{started:?}");
    let _ = event("UserPromptSubmit", json!({"prompt": "add a greeting"}));
    let call = session.call("Bash", json!({"command": line}));
    let asked =
        event("PreToolUse", json!({"tool_name": "Bash", "tool_input": call.input, "tool_use_id": call.id}));
    assert_eq!((asked.code, asked.out.as_str()), (Some(0), ""), "{asked:?}");
    let ran = with_disk(&world, &session, &["shell", line], "");
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "new\noverlay\n", "a\n"), "{ran:?}");
}

/// A superuser has throwaway layers there; an ordinary user, who belongs to that group, is told that there
/// are none.
#[test]
fn a_project_of_another_group_is_held() {
    let own = rustix::process::getegid();
    let others = rustix::process::getgroups().unwrap();
    let root = rustix::process::geteuid().is_root();
    let other =
        others.into_iter().find(|group| *group != own && !group.is_root()).map(rustix::process::Gid::as_raw);
    // An ordinary user of one group can have no such folder.
    let Some(group) = other.or(root.then_some(12_345)) else { return };
    let world = Jailed::new();
    world.sandbox.put(".claude/settings.json", "{}\n");
    world.sandbox.put("try.sh", "echo made > made.txt; echo x > .claude/settings.json\n");
    chown(world.project(), None, Some(group)).unwrap();
    let session = world.sandbox.session();
    let started = session.start("startup");
    assert_eq!(started.out.contains("belongs to another user or group"), !root, "{started:?}");
    let _ = session.prompt("add a greeting");
    let call = session.call("Bash", json!({"command": "sh try.sh"}));
    let asked = session.pre(&call);
    assert_eq!(asked.code == Some(0) && asked.out.is_empty(), root, "{asked:?}");
    let _ = session.prompt(". go on");
    let call = session.call("Bash", json!({"command": "sh try.sh"}));
    session.pre(&call).silent();
    let ran = world.shell("sh try.sh", &[("CLAUDE_CODE_SESSION_ID", &session.id)]);
    assert!(ran.err.contains("Read-only file system"), "{ran:?}");
    assert!(world.project().join("made.txt").exists());
    assert_eq!(fs::read_to_string(world.project().join(".claude/settings.json")).unwrap(), "{}\n");
}

#[test]
fn paths_with_blanks_links_and_other_letters_are_held() {
    for name in ["with blank", "grüße, 日本: a", "-dash"] {
        let world = Jailed::below(name);
        world.sandbox.put("a.txt", "one\n");
        let link = world.sandbox.tmp().join("link");
        symlink(world.project(), &link).unwrap();
        let session = world.prompted();
        world.sandbox.put("try.sh", "echo two > a.txt; cat a.txt; pwd -P\n");
        world.sandbox.put("work.sh", "echo x > .aops/config.toml; echo two > a.txt\n");
        let before = world.tree();
        let ran = session.ran(&format!("cd '{}' && sh try.sh", link.display()));
        assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
        assert_eq!(ran.out, format!("two\n{}\n", world.project().display()), "{name}");
        assert_eq!(world.tree(), before, "{name}");
        session.inner.hydrate("minor-edit", "new");
        let ran = session.ran("sh work.sh");
        assert!(ran.err.contains("Read-only file system"), "{name}: {ran:?}");
        assert_eq!(fs::read_to_string(world.project().join("a.txt")).unwrap(), "two\n");
    }
}

/// A worktree of a repository that lies elsewhere, and a folder of the project on a disk of its own.
#[test]
fn worktrees_and_other_disks_are_held() {
    let world = Jailed::new();
    let sandbox = &world.sandbox;
    let main = sandbox.tmp().join("main");
    let main = main.to_str().unwrap();
    sandbox.git(&["init", "-q", "-b", "main", main]);
    for arguments in [
        &[
            "-C",
            main,
            "-c",
            "user.email=t@example.invalid",
            "-c",
            "user.name=t",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ][..],
        &["-C", main, "worktree", "add", "-q", sandbox.project().join("tree").to_str().unwrap()],
    ] {
        sandbox.git(arguments);
    }
    sandbox.put("tree/try.sh", "echo x > new; git status --short; df --output=fstype . | tail -1\n");
    let session = world.prompted();
    let before = world.tree();
    let ran = session.ran("cd tree && sh try.sh");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "?? new\n?? try.sh\noverlay\n"), "{ran:?}");
    assert_eq!(world.tree(), before);
}

/// A name that only the running shell knows passes by its words where the jail holds, and the kernel keeps
/// what it leads to.
#[test]
fn a_name_that_only_the_shell_knows_leads_to_nothing_that_guards() {
    let world = Jailed::new();
    world.sandbox.put("out/.keep", "");
    world.sandbox.put(
        "names",
        "one\n../.claude/settings\n../.claude/settings.local\n../../home/.claude\n../.aops/x\n",
    );
    let before = "{\"a\":1}\n";
    world.sandbox.put(".claude/settings.json", before);
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let ran = session.ran("while read n; do echo '{}' > out/$n.json; done < names");
    assert_eq!(ran.profile(), "work", "{ran:?}");
    assert_eq!(fs::read_to_string(world.project().join("out/one.json")).unwrap(), "{}\n", "{ran:?}");
    assert_eq!(fs::read_to_string(world.project().join(".claude/settings.json")).unwrap(), before);
    for name in [".claude/settings.local.json", ".aops/x.json"] {
        let made = fs::read_to_string(world.project().join(name)).unwrap_or_default();
        assert!(made.is_empty(), "{name}: {made}");
    }
}

/// The client replaces its own file by another at any moment, also while a command starts.
#[test]
fn a_file_that_is_replaced_while_a_command_starts_hinders_nothing() {
    let world = Jailed::new();
    world.sandbox.put("a.txt", "one\n");
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let (file, next) = (world.sandbox.home().join(".claude.json"), world.sandbox.home().join("next"));
    fs::write(&file, "{}").unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                fs::write(&next, "{}").unwrap();
                fs::rename(&next, &file).unwrap();
            }
        });
        let ran: Vec<_> = (0..12).map(|_| session.ran("sh -c 'cat a.txt'")).collect();
        is_over.store(true, Ordering::Relaxed);
        for ran in ran {
            assert_eq!((ran.code, ran.out.as_str()), (Some(0), "one\n"), "{ran:?}");
        }
    });
}
