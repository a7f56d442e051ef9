//! `simulate`: what the hook would answer, without a byte changed.

use crate::support::{Answer, BINARY, NO_TRACKER, Sandbox};
use serde_json::{Value, json};
use std::fs;

const EDIT: &str = r#"{"workflow": "minor-edit", "intent": "add a greeting", "task": "new",
    "acceptance_criteria": ["it greets"], "steps": ["write it"]}"#;

/// Whatever is asked, no byte of the world changes, and the answer is the one the hook then gives.
#[test]
fn simulate_says_what_the_hook_would_and_writes_nothing() {
    let sandbox = Sandbox::new().with("AOPS_TEST_NOW_MS", "1768298400000");
    sandbox.configure(NO_TRACKER);
    let session = sandbox.session();
    let _ = session.start("startup");
    let file = sandbox.project().join("a.txt");
    let call = |id: &str| json!({"tool_name": "Write", "tool_use_id": id, "tool_input": {"file_path": file, "content": "x"}});
    let finding = format!("```aops\n{EDIT}\n```");
    let report =
        json!({"agent_id": "a1", "agent_type": "prompt-hydrator", "last_assistant_message": finding});
    let stop = json!({"last_assistant_message": "Done.", "background_tasks": []});
    let spawn = |id: &str, kind: &str| {
        let input = json!({"subagent_type": kind, "prompt": "be kind"});
        json!({"tool_name": "Agent", "tool_use_id": id, "tool_input": input})
    };
    let steps = [
        ("UserPromptSubmit", json!({"prompt": "add a greeting"})),
        ("PreToolUse", call("t1")),
        ("PreToolUse", call("t1")), // ended: refused by another gate now
        ("PreToolUse", spawn("t2", "critic")),
        ("PreToolUse", spawn("t4", "prompt-hydrator")),
        ("SubagentStart", json!({"agent_id": "a1", "agent_type": "prompt-hydrator"})),
        ("SubagentStop", report),
        ("PreToolUse", call("t3")),
        ("PreToolUse", call("t3")), // in flight: the same answer again
        ("Stop", stop),
        (
            "ConfigChange",
            json!({"source": "user_settings", "file_path": sandbox.home().join(".claude/settings.json")}),
        ),
        ("SessionEnd", json!({"reason": "other"})),
        ("SessionStart", json!({"source": "resume"})),
    ];
    for (event, fields) in steps {
        let payload = session.payload(event, fields);
        let before = sandbox.files();
        let simulated = simulate(&sandbox, &payload);
        assert_eq!(sandbox.files(), before, "{event}: a file changed");
        let real = sandbox.hook(event, &payload);
        let said = &simulated["answer"];
        assert_eq!(
            said["exit"].as_i64().map(|code| i32::try_from(code).unwrap()),
            real.code,
            "{event}: {simulated:#}"
        );
        assert_eq!(
            (said["stdout"].as_str().unwrap(), said["stderr"].as_str().unwrap()),
            (&*real.out, &*real.err),
            "{event}"
        );
        assert_eq!(simulated["known"], true);
    }
}

fn simulate(sandbox: &Sandbox, payload: &Value) -> Value {
    let output = sandbox
        .command(BINARY)
        .args(["simulate", "-", "--json"])
        .write_stdin(payload.to_string())
        .output()
        .unwrap();
    Answer::of("", &output).json()
}

#[test]
fn simulate_in_an_unknown_session() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let call =
        json!({"tool_name": "Write", "tool_use_id": "t", "tool_input": {"file_path": "a", "content": ""}});
    let payload = session.payload("PreToolUse", call);
    let before = sandbox.files();
    let said = simulate(&sandbox, &payload);
    assert_eq!(sandbox.files(), before, "not even a folder is made");
    assert_eq!(
        (&said["known"], &said["gate"], &said["ruling"]),
        (&json!(false), &json!("sandbox"), &json!("deny"))
    );
    // A real start would leave a process that looks for a tracker.
    let _ = simulate(&sandbox, &session.payload("SessionStart", json!({"source": "startup"})));
    assert_eq!(sandbox.alive(), [], "nothing runs in the background");
    assert_eq!(sandbox.files(), before);
    let path = sandbox.put("payload.json", &payload.to_string());
    let before = sandbox.files();
    sandbox.person(&["simulate", path.to_str().unwrap()]).said(&[
        "PreToolUse in a new session",
        "refused by `sandbox`",
        "hint: start the agent `prompt-hydrator`",
        "the hook would exit with 2",
        "permissionDecision",
    ]);
    assert_eq!(sandbox.files(), before);
}

/// A torn tail and an edited state are mended in mind only.
#[test]
fn simulate_repairs_nothing() {
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    let session = sandbox.working();
    let ledger = session.folder().join("ledger.jsonl");
    let torn = [fs::read(&ledger).unwrap(), b"{\"_digest\":\"0123".to_vec()].concat();
    fs::write(&ledger, torn).unwrap();
    let state = session.folder().join("session-state.json");
    let edited = fs::read_to_string(&state)
        .unwrap()
        .replace("\"custodiet_blocked\": false", "\"custodiet_blocked\": true");
    fs::write(&state, edited).unwrap();
    let before = sandbox.files();
    let payload = session.payload(
        "PreToolUse",
        json!({"tool_name": "Read", "tool_use_id": "t", "tool_input": {"file_path": "a"}}),
    );
    let said = simulate(&sandbox, &payload);
    assert_eq!(sandbox.files(), before);
    assert_eq!((&said["gate"], &said["ends_turn"]), (&json!("block"), &json!(true)), "{said:#}");
}

#[test]
fn simulate_of_what_is_no_event() {
    let sandbox = Sandbox::new();
    let odd = |text: &str| {
        let path = sandbox.put("odd.json", text);
        sandbox.person(&["simulate", path.to_str().unwrap()])
    };
    odd("not json").failed(2, &["not JSON", "hint: "]);
    odd("{}").failed(2, &["names no event"]);
    sandbox.person(&["simulate", "missing.json"]).failed(1, &["missing.json"]);
    odd(r#"{"hook_event_name": "PreToolUse"}"#).said(&[
        "cannot be judged",
        "`session_id` is missing",
        "exit with 2",
    ]);
}
