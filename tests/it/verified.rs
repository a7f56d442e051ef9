//! What was verified stays so while the tree is as it was then.

use crate::support::{Answer, Call, Sandbox, Session, fenced};
use serde_json::json;

fn in_mode(level: &str) -> Sandbox {
    let sandbox = Sandbox::repository("0.0");
    let gates = "[gates]\ncommit = \"enforce\"\npush = \"enforce\"\nreflect = \"enforce\"\n";
    sandbox.configure(&format!("[audit]\nrate = 0.0\n[mode]\nlevel = \"{level}\"\n{gates}"));
    sandbox.put("test.sh", "exit 0\n");
    sandbox.put(".gitignore", "*.log\nout/\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "test"]);
    sandbox.git(&["push", "-q"]);
    sandbox
}

/// A session whose change is verified, reflected on and committed.
fn verified(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.working();
    session.write("a.txt").silent();
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.bash("git add -A && git commit -q -m a");
    session
}

fn owed(answer: &Answer) -> Vec<String> {
    let name = |line: &str| Some(line.split_once(". `")?.1.split('`').next()?.to_owned());
    answer.reason().lines().filter_map(name).collect()
}

#[test]
fn a_sync_that_brings_nothing_voids_nothing() {
    for mode in ["loop", "strict"] {
        let sandbox = in_mode(mode);
        let session = verified(&sandbox);
        session.bash("git fetch -q");
        session.bash("sh test.sh");
        session.bash("git pull -q --rebase && git push -q");
        session.bash("git pull -q --no-rebase; git status");
        // This tracker has no such verb.
        let sync = session.call("Bash", json!({"command": "bd sync"}));
        session.pre(&sync).silent();
        let _ = session.fail(&sync, "Exit code 1\nunknown command \"sync\" for \"bd\"");
        session.stop("Done.").silent();
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
}

/// The client waits for none of them.
#[test]
fn what_a_command_changes_after_the_verification_is_not_verified() {
    let in_background = json!({"command": "sh test.sh", "run_in_background": true});
    let calls =
        [json!({"command": "nohup sh test.sh &"}), json!({"command": "setsid -f sh test.sh"}), in_background];
    for mode in ["loop", "strict"] {
        for call in calls.iter().chain([&json!({"command": "sh test.sh"})]) {
            let lasts = call["command"] != "sh test.sh" || call["run_in_background"] == true;
            let sandbox = in_mode(mode);
            let session = sandbox.working();
            session.write("a.txt").silent();
            let call = session.call("Bash", call.clone());
            session.pre(&call).silent();
            session.post(&call).silent();
            session.qa("VERIFIED").silent();
            session.reflect().silent();
            // As the command would, while nothing else runs.
            sandbox.put("a.txt", "more\n");
            session.bash("git add -A && git commit -q -m a && git push -q");
            let stop = session.stop("Done.");
            assert_eq!(owed(&stop), if lasts { vec!["qa-verifier"] } else { vec![] }, "{mode}: {stop:?}");
            if lasts {
                assert!(stop.reason().contains("after VERIFIED"), "{stop:?}");
                assert_eq!(owed(&session.stop("Done.")), ["qa-verifier"], "{mode}");
                session.qa("VERIFIED").silent();
                session.stop("Done.").silent();
            }
            sandbox.person(&["verify", &session.id]).said(&["intact"]);
        }
    }
}

/// They touch ignored and temporary files alone, or leave the tree as it was.
const NOTHING: [&str; 7] = [
    "seq 1 3 > x.log",
    "mkdir -p out && touch out/y",
    "touch test.sh",
    "printf 'exit 0\\n' > test.sh",
    "echo b > b.txt && rm b.txt",
    "mkdir -p newdir",
    "git fetch -q",
];

#[test]
fn what_leaves_the_tree_as_it_was_voids_nothing() {
    for mode in ["loop", "strict"] {
        for line in NOTHING {
            let sandbox = in_mode(mode);
            let session = verified(&sandbox);
            session.bash("git push -q");
            session.bash(line);
            assert_eq!(owed(&session.stop("Done.")), [""; 0], "{mode}: {line}");
        }
    }
}

#[test]
fn what_leaves_the_tree_as_it_was_is_no_work() {
    for mode in ["loop", "strict"] {
        for line in NOTHING {
            let sandbox = in_mode(mode);
            let session = sandbox.working();
            session.bash(line);
            assert_eq!(owed(&session.stop("Done.")), [""; 0], "{mode}: {line}");
        }
    }
}

/// This tree does not show it.
#[test]
fn what_a_line_changes_in_another_working_tree_is_verified() {
    for mode in ["loop", "strict"] {
        for line in ["cd ../wt && echo more >> test.sh", "echo more >> ../wt/test.sh", "cd ../wt && make all"]
        {
            let sandbox = in_mode(mode);
            sandbox.put("Makefile", "all:\n\techo more >> test.sh\n");
            sandbox.git(&["add", "-A"]);
            sandbox.git(&["commit", "-q", "-m", "make"]);
            sandbox.git(&["push", "-q"]);
            sandbox.git(&["worktree", "add", "-q", "../wt", "-b", "wt"]);
            let session = sandbox.working();
            session.bash(line);
            assert!(owed(&session.stop("Done.")).contains(&"qa-verifier".to_owned()), "{mode}: {line}");
        }
    }
}

/// What a task's work owes does not depend on what it is called afterwards.
#[test]
fn a_second_plan_for_the_same_prompt_drops_no_verification() {
    for workflow in ["direct-skill", "simple-question"] {
        let sandbox = in_mode("strict");
        let session = sandbox.working();
        session.write("a.txt").silent();
        assert!(owed(&session.stop("Done.")).contains(&"qa-verifier".to_owned()));
        let _ = session.hydrate(workflow, "new");
        assert!(owed(&session.stop("Done.")).contains(&"qa-verifier".to_owned()), "{workflow}");
        sandbox.person(&["verify", &session.id]).said(&["intact"]);
    }
}

#[test]
fn what_a_sync_brought_is_verified_again() {
    for mode in ["loop", "strict"] {
        let sandbox = in_mode(mode);
        let session = verified(&sandbox);
        sandbox.somebody_pushes();
        session.bash("git pull -q --rebase && git push -q");
        let owed = owed(&session.stop("Done."));
        assert!(owed.iter().any(|debt| debt == "qa-verifier"), "{mode}: {owed:?}");
    }
}

/// The tree alone does not tell what these did, or it is not as it was.
#[test]
fn a_change_voids_what_was_verified() {
    for line in ["sh -c 'echo more >> a.txt'", "rm README.md", "chmod +x a.txt"] {
        let sandbox = in_mode("strict");
        let session = verified(&sandbox);
        session.bash(line);
        let owed = owed(&session.stop("Done."));
        assert!(owed.iter().any(|debt| debt == "qa-verifier"), "{line}: {owed:?}");
    }
}

/// A verifier of this id at work on a change, whose own test fails.
fn failing<'a>(sandbox: &'a Sandbox, id: &str) -> (Session<'a>, Call) {
    let session = sandbox.working();
    session.write("a.txt").silent();
    let _ = session.begin_agent(id, "qa-verifier");
    let test = session.call("Bash", json!({"command": "cd . && cargo test"})).by(id, "qa-verifier");
    session.pre(&test).silent();
    let _ = session.fail(&test, "Exit code 101");
    (session, test)
}

const VERIFIED: &str = "{\"verdict\": \"VERIFIED\"}";

#[test]
fn a_verifier_whose_own_test_failed_has_verified_nothing() {
    let sandbox = in_mode("strict");
    let (session, test) = failing(&sandbox, "q1");
    let says = ["VERIFIED does not count", "`cd . && cargo test`", "see it pass, or report ISSUES"];
    session.stop_agent("q1", "qa-verifier", &fenced(VERIFIED)).refused(&says);
    // What is not a test does not help, and what another one ran is not its own.
    for (line, by) in [("git status", "q1"), ("cargo test", "q2")] {
        let other = session.call("Bash", json!({"command": line})).by(by, "qa-verifier");
        let _ = (session.pre(&other), session.post(&other));
    }
    session.stop_agent("q1", "qa-verifier", &fenced(VERIFIED)).refused(&says[..1]);
    let again = session.call("Bash", test.input.clone()).by("q1", "qa-verifier");
    session.pre(&again).silent();
    session.post(&again).silent();
    session.stop_agent("q1", "qa-verifier", &fenced(VERIFIED)).silent();
    assert!(!owed(&session.stop("Done.")).contains(&"qa-verifier".to_owned()));
    sandbox.person(&["replay", &session.id]).said(&["none would change"]);
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

/// One that insists is let go like any that gives no verdict, and so is the debt.
#[test]
fn a_verifier_that_insists_keeps_nobody() {
    let sandbox = in_mode("strict");
    let (session, _) = failing(&sandbox, "q1");
    for _ in 0..2 {
        session.stop_agent("q1", "qa-verifier", &fenced(VERIFIED)).refused(&["does not count"]);
    }
    let given_up = session.stop_agent("q1", "qa-verifier", &fenced(VERIFIED));
    assert!(given_up.code == Some(0) && given_up.out.contains("nothing was decided"), "{given_up:?}");
    for _ in 0..3 {
        assert!(owed(&session.stop("Done.")).contains(&"qa-verifier".to_owned()));
    }
    assert!(session.stop("Done.").out.contains("ended unfinished after 3 refusals"));
    // And one that finds fault is heard at once.
    let sandbox = in_mode("strict");
    let (session, _) = failing(&sandbox, "q9");
    let issues = json!({"verdict": "ISSUES", "issues": ["the tests fail"]});
    session.stop_agent("q9", "qa-verifier", &fenced(issues)).silent();
}

/// A test that nobody permitted did not fail: it did not run.
#[test]
fn a_test_that_was_not_permitted_has_not_failed() {
    for event in ["PermissionRequest", "PermissionDenied"] {
        let sandbox = in_mode("strict");
        let session = sandbox.working();
        session.write("a.txt").silent();
        let _ = session.begin_agent("q1", "qa-verifier");
        let test = session.call("Bash", json!({"command": "cargo test"})).by("q1", "qa-verifier");
        session.pre(&test).silent();
        let _ = session.event(event, test.fields());
        let _ = session
            .event("PostToolBatch", json!({"agent_id": "q1", "agent_type": "qa-verifier", "tool_calls": []}));
        assert_eq!(session.calls()[&test.id].last().unwrap(), "FAILED", "{event}");
        session.stop_agent("q1", "qa-verifier", &fenced(VERIFIED)).silent();
        assert!(!owed(&session.stop("Done.")).contains(&"qa-verifier".to_owned()), "{event}");
    }
}
