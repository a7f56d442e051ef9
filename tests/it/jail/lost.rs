//! Each kind of loss, all in one world: judged by the hook, kept and run by the starter, swept by git,
//! brought back by a person.

use super::world::{Jailed, JailedSession};
use crate::rollback::{picture, same};
use crate::support::Sandbox;
use crate::undo::hand::{World, env};
use crate::undo::{brought, partly, undo};
use aops_core::checkpoint::store::Store;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

/// A repository with some of everything in it that is in no commit.
pub(crate) fn world() -> Jailed {
    let world = Jailed::with("tracker.command = \"none\"\nmode.level = \"guard\"\n");
    furnish(&world.sandbox);
    world
}

pub(crate) fn furnish(sandbox: &Sandbox) {
    sandbox.git(&["init", "-q", "-b", "main"]);
    sandbox.git(&["config", "user.name", "t"]);
    sandbox.git(&["config", "user.email", "t@example.invalid"]);
    sandbox.put(".gitignore", ".env\n*.db\n.claude/\n");
    for name in ["a.txt", "b.txt", "src/c.txt", "src/deep/d.txt"] {
        sandbox.put(name, "committed\n");
    }
    symlink("a.txt", sandbox.project().join("link")).unwrap();
    commit(sandbox, "first");
    sandbox.put("a.txt", "second\n");
    commit(sandbox, "second");
    sandbox.git(&["branch", "other", "HEAD~1"]);
    sandbox.git(&["switch", "-q", "-c", "topic"]);
    sandbox.put("topic.txt", "topic\n");
    commit(sandbox, "topic");
    sandbox.git(&["config", "branch.topic.description", "mine"]);
    sandbox.git(&["tag", "-a", "-m", "a tag", "v1"]);
    sandbox.git(&["switch", "-q", "main"]);
    for n in ["one", "two"] {
        sandbox.put("b.txt", &format!("stashed {n}\n"));
        sandbox.git(&["stash", "push", "-q", "-m", n]);
    }
    sandbox.put("a.txt", "staged\n");
    sandbox.git(&["add", "a.txt"]);
    sandbox.put("a.txt", "staged\nand more\n");
    sandbox.put("src/c.txt", "edited\n");
    sandbox.put("new.txt", "new and staged\n");
    sandbox.git(&["add", "new.txt"]);
    sandbox.put("src/new.txt", "new\n");
    sandbox.put("notes/x.txt", "x\n");
    symlink("x.txt", sandbox.project().join("notes/y")).unwrap();
    fs::set_permissions(sandbox.project().join("notes/x.txt"), fs::Permissions::from_mode(0o600)).unwrap();
    sandbox.put(".env", "KEY=1\n");
    sandbox.put("app.db", "rows\n");
    // Its folder is there from the beginning.
    drop(Store::open(&env(sandbox), &sandbox.project()).unwrap());
}

fn commit(sandbox: &Sandbox, words: &str) {
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", words]);
}

/// Nothing but refs and the list of stashes holds a commit after this.
pub(crate) fn sweep(sandbox: &Sandbox) {
    sandbox.git(&["reflog", "expire", "--expire=now", "HEAD", "refs/heads/main"]);
    sandbox.git(&["gc", "--prune=now", "-q"]);
}

/// The line passes, is kept and run; the number that the model reads.
#[track_caller]
fn lose(session: &JailedSession, line: &str) -> u64 {
    let ran = session.ran(line);
    let number = ran.told.split("kept as ").nth(1).and_then(|rest| rest.split(':').next()?.parse().ok());
    number.unwrap_or_else(|| panic!("{line}: {ran:?}"))
}

/// A line of each kind in CI; all of them in the long run.
const EACH: [&str; 12] = [
    "git checkout -- .",
    "git reset --hard HEAD~1",
    "git switch --discard-changes other",
    "git stash clear",
    "git branch -D topic",
    "git tag -d v1",
    "git clean -fdx -e .claude",
    "rm -rf notes src",
    "echo X > .env",
    "echo X > t && mv t .env",
    "{ echo X; } > .env",
    "rm *.db",
];
const MORE: [&str; 25] = [
    "find . -name '*.db' -exec cp b.txt {} \\;",
    "coproc rm .env; wait",
    "git diff | git apply -R",
    "git checkout a.txt",
    "git checkout HEAD~1 -- a.txt src",
    "git checkout -f other",
    "git restore src/c.txt",
    "git restore --staged --worktree .",
    "git reset --hard",
    "git reset --keep HEAD~1 || git reset --hard HEAD~1",
    "git stash drop",
    "git stash drop stash@{1}",
    "git branch -f topic main",
    "git tag -f v1 main",
    "git clean -fd",
    "rm app.db notes/x.txt",
    "rm .env",
    "cp b.txt .env",
    "t=$(mktemp); echo X > $t; mv $t .env",
    "echo .env notes/x.txt | xargs rm -f",
    "printf X | tee .env",
    "sed -i s/KEY/NO/ .env",
    "truncate -s 0 app.db",
    "find notes -type f -delete",
    "dd if=b.txt of=app.db 2>&1",
];

