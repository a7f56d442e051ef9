//! Finds the ends of agents in other events than their own: the result of the call, its batch, the client's
//! prompt.
//!
//! Reads nothing but its arguments. Invariant: the end of a call whose agent continues in the background is
//! not the agent's end.

use crate::host::claude::wire::result::said;
use crate::model::event::{AgentEnd, AgentEndKind, EventKind};
use crate::text::json::Json;

/// The beginning of the client's prompt about the end of a background task.
const NOTIFICATION: &str = "<task-notification";

pub(super) fn of(kind: EventKind, json: &Json) -> Vec<AgentEnd> {
    match kind {
        EventKind::PostToolUse => of_call(json, AgentEndKind::Completed).into_iter().collect(),
        EventKind::PostToolUseFailure => of_call(json, failure(json)).into_iter().collect(),
        EventKind::PostToolBatch => {
            let Some(Json::List(calls)) = json.get("tool_calls") else { return Vec::new() };
            calls.iter().filter_map(|call| of_call(call, AgentEndKind::Completed)).collect()
        }
        EventKind::UserPromptSubmit => {
            json.text_of("prompt").map(|prompt| notified(&prompt)).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// The calls of a batch whose agents continue in the background.
pub(super) fn launched(json: &Json) -> Vec<String> {
    let Some(Json::List(calls)) = json.get("tool_calls") else { return Vec::new() };
    let goes_on = |call: &&Json| starts_agent(call) && goes_on(call);
    calls.iter().filter(goes_on).filter_map(|call| call.text_of("tool_use_id")).collect()
}

fn starts_agent(call: &Json) -> bool {
    call.text_of("tool_name").is_some_and(|tool| matches!(tool.as_str(), "Agent" | "Task"))
}

/// A batch contains what the model reads, not what the tool returned.
fn goes_on(call: &Json) -> bool {
    let response = call.get("tool_response").unwrap_or(&Json::Null);
    is_launched(call) || said(response).trim_start().starts_with("Async agent launched")
}

fn of_call(json: &Json, how: AgentEndKind) -> Option<AgentEnd> {
    if !starts_agent(json) || goes_on(json) {
        return None;
    }
    let response = json.get("tool_response").or_else(|| json.get("error")).unwrap_or(&Json::Null);
    let report = said(response).into_owned();
    Some(AgentEnd { call: json.text_of("tool_use_id")?, agent_id: response.text_of("agentId"), how, report })
}

/// The agent's call is over, but the agent is not.
pub(super) fn is_launched(json: &Json) -> bool {
    let status = json.get("tool_response").and_then(|response| response.text_of("status"));
    status.is_some_and(|status| status == "async_launched" || status == "teammate_spawned")
}

fn failure(json: &Json) -> AgentEndKind {
    let stopped = matches!(json.get("is_interrupt"), Some(Json::Bool(true)));
    if stopped { AgentEndKind::Stopped } else { AgentEndKind::Failed }
}

/// Each task that has ended according to the prompt. A report may contain anything, even the words of another
/// notification, so everything after a task's ID counts as its report.
fn notified(prompt: &str) -> Vec<AgentEnd> {
    if !prompt.trim_start().starts_with(NOTIFICATION) {
        return Vec::new();
    }
    let ends = prompt.match_indices("<task-id>").map(|(at, _)| {
        let rest = &prompt[at..];
        let completed = tagged(rest, "status").is_none_or(|status| status == "completed");
        AgentEnd {
            call: tagged(rest, "tool-use-id").unwrap_or_default().to_owned(),
            agent_id: tagged(rest, "task-id").map(str::to_owned),
            how: if completed { AgentEndKind::Completed } else { AgentEndKind::Stopped },
            report: rest.to_owned(),
        }
    });
    ends.collect()
}

/// The text of the first element with this name.
fn tagged<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    Some(rest.split_once(&format!("</{name}>"))?.0.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::json;

    fn ends(kind: EventKind, text: &str) -> Vec<(String, Option<String>, AgentEndKind, String)> {
        let ends = of(kind, &json::read(text).unwrap()).into_iter();
        ends.map(|end| (end.call, end.agent_id, end.how, end.report)).collect()
    }

    #[test]
    fn a_call_tells_the_end_of_its_agent() {
        let call = |more: &str| format!(r#"{{"tool_name": "Agent", "tool_use_id": "t", {more}}}"#);
        let done = r#""tool_response": {"status": "completed", "agentId": "a", "content": [{"text": "one"}, {"text": "two"}]}"#;
        let one = ("t".to_owned(), Some("a".to_owned()), AgentEndKind::Completed, "one\ntwo".to_owned());
        assert_eq!(ends(EventKind::PostToolUse, &call(done)), [one]);
        let launched = r#""tool_response": {"status": "async_launched", "agentId": "a"}"#;
        assert_eq!(ends(EventKind::PostToolUse, &call(launched)), []);
        let interrupted = ends(EventKind::PostToolUseFailure, &call(r#""error": "e", "is_interrupt": true"#));
        assert_eq!(interrupted[0].2, AgentEndKind::Stopped);
        let batch = |response: &str| {
            format!(r#"{{"tool_calls": [{}]}}"#, call(&format!(r#""tool_response": {response}"#)))
        };
        let batched = ends(EventKind::PostToolBatch, &batch(r#"[{"type": "text", "text": "said"}]"#));
        assert_eq!((batched.len(), batched[0].3.as_str()), (1, "said"));
        assert_eq!(
            ends(EventKind::PostToolBatch, &batch(r#""Async agent launched successfully.\nagentId: a""#)),
            []
        );
        assert_eq!(
            ends(EventKind::PostToolUse, r#"{"tool_name": "Bash", "tool_use_id": "t", "tool_response": {}}"#),
            []
        );
    }

    #[test]
    fn a_notification_tells_the_end_of_its_task() {
        let told = "<task-notification>\n<task-id>a</task-id>\n<tool-use-id>t</tool-use-id>\n<status>completed</status>\n<result>it is <b>done</b></result></task-notification>";
        let found = notified(told);
        assert_eq!((found[0].agent_id.as_deref(), found[0].call.as_str()), (Some("a"), "t"));
        assert!(found[0].how == AgentEndKind::Completed && found[0].report.contains("<b>done</b>"));
        assert_eq!(notified(&told.replace("completed", "killed"))[0].how, AgentEndKind::Stopped);
        assert_eq!(notified(&format!("look: {told}")), [], "a person quotes it");
        assert_eq!(notified(&format!("{told}\n{told}")).len(), 2);
    }
}
