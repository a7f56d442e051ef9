//! Who starts a command keeps what it would lose, right before it begins and outside of its jail.

use super::answered::decision;
use super::places::with_disk;
use super::world::{Jailed, Ran};
use crate::rollback::crash::CHANGING;
use crate::support::{Answer, BINARY};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

fn guarded() -> Jailed {
    Jailed::with(GUARD)
}

#[test]
fn the_starter_keeps_right_before_the_command() {
    let world = guarded();
    let session = world.prompted();
    for (line, name) in [("rm -rf notes", "notes/a.txt"), ("echo new > .env", ".env")] {
        world.sandbox.put(name, "old\n");
        let shelf = world.project().join(".claude/checkpoints/kept");
        let before = fs::read_dir(&shelf).map_or(0, Iterator::count);
        let call = session.inner.call("Bash", json!({"command": line}));
        session.inner.pre(&call).silent();
        assert_eq!(fs::read_dir(&shelf).map_or(0, Iterator::count), before, "{line}: not by the hook");
        let _ = session.inner.batch(&[&call]);
        let ran = session.ran(line);
        assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "work"), "{ran:?}");
        assert!(ran.told.contains("kept as ") && ran.told.contains("1 file, 4 bytes"), "{ran:?}");
        assert!(ran.noticed.contains("you can bring it back with `aops-hook undo"), "{ran:?}");
        assert_eq!(ran.step["end"]["under"]["kept"]["files"], 1, "{ran:?}");
    }
}

/// Scripts too: words alone would not find them.
#[test]
fn no_command_reads_what_was_kept() {
    let world = guarded();
    let session = world.prompted();
    world.sandbox.put(".env", "KEY=1\n");
    assert!(session.ran("echo new > .env").told.contains("kept as 1"));
    world.sandbox.put("look.sh", "find .claude/checkpoints -type f -exec cat {} + 2>&1\necho seen\n");
    // The jail that waits was made before there was anything to hide.
    let _ = session.ran("true");
    let ran = session.ran("sh look.sh");
    assert_eq!(ran.out, "seen\n", "{ran:?}");
    assert_eq!(fs::read_to_string(world.project().join(".env")).unwrap(), "new\n");
}

#[test]
fn what_cannot_be_kept_does_not_run() {
    let world = guarded();
    let session = world.prompted();
    world.sandbox.put("notes.txt", "old\n");
    // A file in the place of the folder: nothing can be kept any more.
    let call = session.inner.call("Bash", json!({"command": "rm notes.txt"}));
    session.inner.pre(&call).silent();
    fs::create_dir_all(world.project().join(".claude")).unwrap();
    let _ = fs::remove_dir_all(world.project().join(".claude/checkpoints"));
    fs::write(world.project().join(".claude/checkpoints"), "").unwrap();
    fs::set_permissions(world.project().join(".claude/checkpoints"), fs::Permissions::from_mode(0o600))
        .unwrap();
    let ran = Ran::of(&session.line("rm notes.txt").output().unwrap());
    assert_eq!(ran.code, Some(126), "{ran:?}");
    assert!(ran.err.contains("what it would lose cannot be kept"), "{ran:?}");
    assert!(world.project().join("notes.txt").exists());
}

const GUARD: &str = "tracker.command = \"none\"\nmode.level = \"guard\"\n";

#[track_caller]
fn asks(said: &Answer, why: &str) {
    assert_eq!(decision(said), "ask", "{said:?}");
    assert!(said.out.contains("the only copy") && said.out.contains(why), "{said:?}");
}

/// One that its owner may not read, one on another disk: no rule finds anything in these lines, and nothing
/// says that somebody has a copy. A superuser reads whatever the modes are.
#[test]
fn what_nobody_can_keep_is_asked_about() {
    let world = Jailed::attended(GUARD);
    let session = world.prompted();
    let locked = world.sandbox.put("locked.txt", "mine\n");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o200)).unwrap();
    for line in ["rm -f locked.txt", "echo x > locked.txt", "true; rm -rf *.txt"] {
        let said = session.inner.ask_bash(line);
        if rustix::process::geteuid().is_root() {
            assert_eq!(decision(&said), "", "{line}");
        } else {
            asks(&said, "locked.txt` cannot be read");
        }
    }
    world.sandbox.put("disk/.keep", "");
    let call = session.inner.call("Bash", json!({"command": "rm -rf disk"}));
    let payload = session.inner.payload("PreToolUse", call.fields()).to_string();
    asks(&with_disk(&world, &session.inner, &["PreToolUse"], &payload), "disk` is on another file system");
}

