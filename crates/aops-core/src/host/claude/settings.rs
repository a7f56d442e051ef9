//! Adds our hook entries and status line to the text of a settings file, removes them again, and lists them.
//!
//! Reads text, gives text. It uses no document model: foreign keys, their order, spacing and spelling of
//! numbers must stay byte for byte, so only the parts that change are edited (`docs/decisions/settings.md`).
//! Invariants: `register` twice is `register` once; `unregister` undoes `register`; text that is not JSON is
//! rejected; an entry is ours by the file name of its program, whatever its folder; a foreign status line is
//! never touched.

mod edit;
pub mod deny;
pub mod odd;
pub mod prefix;

use crate::config::problem::position;
use crate::model::event::{EVENTS, EventKind, EventRow};
use edit::{BOM, JsonPart, member, parts};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// The file name of our program, by which our entries are recognised.
pub const PROGRAM: &str = "aops-hook";

/// How a project's settings call the program: through a script next to them, which finds it on each machine.
pub const SCRIPT_COMMAND: &str = "${CLAUDE_PROJECT_DIR}/.claude/aops-hook";
/// The same in a shell line, for example for the status line.
pub const SCRIPT_IN_SHELL: &str = "\"$CLAUDE_PROJECT_DIR\"/.claude/aops-hook";
pub const SCRIPT_PATH: &str = ".claude/aops-hook";
/// Committed with a project's settings. Without our program the script says so and lets the call pass, so
/// that colleagues are not locked out.
pub const SCRIPT: &str = include_str!("aops-hook.sh");

/// Why a settings text was rejected, and at which position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    pub line: usize,
    pub column: usize,
    pub words: String,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.words)
    }
}

/// One entry of an event's list, as the host reads it.
#[derive(Debug, Serialize)]
pub struct Group {
    pub hooks: [Hook; 1],
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hook {
    pub r#type: &'static str,
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<[&'static str; 1]>,
    pub timeout: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<&'static str>,
    /// Limit, in tokens, for what the model reads of a hook's text; a key of another client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_context_limit: Option<u32>,
}

/// The entry that an event of this name should have; `None` if no hook is registered for it.
pub type Wanted<'w> = &'w dyn Fn(&str) -> Option<Group>;

/// The entry for this kind of event; `None` if no hook is registered for it.
pub fn group(kind: &EventRow, command: &str) -> Option<Group> {
    let hook = Hook {
        r#type: "command",
        command: command.to_owned(),
        args: Some([kind.name]),
        timeout: kind.timeout,
        on_failure: kind.guarding.then_some("block"),
        ..Hook::default()
    };
    (kind.timeout > 0).then_some(Group { hooks: [hook] })
}

/// The text of a plugin's `hooks/hooks.json`: all events, with the program below the plugin's folder.
pub fn plugin_hooks() -> String {
    let text = register("{}\n", "${CLAUDE_PLUGIN_ROOT}/bin/aops-hook");
    text.unwrap_or_default()
}

/// What a client accepts as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    Json,
    /// With line and block comments.
    Commented,
}

impl Grammar {
    /// The text for a strict JSON reader, with every byte at its old position.
    pub fn plain(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Json => Cow::Borrowed(text),
            Self::Commented => Cow::Owned(edit::without_comments(text)),
        }
    }
}

/// The text with our entries, which run `command`. A blank text counts as an empty object.
pub fn register(text: &str, command: &str) -> Result<String, Unreadable> {
    let wanted = |event: &str| group(EventKind::of(event).row(), command);
    register_all(text, Grammar::Json, EVENTS.iter().map(|kind| kind.name), &wanted)
}

/// The text with these entries for these events, and no other entries of ours.
pub fn register_all<'e>(
    text: &str,
    grammar: Grammar,
    events: impl Iterator<Item = &'e str>,
    wanted: Wanted,
) -> Result<String, Unreadable> {
    let mut text = if text.trim().is_empty() { "{}\n".to_owned() } else { text.to_owned() };
    check_in(&text, grammar)?;
    while let Some(cleaner) = less_one(&text, Some(wanted), &|_| false) {
        text = cleaner;
    }
    for event in events {
        if let Some(group) = wanted(event) {
            text = set(&text, event, &group)?;
        }
    }
    Ok(text)
}

/// The text without our entries. Lists and objects that become empty are removed too, unless `original`, the
/// text from before the installation, contains them.
pub fn unregister(text: &str, original: Option<&str>) -> Result<String, Unreadable> {
    unregister_in(text, Grammar::Json, original)
}

