//! What a task changed itself: not what git brought, a person saved, another session wrote or an earlier task
//! did.

use crate::support::{Answer, Sandbox, Session, fenced};
use serde_json::json;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

fn in_loop() -> Sandbox {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure("[audit]\nrate = 0.0\n[mode]\nlevel = \"loop\"\n");
    sandbox
}

fn lines(n: usize) -> String {
    (0..n).fold(String::new(), |text, n| text + &format!("line {n}\n"))
}

/// Asks for a write of this text and, where it passes, makes it.
fn put(sandbox: &Sandbox, session: &Session, name: &str, text: &str) -> Answer {
    let call = session.call("Write", json!({"file_path": sandbox.project().join(name), "content": text}));
    let answer = session.pre(&call);
    if answer.code == Some(0) {
        sandbox.put(name, text);
        let _ = session.post(&call);
    }
    answer
}

/// Twenty files on a branch that is neither checked out nor made by a session; on the remote's `main` too,
/// where it is `theirs`.
fn others_work(sandbox: &Sandbox, branch: &str) {
    sandbox.git(&["checkout", "-q", "-b", branch]);
    for n in 0..20 {
        sandbox.put(&format!("{branch}/f{n:02}"), &lines(50));
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", branch]);
    if branch == "theirs" {
        sandbox.git(&["push", "-q", "origin", "theirs:main"]);
    }
    sandbox.git(&["checkout", "-q", "main"]);
}

/// What git did so far was long ago: its log knows seconds, and a test takes none.
fn long_ago(sandbox: &Sandbox) {
    let log = sandbox.project().join(".git/logs/HEAD");
    let older = |line: &str| {
        let (head, words) = line.split_once('\t').unwrap();
        let (head, zone) = head.rsplit_once(' ').unwrap();
        format!("{} 1600000000 {zone}\t{words}\n", head.rsplit_once(' ').unwrap().0)
    };
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.lines().map(older).collect::<String>()).unwrap();
}

/// The size of the task in hand.
#[track_caller]
fn is_grown_by(sandbox: &Sandbox, session: &Session, size: &str) {
    let listed = sandbox.person(&["task", "list", "--session", &session.id]).out;
    assert!(listed.contains(size), "{size} in {listed}");
}

/// The clock of the file system has gone on since this file was changed, by more than a tick.
pub(crate) fn let_time_pass(sandbox: &Sandbox, changed: &Path) {
    let at = |path: &Path| {
        let about = fs::metadata(path).unwrap();
        about.ctime() * 1000 + about.ctime_nsec() / 1_000_000
    };
    let (then, clock) = (at(changed), sandbox.tmp().join("clock"));
    while {
        fs::write(&clock, "").unwrap();
        at(&clock) < then + 50
    } {}
}

