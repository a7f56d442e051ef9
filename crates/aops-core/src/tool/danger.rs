//! Finds dangers in a tool call: in its shell line, the file that it names, the strings of an unknown tool.
//!
//! Reads only the call. Invariant: a tool that names no file and runs no line costs one look at its name; a
//! field whose name shows that it is prose is not searched.

pub use aops_shell::danger::{
    Danger, Disk, Place, RULES, Rule, Severity, Usual, dangers, is_secret, may_be_secret, rule,
};

use super::input::{self, InputFields};
use super::outward;
use super::table::{ToolTouches, tool as known};
use aops_shell::danger::{destroys, overwritten, powershell_destroys, unread};
use aops_shell::syntax::{Ground, Line, Word, cut, globbed};
use serde_json::Value;

/// At most this many values of one call are looked at.
const STRINGS: usize = 50_000;

/// `disk`: what may be asked about the files that a command names.
pub fn of(tool: &str, input: &str, line: Option<&Line>, ground: &Ground, disk: Option<Disk>) -> Vec<Danger> {
    let project =
        ground.variables.iter().find(|(name, _)| name == "CLAUDE_PROJECT_DIR").map(|(_, path)| path.as_str());
    let place = Place { cwd: ground.cwd, home: ground.home, project, disk };
    if let Some(line) = line {
        return dangers(line, &place);
    }
    match known(tool).touches {
        ToolTouches::PowerShell => {
            let line = input::command(input).filter(|line| powershell_destroys(line));
            line.map(|line| found("windows-delete", line.chars().take(120).collect())).unwrap_or_default()
        }
        ToolTouches::File => {
            let path = InputFields::read(input).and_then(|fields| fields.paths().next());
            let secrets = named(tool, input, &place, is_planned);
            let written = || path.iter().flat_map(|path| written(tool, path, &place)).collect();
            if secrets.is_empty() { written() } else { secrets }
        }
        ToolTouches::Patch => {
            let paths = input::patched_files(input);
            let secret = paths.iter().find(|path| is_secret(path) && !is_planned(path));
            let secret = secret.map(|path| found("secret-file", format!("{tool} {path}")));
            secret.unwrap_or_else(|| paths.iter().flat_map(|path| written(tool, path, &place)).collect())
        }
        _ if matches!(tool, "Read" | "Grep" | "NotebookRead") => named(tool, input, &place, |_| false),
        ToolTouches::Strings(_) | ToolTouches::Nothing if tool.starts_with("mcp__") => {
            let act = outward::rule_of(tool).map(|id| found(id, tool.to_owned()));
            act.into_iter().flatten().chain(strings(tool, input, &place)).collect()
        }
        _ => Vec::new(),
    }
}

fn found(id: &str, what: String) -> Vec<Danger> {
    rule(id).map(|rule| Danger { rule, what }).into_iter().collect()
}

/// The same as for a line that writes this file.
fn written(tool: &str, path: &str, place: &Place) -> Vec<Danger> {
    let named = |danger| Danger { what: format!("{tool} {path}"), ..danger };
    overwritten(path, place).into_iter().map(named).collect()
}

/// Writing a project's own file of secrets needs a plan (`small.never`); writing does not show its content.
fn is_planned(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
    (name.contains("secret") || name.contains("credential")) && !path.contains("/.") && !name.starts_with('.')
}

/// Dangers in the file that a tool of the client reads or changes; a search may also name it by a pattern.
fn named(tool: &str, input: &str, place: &Place, is_free: impl Fn(&str) -> bool) -> Vec<Danger> {
    let Some(fields) = InputFields::read(input) else {
        let path = input::literals(input).into_iter().find(|path| is_secret(path) && !is_free(path));
        return path.map(|path| found("secret-file", format!("{tool} {path}"))).unwrap_or_default();
    };
    let glob = fields.glob.as_deref().filter(|_| tool == "Grep").map(str::to_owned);
    let paths: Vec<String> = fields.paths().collect();
    let folder = paths.first().map(String::as_str);
    let glob = glob.filter(|glob| may_be_secret(glob) || finds_secret(place, folder, glob));
    let path = paths.iter().find(|path| is_secret(path) && !is_free(path)).cloned().or(glob);
    path.map(|path| found("secret-file", format!("{tool} {path}"))).unwrap_or_default()
}

/// Whether the pattern of a search matches a file of secrets below this folder.
fn finds_secret(place: &Place, folder: Option<&str>, glob: &str) -> bool {
    let folder = Word::of(folder.unwrap_or(".")).from_folder(&Word::of(place.cwd)).tidied();
    let deep = if glob.contains("**") { glob.to_owned() } else { format!("**/{glob}") };
    let pattern = globbed(&Word::of(&deep)).from_folder(&folder);
    let named = glob.contains(|c: char| c.is_alphanumeric());
    place.disk.filter(|_| named).is_some_and(|disk| {
        (disk.find)(&pattern, true).is_none_or(|found| found.iter().any(|path| is_secret(path)))
    })
}

/// What a field of an unknown tool contains, by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Line,
    Query,
    Prose,
    Other,
}

fn field(key: &str) -> Field {
    match key.to_ascii_lowercase().as_str() {
        "command" | "commands" | "cmd" | "cmds" | "commandline" | "command_line" | "script" | "shell"
        | "bash" | "line" | "argv" => Field::Line,
        "sql" | "query" | "statement" | "statements" | "queries" => Field::Query,
        "text" | "body" | "message" | "content" | "description" | "comment" | "title" | "prompt"
        | "summary" | "note" => Field::Prose,
        _ => Field::Other,
    }
}

fn strings(tool: &str, input: &str, place: &Place) -> Vec<Danger> {
    let Ok(root) = serde_json::from_str::<Value>(input) else {
        let texts = input::literals(input);
        let found = texts.iter().flat_map(|text| one(tool, text, Field::Other, place));
        return found.chain(unread(tool)).collect();
    };
    let mut all: Vec<Danger> = Vec::new();
    let mut waiting = vec![(root, Field::Other)];
    let mut looked = 0;
    while let Some((value, kind)) = waiting.pop() {
        looked += 1;
        let more = match value {
            _ if looked > STRINGS => {
                all.extend(unread(tool));
                return all;
            }
            Value::String(text) => one(tool, &text, kind, place),
            Value::Array(items) => {
                if kind == Field::Line {
                    all.extend(one(tool, &input::joined(items.iter()), kind, place));
                }
                waiting.extend(items.into_iter().map(|item| (item, kind)));
                continue;
            }
            Value::Object(fields) => {
                if let Some(line) = input::program_line(&fields) {
                    all.extend(one(tool, &line, Field::Line, place));
                }
                waiting.extend(fields.into_iter().map(|(key, value)| (value, field(&key))));
                continue;
            }
            _ => continue,
        };
        all.extend(more);
    }
    all
}

fn one(tool: &str, text: &str, kind: Field, place: &Place) -> Vec<Danger> {
    let shown = || text.chars().take(120).collect::<String>();
    match kind {
        Field::Line => {
            dangers(&cut(text, &Ground { cwd: place.cwd, home: place.home, variables: &[] }), place)
        }
        Field::Query if destroys(text) => found("sql-destroy", shown()),
        Field::Other if !text.contains(char::is_whitespace) && may_be_secret(path(text)) => {
            found("secret-file", format!("{tool} {}", shown()))
        }
        _ => Vec::new(),
    }
}

/// A `file:` address without its scheme.
fn path(text: &str) -> &str {
    text.strip_prefix("file://").unwrap_or(text)
}

#[cfg(test)]
mod tests;
