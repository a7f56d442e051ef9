//! The whole loop in the real client, and what its insights say of it.

use super::{EDIT, REFLECTION, insights};
use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::{Sandbox, Session};
use serde_json::{Value, json};
use std::fs;

fn report(block: &str) -> Turn {
    Turn::text(&format!("My report.\n\n```aops\n{block}\n```\n"))
}

fn start(kind: &str) -> Turn {
    Turn::call("Agent", json!({"description": kind, "prompt": "go", "subagent_type": kind}))
}

#[test]
fn the_whole_loop_in_the_client_is_told_right() {
    let sandbox = Sandbox::new();
    let file = sandbox.project().join("hello.txt");
    let model = Model::new([
        start("prompt-hydrator"),
        Turn::call("Write", json!({"file_path": file, "content": "hello\n"})),
        Turn::text("I am done."),
        start("qa-verifier"),
        start("framework"),
        Turn::text("Now I am."),
    ])
    .agent("You decide what the task is", [report(EDIT)])
    .agent("You find out whether the work does", [report(r#"{"verdict": "VERIFIED", "issues": []}"#)])
    .agent("You write down what this task teaches", [report(REFLECTION)]);
    let run = Client::guarded(&sandbox, &model).run("add a greeting");
    run.ended("Now I am.");
    let session = Session::new(&sandbox, run.session_id());
    let found = insights(&sandbox, &session);
    let wanted = json!({
        "outcome": "success", "workflows_used": ["minor-edit"], "qa_verdict": "VERIFIED", "critic_verdict": null,
        "subagents_invoked": ["prompt-hydrator", "qa-verifier", "framework"], "subagent_count": 3,
        "tool_calls": {"completed": 4, "failed": 0, "denied": 0}, "files_changed": ["hello.txt"],
        "gates": {"qa": 1}, "acceptance_criteria_count": 2, "user_prompts": ["add a greeting"],
        "stop_reason": "end_turn", "end_reason": "other", "custodiet_blocks": 0, "proposed_changes": ["write the test first"],
    });
    for (name, value) in wanted.as_object().unwrap() {
        assert_eq!(&found[name], value, "{name} in {found:#}");
    }
    // Nine messages in all, as the scripted model counts and as the client itself added up at the end.
    let agents = &found["tokens"]["by_agent"];
    let messages = |name: &str| agents[name]["messages"].as_u64().unwrap();
    assert_eq!(messages("main"), 6, "{agents:#}");
    assert_eq!(["prompt-hydrator", "qa-verifier", "framework"].map(messages), [1, 1, 1], "{agents:#}");
    let transcript = fs::read_to_string(sandbox.sessions().join(format!("{}.jsonl", session.id))).unwrap();
    let mut records = transcript.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let client = records.rfind(|record| record["type"] == "cost-state").expect("the client's own sums");
    for (model, theirs) in client["modelUsage"].as_object().unwrap() {
        let ours = &found["tokens"]["by_model"][model];
        assert_eq!(
            (&ours["input"], &ours["output"], &ours["cache_read"]),
            (&theirs["inputTokens"], &theirs["outputTokens"], &theirs["cacheReadInputTokens"]),
            "{model}: {found:#} against {client:#}"
        );
    }
    let phases: Vec<&String> = found["phase_ms"].as_object().unwrap().keys().collect();
    assert!(
        phases.iter().any(|phase| *phase == "hydrate") && phases.iter().any(|phase| *phase == "execute"),
        "{phases:?}"
    );
    let told = sandbox.person(&["transcript", &session.id, "--abridged"]);
    told.said(&["add a greeting", "**Subagent** `qa-verifier`", "`owed` refused Stop", "Now I am."]);
    assert!(!told.out.contains("unknown kind"), "{}", told.out);
}
