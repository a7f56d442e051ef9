//! `SIGKILL` at every step of a keeping, of the command that it is for, and of every program that they start:
//! what is lost by then comes back whole, what was kept is kept whole or not at all, and the same line goes on
//! afterwards.
//!
//! A kill at any other call leaves the disk as a kill at the next one of these does.

use super::lost;
use super::world::JailedSession;
use crate::rollback::crash::{CHANGING, World as Kept};
use crate::support::{BINARY, Sandbox};
use crate::undo::brought;
use crate::undo::hand::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Output, Stdio};

/// Beside those that change a disk: what makes second names, enters the jail and starts programs.
const STEPS: [&str; 7] = ["clone", "clone3", "execve", "link", "linkat", "mount", "vfork"];
/// One of each kind: unlinked, overwritten, discarded by git, and what only a name held.
const SAMPLE: [&str; 2] = ["rm -rf notes src", "git stash clear"];
const ALL: [&str; 10] = [
    "rm -rf notes src",
    "echo X > .env",
    "truncate -s 0 app.db",
    "cp b.txt .env",
    "git checkout -- .",
    "git reset --hard HEAD~1",
    "git clean -fdx -e .claude",
    "git stash clear",
    "git stash drop",
    "git branch -D topic",
];

/// The starter, traced with all that it starts.
#[expect(clippy::disallowed_methods, reason = "the starter under `strace`, with the client's variables")]
fn strace(session: &JailedSession, line: &str, options: &[&str]) -> Output {
    let starter = session.line(line);
    let mut strace = Command::new("strace");
    strace.arg("-f").args(options).arg(starter.get_program()).args(starter.get_args()).env_clear();
    strace.envs(starter.get_envs().filter_map(|(name, value)| Some((name, value?))));
    strace.current_dir(starter.get_current_dir().unwrap()).stdin(Stdio::null());
    strace.output().expect("`strace` is needed: install the package of that name")
}

