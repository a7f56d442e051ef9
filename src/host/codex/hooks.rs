//! Our entries in `hooks.json`, as Codex reads them.
//!
//! Reads text, gives text. Invariant: foreign entries stay as they are; what is registered follows from the table.

use super::trust::{Trust, holds, trust};
use crate::host::claude::settings::{Group, Hook, Registered, Unreadable, quoted, register_all, survey};
use crate::host::table;
use crate::model::client::Client;
use std::fs;
use std::path::Path;

/// Tokens of context that the model may read: what we inject is shorter than this.
const CONTEXT: u32 = 6_000;

/// The file below the client's folder.
pub const FILE: &str = "hooks.json";

/// The entry of this event, which runs this program.
fn group(program: &str, event: &str) -> Option<Group> {
    let row = table::registered(Client::Codex).find(|row| row.name == event)?;
    let hook = Hook {
        r#type: "command",
        command: format!("{} {} {} {}", quoted(program), row.name, Client::OPTION, Client::Codex.name()),
        timeout: row.timeout,
        additional_context_limit: row.context.then_some(CONTEXT),
        ..Hook::default()
    };
    Some(Group { hooks: [hook] })
}

/// The text with our entries, which run this program.
pub fn register(text: &str, program: &str) -> Result<String, Unreadable> {
    register_all(text, table::registered(Client::Codex).map(|row| row.name), &|event| group(program, event))
}

/// Our entries in this text.
pub fn ours(text: &str) -> Result<Vec<Registered>, Unreadable> {
    Ok(survey(text)?.ours)
}

/// The trust that our entries of this file need. `file`: its absolute path.
pub fn trusts(text: &str, file: &str) -> Result<Vec<Trust>, Unreadable> {
    Ok(ours(text)?.iter().map(|one| trust(file, one)).collect())
}

/// Codex trusts every entry of ours in this file.
pub fn is_trusted(folder: &Path, text: &str) -> bool {
    let path = folder.join(FILE);
    let real = path.canonicalize().unwrap_or(path);
    let config = fs::read_to_string(folder.join("config.toml")).unwrap_or_default();
    trusts(text, &real.display().to_string()).is_ok_and(|trusts| holds(&config, &trusts))
}
