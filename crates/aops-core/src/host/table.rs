//! The list of clients. `docs/clients.md` is generated from their rows.
//!
//! Reads nothing, writes nothing. Invariant: every client has a row, and an answer to every question.

use super::claude_code::ClaudeCode;
use super::codex::Codex;
use super::contract::{Host, HostRow, QUESTIONS};
use super::copilot::Copilot;
use super::gemini::{Gemini, Qwen};
use super::opencode::Opencode;
use crate::model::client::Client;
use std::fmt::Write;

/// In the order of `Client`.
pub static HOSTS: [&dyn Host; Client::ALL.len()] = [&ClaudeCode, &Codex, &Copilot, &Opencode, &Gemini, &Qwen];

/// The implementation for this client.
pub fn adapter(client: Client) -> &'static dyn Host {
    HOSTS[client as usize]
}

pub fn host(client: Client) -> &'static HostRow {
    adapter(client).row()
}

pub fn rows() -> impl Iterator<Item = &'static HostRow> {
    HOSTS.iter().map(|host| host.row())
}

/// The tables of `docs/clients.md`.
pub fn page() -> String {
    let mut text = String::from("| |");
    for host in rows() {
        let _ = write!(text, " {} {} |", host.title, host.measured.0);
    }
    let _ = write!(
        text,
        "\n|---|{}\n| our adapter |{}",
        "---|".repeat(HOSTS.len()),
        " yes |".repeat(HOSTS.len())
    );
    for (n, question) in QUESTIONS.iter().enumerate() {
        let _ = write!(text, "\n| {question} |");
        for host in rows() {
            let _ = write!(text, " {} |", host.answers[n]);
        }
    }
    for host in rows().filter(|host| !host.events.is_empty()) {
        let _ = write!(
            text,
            "\n\n### {}\n\n| event | can be blocked | reaches the model | time limit in seconds |\n|---|---|---|--:|",
            host.title
        );
        for event in host.events {
            let yes = |is: bool| if is { "yes" } else { "" };
            let seconds =
                if event.timeout > 0 { event.timeout.to_string() } else { "not registered".to_owned() };
            let _ = write!(
                text,
                "\n| {} | {} | {} | {seconds} |",
                event.name,
                yes(event.refuses),
                yes(event.context)
            );
        }
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_is_in_its_place() {
        assert_eq!(HOSTS.map(|host| host.row().client), Client::ALL);
    }
}
