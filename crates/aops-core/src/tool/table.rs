//! The table of tools: what a call of each does, and what it touches.
//!
//! Invariant: a tool that is not in the table and not named like a reading MCP tool writes, and may write
//! anything that its input names.

use crate::model::call::Effect;
use aops_shell::commands::{Act, Class};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownTool {
    /// Its effect, or why it is a write. For a tool that runs a line, the line decides.
    pub class: Class,
    pub touches: ToolTouches,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolTouches {
    Nothing,
    /// The file named in a field of its input.
    File,
    /// The files that the patch in its input names.
    Patch,
    /// What its shell line touches.
    Line,
    /// What its PowerShell line touches.
    PowerShell,
    /// Perhaps every string in its input.
    Strings(Act),
}

/// Tools of the client by effect; none of them touches a file that we guard.
#[rustfmt::skip]
static FREE: &[(Effect, &[&str])] = &[
    (Effect::Read, &[
        "Read", "Grep", "Glob", "LS", "LSP", "NotebookRead", "WebFetch", "WebSearch", "ToolSearch", "ListMcpResources",
        "ReadMcpResource", "ListMcpResourcesTool", "ReadMcpResourceTool", "BashOutput", "TaskOutput", "TaskGet",
        "TaskList", "ListAgents", "CronList", "SubagentHandback", "view_image", "web_search", "list_agents", "get_goal",
        "curr_time", "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource",
    ]),
    (Effect::Control, &[
        "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "TodoWrite", "TaskCreate", "TaskUpdate", "TaskStop",
        "KillShell", "Skill", "SlashCommand", "update_plan", "request_user_input", "wait_agent", "close_agent",
        "create_goal", "update_goal", "request_user_input_async", "interrupt_agent", "resume_agent", "wait", "sleep",
    ]),
    (Effect::Spawn, &["Agent", "Task"]),
];

/// Verbs that make an MCP tool's name a reading one: the first word must be one of these, no other word may
/// be a writing one, and after `and`, `or` or `then` comes another reading one, or a plural. A tool that
/// removes takes whole folders.
const READING: [&str; 9] =
    ["get", "list", "search", "read", "find", "query", "retrieve", "fetch", "describe"];
#[rustfmt::skip]
const WRITING: &[&str] = &[
    "add", "alter", "append", "apply", "approve", "archive", "assign", "cancel", "change", "clear", "clone", "close",
    "copy", "create", "decrement", "delete", "deploy", "destroy", "disable", "download", "drop", "dump", "edit", "empty",
    "enable", "erase", "evict", "exec", "execute", "expire", "export", "flush", "grant", "import", "increment", "insert",
    "install", "into", "invoke", "kill", "lock", "make", "mark", "merge", "mkdir", "modify", "move", "mutate", "overwrite",
    "patch", "persist", "pop", "post", "prune", "publish", "purge", "push", "put", "rebase", "rebuild", "redeploy", "reindex",
    "remove", "rename", "replace", "reset", "restart", "restore", "revert", "revoke", "rm", "rollback", "rotate", "run",
    "save", "send", "set", "spawn", "start", "stop", "store", "submit", "swap", "sync", "terminate", "to", "toggle", "touch",
    "transform", "trash", "trigger", "truncate", "uninstall", "unlink", "unlock", "update", "upload", "upsert", "wipe",
    "write",
];
const JOINING: [&str; 6] = ["and", "or", "then", "n", "plus", "also"];
const REMOVING: [&str; 7] = ["delete", "remove", "move", "rename", "purge", "trash", "rm"];
/// Servers of trackers and memories, the words for reading there, and what else is free.
const TRACKERS: [&str; 3] = ["memory", "bd", "beads"];
const TRACKED: [&str; 9] =
    ["ready", "show", "stats", "blocked", "recall", "status", "count", "where", "open"];
const KEPT: [&str; 7] = ["store", "create", "update", "claim", "close", "comment", "comments"];

/// Tools that run a line or edit files, and those about whose calls nothing is known.
const LINES: [&str; 3] = ["Bash", "Monitor", "PowerShell"];
const EDITS: [&str; 5] = ["Write", "Edit", "MultiEdit", "NotebookEdit", "apply_patch"];
const UNKNOWN: [&str; 7] =
    ["AgentOutput", "ExitWorktree", "KillBash", "SendMessage", "Sleep", "StructuredOutput", "EnterWorktree"];

/// Every tool that we know by name.
pub fn names() -> impl Iterator<Item = &'static str> {
    let free = FREE.iter().flat_map(|(_, names)| names.iter());
    free.chain(&LINES).chain(&EDITS).chain(&UNKNOWN).copied()
}