/// Bytes, modes, links, index, refs, stashes: as before, whatever went and after git collected its garbage.
#[track_caller]
fn come_back_whole(lines: &[&str]) {
    let world = world();
    let session = world.prompted();
    for line in lines {
        let was = World::of(&world.sandbox);
        let number = lose(&session, line);
        assert_ne!(World::of(&world.sandbox), was, "{line} takes something away");
        sweep(&world.sandbox);
        if line.ends_with(" other") {
            // The index comes back only where `HEAD` is on the branch that it was on, and `undo` says so.
            // What git writes on the way back counts as changed since.
            world.sandbox.git(&["switch", "-q", "main"]);
            let forced = undo(&world.sandbox, &[&number.to_string(), "--force"]);
            assert_eq!(forced.code, Some(0), "{line}: {forced:?}");
        } else {
            brought(&world.sandbox, number);
        }
        was.same(&World::of(&world.sandbox), line);
        // The session is told of the undo by its next event.
        let _ = session.inner.prompt("go on");
    }
}

#[test]
fn every_kind_of_loss_comes_back_whole() {
    come_back_whole(&EACH);
}

#[test]
#[ignore = "a minute: run `tests/long-run`"]
fn every_line_that_loses_comes_back_whole() {
    come_back_whole(&MORE);
}

/// An agent edits committed files all day; a checkpoint has what they were.
#[test]
fn a_committed_file_that_is_overwritten_is_not_kept() {
    let world = world();
    let session = world.prompted();
    for line in ["echo X > src/deep/d.txt", "cp a.txt topic.txt", "sed -i s/edited/X/ src/c.txt"] {
        let ran = session.ran(line);
        assert!(ran.code == Some(0) && !ran.told.contains("kept as"), "{line}: {ran:?}");
        world.sandbox.git(&["checkout", "-q", "--", "."]);
        world.sandbox.put("src/c.txt", "edited\n");
    }
}

/// What is moved away comes back where it was overwritten.
#[test]
fn a_file_that_another_was_moved_over_comes_back() {
    let world = world();
    let session = world.prompted();
    let number = lose(&session, "mv b.txt .env");
    sweep(&world.sandbox);
    brought(&world.sandbox, number);
    assert_eq!(fs::read_to_string(world.project().join(".env")).unwrap(), "KEY=1\n");
}

#[test]
fn a_working_tree_comes_back_whole() {
    let world = world();
    world.sandbox.git(&["worktree", "add", "-q", "../tree", "other"]);
    let tree = world.root().join("tree");
    fs::write(tree.join("a.txt"), "edited there\n").unwrap();
    fs::write(tree.join("new.txt"), "new there\n").unwrap();
    let session = world.prompted();
    let (was, files) = (World::of(&world.sandbox), picture(&tree));
    let number = lose(&session, "git worktree remove --force ../tree");
    assert!(!tree.exists());
    sweep(&world.sandbox);
    brought(&world.sandbox, number);
    was.same(&World::of(&world.sandbox), "project");
    same(&files, &picture(&tree), "tree");
}

/// A command that fails half-way leaves files that share their content with what was kept; writing into one
/// later spoils nothing.
#[test]
fn what_a_command_left_where_it_was_is_kept_by_itself() {
    let world = world();
    let session = world.prompted();
    let number = lose(&session, "false && rm -rf src");
    fs::write(world.project().join("src/new.txt"), "written since\n").unwrap();
    fs::remove_file(world.project().join("src/deep/d.txt")).unwrap();
    let done = undo(&world.sandbox, &[&number.to_string()]);
    partly(&done, &["src/new.txt (it was changed since)", "src/deep/d.txt"]);
    assert!(world.project().join("src/deep/d.txt").exists());
    let forced = undo(&world.sandbox, &[&number.to_string(), "--force"]);
    assert_eq!(forced.code, Some(0), "{forced:?}");
    assert_eq!(fs::read_to_string(world.project().join("src/new.txt")).unwrap(), "new\n");
}

