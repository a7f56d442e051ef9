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

    /// What its main agent is called by others.
    pub fn agent_name(self) -> &'static str {
        match self {
            Self::Claude => "claude-code",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini-cli",
            Self::Qwen => "qwen-code",
        }
    }

    /// Whose model it is, by the names of OpenTelemetry's conventions; of a model that is not known, the client's own.
    pub fn provider_of(self, model: Option<&str>) -> &'static str {
        const MODELS: [(&str, &str); 13] = [
            ("claude", "anthropic"),
            ("gpt", "openai"),
            ("codex", "openai"),
            ("gemini", "gcp.gemini"),
            ("qwen", "qwen"),
            ("grok", "x_ai"),
            ("mistral", "mistral_ai"),
            ("devstral", "mistral_ai"),
            ("deepseek", "deepseek"),
            ("command-r", "cohere"),
            ("kimi", "moonshot"),
            ("glm", "zhipu"),
            ("llama", "meta"),
        ];
        let model = model.map(str::to_lowercase).unwrap_or_default();
        let is_openai =
            || ["o1", "o3", "o4"].iter().any(|name| model == *name || model.starts_with(&format!("{name}-")));
        match MODELS.iter().find(|(name, _)| model.contains(name)) {
            Some((_, provider)) => provider,
            None if is_openai() => "openai",
            // Their models are many people's.
            None if !model.is_empty() => "unknown",
            None => match self {
                Self::Claude => "anthropic",
                Self::Codex => "openai",
                Self::Gemini => "gcp.gemini",
                Self::Qwen => "qwen",
                Self::Copilot | Self::Opencode => "unknown",
            },
        }
    }

    /// It can start agents that are ours.
    pub fn has_agents(self) -> bool {
        !matches!(self, Self::Gemini | Self::Qwen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_its_provider_whatever_client_asks_it() {
        for (client, model, want) in [
            (Client::Claude, Some("claude-opus-5-5"), "anthropic"),
            (Client::Claude, None, "anthropic"),
            (Client::Copilot, Some("claude-sonnet-5"), "anthropic"),
            (Client::Copilot, Some("gpt-6"), "openai"),
            (Client::Copilot, None, "unknown"),
            (Client::Codex, Some("gpt-6-codex"), "openai"),
            (Client::Codex, None, "openai"),
            (Client::Opencode, Some("o3-mini"), "openai"),
            (Client::Opencode, Some("somebody/new"), "unknown"),
            (Client::Gemini, Some("gemini-3-pro"), "gcp.gemini"),
            (Client::Qwen, Some("Qwen3-Coder"), "qwen"),
        ] {
            assert_eq!(client.provider_of(model), want, "{client:?} {model:?}");
        }
    }
}
