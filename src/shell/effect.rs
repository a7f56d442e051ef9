//! What a call does to the world, whatever its tool is called: read, write, close, spawn, tracker, control.
//!
//! Reads the call and its line, writes nothing. Invariant: what is not known to be harmless is a write.

mod awk;
mod builtin;
mod fetch;
mod files;
mod find;
mod git;
pub mod line;
mod options;
mod powershell;
mod reader;
mod sed;
mod table;
mod tree;
mod verb;

#[cfg(test)]
mod tests;

use crate::model::call::{Effect, ToolCall};
use crate::shell::syntax::{Ground, Line};
use crate::text::json;

/// An effect and, for a write, why it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classed {
    pub effect: Effect,
    pub why: String,
    /// A write into the working tree or its repository: more than running something, such as tests.
    pub touches_tree: bool,
}

impl Classed {
    fn free(effect: Effect) -> Self {
        Self { effect, why: String::new(), touches_tree: false }
    }

    fn write(why: impl Into<String>) -> Self {
        Self { effect: Effect::Write, why: why.into(), touches_tree: true }
    }
}

/// What is known around a call.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// The permission mode.
    pub mode: Option<&'a str>,
    /// Where plan mode may write; empty if a link there leads out of it.
    pub plans: &'a str,
    pub ground: Ground<'a>,
    /// The user's own word on a tool or command.
    pub told: &'a dyn Fn(&str) -> Option<Effect>,
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

/// The effect of a call; `line` is the shell line it runs, where there is one.
pub fn of(call: &ToolCall, line: Option<&Line>, around: &Around) -> Classed {
    let tool = call.key.tool.as_str();
    let is_line = matches!(tool, "Bash" | "PowerShell" | "Monitor");
    match (around.told)(tool) {
        Some(Effect::Read) if !is_line => return Classed::free(Effect::Read),
        Some(Effect::Write) => return Classed::write("your `[effects]` list it under `write`"),
        _ => {}
    }
    if let Some((effect, _)) = TOOLS.iter().find(|(_, names)| names.contains(&tool)) {
        return Classed::free(*effect);
    }
    if is_line && tool != "PowerShell" {
        return line.map_or_else(|| Classed::write("its line cannot be read"), |line| line::of(line, around));
    }
    let input = json::read(&call.input).ok();
    let text = |name: &str| input.as_ref().and_then(|json| json.text_of(name));
    if tool == "PowerShell" {
        return text("command")
            .map_or_else(|| Classed::write("its line cannot be read"), |line| powershell::of(&line));
    }
    let plan = || text("file_path").is_some_and(|path| is_below(&path, around.plans));
    if tool == "Write" && around.mode == Some("plan") && plan() {
        return Classed::free(Effect::Control);
    }
    if let Some(rest) = tool.strip_prefix("mcp__") {
        return mcp(&call.key.server, rest);
    }
    Classed::write(match tool {
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => "it edits a file",
        "EnterWorktree" => "it makes a worktree",
        _ => "its tool is not known to only read",
    })
}

fn is_below(path: &str, folder: &str) -> bool {
    let plain = !path.split('/').any(|part| part == "..");
    plain && !folder.is_empty() && path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// By the words of the tool's own name: the first must be a reading verb, and none a writing one.
fn mcp(server: &str, rest: &str) -> Classed {
    if TRACKERS.contains(&server) {
        return Classed::free(Effect::Tracker);
    }
    let name = rest.split("__").last().unwrap_or(rest);
    let words = words(name);
    let reads = words.first().is_some_and(|word| READING.contains(&word.as_str()));
    match words.iter().find(|word| WRITING.contains(&word.as_str())) {
        None if reads => Classed::free(Effect::Read),
        Some(word) => Classed::write(format!("its name says `{word}`")),
        None => Classed::write("its name begins with no reading verb"),
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