/// A fast-forward, a merge, another branch, a rebase: what comes out of commits is nobody's edit, and what is
/// edited then counts.
#[test]
fn what_git_brings_is_not_the_tasks() {
    for (line, own_commit) in [
        ("git pull -q", false),
        ("git pull -q --no-rebase --no-edit", true),
        ("git pull -q --rebase", true),
        ("git checkout -q theirs", false),
        ("git switch -q theirs", false),
        ("git merge -q --no-edit theirs", true),
        ("git rebase -q theirs", true),
    ] {
        let sandbox = in_loop();
        others_work(&sandbox, "theirs");
        if own_commit {
            sandbox.put("mine", &lines(9));
            sandbox.git(&["add", "-A"]);
            sandbox.git(&["commit", "-q", "-m", "mine"]);
        }
        long_ago(&sandbox);
        let session = sandbox.begun("bring it up to date and mend it");
        session.bash(line);
        assert!(sandbox.project().join("theirs/f19").exists(), "{line}");
        put(&sandbox, &session, "a.txt", "one\n").silent();
        // A command that changes files of theirs is measured against what came.
        session.bash("sed -i 's/^line 1$/l/' theirs/f01 theirs/f02");
        put(&sandbox, &session, "b.txt", "one\n").silent();
        assert_eq!(session.state()["sandbox"], "open", "{line}");
        put(&sandbox, &session, "c.txt", &lines(60))
            .refused(&["(5 files, 66 lines: over both limits, 3 files and 60 lines)"]);
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
}

/// Its own commits count wherever they are, and so does what it stashed.
#[test]
fn a_task_does_not_shed_its_own_size_by_git() {
    for taken in [
        "git checkout -q -b side && git add -A && git commit -q -m own && git checkout -q main",
        "git add -A && git commit -q -m own && git checkout -q --detach HEAD~1",
        "git stash -q -u",
    ] {
        let sandbox = in_loop();
        others_work(&sandbox, "theirs");
        long_ago(&sandbox);
        let session = sandbox.begun("make files");
        for n in 0..3 {
            put(&sandbox, &session, &format!("own{n}"), &lines(15)).silent();
        }
        session.bash(taken);
        assert!(!sandbox.project().join("own0").exists(), "{taken}");
        session.bash("git checkout -q theirs");
        put(&sandbox, &session, "more", &lines(20))
            .refused(&["(4 files, 65 lines: over both limits, 3 files and 60 lines)"]);
    }
    // What one command makes and commits, and then leaves and takes up again.
    let sandbox = in_loop();
    let session = sandbox.begun("make files");
    session.bash(
        "git checkout -q -b side && for n in 1 2 3 4 5; do seq 28 > f$n; done && git add -A && git commit -q -m own \
         && git checkout -q main && git merge -q side",
    );
    session.ask_bash("touch more").refused(&["(5 files, 140 lines: over both limits, 3 files and 60 lines)"]);
}

/// A stash that was there before is not the task's; one that it made is.
#[test]
fn a_stash_counts_for_who_made_it() {
    let sandbox = in_loop();
    for n in 0..5 {
        sandbox.put(&format!("f{n}"), "1\n");
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "files"]);
    for n in 0..5 {
        sandbox.put(&format!("f{n}"), &lines(30));
    }
    // By a date of long ago: within one second nobody knows which was first.
    sandbox
        .command("git")
        .env("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z")
        .args(["stash", "-q"])
        .assert()
        .success();
    let session = sandbox.begun("go on with what I stashed");
    let call = session.call("Bash", json!({"command": "git stash pop"}));
    session.pre(&call).silent();
    let said = sandbox.git(&["stash", "pop"]);
    let mut done = call.fields();
    done["tool_response"] = json!({"stdout": said, "stderr": "", "interrupted": false});
    let _ = session.event("PostToolUse", done);
    put(&sandbox, &session, "a.txt", "one\n").silent();
    // Its own.
    session.bash("git add -A && git commit -q -m all");
    session.bash("for n in 1 2 3 4; do seq 20 > own$n; git add own$n; done; git stash -q; git stash pop -q");
    session.ask_bash("touch more").refused(&["(5 files, 81 lines: over both limits, 3 files and 60 lines)"]);
}

/// What a person saves in an editor between the calls is the person's, also where commands follow.
#[test]
fn what_a_person_saves_between_calls_is_not_the_tasks() {
    let sandbox = in_loop();
    let session = sandbox.begun("mend it");
    put(&sandbox, &session, "a.txt", "one\n").silent();
    for n in 0..6 {
        sandbox.put(&format!("person{n}"), &lines(80));
    }
    let_time_pass(&sandbox, &sandbox.project().join("person5"));
    session.bash("sh -c 'echo x > b.txt'");
    put(&sandbox, &session, "c.txt", "one\n").silent();
    assert_eq!(session.state()["sandbox"], "open");
    is_grown_by(&sandbox, &session, "3 files, 3 lines");
    // What a command changes of the person's is its own from then on.
    session.bash("sh -c 'echo x >> person0'");
    put(&sandbox, &session, "d.txt", "one\n").refused(&["(5 files, "]);
}

