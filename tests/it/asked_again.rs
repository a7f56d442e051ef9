//! What comes twice, or from nobody: a call that ended, the end of a refused one, a second report. What
//! counted stays.

use crate::faults::{passed, sound};
use crate::support::{Sandbox, fenced};
use serde_json::json;
/// A call that ended keeps its recorded end however often it is asked for again, and the insights count it
/// once.
#[test]
fn an_ended_call_asked_again_keeps_its_end() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let _ = session.prompt("add a file");
    let denied = session.call("Write", json!({"file_path": sandbox.project().join("a"), "content": "x"}));
    let first = session.pre(&denied);
    first.refused(&["prompt-hydrator"]);
    let done = session.call("Read", json!({"file_path": "/x"}));
    session.pre(&done).silent();
    session.post(&done).silent();
    let steps = || session.entries().into_iter().filter(|entry| entry["type"] == "call").count();
    let counts = || {
        let said = sandbox.person(&["insights", &session.id, "--json"]).json();
        (said["tool_calls"].clone(), said["gates"].clone())
    };
    let (before, counted) = (steps(), counts());
    for call in [&denied, &done] {
        let again = session.pre(call);
        for _ in 0..3 {
            assert_eq!(session.pre(call).err, again.err, "the same refusal each time");
        }
        assert_eq!(again.err.matches("already ended").count(), 1, "{again:?}");
    }
    session.pre(&denied).refused(&["already ended: DENIED (", "prompt-hydrator"]);
    assert_eq!(session.entries().last().unwrap()["type"], "violation");
    assert_eq!((steps(), counts()), (before, counted));
    sound(&session.id, &session.folder());
}

/// The client ran what was refused: that is no second report of a call that ended.
#[test]
fn the_end_of_a_refused_call_is_a_violation() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    passed(&session.start("startup"));
    let _ = session.prompt("add a file");
    let call = session.call("Write", json!({"file_path": sandbox.project().join("a"), "content": "x"}));
    session.pre(&call).refused(&["prompt-hydrator"]);
    let _ = session.post(&call);
    let last = session.entries().pop().unwrap();
    assert_eq!((&last["type"], &last["with"]["call"]["id"]), (&json!("violation"), &json!(call.id)));
    assert!(last["with"]["violation"].as_str().unwrap().contains("DENIED"), "{last}");
}

/// One verdict per start: what a second report says, or one of an agent that no call started, is not the
/// agent's result.
#[test]
fn a_report_that_does_not_count_changes_no_result() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.working();
    session.write("a.txt").silent();
    let _ = session.begin_agent("q1", "qa-verifier");
    session.stop_agent("q1", "qa-verifier", &fenced(json!({"verdict": "ISSUES", "issues": ["x"]}))).silent();
    let counted = session.state()["subagents"]["qa-verifier"].clone();
    assert_eq!(counted["result"], "ISSUES");
    let verified = fenced(json!({"verdict": "VERIFIED", "issues": []}));
    session.stop_agent("q1", "qa-verifier", &verified).silent();
    assert_eq!(session.state()["subagents"]["qa-verifier"], counted);
    let _ = session.event("SubagentStart", json!({"agent_id": "q2", "agent_type": "qa-verifier"}));
    session.stop_agent("q2", "qa-verifier", &verified).silent();
    assert_eq!(session.state()["subagents"]["qa-verifier"]["result"], "ISSUES");
    let _ = session.event("SubagentStart", json!({"agent_id": "e1", "agent_type": "Explore"}));
    session.stop_agent("e1", "Explore", "explored").silent();
    assert_eq!(session.state()["subagents"]["Explore"]["result"], "explored");
    sound(&session.id, &session.folder());
}