/// An ordinary user who may remove another's file, since the folder is theirs. Only a superuser can make one.
#[test]
fn another_users_file_is_asked_about() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let world = Jailed::attended(GUARD);
    let session = world.prompted();
    let own = |args: &[&str]| drop(world.sandbox.command("chown").args(args).assert().success());
    own(&["-R", "65534:65534", world.root().to_str().unwrap()]);
    let theirs = world.sandbox.put("theirs.txt", "theirs\n");
    own(&["0:0", theirs.to_str().unwrap()]);
    for line in ["rm -f theirs.txt", "echo x > theirs.txt", "git init -q; rm theirs.txt"] {
        let call = session.inner.call("Bash", json!({"command": line}));
        let payload = session.inner.payload("PreToolUse", call.fields()).to_string();
        let mut hook = world.sandbox.command("setpriv");
        hook.args(["--reuid=65534", "--regid=65534", "--clear-groups", BINARY, "PreToolUse"]);
        hook.envs(world.sandbox.inside_client()).env("CLAUDE_CODE_SESSION_ATTENDED", "1");
        asks(
            &Answer::of("PreToolUse", &hook.write_stdin(payload).output().unwrap()),
            "belongs to another user",
        );
    }
}

/// Whatever kills the starter: the file is there, or it was kept whole before it went.
#[test]
fn killed_at_any_change_while_it_keeps_nothing_is_lost() {
    let calls = [CHANGING.as_slice(), &["link", "linkat", "openat", "mount", "clone3", "execve"]].concat();
    let (there, kept) = killed_while_it_keeps("rm notes.txt", &["notes.txt".to_owned()], (&calls, 1));
    assert!(there > 30 && kept > 10, "{there} {kept}");
}

/// The same for many that are copied, at every third of the calls.
#[test]
fn killed_at_any_change_while_it_packs_nothing_is_lost() {
    let names: Vec<String> = (0..40).map(|n| format!("many/{n}.txt")).collect();
    let (there, kept) = killed_while_it_keeps("git checkout -- .", &names, (&CHANGING, 3));
    assert!(there > 10 && kept > 1, "{there} {kept}");
}

/// How often the files were still there, and how often they came back.
#[expect(clippy::disallowed_methods, reason = "the starter under `strace`, with the client's variables")]
fn killed_while_it_keeps(line: &str, names: &[String], (calls, step): (&[&str], usize)) -> (usize, usize) {
    let world = guarded();
    let put = |text: &str| names.iter().for_each(|name| drop(world.sandbox.put(name, text)));
    put("committed\n");
    if names.len() > 1 {
        world.sandbox.git(&["init", "-q"]);
        world.sandbox.git(&["add", "."]);
        world.sandbox.git(&["-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-qm", "x"]);
    }
    let session = world.prompted();
    let are = |text: &str| {
        let mut texts = names.iter().map(|name| fs::read_to_string(world.project().join(name)));
        texts.all(|now| now.is_ok_and(|now| now == text))
    };
    let (mut there, mut kept) = (0, 0);
    for call in calls {
        for nth in (1..).step_by(step) {
            let text = format!("mine at {call} {nth}\n");
            put(&text);
            let asked = session.inner.call("Bash", json!({"command": line}));
            let said = session.inner.pre(&asked);
            assert!(!said.out.contains("permissionDecision"), "{text}: {said:?}");
            // It makes its own jail.
            let _ = fs::remove_file(session.prepared());
            let starter = session.line(line);
            let mut strace = Command::new("strace");
            strace.args(["-o", "/dev/null", "-e", &format!("inject={call}:signal=KILL:when={nth}")]);
            strace
                .arg(starter.get_program())
                .args(starter.get_args())
                .env_clear()
                .current_dir(world.project());
            strace.envs(starter.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let output = strace.stdin(Stdio::null()).output().expect("`strace` is needed: install it");
            let _ = session.inner.fail(&asked, "Exit code 137");
            let is_killed = output.status.signal() == Some(9);
            if are(&text) {
                there += 1;
            } else {
                kept += 1;
                let undone = world.sandbox.person(&["undo", "--yes"]);
                assert_eq!(undone.code, Some(0), "{text}: {undone:?}");
                assert!(are(&text), "{text}: {undone:?}");
            }
            let listed = world.sandbox.person(&["undo", "list"]);
            assert_eq!(listed.code, Some(0), "{text}: {listed:?}");
            if !is_killed {
                break;
            }
        }
    }
    (there, kept)
}
