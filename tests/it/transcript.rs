//! `transcript`: a session as markdown, from the client's recording and our ledger.

use crate::insights::{fixture, lay_transcript, whole_loop};
use crate::support::Sandbox;
use serde_json::json;
use std::fs;

#[test]
fn the_recorded_session_is_told_with_its_subagent_in_place() {
    let sandbox = Sandbox::new();
    lay_transcript(&sandbox, "e7440acf-797d-41f5-9fe6-f3e527e55888");
    let told = sandbox.person(&["transcript", "e7440acf"]);
    told.said(&[
        "# Session e7440acf",
        "## Prompt 01:09:00\n\nwrite a transcript\n",
        "## Answer 01:09:0",
        "I will run two.",
        "**Call** `Bash: echo first-call`: completed in ",
        "Result:\n\n```\nfirst-call\n```",
        "**Call** `Agent",
        "> **Subagent** `checker` (ae678b8728222b844)",
        "> ## Prompt 01:09:02\n>\n> please check",
        "> **Call** `Bash: echo in-sub`: completed in ",
        "> Sub report.",
        "The very last words.",
    ]);
    let (call, words) =
        (told.out.find("> **Subagent**").unwrap(), told.out.find("The very last words").unwrap());
    assert!(told.out.find("**Call** `Agent").unwrap() < call && call < words, "{}", told.out);
    assert!(!told.out.contains("unknown kind"), "{}", told.out);
    let short = sandbox.person(&["transcript", "e7440acf", "--abridged"]);
    short.said(&[
        "write a transcript",
        "**Call** `Bash: echo first-call`: completed",
        "The very last words.",
    ]);
    assert!(
        !short.out.contains("Result:") && !short.out.contains("Thinking") && !short.out.contains("```json")
    );
    assert!(short.out.len() < told.out.len() / 2);
    let value = sandbox.person(&["transcript", "e7440acf", "--json"]).json();
    assert_eq!((&value["markdown"], &value["unknown_records"]), (&json!(told.out), &json!(0)));
}

#[test]
fn unknown_records_are_counted_and_secrets_stay() {
    let sandbox = Sandbox::new();
    let path = lay_transcript(&sandbox, "e7440acf-797d-41f5-9fe6-f3e527e55888");
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let text = fixture("main.jsonl")
        .replace("first-call", &format!("{secret}\\u001b[31m"))
        .replace("write a transcript", secret);
    fs::write(&path, format!("{{\"type\":\"from-the-future\"}}\nbroken\n{text}")).unwrap();
    let told = sandbox.person(&["transcript", "e7440acf"]);
    told.said(&["_2 records of an unknown kind were passed over._", "[redacted:"]);
    assert!(!told.out.contains(secret) && !told.out.contains('\x1b'), "{}", told.out);
    // What the client tells the model about an agent is not a prompt.
    let notice = "<task-notification> an agent has ended";
    fs::write(&path, fixture("main.jsonl").replace("write a transcript", notice)).unwrap();
    sandbox.person(&["transcript", "e7440acf"]).said(&["## Notification 01:09:00"]);
    fs::write(path, fixture("hook-records.jsonl")).unwrap();
    let told = sandbox.person(&["transcript", "e7440acf"]);
    assert!(told.code == Some(0) && !told.out.contains("unknown kind"), "{told:?}");
}

#[test]
fn gates_stand_where_they_spoke() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("add a greeting");
    let call = session.call("Write", json!({"file_path": sandbox.project().join("a.txt"), "content": "x"}));
    session.pre(&call).refused(&["plan"]);
    let plan = r#"{"workflow": "minor-edit", "intent": "greet", "task": "new", "acceptance_criteria": [], "steps": []}"#;
    session.agent("prompt-hydrator", plan).silent();
    assert_eq!(session.write("b.txt").code, Some(0));
    session.stop("Done.").refused(&["qa-verifier"]);
    // Without the client's file the ledger tells what it kept.
    let told = sandbox.person(&["transcript"]);
    told.said(&[
        "No transcript",
        "**Prompt.** add a greeting",
        "`sandbox` refused Write",
        "`owed` refused Stop",
        "b.txt",
    ]);
    let record = json!({"type": "assistant", "timestamp": "2099-01-01T00:00:00.000Z", "message": {"id": "m", "model": "x",
        "content": [{"type": "tool_use", "id": call.id, "name": "Write", "input": call.input}]}});
    fs::write(sandbox.sessions().join(format!("{}.jsonl", session.id)), format!("{record}\n")).unwrap();
    let told = sandbox.person(&["transcript"]);
    told.said(&[
        "gate: `owed` refused Stop",
        "**Call** `Write: ",
        "a.txt`: denied",
        "- gate `sandbox` refused it: ",
    ]);
}

const READ_BY_PEOPLE: &str = "## Framework Reflection\n\n**Request**: a greeting\n**Guidance received**: the plan\n**Followed**: Partial - the test came late\n**Outcome**: Success\n**Accomplishment**: greets the world\n**Root cause**: none\n**Proposed change**: write the test first\n";

/// The seven fields in bold, in transcript and insights alike; the tracker has them too
/// (`tracker/learning.rs`).
#[test]
fn a_reflection_is_what_people_read() {
    let sandbox = Sandbox::new();
    let session = whole_loop(&sandbox);
    sandbox.person(&["insights", &session.id]).said(&[READ_BY_PEOPLE]);
    sandbox.person(&["transcript", &session.id]).said(&[READ_BY_PEOPLE]);
    lay_transcript(&sandbox, &session.id);
    for more in [&[][..], &["--abridged"]] {
        sandbox.person(&[&["transcript", &session.id], more].concat()).said(&[READ_BY_PEOPLE]);
    }
}