/// The same for a text in this grammar.
pub fn unregister_in(text: &str, grammar: Grammar, original: Option<&str>) -> Result<String, Unreadable> {
    let mut text = text.to_owned();
    if text.trim().is_empty() {
        return Ok(text);
    }
    check_in(&text, grammar)?;
    let before = original.filter(|text| check_in(text, grammar).is_ok());
    let hooks = before.and_then(|text| Some((text, member(text, &edit::document(text), "hooks")?.value)));
    let had = |event: Option<&str>| match (&hooks, event) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some((text, hooks)), Some(event)) => member(text, hooks, event).is_some(),
    };
    while let Some(cleaner) = less_one(&text, None, &had) {
        text = cleaner;
    }
    if grammar == Grammar::Commented {
        // Only Claude Code has the other parts.
        return Ok(text);
    }
    let had_env = before.is_some_and(|text| member(text, &edit::document(text), "env").is_some());
    let text = prefix::without_prefix(&without_status_line(&text), had_env);
    Ok(deny::without_denied(&text, before))
}

fn check(text: &str) -> Result<Range<usize>, Unreadable> {
    check_in(text, Grammar::Json)
}

fn check_in(text: &str, grammar: Grammar) -> Result<Range<usize>, Unreadable> {
    let json = grammar.plain(text.trim_start_matches(BOM));
    if let Err(error) = serde_json::from_str::<&serde_json::value::RawValue>(&json) {
        let said = error.to_string();
        let words = said.split(" at line ").next().unwrap_or_default().to_owned();
        return Err(Unreadable { line: error.line(), column: error.column(), words });
    }
    let root = edit::document(text);
    expect(text, &root, '{', "the settings must be an object")?;
    Ok(root)
}

fn expect(text: &str, span: &Range<usize>, opening: char, words: &str) -> Result<(), Unreadable> {
    if text[span.start..].starts_with(opening) {
        return Ok(());
    }
    let (line, column) = position(text, span.start);
    Err(Unreadable { line, column, words: words.to_owned() })
}

/// Puts our entry into one event's list: keeps it if it is there, or replaces an older one, or appends it.
fn set(text: &str, event: &str, group: &Group) -> Result<String, Unreadable> {
    let root = edit::document(text);
    let Some(hooks) = member(text, &root, "hooks") else {
        let all = BTreeMap::from([(event, [group])]);
        return Ok(edit::append(text, &root, &root, Some("hooks"), &all));
    };
    expect(text, &hooks.value, '{', "`hooks` must be an object")?;
    let Some(list) = member(text, &hooks.value, event) else {
        return Ok(edit::append(text, &root, &hooks.value, Some(event), &[group]));
    };
    expect(text, &list.value, '[', &format!("`hooks.{event}` must be a list"))?;
    let groups = parts(text, &list.value);
    match keeper(text, &groups, Some(group)) {
        None => Ok(edit::append(text, &root, &list.value, None, group)),
        Some(n) if edit::is(&text[groups[n].value.clone()], group) => Ok(text.to_owned()),
        Some(n) => Ok(edit::replace(text, &root, &groups[n].value, group)),
    }
}

/// The group for our entry: the one that contains it already, or else the first without a foreign hook.
fn keeper(text: &str, groups: &[JsonPart], wanted: Option<&Group>) -> Option<usize> {
    let wanted = wanted?;
    let same = groups.iter().position(|group| edit::is(&text[group.value.clone()], wanted));
    same.or_else(|| groups.iter().position(|group| all_ours(text, group)))
}

/// Removes one superfluous entry of ours; `None` if there is none. With `wanted`, one entry per event stays.
fn less_one(text: &str, wanted: Option<Wanted>, had: &dyn Fn(Option<&str>) -> bool) -> Option<String> {
    let root = edit::document(text);
    let top = parts(text, &root);
    for (h, hooks) in top.iter().enumerate().filter(|(_, part)| part.name == "hooks") {
        let events = parts(text, &hooks.value);
        for (e, event) in events.iter().enumerate() {
            let wanted = wanted.and_then(|wanted| wanted(&event.name));
            let groups = parts(text, &event.value);
            let stays = keeper(text, &groups, wanted.as_ref());
            for (g, group) in groups.iter().enumerate().filter(|(g, _)| Some(*g) != stays) {
                if all_ours(text, group) {
                    if groups.len() > 1 || had(Some(&event.name)) {
                        return Some(edit::without(text, &event.value, &groups, g));
                    } else if events.len() > 1 || had(None) {
                        return Some(edit::without(text, &hooks.value, &events, e));
                    }
                    return Some(edit::without(text, &root, &top, h));
                }
                let Some(list) = member(text, &group.value, "hooks") else { continue };
                let held = parts(text, &list.value);
                if let Some(n) = held.iter().position(|hook| is_ours(&text[hook.value.clone()])) {
                    return Some(edit::without(text, &list.value, &held, n));
                }
            }
        }
    }
    None
}

