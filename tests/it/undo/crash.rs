//! `SIGKILL` at every system call of an undo that changes something: after the next command everything is as
//! before the undo or as after it, never half.

use super::hand::{Hand, World};
use super::{brought, dirty, partly, repository, undo};
use crate::rollback::crash::{CHANGING, World as Kept};
use crate::support::{BINARY, Sandbox};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;

/// Without the programs that it starts: git goes on when we are killed.
fn strace(sandbox: &Sandbox, options: &[&str], arguments: &[&str]) -> std::process::Output {
    let output = sandbox.command("strace").args(options).arg(BINARY).args(arguments).output();
    let output = output
        .unwrap_or_else(|error| panic!("`strace` is needed: install the package of that name ({error})"));
    sandbox.wait_until("git has ended", || {
        !sandbox.alive().iter().any(|(_, line)| line.starts_with("git ") || line.contains("/git "))
    });
    output
}

fn counts(world: &Kept, sandbox: &Sandbox, arguments: &[&str]) -> BTreeMap<String, usize> {
    let trace = sandbox.tmp().join("trace");
    let output = strace(sandbox, &["-o", trace.to_str().unwrap()], arguments);
    assert!(output.status.success(), "{output:?}");
    world.put_back();
    let mut counts = BTreeMap::new();
    for line in fs::read_to_string(&trace).unwrap().lines() {
        let call = line.split_once('(').map_or("", |(call, _)| call);
        if CHANGING.contains(&call) || ["linkat", "link", "pwritev", "vfork", "clone3"].contains(&call) {
            *counts.entry(call.to_owned()).or_insert(0) += 1;
        }
    }
    counts
}

fn pending(sandbox: &Sandbox) -> bool {
    sandbox.project().join(".claude/checkpoints/kept/undo.json").exists()
}

fn an_undo_killed(stride: usize) {
    let sandbox = repository();
    sandbox.put("a.txt", "stashed\n");
    sandbox.git(&["stash", "push", "-q", "-m", "one"]);
    dirty(&sandbox);
    let was = World::of(&sandbox);
    let number = Hand::of(&sandbox).discard("git reset --hard HEAD~1");
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let lost = World::of(&sandbox);
    let world = Kept::keep(&sandbox);
    let number_text = number.to_string();
    let arguments = ["undo", &number_text, "--yes"];
    let (mut kills, mut finished, mut untouched) = (0, 0, 0);
    for (call, count) in counts(&world, &sandbox, &arguments) {
        for nth in (1..=count).step_by(stride) {
            world.put_back();
            let case = format!("killed at {call} {nth}");
            let inject = format!("inject={call}:signal=KILL:when={nth}");
            let output = strace(&sandbox, &["-o", "/dev/null", "-e", &inject], &arguments);
            if output.status.signal() != Some(9) {
                assert!(output.status.success(), "{case}: {output:?}");
                break;
            }
            kills += 1;
            finished += usize::from(pending(&sandbox));
            let listed = sandbox.person(&["undo", "list"]);
            assert!(listed.code == Some(0) && !pending(&sandbox), "{case}: {listed:?}");
            let now = World::of(&sandbox);
            if now == lost {
                untouched += 1;
                let done = undo(&sandbox, &[&number_text]);
                assert_eq!(done.code, Some(0), "{case}: {done:?}");
            }
            was.same(&World::of(&sandbox), &case);
            // And the present can be had again.
            let rows: Vec<serde_json::Value> =
                serde_json::from_str(&sandbox.person(&["undo", "list", "--json"]).out).unwrap();
            let present = rows.iter().rfind(|row| row["line"] == format!("undo {number}")).unwrap();
            brought(&sandbox, present["number"].as_u64().unwrap());
            lost.same(&World::of(&sandbox), &case);
        }
    }
    assert!(
        kills > 60 / stride && finished > 10 / stride && untouched > 10 / stride,
        "{kills} {finished} {untouched}"
    );
}

#[test]
fn killed_at_changes_of_an_undo() {
    an_undo_killed(9);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn killed_at_every_change_of_an_undo() {
    an_undo_killed(1);
}

/// What somebody wrote while an undo lay half done stays.
#[test]
fn what_was_written_in_between_stays() {
    let sandbox = repository();
    for name in ["1.log", "2.log", "3.log"] {
        sandbox.put(name, name);
    }
    let at = |name: &str| sandbox.project().join(name);
    let number = Hand::of(&sandbox).overwriting("rm *.log", &[&at("1.log"), &at("2.log"), &at("3.log")]);
    for name in ["1.log", "2.log", "3.log"] {
        fs::remove_file(at(name)).unwrap();
    }
    let number = number.to_string();
    // Renames come from the store too: the last ones are the files.
    let world = Kept::keep(&sandbox);
    let renames = counts(&world, &sandbox, &["undo", &number, "--yes"])["renameat"];
    let found = (1..=renames).find(|nth| {
        world.put_back();
        let inject = format!("inject=renameat:signal=KILL:when={nth}");
        strace(&sandbox, &["-o", "/dev/null", "-e", &inject], &["undo", &number, "--yes"]);
        pending(&sandbox)
    });
    assert!(found.is_some(), "killed on the way: {renames}");
    assert!(!at("3.log").exists());
    sandbox.put("3.log", "written in between");
    let finished = sandbox.person(&["undo", "--yes"]);
    partly(&finished, &["was finished now", "3.log`: it was changed meanwhile and stays"]);
    assert_eq!(fs::read_to_string(at("3.log")).unwrap(), "written in between");
    assert_eq!(fs::read_to_string(at("2.log")).unwrap(), "2.log");
}
