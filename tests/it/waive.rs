//! `waive`: a person lifts one gate for a time.

use crate::status::status;
use crate::support::{Sandbox, Session};
use serde_json::json;

#[test]
fn a_waiver_lifts_one_gate_and_ends_by_itself() {
    let sandbox = Sandbox::new().with("AOPS_TEST_NOW_MS", "1768298400000");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    session.write("a.txt").refused(&["plan"]);
    let waive = ["waive", "sandbox", "--for", "10m", "--reason", "I watch", "--yes"];
    sandbox.person(&waive).said(&["`sandbox` is waived for 10 min", &session.id]);
    let wanted = json!([{"gate": "sandbox", "reason": "I watch", "until": "2026-01-13T10:10:00.000Z"}]);
    assert_eq!(status(&sandbox)["waivers"], wanted);
    sandbox.person(&["status"]).said(&["waived    sandbox for 10 min more: I watch"]);
    sandbox.person(&["status"]).said(&["sandbox   open"]);
    assert_eq!(status(&sandbox)["sandbox"], "open", "nothing is shut while it is waived");
    assert_eq!(session.write("b.txt").code, Some(0));
    let later = sandbox.with("AOPS_TEST_NOW_MS", "1768299000000");
    assert_eq!((&status(&later)["waivers"], &status(&later)["sandbox"]), (&json!([]), &json!("shut")));
    let again = Session::new(&later, status(&later)["session_id"].as_str().unwrap());
    let call = json!({"tool_name": "Write", "tool_use_id": "late", "tool_input": {"file_path": "c.txt", "content": ""}});
    again.event("PreToolUse", call).refused(&["plan"]);
}

/// People read their own clock, programs UTC.
#[test]
fn a_waiver_says_when_it_ends() {
    let sandbox = Sandbox::new().with("AOPS_TEST_NOW_MS", "1768298400000").with("TZ", "AAA-5:30");
    let _ = sandbox.working();
    let waive = ["waive", "qa", "--for", "10m", "--reason", "x", "--yes"];
    sandbox.person(&waive).said(&["(until 2026-01-13 15:40:00 +05:30)"]);
    assert_eq!(
        sandbox.person(&[&waive[..], &["--json"]].concat()).json()["until"],
        "2026-01-13T10:10:00.000Z"
    );
}

#[test]
fn a_waiver_is_a_persons_and_not_for_every_gate() {
    let sandbox = Sandbox::new();
    let session = sandbox.working();
    let before = session.entries().len();
    let with = |gate: &'static str| ["waive", gate, "--for", "10m", "--reason", "x"];
    sandbox.person(&with("qa")).failed(2, &["needs a person at a terminal", "--yes"]);
    sandbox.inside(&[&with("qa")[..], &["--yes"]].concat()).failed(2, &["inside a tool call"]);
    for gate in ["block", "guard", "rules", "danger"] {
        let said = sandbox.person(&[&with(gate)[..], &["--yes"]].concat());
        said.failed(2, &[gate, "cannot be waived", "hint: "]);
    }
    sandbox.person(&[&with("everything")[..], &["--yes"]].concat()).failed(2, &["no gate", "sandbox, audit"]);
    for odd in ["10", "soon", "0m", "-5m"] {
        sandbox
            .person(&["waive", "qa", "--for", odd, "--reason", "x", "--yes"])
            .failed(2, &["not a duration", "10m"]);
    }
    sandbox.person(&["waive", "qa", "--for", "1m", "--reason", " ", "--yes"]).failed(2, &["needs a reason"]);
    assert_eq!(session.entries().len(), before, "nothing of this was recorded");
    for gate in ["sandbox", "audit", "checks", "qa", "reflect", "close"] {
        let id = session.id.as_str();
        let said = sandbox.person(&[&with(gate)[..], &["--yes", "--json", "--session", id]].concat()).json();
        assert_eq!((&said["gate"], &said["session_id"]), (&json!(gate), &json!(id)));
    }
    assert_eq!(session.entries().last().unwrap()["type"], "waiver");
}

/// Whatever the task owes can be waived, one by one.
#[test]
fn waived_debts_are_not_owed() {
    let sandbox = Sandbox::new();
    let session = sandbox.working();
    assert_eq!(session.write("a.txt").code, Some(0));
    session.stop("Done.").refused(&["qa-verifier", "framework", "this is not a git repository"]);
    for gate in ["qa", "reflect"] {
        sandbox.person(&["waive", gate, "--for", "1h", "--reason", "x", "--yes"]).said(&[gate]);
    }
    assert_eq!(status(&sandbox)["owed"], json!([]));
    session.stop("Done.").silent();
}

/// A prompt that waives the loop is an entry of its own, and shown like the other waivers.
#[test]
fn a_prompt_that_waives_is_an_entry_of_its_own() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.session();
    let _ = session.start("startup");
    session.prompt(". make a.txt").silent();
    let waiver = session.entries().into_iter().find(|entry| entry["type"] == "waiver").unwrap();
    let with = &waiver["with"];
    assert_eq!((&with["gate"], &with["reason"]), (&json!("task"), &json!("its prompt begins with `.`")));
    assert_eq!(session.write("a.txt").code, Some(0));
    assert_eq!(status(&sandbox)["waivers"], json!([]), "it ends with its task, and not at a time");
    session.stop("Done.").silent();
    let id = session.id.as_str();
    sandbox.person(&["log", id]).said(&["waive", "task: its prompt begins with `.`"]);
    sandbox.person(&["export", "--format", "jsonl", id]).said(&["its prompt begins with `.`"]);
    let insights = sandbox.person(&["insights", id, "--json"]).json();
    assert_eq!(insights["waivers"], json!(["task: its prompt begins with `.`"]));
    // The next task is in the loop again.
    session.prompt("and b.txt").said(&["prompt-hydrator"]);
    session.write("b.txt").refused(&["plan"]);
}

#[test]
fn a_files_name_waives_nothing() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.session();
    let _ = session.start("startup");
    sandbox.put(".mine", "x");
    for prompt in [
        ".gitignore lacks the build folder",
        ".env.local: add a key",
        ".github/workflows/ci.yml fails",
        ".mine is odd",
    ] {
        session.prompt(prompt).said(&["prompt-hydrator"]);
        session.write("a.txt").refused(&["plan"]);
    }
    session.prompt(".theirs is not there").silent();
    session.write("a.txt").silent();
    let waivers = session.entries().iter().filter(|entry| entry["type"] == "waiver").count();
    assert_eq!(waivers, 1);
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

/// The way out is told to the person once, and never to the model.
#[test]
fn the_way_out_is_the_persons() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.session();
    let told = session.start("startup").out + &session.prompt("make a.txt").out;
    assert!(!told.contains("`.`"), "{told}");
    let first = session.write("a.txt");
    first.refused(&["prompt-hydrator"]);
    let notice = first.json_of_any_exit()["systemMessage"].as_str().unwrap().to_owned();
    assert!(notice.contains("start a prompt with `.`"), "{notice}");
    assert!(!first.err.contains("`.`"), "{}", first.err);
    let again = session.write("a.txt");
    again.refused(&["prompt-hydrator"]);
    assert_eq!(again.json_of_any_exit().get("systemMessage"), None, "said once");
    // Its advice works.
    session.prompt(". make a.txt").silent();
    session.write("a.txt").silent();
}
