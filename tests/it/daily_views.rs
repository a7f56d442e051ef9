//! What people look at every day: outcomes of sessions without a loop, files, checkpoints, the log, short
//! ids.

use crate::support::{Sandbox, Session};
use serde_json::{Value, json};
use std::fs;

fn in_mode(mode: &str) -> Sandbox {
    let sandbox = Sandbox::repository("0.0");
    sandbox.configure(&format!("tracker.command = \"none\"\nmode.level = \"{mode}\"\n"));
    sandbox
}

fn begun(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    session
}

/// Where nothing is to be verified, nothing is unverified.
#[test]
fn a_session_without_a_loop_is_completed() {
    for mode in ["observe", "guard"] {
        let sandbox = in_mode(mode);
        let session = begun(&sandbox);
        session.stop("done").silent();
        assert_eq!(sandbox.person(&["insights", "--json"]).json()["outcome"], "completed", "{mode}");
        let sums = sandbox.person(&["report", "--json"]).json();
        assert_eq!(sums["outcomes"], json!({"completed": 1}), "{mode}");
        let words = sandbox.person(&["report"]).out;
        assert!(words.contains("completed 1") && !words.contains("partial"), "{words}");
        let page = sandbox.person(&["report", "-o", "-"]).out;
        assert!(!page.contains("<dt>verified and closed</dt>"), "{mode}");
        assert!(page.contains("data-completed=\"1\""), "{mode}");
    }
    // With a loop the share is of the sessions that have one.
    let sandbox = in_mode("guard");
    begun(&sandbox).stop("done").silent();
    sandbox.configure("tracker.command = \"none\"\nmode.level = \"strict\"\n");
    let _ = begun(&sandbox).end();
    let sums = sandbox.person(&["report", "--json"]).json();
    assert_eq!(sums["outcomes"], json!({"completed": 1, "partial": 1}));
    assert!(sandbox.person(&["report", "-o", "-"]).out.contains("<dt>verified and closed</dt><dd>0%</dd>"));
    // A halted one failed, whatever the mode.
    let blocked = in_mode("guard");
    let session = begun(&blocked);
    assert_eq!(blocked.person(&["block", &session.id, "--reason", "stop"]).code, Some(0));
    assert_eq!(blocked.person(&["insights", "--json"]).json()["outcome"], "failure");
}

