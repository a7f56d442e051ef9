//! Our agents as Codex keeps them: `agents/<name>.toml` with name, description and instructions.
//!
//! Reads and gives texts. Invariant: the instructions are the shipped ones, word for word.

use crate::config::texts::{self, Kind};
use crate::text::json::quoted;
use toml::de::DeTable;

/// The file of each of our agents: its name below the client's folder, and its text.
pub fn files() -> Vec<(String, String)> {
    let ours = texts::placed().filter(|asset| asset.kind() == Kind::Agent);
    ours.map(|asset| (format!("agents/{}.toml", asset.id()), file(asset.id(), asset.text))).collect()
}

fn file(name: &str, text: &str) -> String {
    let (front, body) = split(text);
    let described = front.lines().find_map(|line| line.strip_prefix("description:")).unwrap_or_default().trim();
    let description = described.trim_matches('"');
    format!(
        "name = {}\ndescription = {}\ndeveloper_instructions = {}\n",
        quoted(name),
        quoted(description),
        quoted(body.trim())
    )
}

/// The name that Codex knows an agent's file by.
pub fn name(text: &str) -> Option<String> {
    Some(DeTable::parse(text).ok()?.get_ref().get("name")?.get_ref().as_str()?.to_owned())
}

/// The file of the agent of this name is the one that we place.
pub fn is_ours(name: &str, text: &str) -> bool {
    files().iter().any(|(path, own)| *path == format!("agents/{name}.toml") && own == text)
}

fn split(text: &str) -> (&str, &str) {
    let rest = text.strip_prefix("---\n").unwrap_or(text);
    rest.split_once("\n---\n").unwrap_or(("", rest))
}
