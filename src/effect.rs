//! What a call does to the world, whatever its tool is called: read, write, close, spawn, tracker, control.
//!
//! Reads nothing, writes nothing. Invariant: what is not known to be harmless is a write.

pub mod line;

use crate::call::{Effect, ToolCall};
use crate::json;

/// An effect and, for a write, why it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classed {
    pub effect: Effect,
    pub why: String,
}

/// Tools of the host by what they do; any other name writes.
static TOOLS: &[(Effect, &[&str])] = &[
    (
        Effect::Read,
        &[
            "Read",
            "Grep",
            "Glob",
            "LS",
            "LSP",
            "NotebookRead",
            "WebFetch",
            "WebSearch",
            "ToolSearch",
            "ListMcpResources",
            "ReadMcpResource",
            "ListMcpResourcesTool",
            "ReadMcpResourceTool",
            "BashOutput",
            "TaskOutput",
            "TaskGet",
            "TaskList",
        ],
    ),
    (
        Effect::Control,
        &[
            "AskUserQuestion",
            "EnterPlanMode",
            "ExitPlanMode",
            "TodoWrite",
            "TaskCreate",
            "TaskUpdate",
            "TaskStop",
            "KillShell",
            "Skill",
            "SlashCommand",
        ],
    ),
    (Effect::Spawn, &["Agent", "Task"]),
];

const READING: [&str; 9] =
    ["get", "list", "search", "read", "find", "query", "retrieve", "fetch", "describe"];
const WRITING: [&str; 17] = [
    "create", "write", "update", "delete", "remove", "set", "add", "put", "post", "send", "run", "exec",
    "move", "replace", "purge", "merge", "close",
];
const TRACKERS: [&str; 3] = ["memory", "bd", "beads"];

/// The effect of a call. `plans` is where plan mode may write.
pub fn of(call: &ToolCall, mode: Option<&str>, plans: &str) -> Classed {
    let tool = call.key.tool.as_str();
    let read = |effect| Classed { effect, why: String::new() };
    if let Some((effect, _)) = TOOLS.iter().find(|(_, names)| names.contains(&tool)) {
        return read(*effect);
    }
    let input = json::read(&call.input).ok();
    let text = |name: &str| input.as_ref().and_then(|json| json.text_of(name)).unwrap_or_default();
    if matches!(tool, "Bash" | "PowerShell" | "Monitor") {
        return line::of(&text("command"));
    }
    if tool == "Write" && mode == Some("plan") && is_below(&text("file_path"), plans) {
        return read(Effect::Control);
    }
    if let Some(rest) = tool.strip_prefix("mcp__") {
        return mcp(&call.key.server, rest);
    }
    let why = match tool {
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => "it edits a file",
        "EnterWorktree" => "it makes a worktree",
        _ => "its tool is not known to only read",
    };
    Classed { effect: Effect::Write, why: why.to_owned() }
}

fn is_below(path: &str, folder: &str) -> bool {
    let plain = !path.split('/').any(|part| part == "..");
    plain && path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// By the words of the tool's own name: the first must be a reading verb, and none a writing one.
fn mcp(server: &str, rest: &str) -> Classed {
    if TRACKERS.contains(&server) {
        return Classed { effect: Effect::Tracker, why: String::new() };
    }
    let name = rest.split("__").last().unwrap_or(rest);
    let words = words(name);
    let reads = words.first().is_some_and(|word| READING.contains(&word.as_str()));
    match words.iter().find(|word| WRITING.contains(&word.as_str())) {
        None if reads => Classed { effect: Effect::Read, why: String::new() },
        Some(word) => Classed { effect: Effect::Write, why: format!("its name says `{word}`") },
        None => Classed { effect: Effect::Write, why: "its name begins with no reading verb".to_owned() },
    }
}

/// `getUser-by_id` is get, user, by, id.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_low = false;
    for c in name.chars() {
        if matches!(c, '_' | '-') || c.is_uppercase() && before_low {
            words.push(String::new());
        }
        before_low = c.is_lowercase() || c.is_ascii_digit();
        if !matches!(c, '_' | '-')
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::CallKey;

    fn effect(tool: &str, input: &str) -> Effect {
        let call = ToolCall { key: CallKey::of(tool, "t"), input: input.to_owned(), ..ToolCall::default() };
        of(&call, Some("plan"), "/h/.claude/plans").effect
    }

    #[test]
    fn tools() {
        let rows = [
            ("Read", "{}", Effect::Read),
            ("Agent", "{}", Effect::Spawn),
            ("TodoWrite", "{}", Effect::Control),
            ("Edit", "{}", Effect::Write),
            ("Unheard", "{}", Effect::Write),
            ("Write", r#"{"file_path":"/h/.claude/plans/x.md"}"#, Effect::Control),
            ("Write", r#"{"file_path":"/h/.claude/plans/../x.md"}"#, Effect::Write),
            ("mcp__memory__store_memory", "{}", Effect::Tracker),
            ("mcp__db__get_user", "{}", Effect::Read),
            ("mcp__db__getUserById", "{}", Effect::Read),
            ("mcp__db__list-items", "{}", Effect::Read),
            ("mcp__db__get_and_delete", "{}", Effect::Write),
            ("mcp__db__setUser", "{}", Effect::Write),
            ("mcp__db__frobnicate", "{}", Effect::Write),
            ("mcp__db__search__run", "{}", Effect::Write),
        ];
        for (tool, input, want) in rows {
            assert_eq!(effect(tool, input), want, "{tool}");
        }
    }
}
