//! Writes our agents in each other client's own format: name, description and instructions.
//!
//! Writes and parses texts. Invariant: the instructions are the shipped ones, word for word.

use super::table::host;
use crate::config::texts::{self, Kind};
use crate::model::client::Client;
use crate::text::json::quoted;
use toml::de::DeTable;

/// The file of each of our agents: its path below the client's folder, and its text.
pub fn files(client: Client) -> Vec<(String, String)> {
    let (before, after) = host(client).agents.place;
    let ours = texts::placed().filter(|asset| asset.kind() == Kind::Agent && !before.is_empty());
    ours.map(|asset| (format!("{before}{}{after}", asset.id()), file(client, asset.id(), asset.text)))
        .collect()
}

fn file(client: Client, name: &str, text: &str) -> String {
    let (front, body) = split(text);
    let described =
        front.lines().find_map(|line| line.strip_prefix("description:")).unwrap_or_default().trim();
    let name = quoted(name);
    let description = quoted(described.trim_matches('"'));
    let body = body.trim();
    (host(client).agents.text)(&name, &description, body)
}

/// The name in an agent's file that is TOML.
pub fn name(text: &str) -> Option<String> {
    Some(DeTable::parse(text).ok()?.get_ref().get("name")?.get_ref().as_str()?.to_owned())
}

/// This is the text of one of our agents, as we install it for this client.
pub fn is_ours(client: Client, text: &str) -> bool {
    files(client).iter().any(|(_, own)| own == text)
}

/// The head of an agent's file, and its instructions; a text without a head consists only of instructions.
pub fn split(text: &str) -> (&str, &str) {
    let parts = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    parts.unwrap_or(("", text))
}
