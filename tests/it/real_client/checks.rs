//! What a session in the real client must have left behind.

use crate::client::Run;
use crate::support::{Sandbox, Session};
use serde_json::{Value, json};

/// Events that are no step of a call, in the order of the ledger.
pub(super) fn events(session: &Session) -> Vec<String> {
    let entries = session.entries();
    let events = entries.iter().filter(|entry| entry["type"] == "event");
    events.map(|entry| entry["with"]["event"].as_str().unwrap().to_owned()).collect()
}

/// Command lines that this agent asked for, sorted; `None` is the main conversation.
pub(super) fn commands_by(session: &Session, agent: Option<&str>) -> Vec<String> {
    let entries = session.entries();
    let asked = entries.iter().filter(|entry| entry["type"] == "call" && entry["with"]["to"] == "PENDING");
    let by = asked.filter(|entry| entry["with"]["agent_id"].as_str() == agent);
    let mut lines: Vec<String> =
        by.filter_map(|entry| Some(entry["with"]["asks"]["input"]["command"].as_str()?.to_owned())).collect();
    lines.sort();
    lines
}

/// The client printed this.
#[track_caller]
pub(super) fn says(run: &Run, words: &[&str]) {
    let text = format!("{run:?}");
    for word in words {
        assert!(text.contains(word), "`{word}` was not said: {text}");
    }
}

#[track_caller]
pub(super) fn verifies(sandbox: &Sandbox, session: &Session) {
    let told = sandbox.person(&["verify", &session.id, "--json"]).json();
    assert_eq!(told["ok"], true, "{told}");
    assert_eq!(told["entries"], session.entries().len(), "{told}");
    assert_eq!(told["torn_bytes"], 0, "{told}");
}

#[track_caller]
pub(super) fn state_is_right(session: &Session) {
    let state = session.state();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys(&state),
        [
            "audit", "date", "digest", "ended_at", "hydration", "insights", "ledger", "main_agent", "phase",
            "policy_hash", "sandbox", "schema", "session_id", "started_at", "state", "stop", "subagents",
            "task"
        ]
    );
    assert_eq!(
        keys(&state["state"]),
        ["current_workflow", "custodiet_block_reason", "custodiet_blocked", "hydration_pending"]
    );
    assert_eq!(
        keys(&state["hydration"]),
        ["acceptance_criteria", "critic_verdict", "hydrated_intent", "original_prompt"]
    );
    assert_eq!(keys(&state["main_agent"]), ["current_task", "todos_completed", "todos_total"]);
    assert_eq!((&state["session_id"], &state["schema"]), (&json!(session.id), &json!(1)));
    let entries = session.entries();
    let (first, last) = (&entries[0], &entries[entries.len() - 1]);
    assert_eq!((&state["started_at"], &state["ended_at"]), (&first["ts"], &last["ts"]));
    let ledger = &state["ledger"];
    assert_eq!((&ledger["seq"], &ledger["head"]), (&last["sequence_number"], &last["_digest"]));
}