/// What a command changed counts as what an edit changed, committed or not; what was there before does not.
#[test]
fn files_changed_are_those_that_git_sees() {
    for commits in [false, true] {
        let sandbox = in_mode("guard");
        sandbox.put("mine.txt", "not committed before the session\n");
        let session = begun(&sandbox);
        let line = "printf hello > made.txt && printf x >> README.md";
        let call = session.call("Bash", json!({"command": line}));
        session.pre(&call).silent();
        sandbox.put("made.txt", "hello");
        sandbox.put("README.md", "# a project\nx");
        session.post(&call).silent();
        let git = |arguments: &[&str]| {
            let done =
                sandbox.command("git").args(arguments).current_dir(sandbox.project()).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        if commits {
            git(&["add", "made.txt", "README.md"]);
            git(&["commit", "-q", "-m", "work"]);
        }
        session.stop("done").silent();
        let files = |session: &Session| {
            let said = sandbox.person(&["insights", &session.id, "--json"]).json();
            let mut files: Vec<String> = said["files_changed"]
                .as_array()
                .unwrap()
                .iter()
                .map(|f| f.as_str().unwrap().to_owned())
                .collect();
            files.sort();
            files
        };
        assert_eq!(files(&session), ["README.md", "made.txt"], "commits: {commits}");
        assert_eq!(sandbox.person(&["report", "--json"]).json()["files"]["made.txt"], 1);
        // A session that only looks changed nothing, whatever lies about.
        let other = begun(&sandbox);
        other.ask_bash("git status").silent();
        other.stop("done").silent();
        assert_eq!(files(&other), Vec::<String>::new());
    }
}

#[test]
fn checkpoints_are_numbered_from_the_newest() {
    let sandbox = in_mode("guard");
    for (name, text) in [("first", "1"), ("second", "2"), ("third", "3")] {
        sandbox.put("a.txt", text);
        assert_eq!(sandbox.person(&["checkpoint", "create", "-m", name]).code, Some(0));
    }
    let list = sandbox.person(&["checkpoint", "list"]).out;
    let rows: Vec<Vec<&str>> = list.lines().map(|line| line.split('\t').collect()).collect();
    let shown: Vec<_> = rows.iter().map(|row| (row[0], row[2])).collect();
    assert_eq!(shown, [("1", "third"), ("2", "second"), ("3", "first")], "{list}");
    assert!(rows[0][6].contains("a.txt"), "what changed since the one before: {list}");
    let json = sandbox.person(&["checkpoint", "list", "--json"]).json();
    let numbers: Vec<_> =
        json.as_array().unwrap().iter().map(|row| (row["name"].clone(), row["number"].clone())).collect();
    assert!(
        numbers.contains(&(json!("first"), json!(3))) && numbers.contains(&(json!("third"), json!(1))),
        "{json}"
    );
    for (number, id) in [("1", rows[0][1]), ("3", rows[2][1])] {
        sandbox.person(&["checkpoint", "show", number]).said(&[id]);
    }
    sandbox.person(&["checkpoint", "diff", "3", "1"]).said(&["a.txt"]);
    sandbox.person(&["checkpoint", "show", "4"]).failed(2, &["no checkpoint `4`"]);
    assert_eq!(sandbox.person(&["checkpoint", "rollback", "3", "--yes"]).code, Some(0));
    assert_eq!(fs::read_to_string(sandbox.project().join("a.txt")).unwrap(), "1");
}

/// What a person reads of two checkpoints of a session: files, phase and verdicts; no digests, no numbers of
/// calls.
#[test]
fn a_difference_of_checkpoints_is_short() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.working();
    session.write("a.txt").silent();
    session.stop("Done.").refused(&["qa-verifier"]);
    session.qa("VERIFIED").silent();
    let list = sandbox.person(&["checkpoint", "list", "--json"]).json();
    let oldest = list.as_array().unwrap().len().to_string();
    let said = sandbox.person(&["checkpoint", "diff", &oldest, "1"]).out;
    assert!(said.contains("+ a.txt") && said.contains("(`--json` has all)"), "{said}");
    assert!(said.lines().count() <= 12 && !said.contains(['{', '[', '"']), "{said}");
    let all = sandbox.person(&["checkpoint", "diff", &oldest, "1", "--json"]).json();
    assert!(all["state"].as_object().unwrap().len() > 3, "{all}");
}

/// A session in which nothing happened to a row has no such row.
#[test]
fn insights_show_what_there_is() {
    let sandbox = in_mode("loop");
    let session = begun(&sandbox);
    for n in 0..10 {
        session.write(&format!("{n}.txt")).silent();
    }
    let _ = session.stop("Done.");
    let said = sandbox.person(&["insights", &session.id]).out;
    assert!(said.contains("7.txt and 2 more") && !said.contains("8.txt"), "{said}");
    assert!(!said.contains("audits") && !said.lines().any(|line| line.ends_with("**: ")), "{said}");
}

#[test]
fn a_checkpoint_is_listed_with_its_prompt() {
    let sandbox = in_mode("loop");
    let session = begun(&sandbox);
    let call =
        session.call("Write", json!({"file_path": sandbox.project().join("hi.txt"), "content": "hi\n"}));
    session.pre(&call).silent();
    sandbox.put("hi.txt", "hi\n");
    session.post(&call).silent();
    let list = sandbox.person(&["checkpoint", "list"]).out;
    let row: Vec<&str> = list.lines().next().unwrap().split('\t').collect();
    assert_eq!((row[0], row[5]), ("1", "add a greeting"), "{list}");
}

