//! Our entries in `hooks.json`, as Codex reads them.
//!
//! Reads text, gives text. Invariant: foreign entries stay as they are; what is registered follows from the table.

use super::trust::{Trust, trust};
use crate::host::claude::settings::{Group, Hook, Registered, Unreadable, quoted, register_all, survey, unregister};
use crate::host::table::{self, HostEvent};
use crate::model::client::Client;
use std::path::Path;

/// Tokens of context that the model may read: what we inject is shorter than this.
const CONTEXT: u32 = 6_000;

/// The file below the client's folder.
pub const FILE: &str = "hooks.json";

fn events() -> impl Iterator<Item = &'static HostEvent> {
    table::host(Client::Codex).events.iter().filter(|event| event.timeout > 0)
}

/// The entry of this event, which runs this program.
fn group(program: &str, event: &str) -> Option<Group> {
    let row = events().find(|row| row.name == event)?;
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
    register_all(text, events().map(|row| row.name), &|event| group(program, event))
}

pub fn without(text: &str, original: Option<&str>) -> Result<String, Unreadable> {
    unregister(text, original)
}

/// Our entries in this text.
pub fn ours(text: &str) -> Result<Vec<Registered>, Unreadable> {
    Ok(survey(text)?.ours)
}

/// The trust that our entries of this file need. `file`: its absolute path.
pub fn trusts(text: &str, file: &str) -> Result<Vec<Trust>, Unreadable> {
    Ok(ours(text)?.iter().map(|one| trust(file, one)).collect())
}

/// The events that no entry of ours is registered for.
pub fn missing(text: &str) -> Result<Vec<&'static str>, Unreadable> {
    let ours = ours(text)?;
    Ok(events().map(|row| row.name).filter(|name| ours.iter().all(|one| one.event != *name)).collect())
}

/// We are registered in the client's folder.
pub fn is_registered(folder: &Path) -> bool {
    let text = std::fs::read_to_string(folder.join(FILE)).unwrap_or_default();
    ours(&text).is_ok_and(|ours| !ours.is_empty())
}
