//! What the way into a profile costs, counted where counting does not depend on the machine.

use super::world::{Jailed, JailedSession};
use crate::support::BINARY;
use serde_json::json;
use std::fs;

/// System calls from the start of our program until it becomes the shell, the superuser's included.
const MOST: usize = 320;

/// Asks about this command, runs it as the client does, and counts until the shell begins.
fn counted(world: &Jailed, session: &JailedSession, line: &str) -> usize {
    let call = session.inner.call("Bash", json!({"command": line}));
    session.inner.pre(&call).silent();
    let trace = world.sandbox.tmp().join("trace");
    let mut strace = world.sandbox.command("strace");
    strace.args(["-f", "-o", trace.to_str().unwrap(), BINARY, "--shell", line]);
    strace.env("AI_AGENT", "claude-code_agent").env("CLAUDE_CODE_SESSION_ID", &session.inner.id);
    let output = strace.output().expect("`strace` is needed: install the package of that name");
    assert!(output.status.success(), "{output:?}");
    session.inner.post(&call).silent();
    let text = fs::read_to_string(&trace).unwrap();
    // The second program is the shell.
    let shell = text.match_indices("execve(").nth(1).unwrap().0;
    let ours = &text[..shell];
    // A debug build asks before each close whether the file is open; the one that ships does not.
    ours.lines().filter(|call| call.contains('(') && !call.contains("F_GETFD")).count()
}

/// A throwaway layer copies nothing and walks nothing, however large the project is.
#[test]
fn the_way_in_is_short_and_the_same_for_a_large_project() {
    let world = Jailed::new();
    world.sandbox.put(".claude/settings.json", "{}");
    world.sandbox.put("try.sh", "true\n");
    let session = world.prompted();
    let few = (counted(&world, &session, "sh try.sh"), counted(&world, &session, "cat Makefile || true"));
    for folder in 0..100 {
        let folder = world.project().join(format!("src/{folder}"));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..1000 {
            fs::File::create(folder.join(file.to_string())).unwrap();
        }
    }
    let many = (counted(&world, &session, "sh try.sh"), counted(&world, &session, "cat Makefile || true"));
    let small = Jailed::new();
    small.sandbox.put("try.sh", "true\n");
    let session = small.prompted();
    session.inner.hydrate("minor-edit", "new");
    let work = counted(&small, &session, "sh try.sh");
    for calls in [few.0, few.1, many.0, many.1, work] {
        assert!((100..=MOST).contains(&calls), "{few:?} {many:?} {work}");
    }
    assert!(many.0.abs_diff(few.0) < 10 && many.1.abs_diff(few.1) < 10, "{few:?} {many:?}");
}
