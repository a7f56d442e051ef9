//! Turns an event of Copilot CLI into one of ours. A person's hooks get it in Claude's format; an
//! administrator's get it in Copilot's own, without the event's name.
//!
//! Reads nothing but its argument. Invariants: an event of a subagent belongs to the session that started it;
//! what the client writes in the user's place (the reason of a refused stop, its own notices) is not a prompt
//! of the user.

use crate::host::claude::wire::{read as claudes, result};
use crate::host::words::{NOT_TYPED, NOT_YET, Words};
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::text::json::{self, Json};
use serde_json::{Value, json};
use std::borrow::Cow;

/// The names under which a subagent's prompt and the end of its turn are recorded.
const OF_SUBAGENT: &str = "SubagentPrompt";
const TURN_OF_SUBAGENT: &str = "SubagentTurn";

#[rustfmt::skip]
static WORDS: Words = Words {
    events: &[],
    fields: &[
        ("sessionId", "session_id"), ("transcriptPath", "transcript_path"), ("toolName", "tool_name"), ("toolArgs", "tool_input"),
        ("toolInput", "tool_input"), ("toolResult", "tool_result"), ("agentId", "agent_id"), ("agentType", "agent_type"),
        ("parentAgentId", "parent_agent_id"), ("stopReason", "stop_reason"),
    ],
    tools: &[
        ("bash", "Bash"), ("view", "Read"), ("create", "Write"), ("edit", "Edit"), ("str_replace_editor", "Edit"), ("grep", "Grep"),
        ("glob", "Glob"), ("task", "Agent"),
        ("write_bash", "Bash"), ("read_bash", "BashOutput"), ("list_bash", "BashOutput"), ("stop_bash", "KillShell"),
        ("write_agent", "SendMessage"), ("read_agent", "TaskOutput"), ("sql", "TodoWrite"), ("update_todo", "TodoWrite"),
        ("session_store_sql", "TaskList"), ("report_intent", "TodoWrite"), ("skill", "Skill"), ("ask_user", "AskUserQuestion"),
        ("fetch_copilot_cli_documentation", "WebFetch"), ("web_fetch", "WebFetch"), ("tool_search_tool", "ToolSearch"),
    ],
    inputs: &[
        ("agent_type", "subagent_type"), ("path", "file_path"), ("file_text", "content"), ("old_str", "old_string"),
        ("new_str", "new_string"), ("input", "command"),
    ],
};

/// The event called `name` in these bytes.
pub fn read(name: &str, input: &[u8]) -> Result<Event, Failure> {
    let (text, json) = claudes::parse(input)?;
    let mut json = translate(json);
    if let Json::Object(members) = &mut json
        && !members.iter().any(|(name, _)| name == "hook_event_name")
    {
        members.push((Cow::Borrowed("hook_event_name"), Json::Text(name)));
    }
    let mut event = claudes::read_json(name, text, &json)?;
    let by_agent = event.agent_id.is_some();
    let typed = |prompt: &str| !prompt.starts_with(NOT_YET) && !prompt.starts_with("<system_notification>");
    let other = match event.kind() {
        EventKind::UserPromptSubmit if by_agent => Some(OF_SUBAGENT),
        EventKind::UserPromptSubmit if !typed(event.prompt()) => Some(NOT_TYPED),
        EventKind::Stop if by_agent => Some(TURN_OF_SUBAGENT),
        _ => None,
    };
    if let Some(other) = other {
        event = event.known_as(other);
    }
    let ended_well = event.kind() == EventKind::PostToolUse;
    if let Some(call) = event.call_mut() {
        let mode = json::read(&call.input).ok().and_then(|input| input.text_of("mode"));
        let in_background = call.key.tool == "Agent" && mode.as_deref() == Some("background");
        call.launched = in_background && ended_well;
        let shown = json::member(text, "tool_result").or_else(|| json::member(text, "toolResult"));
        call.result = call.result.take().or_else(|| shown.map(|whole| result::kept(whole, &said(whole))));
    }
    Ok(event)
}

fn said(whole: &str) -> String {
    let of = |result: Json| {
        ["text_result_for_llm", "textResultForLlm"].iter().find_map(|name| result.text_of(name))
    };
    json::read(whole).ok().and_then(of).unwrap_or_default()
}

