//! Reads a tool's input: the few fields that matter; or for unknown tools, above all MCP tools, every string,
//! since any may be a path, and some are lines or programs. Invariant: every string is examined, or the call
//! exceeds the budget and is refused.

use super::table::{takes_patches, types_lines};
use aops_shell::commands::{patched, program_writes};
use aops_shell::syntax::{Bit, Ground, Word};
use aops_shell::targets::{Act, Hidden, Targets};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The fields of built-in tools that name files or commands.
#[derive(Debug, Default, Deserialize)]
pub(super) struct InputFields<'a> {
    #[serde(borrow, default)]
    pub(super) file_path: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) notebook_path: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) path: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) command: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) glob: Option<Cow<'a, str>>,
}

impl<'a> InputFields<'a> {
    pub(super) fn read(input: &'a str) -> Option<Self> {
        serde_json::from_str(input).ok()
    }

    pub(super) fn paths(self) -> impl Iterator<Item = String> {
        [self.file_path, self.notebook_path, self.path].into_iter().flatten().map(Cow::into_owned)
    }
}

pub(super) fn command(input: &str) -> Option<String> {
    InputFields::read(input)?.command.map(Cow::into_owned)
}

pub(super) fn file_path(input: &str) -> Option<String> {
    InputFields::read(input)?.file_path.map(Cow::into_owned)
}

/// The files that a patch in Codex's format names: added, updated, deleted, and the targets of moves.
pub fn patched_files(input: &str) -> Vec<String> {
    const HEADS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let text = command(input).unwrap_or_default();
    let lines = text.lines().map(str::trim_start);
    let named = lines.filter_map(|line| HEADS.iter().find_map(|head| line.strip_prefix(head)));
    named.map(|path| path.trim().to_owned()).filter(|path| !path.is_empty()).collect()
}

/// No system accepts a longer path.
pub(super) const LONGEST_PATH: usize = 4096;

/// Every string literal in text that is nearly JSON, parsed leniently.
pub(super) fn literals(input: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut chars = input.chars();
    while chars.any(|c| c == '"') {
        let mut text = String::new();
        while let Some(c) = chars.next() {
            match c {
                '"' => break,
                '\\' => match chars.next() {
                    Some('u') => {
                        let code: String = chars.by_ref().take(4).collect();
                        let value = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
                        text.push(value.unwrap_or('\u{fffd}'));
                    }
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(other) => text.push(other),
                    None => {}
                },
                _ => text.push(c),
            }
        }
        all.push(text);
    }
    all
}

/// A string as a path: a `file:` address without its scheme, with `~` and known variables filled in.
pub fn path_of(text: &str, ground: &Ground) -> Word {
    let text = text.trim();
    let address = text.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:")).map(|_| &text[5..]);
    if let Some(address) = address {
        // `file:///x`, `file:/x`, `file://localhost/x`.
        let path = address.strip_prefix("//").and_then(|rest| rest.find('/').map(|at| &rest[at..]));
        let path = path.unwrap_or(address);
        let path = path.split(['?', '#']).next().unwrap_or(path);
        return tidy(Word { bits: decoded(path), ..Word::default() });
    }
    let variables = ground.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in variables.chain([("HOME", ground.home), ("PWD", ground.cwd)]) {
        let plain = text.strip_prefix('$').and_then(|rest| rest.strip_prefix(name));
        let braced = text.strip_prefix("${").and_then(|rest| rest.strip_prefix(name)?.strip_prefix('}'));
        if let Some(rest) = plain.or(braced).filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            return tidy(Word::of(&format!("{value}{rest}")));
        }
    }
    match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            tidy(Word::of(&format!("{}{rest}", ground.home)))
        }
        _ => tidy(Word::of(text)),
    }
}

/// A path that is too long for any system can only be used after it is shortened.
fn tidy(word: Word) -> Word {
    if word.bits.len() > LONGEST_PATH { word.tidied() } else { word }
}

/// A file address in the form of a path: `%2E` is a dot.
fn decoded(text: &str) -> Vec<Bit> {
    let bytes = text.as_bytes();
    let mut all = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).filter(|_| byte == b'%');
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        all.push(code.unwrap_or(byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&all).chars().map(Bit::Char).collect()
}

/// Keys whose string is a command line or a program.
const COMMANDS: [&str; 18] = [
    "command", "commands", "cmd", "cmds", "commandline", "command_line", "script", "code", "source",
    "program", "shell", "bash", "line", "lines", "argv", "keys", "input", "exec",
];
/// Keys of the arguments of a program.
const ARGUMENTS: [&str; 4] = ["args", "arguments", "argv", "params"];
/// Keys whose string is prose.
const PROSE: [&str; 12] = [
    "text", "body", "message", "content", "description", "comment", "title", "subject", "prompt", "query",
    "summary", "note",
];
/// Parts of keys that mean a path.
const PLACES: [&str; 11] =
    ["path", "file", "dir", "folder", "root", "source", "dest", "src", "target", "location", "uri"];
/// Levels of JSON inside a string of JSON; an input with more is refused unread.
const DEEPEST: usize = 4;
/// Names next to a folder that may be in that folder; an input with more is refused unread.
const MOST_NAMES: usize = 64;
/// No file has a longer name.
const LONGEST_NAME: usize = 255;

