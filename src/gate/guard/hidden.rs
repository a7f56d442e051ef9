//! Looks for protected names in text that cannot be followed: programs for interpreters, lines that are no shell.

use super::place::{AGENTS, Protected};

/// Names that are enough by themselves.
const ALONE: [&str; 8] = [
    ".claude.json",
    "settings.local.json",
    "managed-settings.json",
    "session-state.json",
    "ledger.jsonl",
    "heads.jsonl",
    "disableallhooks",
    "clear-block",
];

/// The protected thing this text names.
pub(super) fn mark(protected: &Protected, text: &str) -> Option<String> {
    let text = text.to_lowercase();
    if let Some(name) = ALONE.iter().find(|name| text.contains(*name)) {
        return Some((*name).to_owned());
    }
    if text.match_indices(".aops").any(|(at, name)| ends_name(&text[at + name.len()..])) {
        return Some(".aops".to_owned());
    }
    let config = protected.config.to_lowercase();
    let in_config = text.contains(".claude") || text.contains("claude_config_dir") || within(&text, &config);
    if in_config && text.contains("settings") && text.contains("json") {
        return Some(".claude/settings.json".to_owned());
    }
    if let Some(agent) =
        AGENTS.iter().find(|agent| text.contains("agents") && text.contains(&format!("{agent}.md")))
    {
        return Some(format!("agents/{agent}.md"));
    }
    let folders = [
        protected.user_config.to_lowercase(),
        format!("{config}/aops"),
        ".config/aops".to_owned(),
        ".claude/aops".to_owned(),
        ".claude/checkpoints".to_owned(),
    ];
    if let Some(folder) = folders.into_iter().find(|folder| within(&text, folder)) {
        return Some(folder);
    }
    let binaries = protected.binaries.iter().map(|path| path.to_lowercase());
    binaries.chain([".local/bin/aops-hook".to_owned()]).find(|path| within(&text, path))
}

fn within(text: &str, path: &str) -> bool {
    path.len() > 1 && text.match_indices(path).any(|(at, _)| ends_name(&text[at + path.len()..]))
}

/// What follows is not part of the name.
fn ends_name(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_'))
}