fn translate(json: Json<'_>) -> Json<'_> {
    let mut json = WORDS.translate(json);
    let parent = member(&json, "parent_agent_id").filter(|_| json.get("agent_id").is_some());
    let Json::Object(members) = &mut json else { return json };
    if let Some(parent) = parent {
        members.retain(|(name, _)| name != "session_id");
        members.push((Cow::Borrowed("session_id"), parent));
    }
    json
}

fn member<'a>(json: &Json<'a>, name: &str) -> Option<Json<'a>> {
    json.get(name).filter(|value| matches!(value, Json::Text(text) if !text.is_empty())).cloned()
}

/// This event is in Copilot's own format, and needs an answer in that format.
pub fn is_native(payload: &[u8]) -> bool {
    json::member(std::str::from_utf8(payload).unwrap_or_default(), "toolName").is_some()
}

/// The input of a call that starts one of our agents, in the terms of Copilot; `payload` is the event that
/// asked. The agent keeps our name, so that we recognise messages to it.
pub fn untranslate(input: &str, payload: &[u8]) -> Option<Value> {
    let ours = json::read(input).ok()?;
    let agent = ours.text_of("subagent_type")?;
    let payload: Value = serde_json::from_slice(payload).ok()?;
    let asked = payload.get("tool_input").or_else(|| payload.get("toolArgs"))?;
    let described = asked.get("description").cloned().unwrap_or_else(|| json!(agent));
    Some(
        json!({"agent_type": agent, "description": described, "mode": "sync", "name": agent, "prompt": ours.text_of("prompt")?}),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, own: &str) -> Event {
        let text = format!(
            r#"{{"session_id":"s","cwd":"/p","hook_event_name":"{name}","timestamp":"2026-11-16T08:28:22.904Z",{own}}}"#
        );
        read(name, text.as_bytes()).unwrap()
    }

    #[test]
    fn tools_have_our_words() {
        let call = |own: &str| event("PreToolUse", own).call().unwrap().clone();
        let write = call(r#""tool_name":"Write","tool_input":{"path":"/p/x","file_text":"x"}"#);
        assert_eq!(
            (write.key.tool.as_str(), write.input.as_str()),
            ("Write", r#"{"content":"x","file_path":"/p/x"}"#)
        );
        let typed = call(
            r#""tool_name":"write_bash","tool_input":{"shellId":"0","input":"rm -r x{enter}","delay":1}"#,
        );
        assert_eq!(typed.key.tool, "Bash");
        assert!(typed.input.contains(r#""command":"rm -r x{enter}""#), "{}", typed.input);
        assert!(write.key.id.starts_with("input-"), "none was given");
        let done = r#""tool_name":"Agent","tool_input":{"agent_type":"critic","mode":"background"},"tool_result":{"result_type":"success","text_result_for_llm":"Agent started"}"#;
        let done = event("PostToolUse", done).call().unwrap().clone();
        assert!(done.launched && done.result.unwrap().head == "Agent started");
    }

    #[test]
    fn an_agents_events_belong_to_the_session_that_started_it() {
        let own = r#""agent_id":"a","agent_type":"critic","parent_agent_id":"root""#;
        let prompt = event("UserPromptSubmit", &format!(r#"{own},"prompt":"go""#));
        assert_eq!(
            (prompt.session_id.as_str(), prompt.kind(), prompt.name.as_str()),
            ("root", EventKind::Other, OF_SUBAGENT)
        );
        assert_eq!(event("Stop", own).kind(), EventKind::Other);
        let start =
            format!(r#"{{"sessionId":"root","cwd":"/p","agentName":"critic",{own},"transcriptPath":"/t"}}"#);
        let start = read("SubagentStart", start.as_bytes()).unwrap();
        assert_eq!(
            (start.session_id.as_str(), start.agent_type.as_deref(), start.transcript_path.as_str()),
            ("root", Some("critic"), "/t")
        );
    }

    #[test]
    fn what_the_client_says_is_no_prompt() {
        let kind = |prompt: &str| event("UserPromptSubmit", &format!(r#""prompt":{}"#, json!(prompt))).kind();
        assert_eq!(kind("<system_notification>\nAgent idle"), EventKind::Other);
        assert_eq!(kind(&format!("{NOT_YET}\n1. commit")), EventKind::Other);
        assert_eq!(kind("do it"), EventKind::UserPromptSubmit);
    }

    #[test]
    fn an_agent_of_ours_is_started_in_its_own_words() {
        let payload = br#"{"tool_input":{"agent_type":"critic","prompt":"agree","name":"n","description":"d","mode":"background"}}"#;
        let input = untranslate(r#"{"prompt":"p","subagent_type":"critic"}"#, payload).unwrap();
        assert_eq!(
            input,
            json!({"agent_type": "critic", "description": "d", "mode": "sync", "name": "critic", "prompt": "p"})
        );
    }
}
