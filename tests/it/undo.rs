//! `undo`: what was kept before a command comes back byte for byte, after git collected its garbage, and
//! nothing else is touched. The keepings are made by hand here, as the keeping before a command makes them.

mod conflict;
mod crash;
pub(crate) mod hand;
mod property;
mod retain;
mod verb;

use crate::support::{Answer, Sandbox};
use aops_core::checkpoint::store::Store;
use hand::{Hand, World};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

pub(crate) fn undo(sandbox: &Sandbox, arguments: &[&str]) -> Answer {
    sandbox.person(&[&["undo"], arguments, &["--yes"]].concat())
}

/// Brings it back whole; the number of the present that was kept.
#[track_caller]
pub(crate) fn brought(sandbox: &Sandbox, number: u64) -> u64 {
    let shown = sandbox.person(&["undo", &number.to_string(), "--dry-run"]);
    let answer = undo(sandbox, &[&number.to_string(), "--json"]);
    assert!(answer.code == Some(0) && answer.err.is_empty(), "{number}: {answer:?} after {shown:?}");
    let said: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(said["whole"], true, "{said}");
    said["present"].as_u64().unwrap_or_else(|| panic!("{number}: nothing was done: {said}"))
}

/// Something was left, and it says what.
#[track_caller]
pub(crate) fn partly(answer: &Answer, words: &[&str]) {
    assert!(answer.code == Some(1) && answer.err.is_empty(), "{answer:?}");
    for word in words {
        assert!(answer.out.contains(word), "no `{word}`: {answer:?}");
    }
}

/// Nothing but refs holds a commit after this.
fn collect(sandbox: &Sandbox) {
    sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&["gc", "--prune=now", "-q"]);
}

/// A repository with three commits, a second branch, and a bit of every kind of file.
fn repository() -> Sandbox {
    let sandbox = Sandbox::repository("0");
    let at = |name: &str| sandbox.project().join(name);
    sandbox.put(".gitattributes", "*.crlf text eol=crlf\n");
    sandbox.put(".gitignore", "*.log\n.claude/\n");
    sandbox.put("a.txt", "a\n");
    sandbox.put("dir/b.txt", "b\n");
    sandbox.put("dir/deep/c.txt", "c\n");
    sandbox.put("lines.crlf", "one\r\ntwo\r\n");
    sandbox.put("run.sh", "#!/bin/sh\n");
    fs::write(at("bin"), [0, 159, 146, 150, 0, 10]).unwrap();
    symlink("a.txt", at("link")).unwrap();
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "second"]);
    sandbox.git(&["branch", "other"]);
    sandbox.put("a.txt", "a, third\n");
    sandbox.put("third.txt", "third\n");
    sandbox.git(&["rm", "-q", "dir/deep/c.txt"]);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "third"]);
    // Its folder is there from the beginning.
    drop(Store::open(&hand::env(&sandbox), &sandbox.project()).unwrap());
    sandbox
}