/// Some system accepts the path after it is shortened.
fn may_be_path(path: &Word) -> bool {
    let short = |name: &[Bit]| name.len() <= LONGEST_NAME;
    path.bits.len() <= LONGEST_PATH && path.bits.split(|bit| *bit == Bit::Char('/')).all(short)
}

/// What a value means, by its key.
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

/// Every string at any depth; only literals if the parser cannot handle the text (too deep, lone surrogates).
pub(super) fn every_string(targets: &mut Targets, name: &str, act: Act, input: &str, ground: &Ground) {
    let types = types_lines(name);
    let patches = takes_patches(name);
    let mut tool = Strings { targets, act, types, patches, ground, cwd: Word::of(ground.cwd) };
    let Ok(root) = serde_json::from_str::<Value>(input) else { return tool.places(input) };
    let mut waiting = vec![(root, Role::Other, 0)];
    while let Some((value, role_here, depth)) = waiting.pop() {
        match value {
            _ if tool.targets.over => return,
            Value::String(text) => {
                tool.text(&text, role_here);
                match nested(&text) {
                    Some(inner) if depth < DEEPEST => waiting.push((inner, role_here, depth + 1)),
                    Some(_) => tool.targets.over = true,
                    // Too deep, or not quite JSON.
                    None if begins_json(&text) && role_here != Role::Prose => tool.places(&text),
                    None => {}
                }
            }
            Value::Array(items) => {
                if role_here == Role::Command {
                    tool.words(items.iter());
                }
                tool.parts(&items, role_here);
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

/// Joins words into one line.
pub(super) fn joined<'v>(words: impl Iterator<Item = &'v Value>) -> String {
    let quoted = words.filter_map(Value::as_str).map(|word| format!("'{}'", word.replace('\'', "'\\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

/// The line of a program whose arguments are in a separate field.
pub(super) fn program_line(fields: &Map<String, Value>) -> Option<String> {
    let is_arguments = |key: &str| ARGUMENTS.contains(&key.to_ascii_lowercase().as_str());
    let (_, program) = fields.iter().find(|(key, value)| role(key) == Role::Command && value.is_string())?;
    let (_, arguments) = fields.iter().find(|(key, value)| is_arguments(key) && value.is_array())?;
    Some(joined(std::iter::once(program).chain(arguments.as_array()?)))
}

fn begins_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

fn nested(text: &str) -> Option<Value> {
    begins_json(text).then(|| serde_json::from_str(text).ok()).flatten()
}

struct Strings<'a> {
    targets: &'a mut Targets,
    act: Act,
    /// Its prose is typed into a shell.
    types: bool,
    /// Its prose may be a patch.
    patches: bool,
    ground: &'a Ground<'a>,
    cwd: Word,
}

impl Strings<'_> {
    fn text(&mut self, text: &str, role: Role) {
        if role != Role::Prose || self.patches {
            for path in text.lines().flat_map(patched) {
                self.targets.target(&path_of(path, self.ground), &self.cwd, Act::Write);
            }
        }
        if role == Role::Command || role == Role::Prose && self.types {
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
        // `{"id": "."}` is not a folder, `{"path": "."}` is.
        let sign = role != Role::Place && matches!(text, "." | ".." | "/" | "~");
        if prose || sign || text.contains('\n') {
            return;
        }
        let path = path_of(text, self.ground);
        if path.bits.len() <= LONGEST_PATH {
            self.targets.target(&path, &self.cwd, self.act);
        }
    }

    /// Every quoted text of an input that cannot be parsed as JSON may be a path.
    fn places(&mut self, input: &str) {
        for text in literals(input) {
            self.path(&text, Role::Place);
        }
    }

    /// A path in parts: `["folder", "name"]`.
    fn parts(&mut self, items: &[Value], role: Role) {
        let parts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
        if parts.len() > 1 && role != Role::Prose {
            self.path(&parts.join("/"), Role::Place);
        }
    }

    fn words<'v>(&mut self, items: impl Iterator<Item = &'v Value>) {
        self.targets.line(&joined(items), self.ground);
    }

    /// Fields that only together mean something: a program and its arguments, a folder and a name in it. If
    /// there are many, every pair would have to be tried.
    fn siblings(&mut self, fields: &Map<String, Value>) {
        if let Some(line) = program_line(fields) {
            self.targets.line(&line, self.ground);
        }
        let texts =
            fields.values().filter_map(Value::as_str).map(str::trim).filter(|text| !text.contains('\n'));
        let texts: Vec<(&str, Word)> = texts.map(|text| (text, path_of(text, self.ground))).collect();
        let texts: Vec<&(&str, Word)> = texts.iter().filter(|(_, path)| may_be_path(path)).collect();
        let names: Vec<&&(&str, Word)> =
            texts.iter().filter(|(text, _)| !text.starts_with(['/', '~', '$'])).collect();
        let folders = texts.iter().filter(|(text, _)| text.starts_with(['/', '~', '$', '.']));
        if names.len() > MOST_NAMES || folders.clone().count() > MOST_NAMES {
            self.targets.over = true;
            return;
        }
        for (_, folder) in folders {
            let folder = folder.from_folder(&self.cwd);
            for (name, path) in names.iter().filter(|(name, _)| name.contains('.')) {
                self.targets.target(path, &folder, Act::Write);
                for (_, between) in
                    names.iter().filter(|(between, _)| between != name && !between.contains(' '))
                {
                    self.targets.target(path, &between.from_folder(&folder), Act::Write);
                }
            }
        }
    }
}
