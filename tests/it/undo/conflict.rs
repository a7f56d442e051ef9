//! What changed since is shown and left; what cannot be trusted is not brought back; nothing outside is
//! touched.

use super::hand::{self, Hand, World};
use super::{brought, brought_by_force, dirty, partly, repository, undo};
use crate::rollback::{picture, same};
use crate::support::Sandbox;
use std::fs;
use std::os::unix::fs::symlink;

fn read(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.project().join(name)).unwrap_or_else(|error| error.to_string())
}

/// With the record of what the command left and without it.
#[test]
fn a_file_that_changed_since_is_left_unless_forced() {
    for noted in [false, true] {
        let sandbox = repository();
        sandbox.put("a.txt", "mine\n");
        sandbox.put("dir/b.txt", "mine too\n");
        let number = Hand::of(&sandbox).discard("git checkout -- .");
        sandbox.git(&["checkout", "-q", "--", "."]);
        if noted {
            hand::note_left(&sandbox, number);
        }
        sandbox.put("a.txt", "written since\n");
        let shown = sandbox.person(&["undo", "--dry-run"]);
        partly(&shown, &["left          a.txt (it was changed since)", "changes back  dir/b.txt"]);
        assert_eq!(read(&sandbox, "dir/b.txt"), "b\n", "a dry run does nothing");
        let done = undo(&sandbox, &[]);
        partly(&done, &["brought back 1: 1 file", "was left alone", "undo 1 --force", "undo 2"]);
        assert_eq!(read(&sandbox, "a.txt"), "written since\n");
        assert_eq!(read(&sandbox, "dir/b.txt"), "mine too\n");
        // It is not undone yet, so it is still the one that is meant.
        let forced = undo(&sandbox, &["--force"]);
        assert_eq!(forced.code, Some(0), "{forced:?}");
        assert_eq!(read(&sandbox, "a.txt"), "mine\n");
        brought(&sandbox, 3);
        assert_eq!(read(&sandbox, "a.txt"), "written since\n", "the present was kept");
    }
}