/// Some of everything that a working tree and an index can hold.
fn dirty(sandbox: &Sandbox) {
    let at = |name: &str| sandbox.project().join(name);
    sandbox.put("a.txt", "a, staged\n");
    sandbox.git(&["add", "a.txt"]);
    sandbox.put("a.txt", "a, staged\nand more\n");
    sandbox.put("new.txt", "new and staged\n");
    sandbox.git(&["add", "new.txt"]);
    sandbox.put("meant.txt", "only meant to be added\n");
    sandbox.git(&["add", "-N", "meant.txt"]);
    fs::write(at("bin"), [1, 0, 255, 13, 10]).unwrap();
    sandbox.put("lines.crlf", "one\ntwo\r\nthree\r\n");
    sandbox.put("run.sh", "#!/bin/sh\n");
    fs::set_permissions(at("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["third.txt", "link"] {
        let _ = fs::remove_file(at(name));
    }
    symlink("elsewhere", at("link")).unwrap();
}

/// Every way to lose edits: there and back again, with and without the record of what the command left, and
/// the undo undone.
#[test]
fn discarded_edits_come_back_with_their_index() {
    let lines: [&[&str]; 5] = [
        &["reset", "-q", "--hard"],
        &["reset", "-q", "--hard", "HEAD~1"],
        &["reset", "-q", "--hard", "other"],
        &["checkout", "-q", "--", "."],
        &["restore", "--staged", "--worktree", "--source=HEAD", "."],
    ];
    for (n, line) in lines.iter().enumerate() {
        let sandbox = repository();
        dirty(&sandbox);
        let was = World::of(&sandbox);
        let number = Hand::of(&sandbox).discard(&line.join(" "));
        sandbox.git(line);
        if n % 2 == 0 {
            hand::note_left(&sandbox, number);
        }
        let lost = World::of(&sandbox);
        assert!(lost != was, "{line:?} loses something");
        collect(&sandbox);
        let present = brought(&sandbox, number);
        was.same(&World::of(&sandbox), &format!("{line:?} undone"));
        collect(&sandbox);
        brought(&sandbox, present);
        lost.same(&World::of(&sandbox), &format!("{line:?} undone, undone"));
        brought(&sandbox, number);
        was.same(&World::of(&sandbox), &format!("{line:?} undone once more"));
    }
}

#[test]
fn a_half_resolved_merge_comes_back() {
    for line in [&["reset", "-q", "--hard"][..], &["merge", "--abort"]] {
        let sandbox = repository();
        sandbox.git(&["switch", "-q", "other"]);
        sandbox.put("a.txt", "a, of other\n");
        sandbox.put("dir/b.txt", "b, of other\n");
        sandbox.git(&["commit", "-q", "-a", "-m", "of other"]);
        sandbox.git(&["switch", "-q", "main"]);
        sandbox.put("dir/b.txt", "b, of main\n");
        sandbox.git(&["commit", "-q", "-a", "-m", "of main"]);
        let merged = sandbox.command("git").args(["merge", "other"]).output().unwrap();
        assert!(!merged.status.success(), "a conflict: {merged:?}");
        sandbox.put("a.txt", "a, of both\n");
        sandbox.git(&["add", "a.txt"]);
        let was = World::of(&sandbox);
        let number = Hand::of(&sandbox).discard(&line.join(" "));
        sandbox.git(line);
        collect(&sandbox);
        brought(&sandbox, number);
        was.same(&World::of(&sandbox), &format!("{line:?}"));
        sandbox.put("dir/b.txt", "b, of both\n");
        sandbox.git(&["commit", "-q", "-a", "-m", "the merge goes on"]);
        assert_eq!(
            sandbox.git(&["rev-list", "--parents", "-1", "HEAD"]).split(' ').count(),
            3,
            "two parents"
        );
    }
}

#[test]
fn branches_and_tags_come_back_with_their_settings() {
    let lines: [&[&str]; 6] = [
        &["branch", "-D", "topic"],
        &["branch", "-f", "topic", "main"],
        &["branch", "-M", "topic", "other"],
        &["branch", "-M", "other"],
        &["tag", "-d", "v1"],
        &["tag", "-f", "v1", "main"],
    ];
    for line in lines {
        let sandbox = repository();
        sandbox.git(&["switch", "-q", "-c", "topic"]);
        sandbox.put("topic.txt", "topic\n");
        sandbox.git(&["add", "topic.txt"]);
        sandbox.git(&["commit", "-q", "-m", "topic"]);
        sandbox.git(&["tag", "-a", "-m", "one", "v1"]);
        sandbox.git(&["switch", "-q", "main"]);
        sandbox.git(&["config", "branch.topic.remote", "origin"]);
        sandbox.git(&["config", "branch.topic.merge", "refs/heads/topic"]);
        if line == ["branch", "-M", "other"] {
            sandbox.git(&["switch", "-q", "topic"]);
        }
        let was = World::of(&sandbox);
        let names = ["refs/heads/main", "refs/heads/topic", "refs/heads/other", "refs/tags/v1"];
        let number = Hand::of(&sandbox).refs(&line.join(" "), &names);
        sandbox.git(line);
        let lost = World::of(&sandbox);
        assert!(lost != was, "{line:?} loses something");
        collect(&sandbox);
        let present = brought(&sandbox, number);
        was.same(&World::of(&sandbox), &format!("{line:?} undone"));
        collect(&sandbox);
        if line[1] != "-M" {
            brought(&sandbox, present);
            lost.same(&World::of(&sandbox), &format!("{line:?} undone, undone"));
        }
    }
}

#[test]
fn stashes_come_back_in_their_order() {
    for line in [&["stash", "drop", "-q", "stash@{1}"][..], &["stash", "clear"], &["stash", "pop", "-q"]] {
        for newer in [false, true] {
            let sandbox = repository();
            for n in 0..3 {
                sandbox.put("a.txt", &format!("stash {n}\n"));
                sandbox.git(&["stash", "push", "-q", "-m", &format!("number {n}")]);
            }
            let was = hand::stashes(&sandbox);
            let number = Hand::of(&sandbox).stash(&line.join(" "));
            sandbox.git(line);
            sandbox.git(&["checkout", "-q", "."]);
            let lost = if newer { hand::stashes(&sandbox) } else { Vec::new() };
            let mut wanted = was.clone();
            if newer {
                sandbox.put("a.txt", "stashed since\n");
                sandbox.git(&["stash", "push", "-q", "-m", "since"]);
                wanted.insert(0, hand::stashes(&sandbox)[0].clone());
            }
            // The list is a reflog itself: expired, it is empty.
            if !newer {
                sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
            }
            sandbox.git(&["gc", "--prune=now", "-q"]);
            let present = brought(&sandbox, number);
            assert_eq!(hand::stashes(&sandbox), wanted, "{line:?}, a newer one: {newer}");
            if !newer {
                sandbox.git(&["gc", "--prune=now", "-q"]);
                brought(&sandbox, present);
                assert_eq!(hand::stashes(&sandbox), lost, "{line:?} undone, undone");
            }
        }
    }
}

/// Removed with `rm -rf`: untracked, ignored, changed and committed files, links, empty folders, odd names
/// and modes.
#[test]
fn removed_folders_come_back() {
    for by_link in [false, true] {
        let sandbox = repository();
        let at = |name: &str| sandbox.project().join(name);
        sandbox.put("dir/new.txt", "never added\n");
        sandbox.put("dir/out.log", "ignored\n");
        sandbox.put("dir/deep/odd\nname", "a line feed\n");
        sandbox.put("dir/w.crlf", "w\r\n");
        sandbox.git(&["add", "dir/w.crlf"]);
        sandbox.git(&["commit", "-q", "-m", "with filters"]);
        symlink("../a.txt", at("dir/up")).unwrap();
        fs::create_dir(at("dir/empty")).unwrap();
        fs::set_permissions(at("dir/empty"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(at("dir/out.log"), fs::Permissions::from_mode(0o600)).unwrap();
        let was = World::of(&sandbox);
        let number = Hand::of(&sandbox).linking(by_link).removal("rm -rf dir", &at("dir"));
        fs::remove_dir_all(at("dir")).unwrap();
        let lost = World::of(&sandbox);
        let present = brought(&sandbox, number);
        was.same(&World::of(&sandbox), "undone");
        // What came back is a file of its own: writing it does not change what is kept.
        fs::write(at("dir/new.txt"), "written over\n").unwrap();
        assert_eq!(undo(&sandbox, &[&present.to_string()]).code, Some(1), "a conflict");
        brought_by_force(&sandbox, present);
        lost.same(&World::of(&sandbox), "undone, undone");
        brought(&sandbox, number);
        was.same(&World::of(&sandbox), "undone again");
    }
}

#[track_caller]
fn brought_by_force(sandbox: &Sandbox, number: u64) {
    let answer = undo(sandbox, &[&number.to_string(), "--force"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
}

#[test]
fn an_overwritten_file_comes_back() {
    let sandbox = repository();
    let file = sandbox.put(".env.log", "KEY=1\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let was = World::of(&sandbox);
    let number = Hand::of(&sandbox).overwriting("echo > .env.log", &[&file]);
    fs::write(&file, "\n").unwrap();
    hand::note_left(&sandbox, number);
    brought(&sandbox, number);
    was.same(&World::of(&sandbox), "undone");
}

#[test]
fn a_removed_worktree_comes_back() {
    let sandbox = repository();
    let tree = sandbox.tmp().join("tree");
    let there = |arguments: &[&str]| sandbox.git(&[&["-C", tree.to_str().unwrap()], arguments].concat());
    sandbox.git(&["worktree", "add", "-q", tree.to_str().unwrap(), "other"]);
    fs::write(tree.join("a.txt"), "changed there\n").unwrap();
    fs::write(tree.join("untracked"), "untracked there\n").unwrap();
    fs::write(tree.join("staged"), "staged there\n").unwrap();
    there(&["add", "staged"]);
    let (files, index, status) = (
        crate::rollback::picture(&tree),
        there(&["ls-files", "-s"]),
        there(&["status", "--porcelain=v2", "--branch"]),
    );
    let number = Hand::of(&sandbox).worktree("git worktree remove --force ../tree", &tree, "tree");
    sandbox.git(&["worktree", "remove", "--force", tree.to_str().unwrap()]);
    assert!(!tree.exists());
    collect(&sandbox);
    brought(&sandbox, number);
    crate::rollback::same(&files, &crate::rollback::picture(&tree), "the tree");
    assert_eq!(there(&["ls-files", "-s"]), index);
    assert_eq!(there(&["status", "--porcelain=v2", "--branch"]), status);
    assert!(sandbox.git(&["worktree", "list"]).contains("[other]"));
}