/// While a long command runs, another session edits: these files are that session's, also once its turn has
/// ended.
#[test]
fn what_another_session_writes_meanwhile_is_not_the_tasks() {
    for ends in [false, true] {
        let sandbox = in_loop();
        let (one, two) = (sandbox.begun("write five files"), sandbox.begun("build it"));
        let call = two.call("Bash", json!({"command": "sh build.sh"}));
        two.pre(&call).silent();
        for n in 0..5 {
            put(&sandbox, &one, &format!("one{n}"), &lines(11)).silent();
        }
        if ends {
            one.stop("Done.").silent();
        }
        sandbox.put("two", "built\n");
        let _ = two.post(&call);
        put(&sandbox, &two, "mine", "one\n").silent();
        is_grown_by(&sandbox, &two, "2 files, 2 lines");
        two.hydrate("minor-edit", "new");
        put(&sandbox, &two, "mine", "two\n").silent();
        two.qa("VERIFIED").silent();
        assert_eq!(two.stop("Done.").json()["systemMessage"], "2 files changed, not committed");
    }
}

/// A command that goes on in the background changes files between the calls: from its start on all of them
/// may be its own.
#[test]
fn what_a_background_command_writes_later_counts() {
    let sandbox = in_loop();
    let session = sandbox.begun("watch it");
    let call = session.call("Bash", json!({"command": "sh watch.sh", "run_in_background": true}));
    session.pre(&call).silent();
    let _ = session.post(&call);
    for n in 0..5 {
        sandbox.put(&format!("f{n}"), &lines(28));
    }
    let_time_pass(&sandbox, &sandbox.project().join("f4"));
    session.bash("sh -c 'echo x > b.txt'");
    session.ask_bash("touch more").refused(&["(6 files, 141 lines: over both limits, 3 files and 60 lines)"]);
}

/// What is copied with its times looks as old as it was elsewhere.
#[test]
fn files_that_come_with_their_old_times_count() {
    let sandbox = in_loop();
    let from = sandbox.tmp().join("src");
    fs::create_dir(&from).unwrap();
    for n in 0..5 {
        fs::write(from.join(format!("f{n}")), format!("{n}\n{}", lines(30))).unwrap();
    }
    let session = sandbox.begun("bring the folder");
    let_time_pass(&sandbox, &from.join("f4"));
    session.bash(&format!("cp -pr {} lib", from.display()));
    session.ask_bash("touch more").refused(&["(5 files, 155 lines: over both limits, 3 files and 60 lines)"]);
}

/// The end of a planned task names its own files, not those of the planned one before it.
#[test]
fn the_next_task_does_not_name_the_files_of_the_last() {
    let sandbox = in_loop();
    let session = sandbox.begun("one");
    for (prompt, names, said) in [
        ("one", ["a", "b", "c"], "3 files changed, not committed"),
        ("two", ["d", "e", "e"], "2 files changed, not committed"),
    ] {
        let _ = session.prompt(prompt);
        session.hydrate("minor-edit", "new");
        for name in names {
            put(&sandbox, &session, name, &format!("{prompt}\n")).silent();
        }
        session.qa("VERIFIED").silent();
        assert_eq!(session.stop("Done.").json()["systemMessage"], said);
    }
}

