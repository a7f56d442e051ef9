//! Unknown tools, above all MCP: any string of the input may be a path, and some are lines or programs.
//!
//! Invariant: every string is looked at, or the call is over budget and so refused.

use super::input::{self, LONGEST_PATH};
use aops_shell::commands::program_writes;
use aops_shell::syntax::{Ground, Word};
use aops_shell::targets::{Act, Hidden, Targets};
use serde_json::{Map, Value};

/// Keys under which a string is a command line, or a program.
#[rustfmt::skip]
const COMMANDS: [&str; 18] = [
    "command", "commands", "cmd", "cmds", "commandline", "command_line", "script", "code", "source", "program",
    "shell", "bash", "line", "lines", "argv", "keys", "input", "exec",
];
/// Keys of the words that follow a program's name.
const ARGUMENTS: [&str; 4] = ["args", "arguments", "argv", "params"];
/// Keys under which a string is prose.
#[rustfmt::skip]
const PROSE: [&str; 12] = [
    "text", "body", "message", "content", "description", "comment", "title", "subject", "prompt", "query",
    "summary", "note",
];
/// Parts of keys that name a place on the disk.
const PLACES: [&str; 11] =
    ["path", "file", "dir", "folder", "root", "source", "dest", "src", "target", "location", "uri"];
/// JSON inside a string of JSON.
const DEEPEST: usize = 4;

/// What a value is, by its key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Command,
    Prose,
    Place,
    Other,
}

fn role(key: &str) -> Role {
    let key = key.to_ascii_lowercase();
    match key.as_str() {
        key if COMMANDS.contains(&key) => Role::Command,
        key if PROSE.contains(&key) => Role::Prose,
        key if PLACES.iter().any(|place| key.contains(place)) => Role::Place,
        _ => Role::Other,
    }
}

/// Every string at any depth; literals if the text is beyond the parser (too deep, lone surrogates).
pub(super) fn every_string(targets: &mut Targets, act: Act, input: &str, ground: &Ground) {
    let mut tool = Strings { targets, act, ground, cwd: Word::of(ground.cwd) };
    let Ok(root) = serde_json::from_str::<Value>(input) else {
        for text in input::literals(input) {
            tool.path(&text, Role::Place);
        }
        return;
    };
    let mut waiting = vec![(root, Role::Other, 0)];
    while let Some((value, role_here, depth)) = waiting.pop() {
        match value {
            _ if tool.targets.over => return,
            Value::String(text) => {
                tool.text(&text, role_here);
                waiting.extend(nested(&text, depth).map(|inner| (inner, role_here, depth + 1)));
            }
            Value::Array(items) => {
                if role_here == Role::Command {
                    tool.words(items.iter());
                }
                waiting.extend(items.into_iter().map(|item| (item, role_here, depth)));
            }
            Value::Object(fields) => {
                tool.siblings(&fields);
                for (key, value) in fields {
                    tool.path(&key, Role::Other);
                    waiting.push((value, role(&key), depth));
                }
            }
            _ => {}
        }
    }
}

/// JSON written as a string.
fn nested(text: &str, depth: usize) -> Option<Value> {
    let begins = text.trim_start().starts_with(['{', '[']);
    (begins && depth < DEEPEST).then(|| serde_json::from_str(text).ok()).flatten()
}

/// One call of such a tool.
struct Strings<'a> {
    targets: &'a mut Targets,
    act: Act,
    ground: &'a Ground<'a>,
    cwd: Word,
}

impl Strings<'_> {
    fn text(&mut self, text: &str, role: Role) {
        if role == Role::Command {
            self.targets.line(text, self.ground);
            if program_writes(text) {
                self.targets.hidden.push(Hidden::Program(text.to_owned()));
            }
        }
        self.path(text, role);
    }

    fn path(&mut self, text: &str, role: Role) {
        let text = text.trim();
        let prose = role == Role::Prose
            && text.contains(char::is_whitespace)
            && !text.starts_with(['/', '~', '.', '$'])
            && !text.starts_with("file:");
        // `{"id": "."}` is no folder, `{"path": "."}` is.
        let sign = role != Role::Place && matches!(text, "." | ".." | "/" | "~");
        if prose || sign || text.contains('\n') {
            return;
        }
        let path = input::path(text, self.ground);
        if path.bits.len() <= LONGEST_PATH {
            self.targets.target(&path, &self.cwd, self.act);
        }
    }

    /// The words of one command.
    fn words<'v>(&mut self, items: impl Iterator<Item = &'v Value>) {
        let quoted = items.filter_map(Value::as_str).map(|word| format!("'{}'", word.replace('\'', "'\\''")));
        let line = quoted.collect::<Vec<_>>().join(" ");
        self.targets.line(&line, self.ground);
    }

    /// Fields that mean something only together: a program and its arguments, a folder and a name in it.
    fn siblings(&mut self, fields: &Map<String, Value>) {
        let program =
            fields.iter().find(|(key, value)| role(key) == Role::Command && value.is_string()).map(|(_, v)| v);
        let arguments = fields
            .iter()
            .find(|(key, value)| ARGUMENTS.contains(&key.to_ascii_lowercase().as_str()) && value.is_array());
        if let (Some(program), Some((_, Value::Array(arguments)))) = (program, arguments) {
            self.words(std::iter::once(program).chain(arguments));
        }
        let texts: Vec<&str> = fields.values().filter_map(Value::as_str).map(str::trim).collect();
        let short = |text: &&&str| text.len() <= LONGEST_PATH && !text.contains('\n');
        let folders = texts.iter().filter(short).filter(|text| text.starts_with(['/', '~', '$', '.']));
        for folder in folders {
            let folder = input::path(folder, self.ground).from_folder(&self.cwd);
            let names = texts.iter().filter(short).filter(|text| !text.starts_with(['/', '~', '$']));
            for name in names.filter(|name| name.contains('.')) {
                self.targets.target(&Word::of(name), &folder, Act::Write);
            }
        }
    }
}
