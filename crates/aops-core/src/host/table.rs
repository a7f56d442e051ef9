//! What each client can do at its events, and how it fails: measured by running it, with version and day. Where it keeps what
//! registers our hooks or takes them away, and how it is started so that they see it.
//!
//! Reads nothing, writes nothing. `docs/clients.md` is made from this table, and the entries that we register in other clients
//! than Claude Code. Invariant: every client has a row, and an answer to every question.

use crate::model::client::Client;
use std::fmt::Write;

/// One event of a client, by its own name.
#[derive(Debug)]
pub struct HostEvent {
    pub name: &'static str,
    /// What we call it.
    pub ours: &'static str,
    /// A refusal holds.
    pub refuses: bool,
    /// Takes text for the model.
    pub context: bool,
    /// Takes words for the person.
    pub speaks: bool,
    /// Seconds that the client waits for the hook; 0: not registered.
    pub timeout: u32,
}

#[derive(Debug)]
pub struct Host {
    pub client: Client,
    pub title: &'static str,
    /// The version that was measured, and when.
    pub measured: (&'static str, &'static str),
    /// It ends a turn by itself that was refused its end too often.
    pub caps_stops: bool,
    /// A call has an id; else we make one.
    pub names_calls: bool,
    /// Empty for Claude Code, whose events are `EVENTS`.
    pub events: &'static [HostEvent],
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
    /// In the order of `QUESTIONS`.
    pub answers: [&'static str; QUESTIONS.len()],
}

pub const QUESTIONS: [&str; 13] = [
    "recognised by",
    "how a call is blocked",
    "what a passing call prints",
    "if the hook crashes",
    "if the hook is too slow",
    "a call that needs approval (`ask`)",
    "calls have an id",
    "who makes a call",
    "an agent's verdict arrives with",
    "the end of a turn can be blocked",
    "how often in a row",
    "tokens come from",
    "an administrator's file",
];

const fn event(name: &'static str, refuses: bool, context: bool, timeout: u32) -> HostEvent {
    HostEvent { name, ours: name, refuses, context, speaks: true, timeout }
}

/// One that we only look at.
const fn observed(name: &'static str, timeout: u32) -> HostEvent {
    HostEvent { name, ours: name, refuses: false, context: false, speaks: false, timeout }
}

/// Every event of Codex 0.166.0, in the order of a session.
static CODEX: &[HostEvent] = &[
    event("SessionStart", false, true, 15),
    event("UserPromptSubmit", true, true, 600),
    // Says nothing that the next one does not.
    observed("PreModelRequest", 0),
    observed("PostModelRequest", 10),
    event("PreToolUse", true, true, 600),
    event("PermissionRequest", true, false, 10),
    event("PostToolUse", false, true, 10),
    event("SubagentStart", false, true, 10),
    event("SubagentStop", true, false, 15),
    event("PreCompact", false, false, 10),
    event("PostCompact", false, false, 10),
    event("Stop", true, false, 600),
    // The client waits three seconds at most for these two.
    observed("Interrupt", 3),
    observed("SessionEnd", 3),
];

/// The events of Copilot CLI 1.0.102 that we look at, by their names in Claude's dialect.
static COPILOT: &[HostEvent] = &[
    event("SessionStart", false, true, 15),
    event("UserPromptSubmit", true, true, 600),
    event("PreToolUse", true, true, 600),
    // Asks once more about a call that was let go.
    observed("PermissionRequest", 0),
    event("PostToolUse", false, true, 10),
    observed("PostToolUseFailure", 10),
    event("SubagentStart", false, true, 10),
    event("SubagentStop", true, false, 15),
    observed("PreCompact", 10),
    event("Stop", true, false, 600),
    observed("SessionEnd", 10),
];

/// What our plugin in OpenCode 1.18.33 asks about; it waits as long as it takes.
static OPENCODE: &[HostEvent] = &[
    event("SessionStart", false, true, 600),
    event("UserPromptSubmit", true, true, 600),
    event("PreToolUse", true, false, 600),
    event("PostToolUse", false, true, 600),
    event("SubagentStart", false, true, 600),
    // Its words are added to what the agent said, which has ended.
    event("SubagentStop", true, false, 600),
    event("Stop", true, false, 600),
];

const fn named(name: &'static str, ours: &'static str, refuses: bool, context: bool, timeout: u32) -> HostEvent {
    HostEvent { name, ours, refuses, context, speaks: false, timeout }
}

/// The events of Gemini CLI 0.61.0 that we look at. Those around the model carry the whole conversation each time.
static GEMINI: &[HostEvent] = &[
    // What it is told here is put before the prompt, which would then begin with it.
    observed("SessionStart", 15),
    named("BeforeAgent", "UserPromptSubmit", true, true, 600),
    observed("BeforeModel", 0),
    observed("AfterModel", 0),
    observed("BeforeToolSelection", 0),
    named("BeforeTool", "PreToolUse", true, false, 600),
    named("AfterTool", "PostToolUse", false, true, 10),
    // Before every request, whether or not something is compressed.
    observed("PreCompress", 0),
    named("AfterAgent", "Stop", true, false, 600),
    observed("SessionEnd", 10),
];

/// The events of Qwen Code 0.24.4 that we look at.
static QWEN: &[HostEvent] = &[
    event("SessionStart", false, true, 15),
    event("UserPromptSubmit", true, true, 600),
    event("PreToolUse", true, true, 600),
    event("PostToolUse", false, true, 10),
    observed("PostToolUseFailure", 10),
    event("SubagentStart", false, true, 10),
    event("SubagentStop", true, false, 15),
    observed("PreCompact", 10),
    event("Stop", true, false, 600),
    observed("SessionEnd", 10),
];

#[rustfmt::skip]
pub static HOSTS: &[Host] = &[
    Host {
        client: Client::Claude, title: "Claude Code", measured: ("2.1.325", "2026-11"), caps_stops: true, names_calls: true, events: &[],
        registration: "settings.json", managed: "", guards: &[], in_project: &[], agents: ("agents/", ".md"),
        variables: &["CLAUDE_CONFIG_DIR"], verbs: &[], drops: &[],
        answers: [
            "`CLAUDECODE`, `CLAUDE_CODE_SESSION_ID`, or its payload", "JSON and exit 2", "nothing",
            "blocked (`onFailure`)", "blocked (`onFailure`)", "asks; blocked without a person", "yes", "`agent_id`",
            "SubagentStop", "yes", "the client stops after 8", "transcript", "`/etc/claude-code/managed-settings.json`",
        ],
    },
    Host {
        client: Client::Codex, title: "Codex CLI", measured: ("0.166.0", "2026-11"), caps_stops: false, names_calls: true, events: CODEX,
        registration: "hooks.json", managed: "/etc/codex/hooks.json", guards: &["hooks.json", "config.toml"],
        in_project: &[".codex/hooks.json", ".codex/config.toml"], agents: ("agents/", ".toml"),
        variables: &["CODEX_HOME"], verbs: &["exec", "e", "review"],
        drops: &["--ignore-user-config", "-c", "--config", "--enable", "--disable", "-p", "--profile", "--remote"],
        answers: [
            "`--client codex` in its registration", "exit 2 and text on stderr", "nothing",
            "**passes**", "**passes**", "**would run it**: we block", "yes", "`agent_id`",
            "SubagentStop", "yes", "we stop after 8", "PostModelRequest, rollout files", "`/etc/codex/hooks.json`, `requirements.toml`",
        ],
    },
    Host {
        client: Client::Copilot, title: "Copilot CLI", measured: ("1.0.102", "2026-11"), caps_stops: true, names_calls: false, events: COPILOT,
        registration: "hooks/aops-hook.json", managed: "/etc/github-copilot/policy.d/aops-hook.json", guards: &["hooks/", "settings.json"],
        in_project: &[".github/copilot/settings.json", ".github/copilot/settings.local.json"], agents: ("agents/", ".agent.md"),
        variables: &["COPILOT_HOME"], verbs: &[], drops: &["--config-dir", "--acp", "--server"],
        answers: [
            "`--client copilot` in its registration", "JSON and exit 2", "nothing",
            "blocked", "**passes**", "asks; blocked without a terminal", "no: we add one", "`agent_id`, `parent_agent_id`",
            "SubagentStop", "JSON only", "the client stops after 8", "events.jsonl", "`/etc/github-copilot/policy.d`",
        ],
    },
    Host {
        client: Client::Opencode, title: "OpenCode", measured: ("1.18.33", "2026-11"), caps_stops: false, names_calls: true, events: OPENCODE,
        registration: "plugins/aops-hook.js", managed: "/etc/opencode/opencode.json",
        guards: &["plugins/", "plugin/", "opencode.json", "opencode.jsonc", "config.json"],
        in_project: &[".opencode/plugins/", ".opencode/plugin/"], agents: ("agents/", ".md"),
        variables: &["OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "OPENCODE_PURE", "XDG_CONFIG_HOME"],
        verbs: &["run"], drops: &["--pure", "--attach"],
        answers: [
            "`--client opencode` in our plugin", "an exception of our plugin", "nothing",
            "blocked", "no limit", "we block", "yes", "a child session",
            "after the `task` tool", "**not in `opencode run`**", "we stop after 8", "not read", "`/etc/opencode/opencode.json`",
        ],
    },
    Host {
        client: Client::Gemini, title: "Gemini CLI", measured: ("0.61.0", "2026-11"), caps_stops: false, names_calls: false, events: GEMINI,
        registration: "settings.json", managed: "/etc/gemini-cli/settings.json", guards: &["settings.json", "trustedFolders.json"],
        in_project: &[".gemini/settings.json"], agents: ("", ""),
        variables: &["GEMINI_CLI_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH"], verbs: &[], drops: &["-e", "--extensions", "--acp"],
        answers: [
            "`--client gemini` in its registration", "JSON, exit 2 and text", "nothing",
            "**passes**", "**passes**", "**would hang**: we block", "no: we add one", "**unknown**",
            "**not read**: no loop", "yes", "we stop after 8", "not read", "`/etc/gemini-cli/settings.json`",
        ],
    },
    Host {
        client: Client::Qwen, title: "Qwen Code", measured: ("0.24.4", "2026-11"), caps_stops: false, names_calls: true, events: QWEN,
        registration: "settings.json", managed: "", guards: &["settings.json", "trustedFolders.json"],
        in_project: &[".qwen/settings.json"], agents: ("", ""), variables: &["QWEN_HOME"], verbs: &[],
        drops: &["--bare", "--acp", "-e", "--extensions"],
        answers: [
            "`--client qwen` in its registration", "JSON and exit 2", "nothing",
            "not measured", "not measured", "not measured", "yes", "`agent_id`",
            "**not read**: no loop", "yes", "we stop after 8", "not read", "not measured",
        ],
    },
];

/// The events of this client that we are registered for.
pub fn registered(client: Client) -> impl Iterator<Item = &'static HostEvent> {
    host(client).events.iter().filter(|event| event.timeout > 0)
}

/// The row of this client.
pub fn host(client: Client) -> &'static Host {
    HOSTS.iter().find(|host| host.client == client).unwrap_or(&HOSTS[0])
}

