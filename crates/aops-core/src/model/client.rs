//! The clients whose events we know.
//!
//! Reads nothing, writes nothing. What each can do is the table in `host`. Invariant: Claude Code is the one
//! that needs no registration of its own; every other counts only where it was registered by name.

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

/// What a client can do, where we ask before we rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// It ends a turn by itself that was refused its end too often.
    CapsStops,
    /// A call has an id; else we make one.
    NamesCalls,
    /// It can start agents that are ours.
    StartsAgents,
    /// One of ours that lost its name to a file of the project can be started by a second one.
    RenamesAgents,
    /// It says how a shell command ended.
    TellsExits,
    /// Its transcript says who interrupted a turn, and what a person answered.
    RecordsPersons,
    /// What we record of a session lies beside its transcript.
    HoldsRecords,
    /// It asks a person at its terminal, or is told our answer in their place.
    AsksPersons,
    /// It sends `SessionStart` before all else, however a session comes to it.
    SendsStarts,
    /// It starts shell commands through a program that its settings name.
    StartsShellsThroughUs,
    /// It types into a running command without asking a hook.
    TypesUnasked,
    /// It reads the project's `AGENTS.md` by itself.
    ReadsAgentsPage,
}

/// What is to be known of a client before its folder in `host` is asked: who it is, where its files are, what
/// it can do.
#[derive(Debug)]
pub struct ClientRow {
    pub client: Client,
    /// What its main agent is called by others.
    pub agent_name: &'static str,
    /// Whose models it asks, by the names of OpenTelemetry's conventions.
    pub provider: &'static str,
    /// Its configuration: the variable that moves it, what it is below the home without, and what follows
    /// either.
    pub folder: [&'static str; 3],
    /// What it sets for everything that it starts.
    pub sets: &'static [&'static str],
    /// An administrator's folders for it, below `/etc` or `/Library/Application Support`.
    pub system: &'static [&'static str],
    /// Its packages, and other names that start it.
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

    /// Counts only where it was registered by name: every client but Claude Code.
    pub fn is_registered_by_name(self) -> bool {
        self != Self::default()
    }

    /// The clients that are registered by name, but for this one.
    pub fn others_by_name(self) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |other| other.is_registered_by_name() && *other != self)
    }

    /// What the registration of this client says after the event: ` --client codex`, or nothing.
    pub fn option(self) -> String {
        if self.is_registered_by_name() {
            format!(" {} {}", Self::OPTION, self.name())
        } else {
            String::new()
        }
    }

    /// Whose model it is, by the names of OpenTelemetry's conventions; of a model that is not known, the
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
            // Their models are many people's.
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
