//! What a person does while an agent of ours works, or after a block: verdicts keep their task, and a task
//! goes on.

use crate::support::{Sandbox, Session, fenced};
use serde_json::{Value, json};

/// A planned task with one change, and this agent at work in the background.
fn at_work<'s>(sandbox: &'s Sandbox, kind: &str) -> Session<'s> {
    let session = sandbox.working();
    session.write("a.txt").silent();
    let _ = session.begin_agent("a1", kind);
    let launched = json!({"tool_name": "Agent", "tool_use_id": "launched", "tool_input": {"subagent_type": kind},
        "tool_response": {"isAsync": true, "status": "async_launched", "agentId": "a1"}});
    let _ = session.event("PostToolUse", launched);
    session
}

/// The client tells the model that the agent is over.
fn notify(session: &Session, report: &str) {
    let prompt = format!(
        "<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>\n<result>{report}</result>\n</task-notification>"
    );
    let said = session.event("UserPromptSubmit", json!({"prompt": prompt, "prompt_id": "notified"}));
    assert!(!said.out.contains("did not arrive"), "{said:?}");
}

/// Ends of agents that are recorded as missing.
fn lost_ends(session: &Session) -> usize {
    let is_lost = |entry: &&Value| entry["type"] == "violation" && entry.to_string().contains("SubagentStop");
    session.entries().iter().filter(is_lost).count()
}

#[test]
fn a_verdict_counts_for_its_task_though_the_person_asked_something_meanwhile() {
    let sandbox = Sandbox::repository("0");
    let session = at_work(&sandbox, "qa-verifier");
    let _ = session.prompt("how long will that take?");
    let report = fenced(json!({"verdict": "VERIFIED", "issues": []}));
    session.stop_agent("a1", "qa-verifier", &report).silent();
    notify(&session, &report);
    assert_eq!(lost_ends(&session), 0);
    session.write("b.txt").refused(&["prompt-hydrator"]);
    session.stop("A minute.").silent();
    let _ = session.prompt("go on");
    session.hydrate("minor-edit", "continue");
    let stop = session.stop("Done.");
    stop.refused(&["`framework`", "`commit`"]);
    assert!(!stop.reason().contains("qa-verifier"), "{}", stop.reason());
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

#[test]
fn a_plan_for_an_older_prompt_counts_for_nothing_and_is_not_lost() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    let _ = session.begin_agent("a1", "prompt-hydrator");
    let _ = session.prompt("in French, please");
    let report = fenced(json!({"workflow": "minor-edit", "intent": "greet", "task": "new",
        "acceptance_criteria": ["it greets"], "steps": ["write it"]}));
    let _ = session.stop_agent("a1", "prompt-hydrator", &report);
    notify(&session, &report);
    assert_eq!(lost_ends(&session), 0);
    session.write("a.txt").refused(&["prompt-hydrator"]);
    session.hydrate("minor-edit", "new");
    session.write("a.txt").silent();
}

/// An old PROCEED opens nothing that a newer prompt has shut, and is no way around a HALT.
#[test]
fn a_review_that_comes_late_opens_nothing_by_itself() {
    for (verdict, opens) in [("PROCEED", true), ("HALT", false)] {
        let sandbox = Sandbox::repository("0");
        let session = sandbox.session();
        let _ = session.start("startup");
        let _ = session.prompt("add a greeting");
        session.hydrate("feature-dev", "new");
        let _ = session.begin_agent("a1", "critic");
        let _ = session.prompt("how long will that take?");
        let problems = if opens { json!([]) } else { json!(["it would delete the data"]) };
        let report =
            fenced(json!({"verdict": verdict, "acceptance_criteria": ["it greets"], "problems": problems}));
        let _ = session.stop_agent("a1", "critic", &report);
        session.write("a.txt").refused(&[]);
        let _ = session.prompt("go on");
        session.hydrate("feature-dev", "continue");
        let answer = session.write("a.txt");
        assert_eq!(answer.code == Some(0), opens, "{verdict}: {answer:?}");
    }
}

/// After a person cleared a block the task goes on with its plan, or with the review that the plan still
/// needs.
#[test]
fn a_task_goes_on_after_its_block_was_cleared() {
    let sandbox = Sandbox::repository("0");
    let session = sandbox.working();
    session.write("a.txt").silent();
    sandbox.person(&["block", "--reason", "wait"]).said(&["blocked"]);
    session.write("b.txt").refused(&["wait"]);
    sandbox.person(&["clear-block", "--yes"]).said(&[]);
    let _ = session.prompt("go on");
    session.write("b.txt").refused(&["prompt-hydrator"]);
    session.hydrate("minor-edit", "continue");
    session.write("b.txt").silent();
    session.bash("git add a.txt && git commit -q -m a");

    let sandbox = Sandbox::repository("0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    session.hydrate("feature-dev", "new");
    sandbox.person(&["block", "--reason", "wait"]).said(&["blocked"]);
    sandbox.person(&["clear-block", "--yes"]).said(&[]);
    let _ = session.prompt("go on");
    session.hydrate("feature-dev", "continue");
    session.write("b.txt").refused(&["critic"]);
    session.critic("PROCEED").silent();
    session.write("b.txt").silent();
}
