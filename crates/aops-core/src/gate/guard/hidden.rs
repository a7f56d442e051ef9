//! Searches text that we cannot parse for protected names: programs for interpreters, lines that are not
//! shell.

use super::path::Protected;
use super::process;
use crate::host::table::host;
use crate::model::agent::AGENTS;
use crate::model::client::Client;
use crate::model::event::EVENTS;
use crate::tool::targets::Hidden;
use aops_shell::verbs::{VERBS, Who};

/// Words that remove a folder, in shells and in programs.
const REMOVING: [&str; 22] = [
    "rm", "rmdir", "unlink", "shred", "mv", "move", "rename", "ren", "del", "rd", "ri", "mi", "erase",
    "trash", "rmtree", "rmsync", "rm_rf", "rm_r", "remove-item", "move-item", "rename-item", "chmod",
];
/// A program without any of these words starts no other program.
const RUNNING: [&str; 8] = ["subprocess", "system", "exec", "spawn", "popen", "`", "shell", "command"];

/// Names that are protected in any context.
const ALONE: [&str; 8] = [
    ".claude.json", "settings.local.json", "managed-settings.json", "session-state.json", "ledger.jsonl",
    "heads.jsonl", "disableallhooks", "clear-block",
];

/// The protected thing that this text names.
pub(super) fn named(protected: &Protected, hidden: &Hidden) -> Option<String> {
    let (Hidden::Line(text) | Hidden::Program(text)) = hidden;
    let text = text.to_lowercase();
    let ends = match hidden {
        Hidden::Line(_) => process::named_in(&text),
        Hidden::Program(_) => !protected.own_alone && process::ended_by(protected, &text),
    };
    if ends {
        return Some("the client's process".to_owned());
    }
    let runs = matches!(hidden, Hidden::Line(_)) || RUNNING.iter().any(|sign| text.contains(sign));
    if let Some(verb) = verb(&text).filter(|_| runs) {
        return Some(format!("aops-hook {verb}"));
    }
    if protected.own_alone { own(protected, &text) } else { anything(protected, &text) }
}

/// Names anything that guards, or that can switch us off.
fn anything(protected: &Protected, text: &str) -> Option<String> {
    if words(text).any(|word| REMOVING.contains(&word)) && folder(protected, text) {
        return Some(".claude".to_owned());
    }
    if let Some(name) = ALONE.iter().find(|name| text.contains(*name)) {
        return Some((*name).to_owned());
    }
    if text.match_indices(".aops").any(|(at, name)| ends_name(&text[at + name.len()..])) {
        return Some(".aops".to_owned());
    }
    let config = protected.config.to_lowercase();
    let in_config = text.contains(".claude") || text.contains("claude_config_dir") || within(text, &config);
    if in_config && text.contains("settings") && text.contains("json") {
        return Some(".claude/settings.json".to_owned());
    }
    if let Some(file) = protected.clients.iter().find_map(|(client, base)| of_client(*client, base, text)) {
        return Some(file);
    }
    let named = |file: &String| text.contains("agents") && text.contains(file);
    if let Some(file) = AGENTS.iter().map(|agent| format!("{}.md", agent.name)).find(named) {
        return Some(format!("agents/{file}"));
    }
    let folders = [
        protected.user_config.to_lowercase(),
        format!("{config}/aops"),
        ".config/aops".to_owned(),
        ".claude/aops".to_owned(),
        ".claude/checkpoints".to_owned(),
    ];
    if let Some(folder) = folders.into_iter().find(|folder| within(text, folder)) {
        return Some(folder);
    }
    let binaries = protected.binaries.iter().map(|path| path.to_lowercase());
    binaries.chain([".local/bin/aops-hook".to_owned()]).find(|path| within(text, path))
}

/// In mode `observe`: our record, our keys, our program or a file that registers us.
fn own(protected: &Protected, text: &str) -> Option<String> {
    const RECORD: [&str; 3] = ["session-state.json", "ledger.jsonl", "heads.jsonl"];
    let named = RECORD.iter().find(|name| text.contains(*name)).map(|name| (*name).to_owned());
    let places =
        [protected.user_config.clone(), format!("{}/aops", protected.config), ".claude/aops".to_owned()];
    let places = places.into_iter().chain(protected.binaries.iter().chain(&protected.registered).cloned());
    let mut places = places.map(|place| place.to_lowercase()).chain([".local/bin/aops-hook".to_owned()]);
    named.or_else(|| places.find(|place| within(text, place)))
}

/// A file of another client that registers our hooks or can remove them.
fn of_client(client: Client, base: &str, text: &str) -> Option<String> {
    let host = host(client);
    let folder = base.rsplit('/').next().unwrap_or_default().to_lowercase();
    let moved = host.variables.first().is_some_and(|name| text.contains(&name.to_lowercase()));
    if folder.is_empty() || !(text.contains(&folder) || moved) {
        return None;
    }
    let file = host.guards.iter().find(|file| text.contains(file.trim_end_matches('/')))?;
    Some(format!("{folder}/{file}"))
}

/// After our program's name: a verb that only a person may use, or an event's name.
fn verb(text: &str) -> Option<&str> {
    let behind = &text[text.find("aops-hook")?..];
    let has = |wanted: &str| words(behind).any(|word| word == wanted);
    let needs_person = |word: &str| {
        VERBS.iter().filter(|verb| verb.who != Who::Anyone).any(|verb| match verb.name.split_once(' ') {
            Some((first, second)) => second == word && has(first),
            None => verb.name == word,
        })
    };
    let is_event = |word: &str| EVENTS.iter().any(|event| event.name.eq_ignore_ascii_case(word));
    words(behind).find(|word| needs_person(word) || is_event(word))
}

/// Claude Code's folder as a whole, or the folder of its sessions.
fn folder(protected: &Protected, text: &str) -> bool {
    let config = protected.config.to_lowercase();
    [".claude", config.as_str(), "claude_config_dir"].iter().filter(|name| name.len() > 1).any(|name| {
        text.match_indices(name).any(|(at, _)| {
            let rest = text[at + name.len()..].trim_start_matches(['/', '}', '"', '\'']);
            !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
                || rest.starts_with("projects")
        })
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_'))).filter(|word| !word.is_empty())
}

fn within(text: &str, path: &str) -> bool {
    path.len() > 1 && text.match_indices(path).any(|(at, _)| ends_name(&text[at + path.len()..]))
}

/// The name ends here: the next character does not belong to it.
fn ends_name(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_'))
}
