//! The clients whose events we know.
//!
//! Reads nothing, writes nothing. The table in `host` says what each can do. Invariant: only Claude Code
//! needs no registration of its own; every other client counts only if it was registered by name.

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

/// What a client can do, checked before we rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// It limits by itself how often the end of a turn can be refused.
    CapsStops,
    /// Its calls have IDs; otherwise we make one.
    NamesCalls,
    /// It can start our agents.
    StartsAgents,
    /// If a project's file takes the name of one of our agents, that agent can be started by its second name.
    RenamesAgents,
    /// It reports the exit code of a shell command.
    TellsExits,
    /// Its transcript records who interrupted a turn, and what a person answered.
    RecordsPersons,
    /// We store a session's record next to its transcript.
    HoldsRecords,
    /// It asks a person at its terminal, or accepts our answer in their place.
    AsksPersons,
    /// It sends `SessionStart` before anything else, however a session begins.
    SendsStarts,
    /// It starts shell commands through a program that its settings name.
    StartsShellsThroughUs,
    /// It types into a running command without asking a hook.
    TypesUnasked,
    /// It reads the project's `AGENTS.md` by itself.
    ReadsAgentsPage,
}

/// The facts about a client that are needed before its folder in `host` is asked: who it is, where its files
/// are, what it can do.
#[derive(Debug)]
pub struct ClientRow {
    pub client: Client,
    /// The name that others use for its main agent.
    pub agent_name: &'static str,
    /// The provider of its models, in the terms of OpenTelemetry's conventions.
    pub provider: &'static str,
    /// Its configuration folder: the variable that moves it, its default below the home, and what is appended
    /// to either.
    pub folder: [&'static str; 3],
    /// Variables that it sets for everything that it starts.
    pub sets: &'static [&'static str],
    /// An administrator's folders for it, below `/etc` or `/Library/Application Support`.
    pub system: &'static [&'static str],
    /// Names of its packages, and other names that start it.
    pub packages: &'static [&'static str],
    pub abilities: &'static [Ability],
}

use Ability::{
    AsksPersons, CapsStops, HoldsRecords, NamesCalls, ReadsAgentsPage, RecordsPersons, RenamesAgents,
    SendsStarts, StartsAgents, StartsShellsThroughUs, TellsExits, TypesUnasked,
};

/// In the order of `Client`.
pub static CLIENTS: [ClientRow; Client::ALL.len()] = [
    ClientRow {
        client: Client::Claude,
        agent_name: "claude-code",
        provider: "anthropic",
        folder: ["CLAUDE_CONFIG_DIR", ".claude", ""],
        sets: &["CLAUDECODE", "CLAUDE_PID", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION"],
        system: &["claude-code", "claudecode"],
        packages: &[],
        abilities: &[
            CapsStops, NamesCalls, StartsAgents, RenamesAgents, TellsExits, RecordsPersons, HoldsRecords,
            AsksPersons, SendsStarts, StartsShellsThroughUs,
        ],
    },
    ClientRow {
        client: Client::Codex,
        agent_name: "codex",
        provider: "openai",
        folder: ["CODEX_HOME", ".codex", ""],
        sets: &["CODEX_SANDBOX", "CODEX_THREAD_ID"],
        system: &["codex"],
        packages: &["@openai/codex"],
        abilities: &[NamesCalls, StartsAgents, TypesUnasked, ReadsAgentsPage],
    },
    ClientRow {
        client: Client::Copilot,
        agent_name: "copilot",
        provider: UNKNOWN,
        folder: ["COPILOT_HOME", ".copilot", ""],
        sets: &[],
        system: &["github-copilot"],
        packages: &["@github/copilot"],
        abilities: &[CapsStops, StartsAgents, ReadsAgentsPage],
    },
    ClientRow {
        client: Client::Opencode,
        agent_name: "opencode",
        provider: UNKNOWN,
        folder: ["XDG_CONFIG_HOME", ".config", "opencode"],
        sets: &["OPENCODE"],
        system: &["opencode"],
        packages: &["opencode-ai"],
        abilities: &[NamesCalls, StartsAgents, ReadsAgentsPage],
    },
    ClientRow {
        client: Client::Gemini,
        agent_name: "gemini-cli",
        provider: "gcp.gemini",
        folder: ["GEMINI_CLI_HOME", "", ".gemini"],
        sets: &["GEMINI_CLI"],
        system: &["gemini-cli"],
        packages: &["@google/gemini-cli"],
        abilities: &[ReadsAgentsPage],
    },
    ClientRow {
        client: Client::Qwen,
        agent_name: "qwen-code",
        provider: "qwen",
        folder: ["", ".qwen", ""],
        sets: &["QWEN_CODE"],
        system: &[],
        packages: &["qwen-code", "@qwen-code/qwen-code"],
        abilities: &[NamesCalls, ReadsAgentsPage],
    },
];

const UNKNOWN: &str = "unknown";

impl Client {
    /// The option of a registration that names the client.
    pub const OPTION: &str = "--client";

    pub fn row(self) -> &'static ClientRow {
        &CLIENTS[self as usize]
    }

    pub fn can(self, ability: Ability) -> bool {
        self.row().abilities.contains(&ability)
    }

    /// It counts only if it was registered by name: true for every client but Claude Code.
    pub fn is_registered_by_name(self) -> bool {
        self != Self::default()
    }

    /// The clients that are registered by name, without this one.
    pub fn others_by_name(self) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |other| other.is_registered_by_name() && *other != self)
    }

    /// What the registration of this client appends to the event: ` --client codex`, or nothing.
    pub fn option(self) -> String {
        if self.is_registered_by_name() {
            format!(" {} {}", Self::OPTION, self.name())
        } else {
            String::new()
        }
    }

    /// The provider of a model, in the terms of OpenTelemetry's conventions; for an unknown model, the
    /// client's own.
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
            // Many providers offer such models.
            None if !model.is_empty() => UNKNOWN,
            None => self.row().provider,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_its_own_row() {
        assert_eq!(CLIENTS.each_ref().map(|row| row.client), Client::ALL);
    }

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
