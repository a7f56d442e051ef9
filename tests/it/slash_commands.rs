//! A slash command never wipes a task: ours change nothing, any other runs inside the task in hand.

use crate::status::status;
use crate::support::Sandbox;
use serde_json::json;

#[test]
fn a_command_keeps_the_task_in_hand_and_its_debts() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.working();
    session.write("a.txt").silent();
    let of = |state: serde_json::Value| {
        json!([state["task"], state["phase"], state["sandbox"], state["state"], state["hydration"]])
    };
    let before = of(session.state());
    for command in
        ["/aops-status", "/aops:status", "/session-insights", "/aops-handover now", "/review the change"]
    {
        session.prompt(command).said(&["ended without its Stop hook"]);
        assert_eq!(of(session.state()), before, "{command}");
    }
    session.stop("Done.").refused(&["`qa-verifier`", "`framework`", "`commit`"]);
    sandbox.person(&["status"]).said(&["1: add a greeting"]);
}

#[test]
fn a_command_before_the_plan_opens_nothing() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.session();
    let _ = session.start("startup");
    session.prompt("add a greeting").said(&["prompt-hydrator"]);
    session.prompt("/review").silent();
    session.write("a.txt").refused(&["this task has no plan yet"]);
    session.hydrate("minor-edit", "new");
    session.write("a.txt").silent();
}

#[test]
fn with_no_task_open_a_command_begins_a_waived_one_unless_it_is_ours() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.session();
    let _ = session.start("startup");
    session.prompt("/aops-status").silent();
    assert_eq!(session.state()["task"], json!(null));
    session.write("a.txt").refused(&["plan"]);
    session.prompt("/deploy now").silent();
    assert_eq!(session.state()["task"]["waiver"], "command");
    assert!(session.entries().iter().any(|entry| entry["with"]["reason"] == "its prompt is a slash command"));
    session.write("a.txt").silent();
    session.stop("Done.").silent();
    assert_eq!(status(&sandbox)["owed"], json!([]));
}

/// A question that was answered is no task that a command could spoil.
#[test]
fn after_a_question_a_command_begins_a_task_of_its_own() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("what is this?");
    session.hydrate("simple-question", "new");
    session.stop("A project.").silent();
    session.prompt("/deploy now").silent();
    assert_eq!(session.state()["task"]["waiver"], "command");
}
