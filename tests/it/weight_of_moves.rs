//! What adds nothing to a task's size: files that get another name, files that tools make, what was there before.

use crate::support::{Sandbox, Session};
use serde_json::{Value, json};

fn in_loop(settings: &str) -> Sandbox {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure(&format!("[audit]\nrate = 0.0\n[mode]\nlevel = \"loop\"\n{settings}"));
    sandbox
}

fn lines(begin: &str, n: usize) -> String {
    (0..n).fold(String::new(), |text, n| text + &format!("{begin} {n}\n"))
}

/// Six committed files of a hundred lines in this folder.
fn with_files(sandbox: &Sandbox, folder: &str) {
    for n in 0..6 {
        sandbox.put(&format!("{folder}/f{n}.txt"), &lines(&format!("file {n}"), 100));
    }
    commit_all(sandbox);
}

fn commit_all(sandbox: &Sandbox) {
    sandbox.git(&["add", "-Af"]);
    sandbox.git(&["commit", "-q", "-m", "files"]);
}

/// What `task list` shows of the task in hand: files and lines.
fn weight(sandbox: &Sandbox, session: &Session) -> String {
    let shown = sandbox.person(&["task", "list", "--session", &session.id]).out;
    shown.split('\t').nth(2).unwrap_or_default().to_owned()
}

#[test]
fn files_that_are_only_moved_have_no_weight() {
    for line in [
        "git mv src lib2",
        "mv src lib2",
        "mkdir lib2 && git mv src/*.txt lib2/",
        "mkdir lib2 && mv src/f0.txt src/f1.txt src/f2.txt src/f3.txt src/f4.txt src/f5.txt lib2",
    ] {
        let sandbox = in_loop("");
        with_files(&sandbox, "src");
        let session = sandbox.begun("rename the folder");
        session.bash(line);
        session.write("notes.txt").silent();
        assert_eq!(weight(&sandbox, &session), "1 file, 1 line", "{line}");
        // It is work all the same.
        assert_eq!(session.state()["task"]["writes"], 2, "{line}");
        // And only what is changed in a moved file counts, by an edit or by a command.
        let file = sandbox.project().join("lib2/f0.txt");
        let call =
            session.call("Edit", json!({"file_path": file, "old_string": "file 0 7\n", "new_string": "x\n"}));
        session.pre(&call).silent();
        let text = std::fs::read_to_string(&file).unwrap().replace("file 0 7\n", "x\n");
        std::fs::write(&file, text).unwrap();
        session.post(&call).silent();
        session.bash("sed -i 's/^file 1 8$/y/' lib2/f1.txt");
        assert_eq!(weight(&sandbox, &session), "3 files, 5 lines", "{line}");
        session.bash("git add -A && git commit -qm moved");
        assert_eq!(weight(&sandbox, &session), "3 files, 5 lines", "{line}: committed");
        session.stop("Done.").silent();
    }
}

#[test]
fn files_that_are_moved_and_changed_count_with_their_changes() {
    let sandbox = in_loop("");
    with_files(&sandbox, "src");
    let session = sandbox.begun("rename the folder and one word");
    session.bash("mv src lib2 && sed -i 's/ 7$/ seven/' lib2/*.txt && mv lib2/f0.txt lib2/other.txt");
    assert_eq!(weight(&sandbox, &session), "6 files, 12 lines");
    session.write("notes.txt").silent();
    // What was edited first and moved then is weighed by the edit.
    session.bash("mv notes.txt lib2/notes.md");
    assert_eq!(weight(&sandbox, &session), "7 files, 13 lines");
    // A file that is there again under its old name was copied.
    session.bash("cp lib2/f5.txt f5.txt");
    assert_eq!(weight(&sandbox, &session), "8 files, 113 lines");
    session.ask_bash("touch more").refused(&["8 files, 113 lines: over both limits, 3 files and 60 lines"]);
}

#[test]
fn what_is_removed_and_something_else_written_is_no_move() {
    let sandbox = in_loop("");
    with_files(&sandbox, "src");
    let session = sandbox.begun("rewrite it");
    session.bash("rm src/f0.txt src/f1.txt && seq 100 > src/f7.txt && seq 200 300 > src/f8.txt");
    session.ask_bash("touch more").refused(&["4 files, 401 lines"]);
}

/// A rename of what is never small is never small.
#[test]
fn a_migration_is_moved_by_plan() {
    let sandbox = in_loop("");
    with_files(&sandbox, "db/migrate");
    let session = sandbox.begun("rename it");
    session.bash("git mv db/migrate/f0.txt db/migrate/g0.txt");
    session.ask_bash("touch more").refused(&["small.never"]);
}

#[test]
fn what_tools_make_has_no_weight_and_what_a_hand_writes_there_has() {
    let sandbox = in_loop("");
    sandbox.put(
        "make.sh",
        "mkdir -p api src/generated\nseq 900 > api/x.pb.go\nseq 500 > src/generated/y.ts\nseq 500 > app.min.js\n",
    );
    commit_all(&sandbox);
    let session = sandbox.begun("generate the client");
    session.bash("sh make.sh");
    session.write("notes.txt").silent();
    assert_eq!(weight(&sandbox, &session), "1 file, 1 line");
    assert_eq!(session.state()["task"]["writes"], 2, "it is work all the same");
    session.bash("git add api/x.pb.go && git commit -qm made");
    assert_eq!(weight(&sandbox, &session), "1 file, 1 line");
    session.bash("seq 300 > api/z.pb.go");
    session.ask_bash("touch more").refused(&["2 files, 301 lines"]);
}

/// What tools made and git does not have is not missed; what somebody wrote is.
#[test]
fn generated_files_that_are_removed_have_no_weight() {
    let sandbox = in_loop("");
    with_files(&sandbox, "dist");
    with_files(&sandbox, "bin");
    for folder in ["out", "tmp", "coverage"] {
        sandbox.put(&format!("{folder}/made.txt"), &lines("made", 300));
    }
    let session = sandbox.begun("clean up");
    session.bash("rm -rf out tmp coverage");
    session.bash("git rm -rq dist");
    session.write("notes.txt").silent();
    assert_eq!(weight(&sandbox, &session), "1 file, 1 line");
    session.bash("rm -r bin");
    session.ask_bash("touch more").refused(&["7 files, 601 lines"]);
}

/// Lines that the person had not committed when the task began are theirs.
#[test]
fn what_was_there_before_has_no_weight() {
    let sandbox = in_loop("");
    sandbox.put("big.txt", &lines("big", 100));
    commit_all(&sandbox);
    sandbox.put("big.txt", &(lines("big", 100) + &lines("mine", 300)));
    sandbox.put("new.txt", &lines("new", 300));
    let session = sandbox.begun("one word");
    session.bash("sed -i 's/^big 7$/x/' big.txt");
    session.bash("sed -i 's/^new 7$/x/' new.txt");
    assert_eq!(weight(&sandbox, &session), "2 files, 4 lines");
    let grown = session.entries().into_iter().rev().find_map(|entry| {
        Some(entry["with"]["end"]["measured"]["grown"].clone()).filter(|grown: &Value| !grown.is_null())
    });
    assert!(grown.is_some());
}