fn all_ours(text: &str, group: &JsonPart) -> bool {
    let held = member(text, &group.value, "hooks").map(|list| parts(text, &list.value)).unwrap_or_default();
    !held.is_empty() && held.iter().all(|hook| is_ours(&text[hook.value.clone()]))
}

#[cfg(test)]
mod tests;

#[derive(Debug, Default)]
pub struct Survey {
    pub ours: Vec<Registered>,
    pub disabled: bool,
    pub managed_only: bool,
    /// IDs of plugins, each with whether it is switched on.
    pub plugins: Vec<(String, bool)>,
    /// Entries that the client does not accept: their position, and what is required there.
    pub odd: Vec<(String, &'static str)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Registered {
    pub event: String,
    pub command: String,
    /// Arguments in exec form; without them a shell runs the command.
    pub args: Option<Vec<String>>,
    pub timeout: Option<f64>,
    /// Limit, in tokens, for what the model reads of its text; a key of another client.
    pub limit: Option<u64>,
    /// The index of its group in the event, and of the hook in that group.
    pub at: (usize, usize),
    /// The entry is what `register` would write today for this program.
    pub current: bool,
}

impl Registered {
    /// The program's path, also if it is part of a shell line.
    pub fn program(&self) -> &str {
        program(&self.command, self.args.is_some())
    }
}

pub fn survey(text: &str) -> Result<Survey, Unreadable> {
    survey_in(text, Grammar::Json)
}

pub fn survey_in(text: &str, grammar: Grammar) -> Result<Survey, Unreadable> {
    let mut found = Survey::default();
    if text.trim().is_empty() {
        return Ok(found);
    }
    let root = check_in(text, grammar)?;
    let truth = |name| member(text, &root, name).is_some_and(|part| &text[part.value] == "true");
    found.disabled = truth("disableAllHooks");
    found.managed_only = truth("allowManagedHooksOnly");
    found.odd = odd::entries(text);
    if let Some(plugins) = member(text, &root, "enabledPlugins") {
        let on = |part: JsonPart| (part.name, &text[part.value] == "true");
        found.plugins = parts(text, &plugins.value).into_iter().map(on).collect();
    }
    let Some(hooks) = member(text, &root, "hooks") else { return Ok(found) };
    for event in parts(text, &hooks.value) {
        for (g, group) in parts(text, &event.value).into_iter().enumerate() {
            let Some(list) = member(text, &group.value, "hooks") else { continue };
            let held = parts(text, &list.value);
            let ours = held.iter().enumerate();
            for (h, mut one) in
                ours.filter_map(|(h, hook)| Some((h, read(&event.name, &text[hook.value.clone()])?)))
            {
                one.at = (g, h);
                one.current = held.len() == 1 && is_current(&one, &text[group.value.clone()]);
                found.ours.push(one);
            }
        }
    }
    Ok(found)
}

fn is_current(one: &Registered, found: &str) -> bool {
    let kind = EVENTS.iter().find(|kind| kind.name == one.event);
    kind.and_then(|kind| group(kind, &one.command)).is_some_and(|wanted| edit::is(found, &wanted))
}

fn read(event: &str, hook: &str) -> Option<Registered> {
    let hook: Value = serde_json::from_str(&edit::without_comments(hook)).ok()?;
    let command = hook.get("command")?.as_str()?.to_owned();
    let args = hook.get("args").and_then(Value::as_array).map(|args| {
        args.iter().map(|arg| arg.as_str().map_or_else(|| arg.to_string(), str::to_owned)).collect()
    });
    let timeout = hook.get("timeout").and_then(Value::as_f64);
    let limit = hook.get("additionalContextLimit").and_then(Value::as_u64);
    let one =
        Registered { event: event.to_owned(), command, args, timeout, limit, at: (0, 0), current: false };
    let name = one.program().rsplit('/').next().unwrap_or_default();
    let link = name.strip_prefix(PROGRAM).and_then(|rest| rest.strip_prefix('-'));
    let ours = name == PROGRAM || link.is_some_and(|rest| EVENTS.iter().any(|kind| kind.name == rest));
    ours.then_some(one)
}

fn is_ours(hook: &str) -> bool {
    read("", hook).is_some()
}

/// In exec form the command is a path, otherwise the program is the first word of a shell line.
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

pub fn with_status_line(text: &str, command: &str) -> Result<String, Unreadable> {
    let root = check(text)?;
    let shown = Shown { r#type: "command", command: format!("{} statusline", quoted(command)) };
    Ok(match member(text, &root, KEY) {
        None => edit::append(text, &root, &root, Some(KEY), &shown),
        Some(part) if edit::is(&text[part.value.clone()], &shown) => text.to_owned(),
        Some(part) => edit::replace(text, &root, &part.value, &shown),
    })
}

fn without_status_line(text: &str) -> String {
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
pub fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}