/// On a terminal a row is one line, and what it shows of an id finds the checkpoint; into a pipe nothing is
/// cut.
#[test]
fn the_list_of_checkpoints_fits_the_terminal() {
    let sandbox = in_mode("loop");
    let session = sandbox.session();
    let _ = session.start("startup");
    let prompt = "write a long greeting for everybody who comes by, with their names";
    let _ = session.prompt(prompt);
    session.write(&format!("{}.txt", "name-".repeat(12))).silent();
    assert_eq!(sandbox.person(&["checkpoint", "create"]).code, Some(0));
    let shown = sandbox.on_terminal("checkpoint list --color=never", "").out;
    assert!(shown.lines().count() >= 3 && shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(shown.contains("write a") && shown.contains('…'), "{shown}");
    let id = format!("{}/PRE_execute_v1", &session.id[..8]);
    assert!(shown.contains(&format!("{id} ")), "{shown}");
    sandbox.person(&["checkpoint", "show", &id]).said(&[&session.id]);
    let piped = sandbox.person(&["checkpoint", "list"]).out;
    assert!(piped.contains(&format!("{}/PRE_execute_v1\t", session.id)) && piped.contains(prompt), "{piped}");
}

#[test]
fn the_log_hides_what_is_no_news() {
    let sandbox = in_mode("guard");
    let session = begun(&sandbox);
    let call = session.call("Read", json!({"file_path": "/x"}));
    session.pre(&call).silent();
    session.post(&call).silent();
    let _ = session.batch(&[&call]);
    session.stop("done").silent();
    let _ = session.prompt("<task-notification>\n<task-id>x</task-id>\n</task-notification>");
    session.stop("done").silent();
    let log = sandbox.person(&["log"]).out;
    for word in ["PostToolBatch", "insights", "task-notification"] {
        assert!(!log.contains(word), "{word}: {log}");
        assert!(sandbox.person(&["log", "-v"]).out.contains(word), "{word}");
    }
    for word in ["add a greeting", "Read", "the turn ends"] {
        assert!(log.contains(word), "{word}: {log}");
    }
    let all = sandbox.person(&["log", "--json"]).out.lines().count();
    assert_eq!(all, session.entries().len(), "for programs nothing is hidden");
}

/// Wherever a short id is taken, one of digits is one.
#[test]
fn a_short_id_of_digits_is_an_id() {
    let sandbox = in_mode("guard");
    let session = Session::new(&sandbox, "12345678-0000-4000-8000-000000000000");
    let _ = session.start("startup");
    let _ = session.prompt("go");
    session.ask_bash("rm -rf /usr").refused(&["rm-system"]);
    session.stop("done").silent();
    let newer = begun(&sandbox);
    newer.ask_bash("git push --force").refused(&["git-force-push"]);
    for (line, words) in [
        ("why 12345678", "rm-system"),
        ("why --session 12345678", "rm-system"),
        ("log 12345678", "rm -rf /usr"),
        ("status 12345678", "12345678-0000"),
        ("insights 12345678", "12345678-0000"),
        ("verify 12345678", "12345678-0000"),
        ("transcript 12345678", "rm -rf /usr"),
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let said = sandbox.person(&arguments);
        assert!(said.code == Some(0) && said.out.contains(words), "{line}: {said:?}");
    }
    assert_eq!(sandbox.person(&["report", "12345678", "--json"]).json()["sessions"], 1);
    // A number is still an entry of the newest session.
    let refused = newer.entries().into_iter().find(|entry| entry["with"]["to"] == "DENIED").unwrap();
    let seq = refused["sequence_number"].to_string();
    sandbox.person(&["why", &seq]).said(&["git-force-push"]);
    let unknown: Value = sandbox.person(&["why", "99999999"]).code.into();
    assert_eq!(unknown, json!(2));
}
