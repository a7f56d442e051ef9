//! What holds in Copilot CLI, and how it fails: one small run each.

use super::{Copilot, bash, home, id, last_words, results, session, verifies};
use crate::model::{Model, Turn};
use crate::support::{BINARY, Sandbox};
use serde_json::json;
use std::sync::Arc;

/// A write before the plan is refused in the words of the gate, and so is what guards; nothing is written.
#[test]
fn a_write_before_the_plan_is_refused() {
    let sandbox = Sandbox::repository("0");
    let create = json!({"path": sandbox.project().join("other.txt"), "file_text": "x"});
    let model = Model::new([
        bash("echo x > hello.txt"),
        Turn::call("create", create),
        bash("rm ~/.copilot/hooks/aops-hook.json"),
        Turn::text("I may not."),
    ]);
    let run = Copilot::guarded(&sandbox, &model).run("make hello.txt");
    assert_eq!((run.code, last_words(&run)), (Some(0), "I may not."), "{run:?}");
    assert!(!sandbox.project().join("hello.txt").exists() && !sandbox.project().join("other.txt").exists());
    let refused = results(&model);
    assert_eq!(refused.len(), 3, "{refused:?}");
    for text in &refused[..2] {
        assert!(
            text.contains("has no plan yet") && text.contains("hint: start the agent `prompt-hydrator`"),
            "{text}"
        );
    }
    assert!(refused[2].contains("no tool call may"), "{refused:?}");
    assert!(home(&sandbox).join("hooks/aops-hook.json").is_file());
    let session = session(&sandbox, &run);
    assert!(session.folder().starts_with(sandbox.data().join("sessions/copilot")), "{:?}", session.folder());
    let calls = session.calls();
    assert!(calls.len() == 3 && calls.values().all(|steps| *steps == ["PENDING", "DENIED"]), "{calls:?}");
    verifies(&sandbox, &session);
}

/// No call has an id there: each gets one, and its end finds it, also of calls that are made together and are
/// equal.
#[test]
fn calls_made_together_are_recorded_each() {
    let sandbox = Sandbox::new();
    let both = bash("echo same >> same.txt")
        .and("bash", json!({"command": "echo same >> same.txt", "description": "a command"}));
    let model = Model::new([
        both.and("bash", json!({"command": "touch a.txt", "description": "b"})),
        Turn::text("Done."),
    ]);
    let run = Copilot::guarded(&sandbox, &model).run(". do three things");
    assert_eq!(last_words(&run), "Done.", "{run:?}");
    let session = session(&sandbox, &run);
    let calls = session.calls();
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(
        calls.values().all(|steps| *steps == ["PENDING", "AUTHORIZED", "EXECUTING", "COMPLETED"]),
        "{calls:?}"
    );
    assert!(sandbox.project().join("a.txt").exists() && sandbox.project().join("same.txt").exists());
    assert_eq!(session.state()["task"]["writes"], 3, "{:#}", session.state());
    // The client writes its file behind its last event.
    let insights = sandbox.person(&["insights", &session.id, "--json"]).json();
    assert_eq!(insights["tokens"]["by_agent"]["main"]["messages"], 2, "{insights:#}");
    verifies(&sandbox, &session);
}

/// A block holds in the next call and the next prompt, until a person lifts it.
#[test]
fn a_blocked_session_goes_on_once_a_person_clears_it() {
    let sandbox = Arc::new(Sandbox::new());
    let outside = Arc::clone(&sandbox);
    let block = move || outside.person(&["block", "--reason", "the plan was dropped"]).said(&["blocked"]);
    let model = Model::new([
        bash("touch before"),
        bash("touch meanwhile").after(block),
        Turn::text("Blocked."),
        bash("touch afterwards"),
        Turn::text("Back at work."),
    ]);
    let copilot = Copilot::guarded(&sandbox, &model);
    let there = |name: &str| sandbox.project().join(name).exists();
    let first = copilot.run(". make two files");
    assert!(there("before") && !there("meanwhile"), "{first:?}");
    let asked = model.requests().len();
    let again = copilot.resume(&id(&first), ". go on");
    assert_eq!(model.requests().len(), asked, "a blocked prompt does not reach the model: {again:?}");
    sandbox.person(&["clear-block", &id(&first), "--yes"]).said(&["no longer blocked"]);
    assert_eq!(last_words(&copilot.resume(&id(&first), ". now go on")), "Back at work.");
    assert!(there("afterwards") && !there("meanwhile"));
    verifies(&sandbox, &session(&sandbox, &first));
}

/// A guard that is broken refuses, with the reason, in the form that Copilot reads.
#[test]
fn a_broken_guard_refuses() {
    let sandbox = Sandbox::new().with("AOPS_TEST_PANIC", "1");
    let model = Model::new([bash("touch unseen"), Turn::text("I could not.")]);
    let run = Copilot::guarded(&sandbox, &model).run(". make a file");
    assert!(!sandbox.project().join("unseen").exists() && model.requests().is_empty(), "{run:?}");
    let broken = sandbox
        .command(BINARY)
        .args(["PreToolUse", "--client", "copilot"])
        .write_stdin("{")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&broken.stdout).into_owned();
    assert_eq!(broken.status.code(), Some(2));
    assert!(
        said.contains("\"permissionDecision\":\"deny\"") && said.contains("aops-hook is broken"),
        "{said}"
    );
}
