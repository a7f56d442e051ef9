//! `replay`: a session judged again by today's rules.

use crate::support::{NO_TRACKER, Sandbox};
use serde_json::json;
use std::fs;

#[test]
fn replay_of_an_unchanged_world_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    session.write("a.txt").refused(&["plan"]);
    session.hydrate("minor-edit", "new");
    assert_eq!(session.write("a.txt").code, Some(0));
    let call = session.call("Bash", json!({"command": "ls"}));
    session.pre(&call).silent();
    session.post(&call).silent();
    session.pre(&call).refused(&["already ended"]);
    session.stop("Done.").refused(&["qa-verifier"]);
    session.qa("VERIFIED").silent();
    session.agent("custodiet", r#"{"verdict": "BLOCK", "violation": "scope"}"#).silent();
    session.pre(&session.call("Read", json!({"file_path": "a"}))).refused(&["scope"]);
    let before = sandbox.files();
    let said = sandbox.person(&["replay", &session.id, "--json"]).json();
    assert_eq!(sandbox.files(), before);
    assert_eq!((&said["changed"], &said["left_out"]), (&json!([]), &json!({})), "{said:#}");
    assert!(said["judged"].as_u64().unwrap() >= 10, "{said:#}");
    sandbox.person(&["replay"]).said(&["verdicts judged again, none would change"]);
}

/// An edit was as large as it was then, whatever the file has become.
#[test]
fn replay_of_an_outgrown_task_changes_nothing() {
    let sandbox = Sandbox::repository("0");
    sandbox.configure(&format!("{NO_TRACKER}mode.level = \"loop\"\n"));
    let session = sandbox.begun("add greetings");
    let big = |n: usize| {
        let file = sandbox.project().join(format!("{n}.txt"));
        let content = "hello\n".repeat(30);
        let call = session.call("Write", json!({"file_path": file, "content": content}));
        let answer = session.pre(&call);
        if answer.code == Some(0) {
            sandbox.put(&format!("{n}.txt"), &content);
            let _ = session.post(&call);
        }
        answer
    };
    (0..3).for_each(|n| big(n).silent());
    big(3).refused(&["4 files, 120 lines"]);
    session.hydrate("minor-edit", "new");
    big(3).silent();
    let said = sandbox.person(&["replay", &session.id, "--json"]).json();
    assert_eq!((&said["changed"], &said["left_out"]), (&json!([]), &json!({})), "{said:#}");
    // Limits that came later judge the sizes of then.
    sandbox.configure(&format!("{NO_TRACKER}mode.level = \"loop\"\n[small]\nfiles = 9\n"));
    sandbox.person(&["replay"]).said(&["1 would change", "deny by `sandbox` → pass"]);
}

/// A plain file then; today the client's settings are there, and no tool call may write them.
#[test]
fn replay_shows_each_changed_verdict() {
    let sandbox = Sandbox::new();
    let session = sandbox.working();
    let settings = json!({"file_path": sandbox.project().join("other/settings.json"), "content": "{}"});
    session.pre(&session.call("Write", settings.clone())).silent();
    let passed = session.sequence_number(|entry| entry["with"]["to"] == "AUTHORIZED");
    let config = sandbox.project().join("other");
    fs::rename(sandbox.home().join(".claude"), &config).unwrap();
    let moved = sandbox.with("CLAUDE_CONFIG_DIR", config);
    let said = moved.person(&["replay", "--json"]).json();
    let changed = said["changed"].as_array().unwrap();
    assert_eq!(changed.len(), 1, "{said:#}");
    assert_eq!((&changed[0]["seq"], &changed[0]["was"]["ruling"]), (&passed, &json!("pass")));
    assert_eq!((&changed[0]["now"]["ruling"], &changed[0]["now"]["gate"]), (&json!("deny"), &json!("guard")));
    moved.person(&["replay"]).said(&["1 would change", "pass → deny by `guard`", "Write: "]);
}

/// A rule that came later: what it says about then, and that a rule is not asked of what it does not match.
#[test]
fn replay_goes_by_todays_policy() {
    let sandbox = Sandbox::new();
    let session = sandbox.working();
    assert_eq!(session.write("db/1.sql").code, Some(0));
    assert_eq!(session.write("a.txt").code, Some(0));
    sandbox.person(&["replay"]).said(&["none would change"]);
    let rule = "[[rule]]\nid = \"db\"\npath = \"db\"\naction = \"deny\"\nreason = \"ask the DBA\"\n";
    sandbox.put(".aops/config.toml", rule);
    let said = sandbox.person(&["replay", "--json"]).json();
    let changed = said["changed"].as_array().unwrap();
    assert_eq!(changed.len(), 1, "{said:#}");
    assert!(changed[0]["asked"].as_str().unwrap().ends_with("db/1.sql"), "{said:#}");
    assert_eq!(changed[0]["now"]["gate"], "rules");
    sandbox.put(".aops/config.toml", "gates = 3");
    sandbox.person(&["replay"]).failed(2, &[".aops/config.toml"]);
}

#[test]
fn replay_counts_what_it_cannot_judge() {
    let sandbox = Sandbox::new();
    let session = sandbox.working();
    let long = session.call("Write", json!({"file_path": "a.txt", "content": "x".repeat(20_000)}));
    session.pre(&long).silent();
    let second = session.payload(
        "PreToolUse",
        json!({"tool_name": "Write", "tool_use_id": long.id, "tool_input": {"file_path": "b.txt", "content": ""}}),
    );
    sandbox.hook("PreToolUse", &second).refused(&["still running"]);
    let said = sandbox.person(&["replay", "--json"]).json();
    assert_eq!(said["changed"], json!([]));
    let counts: Vec<u64> =
        said["left_out"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).collect();
    assert_eq!(counts, [1, 1], "{said:#}");
    sandbox.person(&["replay"]).said(&["1 left out: the ledger keeps only the beginning of a long input"]);
}

#[test]
fn replay_of_a_damaged_ledger_is_an_integrity_failure() {
    let sandbox = Sandbox::new();
    let session = sandbox.working();
    let ledger = session.folder().join("ledger.jsonl");
    let text = fs::read_to_string(&ledger).unwrap().replacen("add a greeting", "add a GREETING", 1);
    fs::write(&ledger, text).unwrap();
    sandbox.person(&["replay"]).failed(4, &["STATE_"]);
}