/// How often one process makes each of these calls, at most: `strace` counts for each by itself.
fn steps(sandbox: &Sandbox, traced: &dyn Fn(&[&str]) -> Output) -> Vec<(String, usize)> {
    let trace = sandbox.tmp().join("trace");
    let output = traced(&["-o", trace.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let mut counts = BTreeMap::<(String, String), usize>::new();
    for line in fs::read_to_string(&trace).unwrap().lines() {
        let Some((process, rest)) = line.split_once(' ') else { continue };
        let call = rest.trim_start().split_once('(').map_or("", |(call, _)| call);
        if CHANGING.contains(&call) || STEPS.contains(&call) {
            *counts.entry((process.to_owned(), call.to_owned())).or_default() += 1;
        }
    }
    let mut most = BTreeMap::<String, usize>::new();
    for ((_, call), count) in counts {
        let known = most.entry(call).or_default();
        *known = count.max(*known);
    }
    most.into_iter().flat_map(|(call, count)| (1..=count).map(move |nth| (call.clone(), nth))).collect()
}

/// The newest keeping of this line, which can be brought back.
fn whole_of(sandbox: &Sandbox, line: &str, case: &str) -> Option<u64> {
    let number = kept_of(sandbox, line)?;
    let shown = sandbox.person(&["undo", &number.to_string(), "--dry-run"]);
    assert_eq!(shown.code, Some(0), "{case}: {shown:?}");
    Some(number)
}

/// The newest keeping of this line.
fn kept_of(sandbox: &Sandbox, line: &str) -> Option<u64> {
    let listed = sandbox.person(&["undo", "list", "--json"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let rows: Vec<Value> = serde_json::from_str(&listed.out).unwrap();
    rows.iter().filter(|row| row["line"] == line).filter_map(|row| row["number"].as_u64()).max()
}

/// Killed at every `stride`th step. How often nothing was lost, and how often it came back.
fn killed(line: &str, stride: usize) -> (usize, usize) {
    let world = lost::world();
    let sandbox = &world.sandbox;
    let session = world.prompted();
    let was = World::of(sandbox);
    let call = session.inner.call("Bash", json!({"command": line}));
    session.inner.pre(&call).silent();
    // Each makes its own jail.
    let _ = session.keeper();
    let _ = fs::remove_file(session.prepared());
    let before = Kept::keep(sandbox);
    let (mut old, mut new) = (0, 0);
    let traced = |options: &[&str]| strace(&session, line, options);
    for (step, nth) in steps(sandbox, &traced).iter().step_by(stride) {
        before.put_back();
        let case = format!("{line}: killed at {step} {nth}");
        let output = traced(&["-o", "/dev/null", "-e", &format!("inject={step}:signal=KILL:when={nth}")]);
        let _ = session.inner.fail(&call, "Exit code 137");
        if World::of(sandbox) == was {
            old += 1;
            let _ = whole_of(sandbox, line, &case);
        } else {
            new += 1;
            let number = kept_of(sandbox, line);
            let number = number.unwrap_or_else(|| panic!("{case}: lost, and not kept: {output:?}"));
            // Git that was killed leaves its locks to a person, and `undo` names them.
            drop(sandbox.command("find").args([".git", "-name", "*.lock", "-delete"]).assert().success());
            brought(sandbox, number);
            was.same(&World::of(sandbox), &case);
        }
    }
    (old, new)
}

#[test]
fn killed_at_some_steps_nothing_is_lost() {
    let all = SAMPLE.map(|line| killed(line, 5));
    let (old, new) = all.iter().fold((0, 0), |(old, new), one| (old + one.0, new + one.1));
    assert!(old > 10 && new > 1, "{all:?}");
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn killed_at_every_step_nothing_is_lost() {
    for line in ALL {
        let (old, new) = killed(line, 1);
        assert!(old > 10 && new > 0, "{line}: {old} {new}");
    }
}

/// The same where no program of ours starts commands: the hook keeps. A client that sees it killed makes no
/// call; the same line passes afterwards.
fn killed_hook(line: &str, stride: usize) -> (usize, usize) {
    let sandbox = Sandbox::new();
    sandbox.configure("tracker.command = \"none\"\nmode.level = \"guard\"\n");
    lost::furnish(&sandbox);
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("go");
    let was = World::of(&sandbox);
    let call = session.call("Bash", json!({"command": line}));
    let payload = session.payload("PreToolUse", call.fields()).to_string();
    let before = Kept::keep(&sandbox);
    let traced = |options: &[&str]| {
        let mut strace = sandbox.command("strace");
        strace.arg("-f").args(options).args([BINARY, "PreToolUse"]).envs(sandbox.inside_client());
        strace.write_stdin(payload.clone()).output().expect("`strace` is needed")
    };
    let (mut kept, mut not) = (0, 0);
    for (step, nth) in steps(&sandbox, &traced).iter().step_by(stride) {
        before.put_back();
        let case = format!("{line}: the hook killed at {step} {nth}");
        let _ = traced(&["-o", "/dev/null", "-e", &format!("inject={step}:signal=KILL:when={nth}")]);
        was.same(&World::of(&sandbox), &case);
        match whole_of(&sandbox, line, &case) {
            Some(_) => kept += 1,
            None => not += 1,
        }
        // One that was not killed itself may have refused: git was.
        let again = session.call("Bash", json!({"command": line}));
        let said = session.pre(&again);
        assert!(said.code == Some(0) && !said.out.contains("permissionDecision"), "{case}: {said:?}");
        let done = sandbox.command("bash").args(["-c", line]).output().unwrap();
        assert!(done.status.success(), "{case}: {done:?}");
        let _ = session.post(&again);
        brought(&sandbox, kept_of(&sandbox, line).expect(&case));
        was.same(&World::of(&sandbox), &case);
    }
    (kept, not)
}

#[test]
fn a_hook_killed_at_some_steps_keeps_whole_or_not() {
    let (kept, not) = killed_hook("git reset --hard HEAD~1", 9);
    assert!(kept > 0 && not > 3, "{kept} {not}");
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn a_hook_killed_at_every_step_keeps_whole_or_not() {
    for line in ["rm -rf notes src", "echo X > .env", "git reset --hard HEAD~1", "git stash clear"] {
        let (kept, not) = killed_hook(line, 1);
        assert!(kept > 0 && not > 10, "{line}: {kept} {not}");
    }
}
