//! Turns the bytes on stdin into an [`Event`].
//!
//! Reads nothing but its argument. Invariant: any JSON object with the names of the event and of a session is
//! accepted, whatever else it contains or lacks; any other input is a failure, which the caller turns into a
//! refusal or a warning.

use crate::host::claude::wire::{agent_end, result};
use crate::model::call::{CallKey, PlanMade, ToolCall};
use crate::model::error::{Code, Failure};
use crate::model::event::{
    AgentStopped, EndedBatch, Event, EventKind, PromptSent, SessionStart, SettingsChanged, TurnStopped, What,
};
use crate::model::named::Stored;
use crate::text::json::{self, Json};
use crate::tool::table::{self, ToolTouches};
use aops_ledger::json::unchanged;
use std::borrow::Cow;

/// The longest text that the ledger keeps whole, and the limit for one payload.
pub const LONGEST_TEXT: usize = 2048;
const LARGEST_PAYLOAD: usize = 12_000;

/// Fields that every event has, recorded separately from the event's own fields.
const COMMON: [&str; 9] = [
    "session_id", "transcript_path", "cwd", "hook_event_name", "prompt_id", "permission_mode", "agent_id",
    "agent_type", "effort",
];

/// Only other clients send these.
const FOREIGN: [&str; 3] = ["timestamp", "turn_id", "cursor_version"];
/// Folders in which other clients with Claude Code's format keep their transcripts.
const FOREIGN_FOLDERS: [&str; 5] = [".codex", ".copilot", ".cursor", ".gemini", ".qwen"];

/// Whether the bytes themselves show that Claude Code sent them. Several clients run the hooks in Claude's
/// settings.
pub fn is_claudes(input: &[u8]) -> bool {
    let Some(json) = std::str::from_utf8(input).ok().and_then(|text| json::read(text).ok()) else {
        return false;
    };
    let transcript = json.text_of("transcript_path");
    let elsewhere = |path: &String| path.split('/').any(|part| FOREIGN_FOLDERS.contains(&part));
    event_name(&json).is_some()
        && json.text_of("session_id").is_some()
        && transcript.is_some_and(|path| !elsewhere(&path))
        && FOREIGN.iter().all(|name| json.get(name).is_none())
}

/// The event's name in these bytes.
pub fn name(input: &[u8]) -> Option<String> {
    event_name(&json::read(std::str::from_utf8(input).ok()?).ok()?)
}

/// The same event without secrets. The fields that every event has are kept as they are: an ID may look like
/// a secret.
pub fn redacted(input: &[u8]) -> Option<String> {
    let Json::Object(members) = json::read(std::str::from_utf8(input).ok()?).ok()? else { return None };
    let (common, own) = members.into_iter().partition(|(name, _)| COMMON.contains(&name.as_ref()));
    let common = Json::Object(common).canonical(unchanged);
    let own = json::canonical(&Json::Object(own));
    let rest =
        own.strip_prefix('{').filter(|rest| *rest != "}").map_or("}".to_owned(), |rest| format!(",{rest}"));
    Some(format!("{}{rest}", common.strip_suffix('}')?))
}

/// The parts of an event that must be recorded, in at most this many bytes: everything if it fits, otherwise
/// who and which call, and the end of the last message, which contains the verdict.
pub fn shortened(input: &[u8], longest: usize) -> Option<String> {
    let text = redacted(input)?;
    if text.len() <= longest {
        return Some(text);
    }
    let Json::Object(members) = json::read(&text).ok()? else { return None };
    let said = members
        .iter()
        .find(|(name, _)| name == LAST_WORDS)
        .and_then(|(_, said)| said.text())
        .unwrap_or_default();
    let needed = |name: &str| COMMON.contains(&name) && name != "effort" || BRIEF.contains(&name);
    let kept: Vec<_> = members.iter().filter(|(name, _)| needed(name)).cloned().collect();
    let rest = Json::Object(kept).canonical(unchanged);
    let rest = rest.strip_suffix('}')?;
    // A character may take six bytes in JSON.
    let mut from = said.len().saturating_sub(longest);
    loop {
        from = said.ceil_char_boundary(from);
        let whole = format!("{rest},{}:{}}}", json::quoted(LAST_WORDS), json::quoted(&said[from..]));
        if whole.len() <= longest {
            return Some(whole);
        }
        if from >= said.len() {
            return None;
        }
        from += whole.len() - longest;
    }
}

