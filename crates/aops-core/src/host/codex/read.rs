//! Turns an event of Codex into one of ours.
//!
//! Reads nothing but its argument. Invariants: a call that starts an agent is a call of `Agent`, whatever
//! Codex calls it; a subagent's prompt is not a prompt of the user.

use crate::host::claude::wire::read as claudes;
use crate::model::agent::AGENTS;
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind, What};
use crate::text::json::{self, Json};
use serde_json::{Value, json};
use std::borrow::Cow;

/// A subagent's prompt is recorded as an event with this name.
const OF_SUBAGENT: &str = "SubagentPrompt";

/// Tools of Codex for which we use another name.
const TOOLS: [(&str, &str); 4] = [
    ("spawn_agent", "Agent"),
    ("send_input", "SendMessage"),
    ("send_message", "SendMessage"),
    ("followup_task", "SendMessage"),
];

/// Fields of their inputs for which we use another name.
const FIELDS: [(&str, &str); 3] = [("agent_type", "subagent_type"), ("message", "prompt"), ("target", "to")];

/// The event called `name` in these bytes.
pub fn read(name: &str, input: &[u8]) -> Result<Event, Failure> {
    let mut event = claudes::read_as(name, input, translate)?;
    if event.kind() == EventKind::UserPromptSubmit && event.agent_id.is_some() {
        event = event.known_as(OF_SUBAGENT);
    }
    if let What::Ended(end) = &mut event.what
        && end.call.key.tool == "Agent"
    {
        // The call ends immediately, but the agent does not.
        end.call.launched = !end.failed;
        end.ends.clear();
    }
    Ok(event)
}

fn translate(json: Json<'_>) -> Json<'_> {
    let Json::Object(members) = json else { return json };
    let tool = members.iter().find(|(name, _)| name == "tool_name").and_then(|(_, tool)| tool.text());
    let known = tool.as_deref().map(bare).and_then(|tool| TOOLS.iter().find(|(theirs, _)| *theirs == tool));
    let members = members.into_iter().map(|(name, value)| match (name.as_ref(), value) {
        ("turn_id", value) => (Cow::Borrowed("prompt_id"), value),
        ("tool_name", Json::Text(theirs)) => {
            (name, Json::Text(known.map_or_else(|| bare(theirs), |(_, ours)| ours)))
        }
        ("tool_input", value) if known.is_some() => (name, renamed(value)),
        (_, value) => (name, value),
    });
    Json::Object(members.collect())
}

/// Some tools have the name of their group as a prefix: `multi_agent_v1wait_agent`.
fn bare(tool: &str) -> &str {
    const GROUPS: [&str; 5] = ["multi_agent_v1", "multi_agent_v2", "collaboration", "functions", "clock"];
    let own = GROUPS.iter().find_map(|group| tool.strip_prefix(group)).filter(|own| !own.is_empty());
    own.unwrap_or(tool)
}

fn renamed(input: Json<'_>) -> Json<'_> {
    let Json::Object(members) = input else { return input };
    let known = |name: &str| FIELDS.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours);
    let members = members.into_iter().map(|(name, value)| match (name.as_ref(), value) {
        ("target", Json::Text(task)) => (Cow::Borrowed("to"), Json::Text(agent_of(task).unwrap_or(task))),
        (theirs, value) => (known(theirs).map_or(name.clone(), Cow::Borrowed), value),
    });
    Json::Object(members.collect())
}

/// The agent of ours whose task has this name: `/root/qa_verifier_1a2b3c`.
fn agent_of(task: &str) -> Option<&'static str> {
    let name = task.rsplit('/').next().unwrap_or(task).replace('_', "-");
    AGENTS
        .iter()
        .map(|agent| agent.name)
        .find(|ours| name.strip_prefix(ours).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')))
}

/// The input of a call that starts one of our agents, in the terms of Codex; `payload` is the event that
/// asked.
///
/// If tasks have names, the model's server encrypts the message, and it could not decrypt a text of ours. So
/// the message stays, and the agent is told what it is. No turn of the caller's is passed on.
pub fn untranslate(input: &str, payload: &[u8]) -> Option<Value> {
    let ours = json::read(input).ok()?;
    let agent = ours.text_of("subagent_type")?;
    let payload: Value = serde_json::from_slice(payload).ok()?;
    let asked = payload.get("tool_input")?;
    if asked.get("task_name").is_none() {
        return Some(json!({"agent_type": agent, "message": ours.text_of("prompt")?}));
    }
    let call = payload.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
    let mark: String =
        call.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let task = format!("{}_{}", agent.replace('-', "_"), &mark[mark.len().saturating_sub(8)..]);
    Some(
        json!({"agent_type": agent, "message": asked.get("message")?, "task_name": task, "fork_turns": "none"}),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, own: &str) -> Event {
        let text = format!(
            r#"{{"session_id":"s","transcript_path":null,"cwd":"/p","hook_event_name":"{name}","model":"m","turn_id":"t",{own}}}"#
        );
        read(name, text.as_bytes()).unwrap()
    }

    #[test]
    fn what_starts_an_agent_is_a_call_of_agent() {
        let own = r#""tool_name":"spawn_agent","tool_use_id":"c","tool_input":{"agent_type":"critic","message":"go","fork_context":true}"#;
        let asked = event("PreToolUse", own);
        let call = asked.call().unwrap();
        assert_eq!(
            (call.key.tool.as_str(), asked.prompt_id.as_deref(), call.launched),
            ("Agent", Some("t"), false)
        );
        assert_eq!(call.input, r#"{"fork_context":true,"prompt":"go","subagent_type":"critic"}"#);
        let launched = event("PostToolUse", own);
        assert!(launched.ends().is_empty(), "the agent is still at work");
        assert!(launched.call().unwrap().launched);
        let input = r#"{"prompt":"p","run_in_background":false,"subagent_type":"qa-verifier"}"#;
        let back = |payload: &str| untranslate(input, payload.as_bytes()).unwrap();
        assert_eq!(back(r#"{"tool_input":{}}"#), json!({"agent_type": "qa-verifier", "message": "p"}));
        let named = r#"{"tool_use_id":"call_1A","tool_input":{"message":"sealed","task_name":"x"}}"#;
        let task = json!({"agent_type": "qa-verifier", "message": "sealed", "task_name": "qa_verifier_call1a",
            "fork_turns": "none"});
        assert_eq!(back(named), task);
        assert_eq!(agent_of("/root/qa_verifier_call1a"), Some("qa-verifier"));
    }

    #[test]
    fn tools_lose_the_name_of_their_group() {
        let tool = |name: &str| {
            let own = format!(r#""tool_name":"{name}","tool_use_id":"c","tool_input":{{}}"#);
            event("PreToolUse", &own).call().unwrap().key.tool.clone()
        };
        assert_eq!(tool("multi_agent_v1wait_agent"), "wait_agent");
        assert_eq!(tool("multi_agent_v1send_input"), "SendMessage");
        assert_eq!(tool("collaborationspawn_agent"), "Agent");
        assert_eq!(tool("mcp__x__spawn_agent"), "mcp__x__spawn_agent");
    }

    #[test]
    fn the_prompt_of_a_subagent_is_none_of_the_user() {
        let theirs = event("UserPromptSubmit", r#""prompt":". go","agent_id":"a","agent_type":"critic""#);
        assert_eq!((theirs.kind(), theirs.name.as_str()), (EventKind::Other, OF_SUBAGENT));
        assert_eq!(event("UserPromptSubmit", r#""prompt":"go""#).kind(), EventKind::UserPromptSubmit);
    }
}
