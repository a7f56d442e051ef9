//! What the way into a profile costs, counted where counting does not depend on the machine.

use super::world::{Jailed, JailedSession};
use crate::support::BINARY;
use serde_json::json;
use std::fs;
use std::path::Path;

/// System calls from the start of our program until it becomes the shell, by profile: an ordinary user's, and
/// what a superuser's second namespace adds. Nine of them are the border for mounts and the filter; nine more
/// hold our administrator's folder, which a superuser's session makes.
const MOST: [(&str, usize); 5] =
    [("work", 160), ("read", 145), ("trial", 110), ("quiet-read", 260), ("quiet-work", 285)];
const SUPERUSERS: usize = 129;
/// A profile that writes holds each folder above our own program.
const FOLDERS: usize = 9;

fn most(profile: &str) -> usize {
    let (_, most) = MOST.into_iter().find(|(known, _)| *known == profile).unwrap();
    let folders = Path::new(BINARY).ancestors().count() - 2;
    most + if rustix::process::geteuid().is_root() { SUPERUSERS } else { 0 }
        + if profile.ends_with("work") { FOLDERS * folders } else { 0 }
}

/// Every system call of our program with these arguments, and of what it starts.
fn traced(world: &Jailed, arguments: &[&str], variables: &[(&str, &str)], input: &str) -> String {
    let trace = world.sandbox.tmp().join("trace");
    let mut strace = world.sandbox.command("strace");
    strace.args(["-f", "-o", trace.to_str().unwrap(), BINARY]).args(arguments);
    strace.envs(variables.iter().copied()).write_stdin(input);
    let output = strace.output().expect("`strace` is needed: install the package of that name");
    assert!(matches!(output.status.code(), Some(0 | 2)), "{output:?}");
    fs::read_to_string(&trace).unwrap()
}

/// The system calls until the shell, which is the second program, begins.
fn before_the_shell(trace: &str) -> usize {
    let shell = trace.match_indices("execve(").nth(1).unwrap().0;
    let ours = &trace[..shell];
    // A debug build asks before each close whether the file is open; the one that ships does not.
    ours.lines().filter(|call| call.contains('(') && !call.contains("F_GETFD")).count()
}

/// Asks about this command, runs it as the client does, and counts until the shell begins.
fn counted(world: &Jailed, session: &JailedSession, line: &str) -> usize {
    let call = session.inner.call("Bash", json!({"command": line}));
    session.inner.pre(&call).silent();
    session.keeper();
    let variables =
        [("AI_AGENT", "claude-code_agent"), ("CLAUDE_CODE_SESSION_ID", session.inner.id.as_str())];
    let trace = traced(world, &["--shell", line], &variables, "");
    session.inner.post(&call).silent();
    before_the_shell(&trace)
}

/// A server of the client may begin before the session: only the configuration files are read, and only its
/// own profile is tried.
#[test]
fn a_start_without_a_session_is_short_too() {
    let world = Jailed::new();
    world.sandbox.put(".aops/workflows/x.md", "not read\n");
    let trace = traced(&world, &["--shell", "true"], &[("AI_AGENT", "claude-code_harness")], "");
    assert!(before_the_shell(&trace) <= 2 * most("work"), "{trace}");
    assert!(!trace.contains("/x.md") && !trace.contains("CLONE_NEWNET"), "{trace}");
}

/// The session knows whether namespaces hold, so no git of ours asks again.
#[test]
fn a_stop_reads_no_configuration_for_its_gits() {
    let world = Jailed::new();
    world.sandbox.git(&["init", "-q"]);
    world.sandbox.put("a.txt", "one\n");
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    assert_eq!(session.ran("sh -c 'echo two > a.txt'").code, Some(0));
    let fields = json!({"stop_hook_active": false, "last_assistant_message": "Done.", "background_tasks": [],
        "session_crons": []});
    let payload = session.inner.payload("Stop", fields).to_string();
    let trace = traced(&world, &["Stop"], &[("CLAUDECODE", "1")], &payload);
    let begun =
        |name: &str| trace.lines().filter(|call| call.contains("execve(") && call.contains(name)).count();
    assert!(begun("/git\", [") > 0 && begun("\"__held\"") > 0, "{trace}");
    assert_eq!(begun("\"__confined\""), 0, "{trace}");
    let opened = trace.lines().filter(|call| call.contains("openat(") && call.contains("/aops/config.toml"));
    assert_eq!(opened.collect::<Vec<_>>(), Vec::<&str>::new());
}

