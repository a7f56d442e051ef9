//! What holds in OpenCode, and how it fails: one small run each.

use super::{Opencode, bash, home, id, last_words, results, session, verifies};
use crate::model::{Model, Turn};
use crate::support::Sandbox;
use serde_json::json;
use std::sync::Arc;

/// A write before the plan is refused in the words of the gate, and so is what guards; nothing is written.
#[test]
fn a_write_before_the_plan_is_refused() {
    let sandbox = Sandbox::repository("0");
    let write = json!({"filePath": sandbox.project().join("other.txt"), "content": "x"});
    let model = Model::new([
        bash("echo x > hello.txt"),
        Turn::call("write", write),
        bash("rm ~/.config/opencode/plugins/aops-hook.js"),
        Turn::text("I may not."),
    ]);
    let run = Opencode::guarded(&sandbox, &model).run("make hello.txt");
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
    assert!(home(&sandbox).join("plugins/aops-hook.js").is_file());
    let session = session(&sandbox, &run);
    assert!(session.folder().starts_with(sandbox.data().join("sessions/opencode")), "{:?}", session.folder());
    let calls = session.calls();
    assert!(calls.len() == 3 && calls.values().all(|steps| *steps == ["PENDING", "DENIED"]), "{calls:?}");
    verifies(&sandbox, &session);
}

#[test]
fn calls_made_together_are_recorded_each() {
    let sandbox = Sandbox::new();
    let both = bash("echo one").and("bash", json!({"command": "echo two > two.txt", "description": "b"}));
    let model = Model::new([
        both.and("bash", json!({"command": "touch a.txt", "description": "c"})),
        Turn::text("Done."),
    ]);
    let run = Opencode::guarded(&sandbox, &model).run(". do three things");
    assert_eq!(last_words(&run), "Done.", "{run:?}");
    let session = session(&sandbox, &run);
    let calls = session.calls();
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(
        calls.values().all(|steps| *steps == ["PENDING", "AUTHORIZED", "EXECUTING", "COMPLETED"]),
        "{calls:?}"
    );
    assert!(sandbox.project().join("a.txt").exists() && sandbox.project().join("two.txt").exists());
    assert_eq!(session.state()["task"]["writes"], 2, "{:#}", session.state());
    verifies(&sandbox, &session);
    // What each answer of the model used, once.
    let insights = crate::insights::insights(&sandbox, &session);
    let used = &insights["tokens"]["by_agent"]["main"];
    assert!(used["messages"].as_u64() >= Some(2), "{insights:#}");
    assert!(used["input"].as_u64() > Some(0) && used["output"].as_u64() > Some(0), "{insights:#}");
}

/// A block holds in the next call; the next prompt is not shown to the model; a person lifts it.
#[test]
fn a_blocked_session_goes_on_once_a_person_clears_it() {
    let sandbox = Arc::new(Sandbox::new());
    let (outside, person) = (Arc::clone(&sandbox), Arc::clone(&sandbox));
    let block = move || outside.person(&["block", "--reason", "the plan was dropped"]).said(&["blocked"]);
    let clear = move || person.person(&["clear-block", "--yes"]).said(&["no longer blocked"]);
    let model = Model::new([
        bash("touch before"),
        bash("touch meanwhile").after(block),
        Turn::text("Blocked."),
        bash("touch afterwards").after(clear),
        Turn::text("Back at work."),
    ]);
    let opencode = Opencode::guarded(&sandbox, &model);
    let there = |name: &str| sandbox.project().join(name).exists();
    let first = opencode.run(". make two files");
    assert!(there("before") && !there("meanwhile"), "{first:?}");
    let again = opencode.resume(&id(&first), ". go on with secrets");
    assert_eq!(last_words(&again), "Back at work.");
    let asked = model.requests().pop().unwrap().said_by("user").join("\n");
    assert!(asked.contains("was refused") && asked.contains("the plan was dropped"), "{again:?} {asked}");
    assert!(!asked.contains("go on with secrets"), "{asked}");
    assert!(there("afterwards") && !there("meanwhile"));
    verifies(&sandbox, &session(&sandbox, &first));
}

/// A guard that is broken refuses, with the reason.
#[test]
fn a_broken_guard_refuses() {
    let sandbox = Sandbox::new().with("AOPS_TEST_PANIC", "1");
    let model = Model::new([bash("touch unseen"), Turn::text("I could not.")]);
    let run = Opencode::guarded(&sandbox, &model).run(". make a file");
    assert!(!sandbox.project().join("unseen").exists(), "{run:?}");
    assert!(results(&model)[0].contains("aops-hook is broken"), "{:?}", results(&model));
}
