//! What each tool touches, by its name and input.

use super::input::{self, Fields};
use super::{Act, Hidden, Reach, foreign};
use crate::shell::syntax;
use crate::shell::syntax::{Ground, Line, Word};

/// Tools that change no file we guard, whatever their input says: reading, asking, planning, spawning.
const FREE: [&str; 36] = [
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
    "ListMcpResourcesTool",
    "ReadMcpResource",
    "ReadMcpResourceTool",
    "BashOutput",
    "TaskOutput",
    "AgentOutput",
    "TaskGet",
    "TaskList",
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "TodoWrite",
    "TaskCreate",
    "TaskUpdate",
    "TaskStop",
    "KillShell",
    "KillBash",
    "Skill",
    "SlashCommand",
    "Agent",
    "Task",
    "SendMessage",
    "StructuredOutput",
    "EnterWorktree",
    "ExitWorktree",
    "Sleep",
];

/// First words that say an MCP tool reads.
const READING: [&str; 10] =
    ["get", "list", "search", "read", "find", "query", "retrieve", "fetch", "describe", "view"];

/// Words that say it writes, wherever they stand.
const WRITING: [&str; 40] = [
    "create",
    "write",
    "update",
    "delete",
    "remove",
    "set",
    "add",
    "put",
    "post",
    "send",
    "run",
    "exec",
    "move",
    "replace",
    "purge",
    "merge",
    "close",
    "edit",
    "rename",
    "execute",
    "save",
    "store",
    "download",
    "export",
    "dump",
    "to",
    "into",
    "copy",
    "append",
    "insert",
    "clone",
    "import",
    "sync",
    "apply",
    "patch",
    "install",
    "touch",
    "mkdir",
    "overwrite",
    "truncate",
];

/// Words that say it takes whole folders away.
const REMOVING: [&str; 7] = ["delete", "remove", "move", "rename", "purge", "trash", "rm"];

/// The shell line of this call, cut; `None` if its tool runs none, or the input does not say it.
pub fn line(tool: &str, input: &str, ground: &Ground) -> Option<Line> {
    let text = fields(input).filter(|_| matches!(tool, "Bash" | "Monitor"))?.command?;
    Some(syntax::cut(&text, ground))
}

/// What this call would reach, read from its input and its line alone.
pub fn reach(tool: &str, input: &str, line: Option<&Line>, ground: &Ground) -> Reach {
    let mut reach = Reach::default();
    if FREE.contains(&tool) {
        return reach;
    }
    match tool {
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => file(&mut reach, input, ground),
        "Bash" | "Monitor" => match line {
            Some(line) => reach.cut(line, ground),
            None => reach.hidden.extend(input::literals(input).into_iter().map(Hidden::Line)),
        },
        "PowerShell" => match fields(input).and_then(|fields| fields.command) {
            Some(line) if reads_in_powershell(&line) => {}
            Some(line) => reach.hidden.push(Hidden::Line(line.into_owned())),
            None => reach.hidden.extend(input::literals(input).into_iter().map(Hidden::Line)),
        },
        _ if tool.starts_with("mcp__") && mcp_reads(tool) => {}
        _ => {
            let removes = words(tool).iter().any(|word| REMOVING.contains(&word.as_str()));
            let act = if removes { Act::Whole } else { Act::Write };
            foreign::every_string(&mut reach, act, input, ground);
        }
    }
    reach
}

fn fields(input: &str) -> Option<Fields<'_>> {
    serde_json::from_str(input).ok()
}

fn file(reach: &mut Reach, input: &str, ground: &Ground) {
    let cwd = Word::of(ground.cwd);
    let named = fields(input).map(|fields| [fields.file_path, fields.notebook_path, fields.path]);
    let named: Vec<String> =
        named.into_iter().flatten().flatten().map(std::borrow::Cow::into_owned).collect();
    let named = if named.is_empty() { input::literals(input) } else { named };
    for text in &named {
        let path = input::path(text, ground);
        reach.over |= path.bits.len() > input::LONGEST_PATH;
        reach.target(&path, &cwd, Act::Write);
    }
}

/// The last part of the name begins with a reading verb and holds no writing one.
fn mcp_reads(tool: &str) -> bool {
    let words = words(tool);
    words.first().is_some_and(|word| READING.contains(&word.as_str()))
        && !words.iter().any(|word| WRITING.contains(&word.as_str()))
}

/// The last part of a tool's name, cut into words at `_`, `-` and capitals.
fn words(tool: &str) -> Vec<String> {
    let last = tool.rsplit("__").next().unwrap_or(tool);
    let mut all = vec![String::new()];
    let mut was_lower = false;
    for c in last.chars() {
        let breaks = !c.is_ascii_alphanumeric();
        if (breaks || (c.is_ascii_uppercase() && was_lower))
            && all.last().is_some_and(|word| !word.is_empty())
        {
            all.push(String::new());
        }
        if let Some(word) = all.last_mut().filter(|_| !breaks) {
            word.push(c.to_ascii_lowercase());
        }
        was_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    all
}

/// One reading cmdlet and nothing else.
fn reads_in_powershell(line: &str) -> bool {
    const READERS: [&str; 9] =
        ["get-content", "gc", "cat", "type", "select-string", "get-childitem", "ls", "dir", "test-path"];
    let first = line.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    READERS.contains(&first.as_str()) && !line.contains([';', '|', '>', '&', '\n', '`', '$', '('])
}