/// The event of this client that we call by this name.
pub fn event_of(client: Client, name: &str) -> Option<&'static HostEvent> {
    host(client).events.iter().find(|event| event.ours == name)
}

/// The tables of `docs/clients.md`.
pub fn page() -> String {
    let mut text = String::from("| |");
    for host in HOSTS {
        let _ = write!(text, " {} {} |", host.title, host.measured.0);
    }
    let _ = write!(text, "\n|---|{}\n| our adapter |{}", "---|".repeat(HOSTS.len()), " yes |".repeat(HOSTS.len()));
    for (n, question) in QUESTIONS.iter().enumerate() {
        let _ = write!(text, "\n| {question} |");
        for host in HOSTS {
            let _ = write!(text, " {} |", host.answers[n]);
        }
    }
    for host in HOSTS.iter().filter(|host| !host.events.is_empty()) {
        let _ = write!(
            text,
            "\n\n### {}\n\n| event | can be blocked | reaches the model | time limit in seconds |\n|---|---|---|--:|",
            host.title
        );
        for event in host.events {
            let yes = |is: bool| if is { "yes" } else { "" };
            let seconds = if event.timeout > 0 { event.timeout.to_string() } else { "not registered".to_owned() };
            let _ = write!(text, "\n| {} | {} | {} | {seconds} |", event.name, yes(event.refuses), yes(event.context));
        }
    }
    text + "\n"
}
