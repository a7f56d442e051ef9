//! The clients whose events we know.
//!
//! Reads nothing, writes nothing. What each can do is the table in `host`. Invariant: Claude Code is the one that needs no
//! registration of its own; every other counts only where it was registered by name.

use crate::model::named::named;

named! {
    /// A program that runs us at its events.
    #[derive(Default)]
    pub enum Client {
        #[default]
        Claude = "claude",
        Codex = "codex",
        Copilot = "copilot",
        Opencode = "opencode",
        Gemini = "gemini",
        Qwen = "qwen",
    }
}

impl Client {
    /// The option of a registration that names the client.
    pub const OPTION: &str = "--client";

    /// It can start agents that are ours.
    pub fn has_agents(self) -> bool {
        !matches!(self, Self::Gemini | Self::Qwen)
    }
}
