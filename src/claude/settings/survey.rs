//! Lists our entries in a settings text, says whether hooks run at all, and whose the status line is; adds ours on request
//! and removes it.
//!
//! Reads text, gives text. Invariants: an entry is ours by the file name of its program, whatever its folder; a foreign
//! status line is never touched.

use super::edit::{self, JsonPart, member, parts};
use super::{PROGRAM, Unreadable, check};
use crate::model::event::EVENTS;
use serde::Serialize;
use serde_json::Value;

/// What one settings file says.
#[derive(Debug, Default)]
pub struct Survey {
    pub ours: Vec<Registered>,
    pub disabled: bool,
    pub managed_only: bool,
    /// Ids of plugins switched on, and of those switched off.
    pub plugins: Vec<(String, bool)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Registered {
    pub event: String,
    pub command: String,
    /// Exec form; without, a shell runs the command.
    pub args: Option<Vec<String>>,
    pub timeout: Option<f64>,
    /// The entry is what `register` would write today for this program.
    pub current: bool,
}

impl Registered {
    /// The program's path, also where a shell line holds it.
    pub fn program(&self) -> &str {
        program(&self.command, self.args.is_some())
    }
}

/// Our entries, and the settings that switch hooks off.
pub fn survey(text: &str) -> Result<Survey, Unreadable> {
    let mut found = Survey::default();
    if text.trim().is_empty() {
        return Ok(found);
    }
    let root = check(text)?;
    let truth = |name| member(text, &root, name).is_some_and(|part| &text[part.value] == "true");
    found.disabled = truth("disableAllHooks");
    found.managed_only = truth("allowManagedHooksOnly");
    if let Some(plugins) = member(text, &root, "enabledPlugins") {
        let on = |part: JsonPart| (part.name, &text[part.value] == "true");
        found.plugins = parts(text, &plugins.value).into_iter().map(on).collect();
    }
    let Some(hooks) = member(text, &root, "hooks") else { return Ok(found) };
    for event in parts(text, &hooks.value) {
        for group in parts(text, &event.value) {
            let Some(list) = member(text, &group.value, "hooks") else { continue };
            let held = parts(text, &list.value);
            for mut one in held.iter().filter_map(|hook| read(&event.name, &text[hook.value.clone()])) {
                one.current = held.len() == 1 && is_current(&one, &text[group.value.clone()]);
                found.ours.push(one);
            }
        }
    }
    Ok(found)
}

fn is_current(one: &Registered, group: &str) -> bool {
    let kind = EVENTS.iter().find(|kind| kind.name == one.event);
    kind.and_then(|kind| super::group(kind, &one.command)).is_some_and(|wanted| edit::is(group, &wanted))
}

fn read(event: &str, hook: &str) -> Option<Registered> {
    let hook: Value = serde_json::from_str(hook).ok()?;
    let command = hook.get("command")?.as_str()?.to_owned();
    let args = hook
        .get("args")
        .and_then(Value::as_array)
        .map(|args| args.iter().map(|arg| arg.as_str().map_or_else(|| arg.to_string(), str::to_owned)).collect());
    let timeout = hook.get("timeout").and_then(Value::as_f64);
    let one = Registered { event: event.to_owned(), command, args, timeout, current: false };
    let name = one.program().rsplit('/').next().unwrap_or_default();
    let link = name.strip_prefix(PROGRAM).and_then(|rest| rest.strip_prefix('-'));
    let ours = name == PROGRAM || link.is_some_and(|rest| EVENTS.iter().any(|kind| kind.name == rest));
    ours.then_some(one)
}

pub(super) fn is_ours(hook: &str) -> bool {
    read("", hook).is_some()
}

/// In exec form the command is a path, else the first word of a shell line.
pub fn program(command: &str, exec: bool) -> &str {
    if exec || command.rsplit('/').next() == Some(PROGRAM) {
        return command;
    }
    let line = command.trim_start();
    match line.chars().next() {
        Some(quote @ ('"' | '\'')) => line[1..].split(quote).next().unwrap_or_default(),
        _ => line.split_whitespace().next().unwrap_or_default(),
    }
}

const KEY: &str = "statusLine";

#[derive(Debug, Serialize)]
struct Shown {
    r#type: &'static str,
    command: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusLine {
    None,
    Ours,
    /// Runs this other command.
    Foreign(String),
}

pub fn status_line(text: &str) -> StatusLine {
    let Some(part) = check(text).ok().and_then(|root| member(text, &root, KEY)) else {
        return StatusLine::None;
    };
    let value: Value = serde_json::from_str(&text[part.value]).unwrap_or_default();
    match value.get("command").and_then(Value::as_str) {
        Some(line) if runs_status_line(line) => StatusLine::Ours,
        line => StatusLine::Foreign(line.map_or_else(|| value.to_string(), str::to_owned)),
    }
}

/// The text with our status line, which runs this program.
pub fn with_status_line(text: &str, command: &str) -> Result<String, Unreadable> {
    let root = check(text)?;
    let shown = Shown { r#type: "command", command: format!("{} statusline", quoted(command)) };
    Ok(match member(text, &root, KEY) {
        None => edit::append(text, &root, &root, Some(KEY), &shown),
        Some(part) if edit::is(&text[part.value.clone()], &shown) => text.to_owned(),
        Some(part) => edit::replace(text, &root, &part.value, &shown),
    })
}

pub(super) fn without_status_line(text: &str) -> String {
    if status_line(text) != StatusLine::Ours {
        return text.to_owned();
    }
    let root = edit::document(text);
    let top = parts(text, &root);
    match top.iter().rposition(|part| part.name == KEY) {
        Some(n) => edit::without(text, &root, &top, n),
        None => text.to_owned(),
    }
}

/// A shell line that runs our program for its status line.
fn runs_status_line(line: &str) -> bool {
    let program = program(line, false);
    let rest = line.rsplit_once(program).map_or("", |(_, rest)| rest);
    program.rsplit('/').next() == Some(PROGRAM)
        && rest.trim_start_matches(['\'', '"']).split_whitespace().next() == Some("statusline")
}

/// A path as a word of a shell line.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}
