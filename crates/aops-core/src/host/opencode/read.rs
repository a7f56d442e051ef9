//! Turns an event that our plugin in OpenCode sends into one of ours.
//!
//! Reads nothing but its argument. Invariant: our reason for a refused stop, which comes back as a prompt, is
//! not a prompt of the user.

use crate::host::claude::wire::read as claudes;
use crate::host::words::{NOT_TYPED, NOT_YET, Words};
use crate::model::error::Failure;
use crate::model::event::{Event, EventKind};

#[rustfmt::skip]
static WORDS: Words = Words {
    events: &[],
    fields: &[],
    tools: &[
        ("bash", "Bash"), ("write", "Write"), ("edit", "Edit"), ("multiedit", "MultiEdit"), ("read", "Read"), ("grep", "Grep"),
        ("glob", "Glob"), ("list", "LS"), ("task", "Agent"), ("todowrite", "TodoWrite"), ("todoread", "TaskList"),
        ("webfetch", "WebFetch"), ("websearch", "WebSearch"), ("skill", "Skill"), ("lsp", "LSP"), ("question", "AskUserQuestion"),
        ("patch", "apply_patch"),
    ],
    inputs: &[("filePath", "file_path"), ("oldString", "old_string"), ("newString", "new_string")],
};

/// The event called `name` in these bytes.
pub fn read(name: &str, input: &[u8]) -> Result<Event, Failure> {
    let mut event = claudes::read_as(name, input, |json| WORDS.translate(json))?;
    if event.kind() == EventKind::UserPromptSubmit && event.prompt().starts_with(NOT_YET) {
        event = event.known_as(NOT_TYPED);
    }
    Ok(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, own: &str) -> Event {
        read(name, format!(r#"{{"session_id":"s","cwd":"/p","hook_event_name":"{name}",{own}}}"#).as_bytes())
            .unwrap()
    }

    #[test]
    fn tools_and_prompts_have_our_words() {
        let own = r#""tool_name":"edit","tool_use_id":"c","tool_input":{"filePath":"/p/x","oldString":"a","newString":"b"}"#;
        let call = event("PreToolUse", own).call().unwrap().clone();
        assert_eq!((call.key.tool.as_str(), call.key.id.as_str()), ("Edit", "c"));
        assert_eq!(call.input, r#"{"file_path":"/p/x","new_string":"b","old_string":"a"}"#);
        let ours = format!(r#""prompt":"{NOT_YET}""#);
        assert_eq!(event("UserPromptSubmit", &ours).kind(), EventKind::Other);
    }
}