/// A profile for lines that nobody is asked about makes its own network and temporary folder, and is as short
/// in a large project.
#[test]
fn the_way_into_a_quiet_profile_is_short() {
    let quiet = "tracker.command = \"none\"\nmode.level = \"guard\"\n[quiet]\nallow = \"contained\"\n";
    let world = Jailed::attended(quiet);
    world.sandbox.put("try.sh", "true\n");
    for file in 0..500 {
        world.sandbox.put(&format!("src/{}/{file}", file / 50), "x\n");
    }
    world.sandbox.git(&["init", "-q"]);
    world.sandbox.git(&["add", "-A"]);
    world.sandbox.git(&["-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-qm", "x"]);
    let session = world.prompted();
    for (profile, line) in [("quiet-read", "cat try.sh"), ("quiet-work", "sh try.sh")] {
        let call = session.inner.call("Bash", json!({"command": line}));
        let said = session.inner.pre(&call);
        assert!(said.out.contains("\"permissionDecision\":\"allow\""), "{line}: {said:?}");
        let variables =
            [("AI_AGENT", "claude-code_agent"), ("CLAUDE_CODE_SESSION_ID", session.inner.id.as_str())];
        let calls = before_the_shell(&traced(&world, &["--shell", line], &variables, ""));
        session.inner.post(&call).silent();
        println!("{profile}: {calls}");
        assert!((50..=most(profile)).contains(&calls), "{profile}: {calls}");
    }
}

/// Of each file that a line unlinks: one look by the hook, and by the starter one more, a link, and a look at
/// the link.
#[test]
fn what_is_kept_by_links_costs_four_calls_a_file() {
    let made = |files: usize| {
        let world = Jailed::with("tracker.command = \"none\"\nmode.level = \"guard\"\n");
        world.sandbox.put("a.txt", "one\n");
        world.sandbox.git(&["init", "-q"]);
        world.sandbox.git(&["add", "-A"]);
        world.sandbox.git(&["-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-qm", "x"]);
        let session = world.prompted();
        // Before the first change a checkpoint is taken, which reads everything; the files come after it.
        let _ = session.ran("touch b.txt");
        for file in 0..files {
            world.sandbox.put(&format!("notes/{file:03}"), "x\n");
        }
        let call = session.inner.call("Bash", json!({"command": "rm -rf notes"}));
        let payload = session.inner.payload("PreToolUse", call.fields()).to_string();
        let hook = traced(&world, &["PreToolUse"], &[("CLAUDECODE", "1")], &payload);
        let variables =
            [("AI_AGENT", "claude-code_agent"), ("CLAUDE_CODE_SESSION_ID", session.inner.id.as_str())];
        let starter = traced(&world, &["--shell", "rm -rf notes"], &variables, "");
        let ended = session.inner.post(&call);
        assert!(ended.out.contains("kept as 1"), "{ended:?}");
        (hook.lines().filter(|line| line.contains("/notes/")).count(), before_the_shell(&starter))
    };
    let (few, many) = (made(50), made(250));
    assert!(many.0 - few.0 <= 220, "the hook: {few:?} {many:?}");
    assert!(many.1 - few.1 <= 3 * 200 + 60, "the starter: {few:?} {many:?}");
}

/// A throwaway layer copies nothing and walks nothing, however large the project is.
#[test]
fn the_way_in_is_short_and_the_same_for_a_large_project() {
    let world = Jailed::new();
    world.sandbox.put(".claude/settings.json", "{}");
    world.sandbox.put("try.sh", "true\n");
    let session = world.prompted();
    let few = (counted(&world, &session, "sh try.sh"), counted(&world, &session, "cat Makefile || true"));
    // One call for each file would be seen among far fewer; `bench/run` has 100,000 of them.
    for folder in 0..100 {
        let folder = world.project().join(format!("src/{folder}"));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..100 {
            fs::File::create(folder.join(file.to_string())).unwrap();
        }
    }
    let many = (counted(&world, &session, "sh try.sh"), counted(&world, &session, "cat Makefile || true"));
    let small = Jailed::new();
    small.sandbox.put("try.sh", "true\n");
    let session = small.prompted();
    session.inner.hydrate("minor-edit", "new");
    let work = counted(&small, &session, "sh try.sh");
    for (profile, calls) in
        [("trial", few.0), ("read", few.1), ("trial", many.0), ("read", many.1), ("work", work)]
    {
        assert!((50..=most(profile)).contains(&calls), "{profile}: {few:?} {many:?} {work}");
    }
    // A jail that waits is entered with fewer calls than any is made.
    assert!(few.0 < few.1, "{few:?}");
    assert!(many.0.abs_diff(few.0) < 10 && many.1.abs_diff(few.1) < 10, "{few:?} {many:?}");
}
