//! The loop enforced in Copilot CLI, from the first refusal to the end that passes, and a rollback.

use super::{Copilot, bash, last_words, results, session, verifies};
use crate::model::{Model, Turn};
use crate::real_client::agents::{FORGED_PROMPT, plan, reflection, review};
use crate::support::Sandbox;
use serde_json::json;

/// In the background, which is not how ours run.
fn start(name: &str) -> Turn {
    let task = json!({"agent_type": name, "description": name, "name": "mine", "prompt": FORGED_PROMPT, "mode": "background"});
    Turn::call("task", task)
}

#[test]
fn from_the_first_refusal_to_the_stop_that_passes() {
    let sandbox = Sandbox::repository("0");
    let steps = [
        bash("echo hello > hello.txt"), // refused
        start("prompt-hydrator"),
        start("critic"),
        bash("echo hello > hello.txt"),
        Turn::text("Done."), // refused
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
    let run = Copilot::guarded(&sandbox, &model).run("make hello.txt");
    assert_eq!(last_words(&run), "All done.", "{run:?}");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s", "origin/main"]), "hello\n");
    let session = session(&sandbox, &run);
    let state = session.state();
    assert_eq!((&state["phase"], &state["task"]["writes"]), (&json!("done"), &json!(3)), "{state:#}");
    assert_eq!(state["subagents"]["critic"]["verdict"], "PROCEED", "{state:#}");
    assert_eq!(state["subagents"]["qa-verifier"]["result"], "VERIFIED", "{state:#}");
    verifies(&sandbox, &session);

    assert!(results(&model)[0].contains("has no plan yet"), "{:?}", results(&model));
    let last = model.requests().into_iter().rfind(|request| request.agent.is_none()).unwrap();
    let stop =
        last.said_by("user").into_iter().find(|text| text.contains("the turn may not end yet")).unwrap();
    for debt in ["1. `qa-verifier`", "2. `framework`", "3. `commit`"] {
        assert!(stop.contains(debt), "{stop}");
    }
    let theirs: Vec<_> = model.requests().into_iter().filter(|request| request.agent.is_some()).collect();
    assert_eq!(theirs.len(), 4);
    for request in theirs {
        let read = request.pieces().join("\n");
        assert!(read.contains("# Context for ") && read.contains("hello.txt"), "{read}");
        assert!(!read.lines().any(|line| line.contains(FORGED_PROMPT) && !line.starts_with("> ")), "{read}");
    }
    let insights = crate::insights::insights(&sandbox, &session);
    assert_eq!(
        (&insights["outcome"], &insights["qa_verdict"]),
        (&json!("success"), &json!("VERIFIED")),
        "{insights:#}"
    );
    assert_eq!(insights["tokens"]["by_agent"]["critic"]["output"], 10, "{insights:#}");

    // What the task made can be taken back, as it was before.
    let listed = sandbox.person(&["checkpoint", "list", "--json"]).json();
    let first =
        listed.as_array().unwrap().iter().find(|kept| kept["id"].as_str().unwrap().contains("PRE_execute"));
    let first = first.unwrap_or_else(|| panic!("{listed:#}"))["id"].as_str().unwrap().to_owned();
    let _ = sandbox.person(&["checkpoint", "rollback", &first, "--yes"]);
    assert!(!sandbox.project().join("hello.txt").exists());
    verifies(&sandbox, &session);
}