/// Short fields of some events that say which call or what kind of end it is.
const BRIEF: [&str; 5] = ["background_tasks", "reason", "is_interrupt", "tool_name", "tool_use_id"];
const LAST_WORDS: &str = "last_assistant_message";

fn event_name(json: &Json) -> Option<String> {
    json.text_of("hook_event_name").filter(|name| EventKind::is_event_name(name))
}

/// The event called `name` in these bytes.
pub fn read(name: &str, input: &[u8]) -> Result<Event, Failure> {
    read_as(name, input, |json| json)
}

/// The same for a client that uses other names; `translate` replaces them with ours.
pub fn read_as(name: &str, input: &[u8], translate: fn(Json<'_>) -> Json<'_>) -> Result<Event, Failure> {
    let (text, json) = parse(input)?;
    read_json(name, text, &translate(json))
}

/// The text of an event, and its JSON.
pub fn parse(input: &[u8]) -> Result<(&str, Json<'_>), Failure> {
    let invalid = |what: String| Failure::new(Code::InputInvalid, what);
    let text = std::str::from_utf8(input).map_err(|e| invalid(format!("the event is not UTF-8: {e}")))?;
    if text.trim().is_empty() {
        return Err(invalid("the event is empty".to_owned()));
    }
    let json = json::read(text).map_err(|e| invalid(format!("the event is not JSON: {e}")))?;
    let Json::Object(_) = json else { return Err(invalid("the event is not a JSON object".to_owned())) };
    Ok((text, json))
}

/// The event called `name`, in our terms; `text` is what the client sent.
pub fn read_json(name: &str, text: &str, json: &Json) -> Result<Event, Failure> {
    let invalid = |what: String| Failure::new(Code::InputInvalid, what);
    match json.text_of("hook_event_name") {
        Some(said) if said == name => {}
        Some(said) => {
            return Err(invalid(format!(
                "called for `{name}`, but the event says `{}`",
                json::cut(&said, 64)
            )));
        }
        None => return Err(invalid("`hook_event_name` is missing".to_owned())),
    }
    let session_id = json.text_of("session_id").filter(|id| !id.is_empty());
    let session_id = session_id.ok_or_else(|| invalid("`session_id` is missing".to_owned()))?;
    let named = json.text_of("tool_name").is_some_and(|tool| !tool.is_empty());
    let kind = EventKind::of(name);
    if matches!(kind, EventKind::PreToolUse | EventKind::PermissionRequest) && !named {
        return Err(invalid("`tool_name` is missing".to_owned()));
    }
    if matches!(kind, EventKind::PreToolUse | EventKind::PermissionRequest) {
        let tool = json.text_of("tool_name").unwrap_or_default();
        check_input(&tool, json.get("tool_input")).map_err(invalid)?;
    }
    let mut event = event(kind, name, session_id, json);
    if let Some(call) = event.call_mut() {
        call.result = result::of(kind, text, json);
    }
    Ok(event)
}

/// Fields that say what a tool of the client does, and the tools that require them.
const TEXTS: [(&str, &[&str]); 4] = [
    ("command", &["Bash", "Monitor", "PowerShell"]),
    ("file_path", &["Write", "Edit", "MultiEdit"]),
    ("notebook_path", &["NotebookEdit"]),
    ("path", &[]),
];

/// Part of it was too deep to parse, and kept as text.
fn is_too_deep(json: &Json) -> bool {
    match json {
        Json::Deep(_) => true,
        Json::List(items) => items.iter().any(is_too_deep),
        Json::Object(members) => members.iter().any(|(_, value)| is_too_deep(value)),
        _ => false,
    }
}

/// The input of a judged call must have the right form: a value that is not a string names no command and
/// no file, so the call would be judged as harmless.
fn check_input(tool: &str, input: Option<&Json>) -> Result<(), String> {
    let Some(input @ Json::Object(_)) = input else {
        return Err("`tool_input` is missing or is not an object".to_owned());
    };
    // For the client's own tools the top-level fields decide.
    let looked_through =
        tool.starts_with("mcp__") || matches!(table::tool(tool).touches, ToolTouches::Strings(_));
    if looked_through && is_too_deep(input) {
        return Err("`tool_input` is nested too deeply to be read: give the tool less at once".to_owned());
    }
    // A server's tools may have any field names, so all their fields are examined.
    let of_client = !tool.starts_with("mcp__");
    let wrong = TEXTS.iter().filter(|_| of_client).find(|(field, tools)| match input.get(field) {
        Some(Json::Text(_)) => false,
        given => given.is_some() || tools.contains(&tool),
    });
    wrong.map_or(Ok(()), |(field, _)| Err(format!("`{field}` of `tool_input` is missing or is not a text")))
}

fn event(kind: EventKind, name: &str, session_id: String, json: &Json) -> Event {
    let some = |field: &str| json.text_of(field).filter(|text| !text.is_empty());
    Event {
        name: name.to_owned(),
        session_id,
        transcript_path: some("transcript_path").unwrap_or_default(),
        cwd: some("cwd").unwrap_or_default(),
        prompt_id: some("prompt_id"),
        permission_mode: some("permission_mode").map(|mode| Stored::of(&mode)),
        agent_id: some("agent_id"),
        agent_type: some("agent_type"),
        what: what(kind, json),
        about: about(kind, json),
    }
}

/// The details of this kind of event.
fn what(kind: EventKind, json: &Json) -> What {
    let text = |field: &str| json.text_of(field).unwrap_or_default();
    let ends = agent_end::of(kind, json);
    match kind {
        EventKind::SessionStart => What::Started(SessionStart { source: text("source") }),
        EventKind::UserPromptSubmit => What::Prompted(PromptSent { text: text("prompt"), ends }),
        EventKind::PostToolBatch => What::Batched(EndedBatch { ends, launched: agent_end::launched(json) }),
        EventKind::SubagentStop => What::AgentStopped(AgentStopped { report: text(LAST_WORDS) }),
        EventKind::Stop => What::Stopped(TurnStopped {
            report: text(LAST_WORDS),
            busy_with: busy(json),
            running: running(json),
            timers: timers(json),
        }),
        EventKind::ConfigChange => What::Configured(SettingsChanged { file_path: text("file_path") }),
        kind if kind.is_about_call() && json.get("tool_name").is_some() => {
            What::of_call(kind, call(json), ends)
        }
        kind => What::Plain(kind),
    }
}

fn call(json: &Json) -> ToolCall {
    let tool = json.text_of("tool_name").unwrap_or_default();
    let input = json.get("tool_input").unwrap_or(&Json::Null);
    let whole = json::canonical(input);
    let input_sha256 = crate::text::sha256::sha256(&[whole.as_bytes()]);
    // An old client sends no ID, so calls with the same input count as the same call.
    let id = json.text_of("tool_use_id").unwrap_or_else(|| format!("input-{}", &input_sha256[..16]));
    ToolCall {
        key: CallKey::of(&tool, json::cut(&id, 256)),
        clipped: json::clipped_form(input, &whole, LONGEST_TEXT, LARGEST_PAYLOAD),
        input_sha256,
        duration_ms: json.number_of("duration_ms"),
        error: json
            .text_of("error")
            .map(|e| json::cut(&crate::text::redact::redact(&e), 500).to_owned())
            .unwrap_or_default(),
        launched: agent_end::is_launched(json),
        unended: is_unended(json),
        todos: todos(&tool, input),
        plan: plan(&tool, json),
        result: None,
        input: whole,
    }
}

/// Background agents that are still running and will report; a server or a watcher will not.
fn busy(json: &Json) -> Vec<String> {
    let Some(Json::List(tasks)) = json.get("background_tasks") else { return Vec::new() };
    let runs = |task: &&Json| task.text_of("status").is_none_or(|status| status == "running");
    let agents = tasks.iter().filter(|task| task.text_of("type").as_deref() == Some("subagent"));
    agents.filter(runs).map(|task| task.text_of("id").unwrap_or_default()).collect()
}

fn running(json: &Json) -> Option<Vec<String>> {
    let Some(Json::List(tasks)) = json.get("background_tasks") else { return None };
    let runs = |task: &&Json| task.text_of("status").is_none_or(|status| status == "running");
    Some(tasks.iter().filter(runs).filter_map(|task| task.text_of("id")).collect())
}

fn timers(json: &Json) -> Vec<String> {
    let Some(Json::List(timers)) = json.get("session_crons") else { return Vec::new() };
    timers.iter().filter_map(|timer| timer.text_of("prompt")).collect()
}

/// The command's call is over, but we do not know how the command ends.
fn is_unended(json: &Json) -> bool {
    let Some(response) = json.get("tool_response") else { return false };
    let stopped = matches!(response.get("interrupted"), Some(Json::Bool(true)));
    stopped || response.text_of("backgroundTaskId").is_some()
}

/// `TodoWrite` and `update_plan` contain the whole list.
fn todos(tool: &str, input: &Json) -> Option<(u64, u64)> {
    let name = if tool == "update_plan" { "plan" } else { "todos" };
    let Some(Json::List(items)) = input.get(name) else { return None };
    let done = items.iter().filter(|item| item.text_of("status").as_deref() == Some("completed")).count();
    Some((done as u64, items.len() as u64))
}

/// The result of `ExitPlanMode`; `None` if it was an agent's plan.
fn plan(tool: &str, json: &Json) -> Option<PlanMade> {
    let said = json.get("tool_response").filter(|_| tool == "ExitPlanMode")?;
    let of_agent = matches!(said.get("isAgent"), Some(Json::Bool(true)));
    let text = |name: &str| said.text_of(name).unwrap_or_default();
    (!of_agent).then(|| PlanMade { file: text("filePath"), text: text("plan") })
}

/// The event's own fields for the ledger. Steps of calls record theirs separately; of a batch only the IDs
/// are kept.
fn about(kind: EventKind, json: &Json) -> String {
    let Json::Object(members) = json else { return "{}".to_owned() };
    if matches!(kind, EventKind::PreToolUse | EventKind::PostToolUse | EventKind::PostToolUseFailure) {
        return "{}".to_owned();
    }
    let own = members.iter().filter(|(name, _)| !COMMON.contains(&name.as_ref()));
    let own = own.map(|(name, value)| {
        (Cow::Borrowed(name.as_ref()), if name == "tool_calls" { ids(value) } else { value.clone() })
    });
    json::clipped(&Json::Object(own.collect()), LONGEST_TEXT, LARGEST_PAYLOAD)
}

fn ids<'a>(calls: &Json<'a>) -> Json<'a> {
    let Json::List(calls) = calls else { return calls.clone() };
    let one = |call: &Json<'a>| {
        let field = |name: &'static str| Some((Cow::Borrowed(name), call.get(name)?.clone()));
        Json::Object(["tool_name", "tool_use_id"].into_iter().filter_map(field).collect())
    };
    Json::List(calls.iter().map(one).collect())
}
