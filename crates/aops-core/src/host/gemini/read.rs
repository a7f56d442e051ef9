//! Turns an event of Gemini CLI or Qwen Code into one of ours.
//!
//! Reads nothing but its argument. Invariant: what the client writes in the user's place (our reason for a
//! refused end, an empty prompt between two calls) is not a prompt of the user.

use crate::host::claude::wire::{read as claudes, result};
use crate::host::words::{NOT_TYPED, NOT_YET, Words};
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};
use crate::text::json;

#[rustfmt::skip]
static WORDS: Words = Words {
    events: &[
        ("BeforeTool", "PreToolUse"), ("AfterTool", "PostToolUse"), ("BeforeAgent", "UserPromptSubmit"), ("AfterAgent", "Stop"),
        ("PreCompress", "PreCompact"),
    ],
    fields: &[("prompt_response", "last_assistant_message")],
    tools: &[
        ("run_shell_command", "Bash"), ("write_file", "Write"), ("replace", "Edit"), ("edit", "Edit"), ("read_file", "Read"),
        ("read_many_files", "Read"), ("list_directory", "LS"), ("grep_search", "Grep"), ("search_file_content", "Grep"),
        ("glob", "Glob"), ("web_fetch", "WebFetch"), ("google_web_search", "WebSearch"), ("web_search", "WebSearch"),
        ("write_todos", "TodoWrite"), ("todo_write", "TodoWrite"), ("invoke_agent", "Agent"), ("agent", "Agent"),
        ("activate_skill", "Skill"), ("skill", "Skill"), ("enter_plan_mode", "EnterPlanMode"), ("exit_plan_mode", "ExitPlanMode"),
        ("ask_user", "AskUserQuestion"), ("ask_user_question", "AskUserQuestion"), ("update_topic", "TodoWrite"),
        ("list_background_processes", "TaskList"), ("read_background_output", "BashOutput"), ("send_message", "SendMessage"),
    ],
    inputs: &[("agent_name", "subagent_type"), ("absolute_path", "file_path")],
};

/// The event called `name` in these bytes.
pub fn read(name: &str, input: &[u8]) -> Result<Event, Failure> {
    let mut event = claudes::read_as(name, input, |json| WORDS.translate(json))?;
    let typed = !event.prompt().is_empty() && !event.prompt().starts_with(NOT_YET);
    if event.kind() == EventKind::UserPromptSubmit && !typed {
        event = event.known_as(NOT_TYPED);
    }
    if let Some(call) = event.call_mut() {
        let document = std::str::from_utf8(input).unwrap_or_default();
        if let Some(whole) = json::member(document, "tool_response") {
            call.result = Some(result::kept(whole, &said(whole)));
        }
    }
    Ok(event)
}

fn said(whole: &str) -> String {
    json::read(whole).ok().and_then(|result| result.text_of("llmContent")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, theirs: &str, own: &str) -> Event {
        let text = format!(
            r#"{{"session_id":"s","transcript_path":"/t","cwd":"/p","hook_event_name":"{theirs}",{own}}}"#
        );
        read(name, text.as_bytes()).unwrap()
    }

    #[test]
    fn events_and_tools_have_our_words() {
        let own =
            r#""tool_name":"replace","tool_input":{"file_path":"/p/x","old_string":"a","new_string":"b"}"#;
        let call = event("PreToolUse", "BeforeTool", own).call().unwrap().clone();
        assert!(call.key.tool == "Edit" && call.key.id.starts_with("input-"), "{call:?}");
        let own = r#""tool_name":"run_shell_command","tool_input":{"command":"ls"},"tool_response":{"llmContent":"Output: x"}"#;
        let call = event("PostToolUse", "AfterTool", own).call().unwrap().clone();
        assert_eq!((call.key.tool.as_str(), call.result.unwrap().head.as_str()), ("Bash", "Output: x"));
        let stop = event("Stop", "AfterAgent", r#""prompt":"p","prompt_response":"done""#);
        assert_eq!(stop.stopped().unwrap().report, "done");
    }

    #[test]
    fn what_the_client_says_is_no_prompt() {
        let kind = |prompt: &str| {
            event("UserPromptSubmit", "BeforeAgent", &format!(r#""prompt":"{prompt}""#)).kind()
        };
        assert_eq!(
            (kind(""), kind(NOT_YET), kind("go")),
            (EventKind::Other, EventKind::Other, EventKind::UserPromptSubmit)
        );
    }
}