/// Nobody saw the end of the command, so nothing was parted: the one file that was written into stays away,
/// and it is said.
#[test]
fn one_file_that_was_written_into_keeps_no_other_away() {
    let world = world();
    let session = world.prompted();
    let line = "false && rm -rf notes src";
    let call = session.inner.call("Bash", serde_json::json!({"command": line}));
    session.inner.pre(&call).silent();
    assert_eq!(session.line(line).output().unwrap().status.code(), Some(1));
    fs::write(world.project().join("src/new.txt"), "written since, and longer\n").unwrap();
    fs::remove_dir_all(world.project().join("notes")).unwrap();
    let done = undo(&world.sandbox, &["1", "--force"]);
    partly(
        &done,
        &["src/new.txt (its kept content was changed after it was kept)", "notes/x.txt", "brought back 1"],
    );
    assert_eq!(fs::read_to_string(world.project().join("notes/x.txt")).unwrap(), "x\n");
    let to = world.root().join("before");
    let written = undo(&world.sandbox, &["1", "--to", &to.display().to_string()]);
    assert_eq!(written.code, Some(0), "{written:?}");
    assert!(to.join("notes/x.txt").exists() && !to.join("src/new.txt").exists());
}

/// Files that a sparse checkout leaves out are not there, and that is no change.
#[test]
fn a_sparse_checkout_loses_nothing_that_it_leaves_out() {
    let world = world();
    world.sandbox.git(&["reset", "-q", "--hard"]);
    world.sandbox.git(&["sparse-checkout", "set", "notes"]);
    assert!(!world.project().join("src/c.txt").exists());
    let session = world.prompted();
    assert_eq!(session.ran("git reset --hard").told, "");
    world.sandbox.put("a.txt", "mine\n");
    let was = World::of(&world.sandbox);
    let ran = session.ran("git checkout -- .");
    assert!(ran.told.contains("kept as 1: 1 file, 5 bytes"), "{ran:?}");
    brought(&world.sandbox, 1);
    was.same(&World::of(&world.sandbox), "sparse");
}

/// A filter gives git other bytes than the disk has, as for large files: those of the disk come back.
#[test]
fn what_git_filters_comes_back_as_it_was() {
    let world = world();
    world.sandbox.git(&["reset", "-q", "--hard"]);
    world.sandbox.git(&["config", "filter.x.clean", "tr a-z A-Z"]);
    world.sandbox.git(&["config", "filter.x.smudge", "cat"]);
    world.sandbox.put(".gitattributes", "*.bin filter=x\n");
    world.sandbox.put("large.bin", "first\n");
    commit(&world.sandbox, "filtered");
    world.sandbox.put("large.bin", "Mixed Letters\n");
    let was = World::of(&world.sandbox);
    let session = world.prompted();
    let number = lose(&session, "git checkout -- large.bin");
    assert_eq!(fs::read_to_string(world.project().join("large.bin")).unwrap(), "FIRST\n");
    sweep(&world.sandbox);
    brought(&world.sandbox, number);
    was.same(&World::of(&world.sandbox), "filtered");
}

/// The agent packs them, and asks before it deletes or sends them.
#[test]
fn names_of_what_was_kept_outlive_the_agent() {
    let world = world();
    let was = World::of(&world.sandbox);
    let session = world.prompted();
    let number = lose(&session, "git branch -D topic");
    assert_eq!(session.ran("git pack-refs --all").code, Some(0));
    for line in [
        "git update-ref -d refs/aops/kept/1/0",
        "git for-each-ref --format='delete %(refname)' refs/aops | git update-ref --stdin",
        "rm -rf .git/refs/aops",
        "sed -i /aops/d .git/packed-refs",
        "git push --mirror /tmp/elsewhere",
        "git push /tmp/elsewhere 'refs/aops/*:refs/heads/*'",
        "git push /tmp/elsewhere +refs/*:refs/*",
    ] {
        let said = session.inner.ask_bash(line);
        assert!(
            said.code == Some(2) || said.out.contains("\"permissionDecision\":\"ask\""),
            "{line}: {said:?}"
        );
    }
    sweep(&world.sandbox);
    brought(&world.sandbox, number);
    was.same(&World::of(&world.sandbox), "packed");
}