#[test]
fn new_commits_are_not_left_behind() {
    let sandbox = repository();
    sandbox.put("a.txt", "mine\n");
    let number = Hand::of(&sandbox).discard("git reset --hard HEAD~1");
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    hand::note_left(&sandbox, number);
    sandbox.put("made.txt", "made since\n");
    sandbox.git(&["add", "made.txt"]);
    sandbox.git(&["commit", "-q", "-m", "since"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let done = undo(&sandbox, &[]);
    partly(&done, &["HEAD and the index stay: `main` has moved on", "brought back 1: 1 file"]);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(read(&sandbox, "a.txt"), "mine\n");
    // The same for a branch that was deleted and made anew.
    let number = Hand::of(&sandbox).refs("git branch -D other", &["refs/heads/other"]);
    sandbox.git(&["branch", "-q", "-D", "other"]);
    sandbox.git(&["branch", "-q", "other"]);
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let done = undo(&sandbox, &[&number.to_string()]);
    partly(&done, &["`other` stays: it has new commits that no other branch has"]);
    assert_eq!(sandbox.git(&["rev-parse", "other"]), head);
    brought_by_force(&sandbox, number);
    assert_ne!(sandbox.git(&["rev-parse", "other"]), head);
}

#[test]
fn another_branch_now_gets_the_files_and_not_the_index() {
    let sandbox = repository();
    sandbox.put("dir/b.txt", "mine\n");
    sandbox.git(&["add", "dir/b.txt"]);
    let number = Hand::of(&sandbox).discard("git switch --discard-changes other");
    sandbox.git(&["switch", "-q", "--discard-changes", "other"]);
    let index = sandbox.git(&["ls-files", "-s"]);
    let done = undo(&sandbox, &[&number.to_string()]);
    partly(&done, &["the index stays: HEAD is on `other` now and was on `main`", "`git switch main`"]);
    assert_eq!(read(&sandbox, "dir/b.txt"), "mine\n");
    assert_eq!(sandbox.git(&["ls-files", "-s"]), index);
}

#[test]
fn a_branch_that_somebody_stands_on_does_not_move() {
    let sandbox = repository();
    let number = Hand::of(&sandbox).refs("git branch -f other main", &["refs/heads/other"]);
    sandbox.git(&["branch", "-q", "-f", "other", "main"]);
    sandbox.git(&["switch", "-q", "other"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    for arguments in [&["1"][..], &["1", "--force"]] {
        let done = undo(&sandbox, arguments);
        partly(&done, &["`other` stays: a working tree is on it"]);
        assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    }
    sandbox.git(&["switch", "-q", "main"]);
    brought(&sandbox, number);
    assert_ne!(sandbox.git(&["rev-parse", "other"]), head);
}

/// Git is at work, or was killed there: all of it stays as it is, and it is said what is in the way.
#[test]
fn a_lock_of_git_is_in_the_way() {
    let sandbox = repository();
    dirty(&sandbox);
    let was = World::of(&sandbox);
    let number = Hand::of(&sandbox).discard("git reset --hard HEAD~1").to_string();
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let lost = World::of(&sandbox);
    for name in ["HEAD.lock", "index.lock"] {
        let lock = sandbox.project().join(".git").join(name);
        fs::write(&lock, "").unwrap();
        let refused = undo(&sandbox, &[&number]);
        assert!(refused.code != Some(0) && refused.err.contains(name), "{refused:?}");
        fs::remove_file(&lock).unwrap();
        lost.same(&World::of(&sandbox), name);
    }
    assert_eq!(undo(&sandbox, &[&number]).code, Some(0));
    was.same(&World::of(&sandbox), "free");
}

/// A link where a folder was, a folder where a file was, a FIFO: never followed, never replaced.
#[test]
fn what_is_in_the_way_stays() {
    let sandbox = repository();
    let at = |name: &str| sandbox.project().join(name);
    sandbox.put("out/x.log", "x\n");
    sandbox.put("y.log", "y\n");
    sandbox.put("z.log", "z\n");
    sandbox.put("w.log", "w\n");
    let number =
        Hand::of(&sandbox).overwriting("rm", &[&at("out/x.log"), &at("w.log"), &at("y.log"), &at("z.log")]);
    for name in ["y.log", "z.log", "w.log"] {
        fs::remove_file(at(name)).unwrap();
    }
    fs::remove_dir_all(at("out")).unwrap();
    let outside = sandbox.tmp().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x.log"), "not yours\n").unwrap();
    symlink(&outside, at("out")).unwrap();
    fs::create_dir(at("y.log")).unwrap();
    assert!(sandbox.command("mkfifo").arg(at("z.log")).output().unwrap().status.success());
    let others = picture(&outside);
    let done = undo(&sandbox, &[&number.to_string(), "--force"]);
    partly(
        &done,
        &[
            "comes back    w.log",
            "out/x.log (a folder on the way to it is a file or a link now)",
            "y.log (a folder is in its place)",
            "z.log (it is neither a file nor a folder)",
        ],
    );
    same(&others, &picture(&outside), "outside");
    assert_eq!(fs::read_link(at("out")).unwrap(), outside);
    assert_eq!(read(&sandbox, "w.log"), "w\n");
    undo(&sandbox, &[&number.to_string(), "--to", "../kept"]).said(&["4 files of 1"]);
    assert_eq!(fs::read_to_string(sandbox.project().join("../kept/out/x.log")).unwrap(), "x\n");
}

/// A keeping that was edited, a damaged content, the only file of one written through another name: exit 4,
/// and nothing done.
#[test]
fn what_was_tampered_with_is_not_brought_back() {
    let sandbox = repository();
    let file = sandbox.put("secret.log", "the secret\n");
    let number = Hand::of(&sandbox).overwriting("rm secret.log", &[&file]);
    let other = sandbox.put("linked.log", "linked\n");
    let linked = Hand::of(&sandbox).linking(true).overwriting("rm linked.log", &[&other]);
    fs::hard_link(&other, sandbox.tmp().join("second name")).unwrap();
    fs::remove_file(&file).unwrap();
    fs::remove_file(&other).unwrap();
    let lost = World::of(&sandbox);
    let refuse = |number: u64, case: &str| {
        let answer = undo(&sandbox, &[&number.to_string()]);
        assert_eq!(answer.code, Some(4), "{case}: {answer:?}");
        assert!(answer.err.contains("STATE_CHECKSUM_MISMATCH"), "{case}: {answer:?}");
        lost.same(&World::of(&sandbox), case);
    };
    fs::write(sandbox.tmp().join("second name"), "linked, and written since\n").unwrap();
    refuse(linked, "written through its other name");
    let store = sandbox.project().join(".claude/checkpoints");
    let kept = store.join("kept/1/kept.json");
    let whole = fs::read_to_string(&kept).unwrap();
    fs::write(&kept, whole.replace("secret.log", "forged.log")).unwrap();
    refuse(number, "edited");
    sandbox.person(&["undo", "list"]).said(&["damaged"]);
    fs::write(&kept, &whole).unwrap();
    for item in walk(&store.join("blobs")) {
        fs::write(&item, "not a blob").unwrap();
    }
    refuse(number, "no content");
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let items = fs::read_dir(folder).unwrap().flatten().map(|item| item.path());
    items.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// The agent deleted the refs, or the whole repository: files come back all the same, and the rest is said.
#[test]
fn what_git_lost_is_said() {
    let sandbox = repository();
    sandbox.git(&["switch", "-q", "-c", "topic"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "only here"]);
    sandbox.git(&["switch", "-q", "main"]);
    let number = Hand::of(&sandbox).refs("git branch -D topic", &["refs/heads/topic"]);
    sandbox.git(&["branch", "-q", "-D", "topic"]);
    sandbox.git(&["update-ref", "-d", "refs/aops/kept/1/0"]);
    super::collect(&sandbox);
    let done = undo(&sandbox, &[&number.to_string()]);
    partly(&done, &["`topic` cannot come back: its commit"]);

    sandbox.put("a.txt", "mine\n");
    let number = Hand::of(&sandbox).discard("git checkout -- .");
    fs::remove_dir_all(sandbox.project().join(".git")).unwrap();
    fs::remove_file(sandbox.project().join("a.txt")).unwrap();
    let done = undo(&sandbox, &[&number.to_string()]);
    partly(&done, &["the repository", "no longer exists", "comes back    a.txt"]);
    assert_eq!(read(&sandbox, "a.txt"), "mine\n");
}