pub fn tool(name: &str) -> KnownTool {
    if let Some((effect, _)) = FREE.iter().find(|(_, names)| names.contains(&name)) {
        return KnownTool { class: Ok(*effect), touches: ToolTouches::Nothing };
    }
    let (why, touches) = match name {
        "Bash" | "Monitor" => ("its line cannot be read", ToolTouches::Line),
        "PowerShell" => ("its line cannot be read", ToolTouches::PowerShell),
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => ("it edits a file", ToolTouches::File),
        "apply_patch" => ("it edits files", ToolTouches::Patch),
        "EnterWorktree" => ("it makes a worktree", ToolTouches::Nothing),
        "AgentOutput" | "ExitWorktree" | "KillBash" | "SendMessage" | "Sleep" | "StructuredOutput" => {
            ("its tool may do more than read", ToolTouches::Nothing)
        }
        _ => return by_words(name),
    };
    KnownTool { class: Err(why.to_owned()), touches }
}

/// A tool about which at most the words of its name are known.
fn by_words(name: &str) -> KnownTool {
    let words = words(name);
    let any = |list: &[&str]| words.iter().find(|word| list.contains(&word.as_str()));
    let removes = any(&REMOVING).is_some();
    let strings = ToolTouches::Strings(if removes { Act::Whole } else { Act::Write });
    let Some(rest) = name.strip_prefix("mcp__") else {
        return KnownTool { class: Err("its tool may do more than read".to_owned()), touches: strings };
    };
    let joined = joined(&words).find(|word| !is_joined_to_reading(word));
    let (class, touches) = match any(WRITING).or(joined) {
        None if begins_reading(&words) => (Ok(Effect::Read), ToolTouches::Nothing),
        Some(word) => (Err(format!("its name says `{word}`")), strings),
        None => (Err("its name does not begin with a reading verb".to_owned()), strings),
    };
    let is_tracker = rest.split("__").next().is_some_and(|server| TRACKERS.contains(&server));
    KnownTool { class: if is_tracker && tracks(&words) { Ok(Effect::Tracker) } else { class }, touches }
}

fn begins_reading(words: &[String]) -> bool {
    words.first().is_some_and(|word| READING.contains(&word.as_str()))
}

/// The name begins with a word that reads or writes, so another one at its end says what it is about.
pub(super) fn begins_with_verb(words: &[String]) -> bool {
    begins_reading(words) || words.first().is_some_and(|word| WRITING.contains(&word.as_str()))
}

/// The words after `and`, `or` and `then`.
fn joined(words: &[String]) -> impl Iterator<Item = &String> {
    words.windows(2).filter(|pair| JOINING.contains(&pair[0].as_str())).map(|pair| &pair[1])
}

/// `search_and_fetch`, `list_users_and_groups`.
fn is_joined_to_reading(word: &str) -> bool {
    READING.contains(&word) || word.ends_with('s') && !word.ends_with("ss")
}

/// The input field in which an edit tool names the file.
pub fn edited_field(tool: &str) -> Option<&'static str> {
    match tool {
        "Write" | "Edit" | "MultiEdit" => Some("file_path"),
        "NotebookEdit" => Some("notebook_path"),
        _ => None,
    }
}

