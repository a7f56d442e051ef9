//! Where each client keeps what registers our hooks or takes them away, and how it is started so that they see it.
//!
//! Reads nothing, writes nothing. Invariant: every client that we can be registered in has a row.

use crate::model::client::Client;

#[derive(Debug)]
pub struct Places {
    pub client: Client,
    /// What we are registered in, below its folder.
    pub registration: &'static str,
    /// What an administrator registers us in for everybody; empty where there is no such file, or where it is ours alone.
    pub managed: &'static str,
    /// What can take our hooks away, below its folder and in a project; a folder ends with a slash.
    pub guards: &'static [&'static str],
    pub in_project: &'static [&'static str],
    /// The file of one of our agents, below its folder: what stands before its name, and after.
    pub agents: (&'static str, &'static str),
    /// Variables that move its folder or leave its hooks out; the first names the folder, where one does.
    pub variables: &'static [&'static str],
    /// Its commands that our hooks see, each as the first word; empty: any first word is well.
    pub verbs: &'static [&'static str],
    /// Options that leave our hooks out, or may.
    pub drops: &'static [&'static str],
}

#[rustfmt::skip]
static PLACES: &[Places] = &[
    Places {
        client: Client::Claude, registration: "settings.json", managed: "", guards: &[], in_project: &[], agents: ("agents/", ".md"),
        variables: &["CLAUDE_CONFIG_DIR"], verbs: &[], drops: &[],
    },
    Places {
        client: Client::Codex, registration: "hooks.json", managed: "/etc/codex/hooks.json", guards: &["hooks.json", "config.toml"],
        in_project: &[".codex/hooks.json", ".codex/config.toml"], agents: ("agents/", ".toml"),
        variables: &["CODEX_HOME"], verbs: &["exec", "e", "review"],
        drops: &["--ignore-user-config", "-c", "--config", "--enable", "--disable", "-p", "--profile", "--remote"],
    },
    Places {
        client: Client::Copilot, registration: "hooks/aops-hook.json", managed: "/etc/github-copilot/policy.d/aops-hook.json", guards: &["hooks/", "settings.json"],
        in_project: &[".github/copilot/settings.json", ".github/copilot/settings.local.json"], agents: ("agents/", ".agent.md"),
        variables: &["COPILOT_HOME"], verbs: &[], drops: &["--config-dir", "--acp", "--server"],
    },
    Places {
        client: Client::Opencode, registration: "plugins/aops-hook.js", managed: "/etc/opencode/opencode.json",
        guards: &["plugins/", "plugin/", "opencode.json", "opencode.jsonc", "config.json"],
        in_project: &[".opencode/plugins/", ".opencode/plugin/"], agents: ("agents/", ".md"),
        variables: &["OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "OPENCODE_PURE", "XDG_CONFIG_HOME"],
        verbs: &["run"], drops: &["--pure", "--attach"],
    },
    Places {
        client: Client::Gemini, registration: "settings.json", managed: "/etc/gemini-cli/settings.json", guards: &["settings.json", "trustedFolders.json"],
        in_project: &[".gemini/settings.json"], agents: ("", ""),
        variables: &["GEMINI_CLI_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH"], verbs: &[], drops: &["-e", "--extensions", "--acp"],
    },
    Places {
        client: Client::Qwen, registration: "settings.json", managed: "", guards: &["settings.json", "trustedFolders.json"],
        in_project: &[".qwen/settings.json"], agents: ("", ""), variables: &["QWEN_HOME"], verbs: &[],
        drops: &["--bare", "--acp", "-e", "--extensions"],
    },
];

/// The row of this client; nothing where we cannot be registered in it.
pub fn places(client: Client) -> Option<&'static Places> {
    PLACES.iter().find(|places| places.client == client)
}
