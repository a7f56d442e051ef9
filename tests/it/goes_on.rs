//! A task whose end was held up: let go and taken up again, an agent that hangs, a push that the server
//! declines.

use crate::support::{Answer, Sandbox, Session};
use serde_json::{Value, json};

fn stop_with(session: &Session, running: &[&str]) -> Answer {
    let task = |id: &&str| json!({"id": id, "type": "subagent", "status": "running"});
    let running: Vec<Value> = running.iter().map(task).collect();
    let fields = json!({"stop_hook_active": false, "last_assistant_message": "Done.",
        "background_tasks": running, "session_crons": []});
    session.event("Stop", fields)
}

#[test]
fn a_task_that_was_let_go_and_goes_on_owes_what_it_owed() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.working();
    session.write("a.txt").silent();
    for _ in 0..3 {
        session.stop("Done.").refused(&["qa-verifier", "commit"]);
    }
    let told = session.stop("Done.").json()["systemMessage"].to_string();
    assert!(told.contains("still owed: ") && told.contains("commit"), "{told}");
    let _ = session.prompt("go on with it");
    session.hydrate("minor-edit", "continue");
    session.stop("Done.").refused(&["qa-verifier", "by name: a.txt"]);
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.stop("Done.").refused(&["by name: a.txt"]);
    session.bash("git add a.txt && git commit -q -m a && git push -q");
    session.stop("Done.").silent();
    assert_eq!(session.state()["phase"], "done");
    sandbox.person(&["verify", &session.id]).said(&["intact"]);
}

/// A hydrator of an earlier prompt, and an agent that was started again: neither is waited for.
#[test]
fn an_agent_whose_task_is_over_does_not_hold_up_the_end() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.begun("first");
    let _ = session.begin_agent("h1", "prompt-hydrator");
    let _ = session.prompt("no, second");
    session.hydrate("minor-edit", "new");
    session.write("a.txt").silent();
    stop_with(&session, &["h1"]).refused(&["qa-verifier"]);
    let _ = session.begin_agent("q1", "qa-verifier");
    sandbox
        .person(&["status", "--session", &session.id])
        .said(&["waits for `qa-verifier` since ", "qa-verifier (at work)"]);
    stop_with(&session, &["h1", "q1"]).silent();
    let _ = session.begin_agent("q2", "qa-verifier");
    stop_with(&session, &["q1", "q2"]).silent();
    session
        .stop_agent(
            "q2",
            "qa-verifier",
            &crate::support::fenced(json!({"verdict": "VERIFIED", "issues": []})),
        )
        .silent();
    stop_with(&session, &["h1", "q1"]).refused(&["framework"]);
    // An agent of the user's is waited for as before.
    stop_with(&session, &["h1", "x1"]).silent();
    assert!(!sandbox.person(&["status", "--session", &session.id]).out.contains("waits for `"));
}

/// What keeps the model from it is the server, and it tried: the person is told, and nothing is refused.
#[test]
fn a_push_that_the_server_declines_is_told_and_not_asked_for_again() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.working();
    session.write("a.txt").silent();
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.bash("git add a.txt && git commit -q -m a");
    session.stop("Done.").refused(&["`push`"]);
    let call = session.call("Bash", json!({"command": "git push"}));
    session.pre(&call).silent();
    let declined = "Exit code 1\n ! [remote rejected] main -> main (pre-receive hook declined)\nerror: failed to push some refs";
    let _ = session.fail(&call, declined);
    let told = session.stop("The server declined the push.").json()["systemMessage"].to_string();
    assert!(told.contains("not pushed") && told.contains("the last push failed"), "{told}");
    // A later commit is pushed, or tried again.
    let _ = session.prompt("another");
    session.hydrate("minor-edit", "new");
    session.write("b.txt").silent();
    session.qa("VERIFIED").silent();
    session.reflect().silent();
    session.bash("git add b.txt && git commit -q -m b");
    session.stop("Done.").refused(&["`push`"]);
}

#[test]
fn a_hydrator_that_gave_no_plan_does_not_bring_up_the_one_before() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.working();
    let plan = |end: bool| {
        let call = session
            .call("Agent", json!({"subagent_type": "prompt-hydrator", "prompt": "x", "description": "d"}));
        let _ = session.pre(&call);
        let _ = session.event("SubagentStart", json!({"agent_id": "h9", "agent_type": "prompt-hydrator"}));
        if end {
            let block = json!({"workflow": "minor-edit", "intent": "i", "task": "new",
                "acceptance_criteria": ["c"], "steps": ["s"]});
            session.stop_agent("h9", "prompt-hydrator", &crate::support::fenced(block)).silent();
        }
        session.post(&call).out
    };
    let _ = session.prompt("something else");
    let said = plan(false);
    assert!(!said.contains("plan in force"), "{said}");
    let said = plan(true);
    assert!(said.contains("the plan in force goes by workflow `minor-edit`"), "{said}");
}

/// All verdicts, not the last of each agent.
#[test]
fn the_report_counts_every_verdict() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.begun("a feature");
    session.hydrate("feature-dev", "new");
    let _ = session.critic("REVISE");
    session.hydrate("feature-dev", "new");
    session.critic("PROCEED").silent();
    session.write("a.txt").silent();
    for verdict in ["ISSUES", "ISSUES", "VERIFIED"] {
        let _ = session.qa(verdict);
    }
    sandbox
        .person(&["report"])
        .said(&["critic PROCEED 1", "critic REVISE 1", "qa-verifier ISSUES 2", "qa-verifier VERIFIED 1"]);
}