/// A tool of a server whose name shows that it only reads, including one of a tracker.
pub fn looks(name: &str) -> bool {
    let words = words(name);
    let own = words.iter().take_while(|word| TRACKERS.contains(&word.as_str())).count();
    let rest = &words[own.min(words.len())..];
    let others = |word: &String| WRITING.contains(&word.as_str());
    begins_reading(rest) && !rest.iter().any(others) && joined(rest).all(|word| is_joined_to_reading(word))
}

/// A tool of a tracker that reads, or that creates, updates, closes or comments on something.
fn tracks(words: &[String]) -> bool {
    // `memory_search`
    let own = words.iter().take_while(|word| TRACKERS.contains(&word.as_str())).count();
    let Some((first, rest)) = words[own..].split_first() else { return false };
    let is = |list: &[&str], word: &String| list.contains(&word.as_str());
    let first = if first == "add" && rest.iter().any(|word| is(&KEPT[5..], word)) { &rest[0] } else { first };
    let begins = is(&READING, first) || is(&TRACKED, first) || is(&KEPT, first);
    let only_reads = joined(&words[own..]).all(|word| is_joined_to_reading(word) || is(&KEPT, word));
    begins && only_reads && !rest.iter().any(|word| is(WRITING, word) && !is(&KEPT, word))
}

/// Its input is typed into a shell, whatever its key.
pub(super) fn types_lines(name: &str) -> bool {
    const TYPING: [&str; 20] = [
        "term", "terminal", "tmux", "shell", "iterm", "console", "tty", "pty", "keyboard", "keys",
        "keystrokes", "type", "paste", "stdin", "repl", "exec", "execute", "run", "ssh", "screen",
    ];
    name.split("__").flat_map(words).any(|word| TYPING.contains(&word.as_str()))
}

/// Its input may be a patch, whatever its key.
pub(super) fn takes_patches(name: &str) -> bool {
    words(name).iter().any(|word| ["apply", "patch", "diff", "edit"].contains(&word.as_str()))
}

/// The last part of a tool's name, split at signs and capitals: `getUser-by_id` is get, user, by, id.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut was_lower = false;
    for c in name.rsplit("__").next().unwrap_or(name).chars() {
        let breaks = !c.is_alphanumeric();
        if (breaks || c.is_uppercase() && was_lower) && all.last().is_some_and(|word| !word.is_empty()) {
            all.push(String::new());
        }
        if let Some(word) = all.last_mut().filter(|_| !breaks) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_name_has_a_row() {
        for name in names() {
            assert!(tool(name) != by_words(name), "{name}");
        }
    }

    /// Both questions have one answer: a tool that reads touches nothing.
    #[test]
    fn what_reads_touches_nothing() {
        let saves = "mcp__x__get_and_save";
        let to_file = "mcp__x__fetch_to_file";
        for name in ["Read", "mcp__x__get", saves, to_file, "mcp__x__view", "Unheard", "Sleep", "Bash"] {
            let known = tool(name);
            assert!(known.class.is_err() || known.touches == ToolTouches::Nothing, "{name}: {known:?}");
        }
        assert_eq!(tool(saves).class, Err("its name says `save`".to_owned()));
        assert_eq!(tool(to_file).class, Err("its name says `to`".to_owned()));
        for name in "find_and_modify findAndModify get_or_create read_write list_and_delete search_replace fetch_and_update \
            get_or_make read_then_forget query_and_notify findOneAndReplace fetch_and_increment get_and_reset read_modify_write"
            .split_whitespace()
        {
            assert!(!looks(&format!("mcp__x__{name}")), "{name}");
            assert!(tool(&format!("mcp__x__{name}")).class.is_err(), "{name}");
        }
        for name in "find get_users list_users_and_groups search_and_fetch query_logs read_file get_commit list_builds"
            .split_whitespace()
        {
            assert_eq!(tool(&format!("mcp__x__{name}")).class, Ok(Effect::Read), "{name}");
        }
        assert_eq!(tool("mcp__memory__delete").touches, ToolTouches::Strings(Act::Whole));
        assert!(types_lines("mcp__term__send_text") && !types_lines("mcp__slack__send_message"));
    }
}
