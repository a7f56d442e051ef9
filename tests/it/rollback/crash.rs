//! `SIGKILL` at every system call of create and rollback that changes something: the tree is the old one or
//! the new one after the next command or event, never half; and nothing is lost.
//!
//! A kill at any other call leaves the disk as a kill at the next one of these does, so those need no case of
//! their own; a file that was just made is empty, and a write, a rename or a removal follows.

use super::{Picture, checkpoint, create, furnish, picture, roll_back, same, told, upset};
use crate::faults::passed;
use crate::support::{BINARY, Sandbox, Session};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

/// Calls that change a disk, or say that something is on it.
pub(crate) const CHANGING: [&str; 16] = [
    "write", "pwrite64", "writev", "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir",
    "mkdirat", "symlinkat", "fchmod", "fchmodat", "ftruncate", "fsync", "fdatasync",
];

/// A session, a checkpoint of a small tree, and the tree changed since then.
struct Scene<'a> {
    session: Session<'a>,
    id: String,
    was: Picture,
    other: Picture,
}

impl<'a> Scene<'a> {
    fn set(sandbox: &'a Sandbox) -> Self {
        furnish(sandbox);
        let session = sandbox.session();
        passed(&session.start("startup"));
        let id = create(sandbox);
        let was = picture(&sandbox.project());
        upset(sandbox);
        Self { session, id, was, other: picture(&sandbox.project()) }
    }
}

/// Starts a rollback and kills it at its first symlink, after the plan was committed.
fn interrupt_rollback(sandbox: &Sandbox, id: &str) {
    let inject = ["-o", "/dev/null", "-e", "inject=symlinkat:signal=KILL:when=1"];
    let output = strace(sandbox, &inject, &["checkpoint", "rollback", id, "--yes"]);
    assert_eq!(output.status.signal(), Some(9), "{output:?}");
    assert!(pending(sandbox), "killed on the way");
}

/// The next command, or the next event of the session that works here.
fn go_on(sandbox: &Sandbox, session: &Session, n: usize) {
    if n.is_multiple_of(2) {
        checkpoint(sandbox, &["list"]).said(&[""]);
    } else {
        passed(&session.pre(&session.call("Read", json!({"file_path": "a.txt"}))));
    }
}

/// Everything but the sandbox's own temporary folder, to be put back before each kill.
pub(crate) struct World<'a> {
    sandbox: &'a Sandbox,
    kept: PathBuf,
}

impl<'a> World<'a> {
    pub(crate) fn keep(sandbox: &'a Sandbox) -> Self {
        let kept = sandbox.tmp().join("kept");
        fs::create_dir(&kept).unwrap();
        let world = Self { sandbox, kept };
        for folder in world.folders() {
            copy(sandbox, &folder, &world.beside(&folder));
        }
        world
    }

    fn folders(&self) -> Vec<PathBuf> {
        vec![self.sandbox.project(), self.sandbox.home()]
    }

    fn beside(&self, folder: &Path) -> PathBuf {
        self.kept.join(folder.file_name().unwrap())
    }

    pub(crate) fn put_back(&self) {
        for folder in self.folders() {
            for item in fs::read_dir(&folder).unwrap().flatten() {
                let _ = fs::remove_file(item.path()).or_else(|_| fs::remove_dir_all(item.path()));
            }
            copy(self.sandbox, &self.beside(&folder), &folder);
        }
    }
}

