//! The loop in OpenCode, from the first refusal to the closed task, and a rollback. `opencode run` ends
//! whatever we say, so the stop is not refused there.

use super::{Opencode, bash, last_words, results, session, verifies};
use crate::model::{Model, Turn};
use crate::real_client::agents::{FORGED_PROMPT, plan, reflection, review};
use crate::support::Sandbox;
use serde_json::json;

fn start(name: &str) -> Turn {
    Turn::call("task", json!({"subagent_type": name, "description": name, "prompt": FORGED_PROMPT}))
}

#[test]
fn from_the_first_refusal_to_the_end() {
    let sandbox = Sandbox::repository("0");
    let steps = [
        bash("echo hello > hello.txt"), // refused
        start("prompt-hydrator"),
        start("critic"),
        bash("echo hello > hello.txt"),
        start("qa-verifier"),
        start("framework"),
        bash("git add hello.txt && git commit -q -m hello"),
        bash("git push -q"),
        Turn::text("All done."),
    ];
    let model = Model::new(steps)
        .reporting("prompt-hydrator", &plan("feature-dev"))
        .reporting("critic", &review("PROCEED"))
        .reporting("qa-verifier", &json!({"verdict": "VERIFIED"}))
        .reporting("framework", &reflection());
    let run = Opencode::guarded(&sandbox, &model).run("make hello.txt");
    assert_eq!(last_words(&run), "All done.", "{run:?}");
    assert_eq!(
        sandbox.git(&["log", "-1", "--format=%s", "origin/main"]),
        "hello\n",
        "{:#?}",
        results(&model)
    );
    let session = session(&sandbox, &run);
    let state = session.state();
    assert_eq!((&state["phase"], &state["task"]["writes"]), (&json!("done"), &json!(3)), "{state:#}");
    assert_eq!(state["subagents"]["critic"]["verdict"], "PROCEED", "{state:#}");
    assert_eq!(state["subagents"]["qa-verifier"]["result"], "VERIFIED", "{state:#}");
    verifies(&sandbox, &session);

    assert!(results(&model)[0].contains("has no plan yet"), "{:?}", results(&model));
    let theirs: Vec<_> = model.requests().into_iter().filter(|request| request.agent.is_some()).collect();
    assert_eq!(theirs.len(), 4);
    for request in theirs {
        let read = request.pieces().join("\n");
        assert!(read.contains("# Context for ") && read.contains("hello.txt"), "{read}");
        assert!(!read.lines().any(|line| line.contains(FORGED_PROMPT) && !line.starts_with("> ")), "{read}");
    }

    // What the task made can be taken back, as it was before.
    let listed = sandbox.person(&["checkpoint", "list", "--json"]).json();
    let first =
        listed.as_array().unwrap().iter().find(|kept| kept["id"].as_str().unwrap().contains("PRE_execute"));
    let first = first.unwrap_or_else(|| panic!("{listed:#}"))["id"].as_str().unwrap().to_owned();
    let _ = sandbox.person(&["checkpoint", "rollback", &first, "--yes"]);
    assert!(!sandbox.project().join("hello.txt").exists());
    verifies(&sandbox, &session);
}