/// Two planned tasks, each committed and pushed: the second one's reviewers see the second one's changes.
#[test]
fn reviewers_see_the_task_and_not_the_one_before() {
    let sandbox = Sandbox::repository("0.0");
    sandbox.put("README.md", "# the person's words\n");
    let session = sandbox.begun("first");
    let context = |kind: &str, verdict: &str| {
        session.agent_reports(kind, &fenced(json!({"verdict": verdict, "issues": []}))).0
    };
    let finish = |name: &str| {
        session.write(name).silent();
        session.qa("VERIFIED").silent();
        session.reflect().silent();
        session.bash(&format!("git add {name} && git commit -q -m {name} && git push -q"));
        session.stop("Done.").silent();
    };
    session.hydrate("minor-edit", "new");
    finish("first.txt");
    let _ = session.prompt("second");
    session.hydrate("minor-edit", "new");
    session.write("second.txt").silent();
    for (kind, verdict) in [("custodiet", "OK"), ("qa-verifier", "VERIFIED")] {
        let seen = context(kind, verdict);
        let (_, files) = seen.split_once("Files changed").unwrap();
        assert!(files.contains("second.txt") && !files.contains("b/first.txt"), "{kind}: {seen}");
        assert!(!files.contains("first.txt |") && !files.contains("the person's words"), "{kind}: {seen}");
    }
    // A prompt that goes on with it: all of the task again.
    session.reflect().silent();
    session.bash("git add second.txt && git commit -q -m second && git push -q");
    session.stop("Done.").silent();
    let _ = session.prompt("and a third");
    session.hydrate("minor-edit", "continue");
    session.write("third.txt").silent();
    let seen = context("qa-verifier", "VERIFIED");
    assert!(
        seen.contains("b/second.txt") && seen.contains("b/third.txt") && !seen.contains("b/first.txt"),
        "{seen}"
    );
    let _ = session.agent("custodiet", json!({"verdict": "BLOCK", "violation": "out of scope"}));
    let report = fs::read_to_string(session.folder().join("halt-report.md")).unwrap();
    let (_, files) = report.split_once("Files changed in this task").unwrap();
    assert!(files.contains("third.txt") && !files.contains("first.txt |"), "{report}");
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

/// `strict` asks for a commit of what the session's calls wrote: not of what a person saves while the model
/// thinks, nor of what another session edits, also while a command of this one runs.
#[test]
fn a_commit_is_asked_for_the_sessions_own_files_alone() {
    let sandbox = Sandbox::repository("0.0");
    sandbox.put("README.md", "# it\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "files"]);
    sandbox.git(&["push", "-q"]);
    let (session, other) = (sandbox.working(), sandbox.working());
    session.write("BAR").silent();
    let_time_pass(&sandbox, &sandbox.project().join("BAR"));
    sandbox.put("README.md", "# it\nmine\n");
    sandbox.put("my-draft.txt", "mine\n");
    sandbox.put("BAR", "hello\nsaved again\n");
    let_time_pass(&sandbox, &sandbox.project().join("my-draft.txt"));
    let call = session.call("Bash", json!({"command": "sh make.sh"}));
    session.pre(&call).silent();
    other.write("theirs").silent();
    sandbox.put("made.txt", "made\n");
    let _ = session.post(&call);
    let own =
        "by name: BAR, made.txt; changed by somebody else, so not required: README.md, my-draft.txt, theirs";
    session.stop("Done.").refused(&[own]);
    sandbox.person(&["status", "--session", &session.id]).said(&["commit"]);
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.bash("git add BAR made.txt && git commit -q -m own && git push -q");
    session.stop("Done. README.md and my-draft.txt are yours.").silent();
    assert_eq!(session.state()["phase"], "done");
    assert!(
        !sandbox.person(&["status", "--session", &session.id]).out.contains("commit"),
        "nothing of it is owed"
    );
}

/// From the start of a command that goes on, what changes between calls may be its own.
#[test]
fn a_commit_is_asked_for_what_a_background_command_writes() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.working();
    let call = session.call("Bash", json!({"command": "sh watch.sh", "run_in_background": true}));
    session.pre(&call).silent();
    let _ = session.post(&call);
    let_time_pass(&sandbox, &sandbox.project().join(".git/HEAD"));
    sandbox.put("later.txt", "made\n");
    session.stop("Done.").refused(&["by name: later.txt"]);
}