fn copy(sandbox: &Sandbox, from: &Path, to: &Path) {
    let output = sandbox.command("cp").arg("-aT").args([from, to]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn strace(sandbox: &Sandbox, options: &[&str], arguments: &[&str]) -> std::process::Output {
    let mut command = sandbox.command("strace");
    let output = command.arg("-f").args(options).arg(BINARY).args(arguments).output();
    output.unwrap_or_else(|error| panic!("`strace` is needed: install the package of that name ({error})"))
}

/// How often each changing call is made.
fn counts(world: &World, arguments: &[&str]) -> BTreeMap<String, usize> {
    let trace = world.sandbox.tmp().join("trace");
    let output = strace(world.sandbox, &["-o", trace.to_str().unwrap()], arguments);
    assert!(output.status.success(), "{output:?}");
    world.put_back();
    let mut counts = BTreeMap::new();
    for line in fs::read_to_string(&trace).unwrap().lines() {
        let call = line.split_whitespace().nth(1).and_then(|rest| rest.split_once('(')).map(|(call, _)| call);
        if let Some(call) = call.filter(|call| CHANGING.contains(call)) {
            *counts.entry(call.to_owned()).or_insert(0) += 1;
        }
    }
    counts
}

/// Runs it killed at every `stride`th point and looks at what is left; says how many kills there were.
fn killed_everywhere(world: &World, arguments: &[&str], stride: usize, look: impl Fn(usize, &str)) -> usize {
    let mut kills = 0;
    for (call, count) in counts(world, arguments) {
        for nth in (1..=count).step_by(stride) {
            world.put_back();
            let inject = format!("inject={call}:signal=KILL:when={nth}");
            let output = strace(world.sandbox, &["-o", "/dev/null", "-e", &inject], arguments);
            if output.status.signal() != Some(9) {
                // Threads count their own calls: none of them makes so many.
                assert!(output.status.success(), "{inject}: {output:?}");
                break;
            }
            look(kills, &format!("killed at {call} {nth}"));
            kills += 1;
        }
    }
    kills
}

#[test]
fn killed_at_changes_of_a_rollback() {
    a_rollback_killed(5);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn killed_at_every_change_of_a_rollback() {
    a_rollback_killed(1);
}

fn a_rollback_killed(stride: usize) {
    let sandbox = Sandbox::new();
    let Scene { session, id, was, other } = Scene::set(&sandbox);
    let world = World::keep(&sandbox);
    let seen = std::cell::Cell::new(0);
    let kills = killed_everywhere(&world, &["checkpoint", "rollback", &id, "--yes"], stride, |n, case| {
        go_on(&sandbox, &session, n);
        let now = picture(&sandbox.project());
        if now == other && pending(&sandbox) {
            // Only a session that was told looks after it; a command does in any case.
            checkpoint(&sandbox, &["list"]).said(&["finished"]);
        }
        seen.set(seen.get() + usize::from(picture(&sandbox.project()) == was));
        whole(&sandbox, &session, (&was, &other), case);
        assert_eq!(told(&sandbox, &["verify"])["ok"], true, "{case}");
    });
    let undone = seen.get();
    assert!(kills > 60 / stride, "{kills}");
    assert!(
        undone > 10 / stride && undone < kills,
        "some kills came before the plan and some after it: {undone} of {kills}"
    );
}

fn pending(sandbox: &Sandbox) -> bool {
    sandbox.project().join(".claude/checkpoints/rollback.json").exists()
}

/// The checkpoints of a present that a rollback was about to overwrite, oldest first.
fn archives(sandbox: &Sandbox) -> Vec<String> {
    let list = told(sandbox, &["list"]);
    let ids = list.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned());
    let keeps = |id: &String| {
        let trigger = &told(sandbox, &["show", id])["metadata"]["trigger"];
        trigger == "before a rollback" || trigger == "changed while a rollback was interrupted"
    };
    ids.filter(keeps).collect()
}

/// One tree or the other; and whichever it is, the other can be had.
#[track_caller]
fn whole(sandbox: &Sandbox, session: &Session, (was, other): (&Picture, &Picture), case: &str) {
    assert!(!pending(sandbox), "{case}: still under way");
    let now = picture(&sandbox.project());
    if now == *other {
        roll_back(sandbox, "manual/POST_idle_v1");
        same(was, &picture(&sandbox.project()), case);
        return;
    }
    same(was, &now, case);
    let archives = archives(sandbox);
    roll_back(sandbox, archives.first().unwrap_or_else(|| panic!("{case}: no archive")));
    same(other, &picture(&sandbox.project()), case);
    roll_back(sandbox, "manual/POST_idle_v1");
    let call = session.call("Read", json!({"file_path": "a.txt"}));
    let said = session.pre(&call);
    assert!(said.out.contains("rolled the working tree back"), "{case}: {said:?}");
}

#[test]
fn killed_at_changes_of_a_create() {
    a_create_killed(4);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn killed_at_every_change_of_a_create() {
    a_create_killed(1);
}

fn a_create_killed(stride: usize) {
    let sandbox = Sandbox::new();
    let Scene { id, was, other, .. } = Scene::set(&sandbox);
    let world = World::keep(&sandbox);
    let kills = killed_everywhere(&world, &["checkpoint", "create"], stride, |_, case| {
        same(&other, &picture(&sandbox.project()), case);
        assert_eq!(told(&sandbox, &["verify"])["ok"], true, "{case}");
        let again = create(&sandbox);
        roll_back(&sandbox, &id);
        same(&was, &picture(&sandbox.project()), case);
        roll_back(&sandbox, &again);
        same(&other, &picture(&sandbox.project()), case);
        assert_eq!(told(&sandbox, &["verify"])["ok"], true, "{case}");
    });
    assert!(kills > 20 / stride, "{kills}");
}

/// Whoever finishes a rollback can be killed too: the one after that finishes it, and what somebody did in
/// between the two is kept all the same.
#[test]
fn killed_at_changes_of_the_finishing() {
    the_finishing_killed(4);
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn killed_at_every_change_of_the_finishing() {
    the_finishing_killed(1);
}

fn the_finishing_killed(stride: usize) {
    let sandbox = Sandbox::new();
    let Scene { session, id, was, other } = Scene::set(&sandbox);
    interrupt_rollback(&sandbox, &id);
    assert!(picture(&sandbox.project()) != other, "killed on the way");
    sandbox.put("run.sh", "written in between\n");
    let world = World::keep(&sandbox);
    let half = std::cell::Cell::new(0);
    let kills = killed_everywhere(&world, &["checkpoint", "list"], stride, |n, case| {
        half.set(half.get() + usize::from(pending(&sandbox)));
        go_on(&sandbox, &session, n);
        assert!(!pending(&sandbox), "{case}: still under way");
        same(&was, &picture(&sandbox.project()), case);
        assert_eq!(told(&sandbox, &["verify"])["ok"], true, "{case}");
        let archives = archives(&sandbox);
        let [archive, between] =
            [0, 1].map(|at| archives.get(at).unwrap_or_else(|| panic!("{case}: {archives:?}")));
        roll_back(&sandbox, between);
        let read = fs::read_to_string(sandbox.project().join("run.sh")).unwrap();
        assert_eq!(read, "written in between\n", "{case}");
        roll_back(&sandbox, archive);
        same(&other, &picture(&sandbox.project()), case);
    });
    let half = half.get();
    assert!(
        kills > 30 / stride && half > 10 / stride && half < kills,
        "{half} of {kills} kills left it under way"
    );
}

/// Somebody works on while a rollback lies half done: what they did is kept before it is overwritten.
#[test]
fn what_was_done_in_between_is_not_lost() {
    let sandbox = Sandbox::new();
    furnish(&sandbox);
    let id = create(&sandbox);
    let was = picture(&sandbox.project());
    upset(&sandbox);
    interrupt_rollback(&sandbox, &id);
    sandbox.put("a.txt", "written in between\n");
    sandbox.put("new.txt", "this too\n");
    checkpoint(&sandbox, &["list"]).said(&["finished", "changed while a rollback was interrupted"]);
    same(&was, &picture(&sandbox.project()), "finished");
    roll_back(&sandbox, archives(&sandbox).last().unwrap());
    let read = |name: &str| fs::read_to_string(sandbox.project().join(name)).unwrap();
    assert_eq!([read("a.txt"), read("new.txt")], ["written in between\n", "this too\n"]);
}
