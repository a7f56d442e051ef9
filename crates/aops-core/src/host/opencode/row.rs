//! The facts about OpenCode, and its events.

use crate::host::contract::{AgentFiles, HostEvent, HostRow, IN_MARKDOWN, event, observed};
use crate::model::client::Client;

/// The events about which our plugin in OpenCode 1.18.33 asks us. It waits for as long as we take.
static OPENCODE: &[HostEvent] = &[
    event("SessionStart", false, true, 600),
    event("UserPromptSubmit", true, true, 600),
    observed("PostModelRequest", 600),
    event("PreToolUse", true, false, 600),
    event("PostToolUse", false, true, 600),
    event("SubagentStart", false, true, 600),
    // Our text is added to the message of the agent, which has already ended.
    event("SubagentStop", true, false, 600),
    event("Stop", true, false, 600),
];

const AGENTS: AgentFiles =
    AgentFiles { in_project: &[".opencode/agents", ".opencode/agent"], text: agent, ..IN_MARKDOWN };

fn agent(_: &str, description: &str, body: &str) -> String {
    format!("---\ndescription: {description}\nmode: subagent\n---\n\n{body}\n")
}

#[rustfmt::skip]
pub static ROW: HostRow = HostRow {
    client: Client::Opencode, title: "OpenCode", measured: ("1.18.33", "2026-11"), events: OPENCODE,
    registration: "plugins/aops-hook.js", managed: "/etc/opencode/opencode.json",
    guards: &["plugins/", "plugin/", "opencode.json", "opencode.jsonc", "config.json"],
    in_project: &[".opencode/plugins/", ".opencode/plugin/"], agents: AGENTS,
    variables: &["OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "OPENCODE_PURE", "XDG_CONFIG_HOME"],
    bypass: &["OPENCODE_PURE"], verbs: &["run"], drops: &["--pure", "--attach"],
    answers: [
        "`--client opencode` in our plugin", "an exception of our plugin", "nothing",
        "blocked", "no limit", "we block", "yes", "a child session",
        "after the `task` tool", "**not in `opencode run`**", "we stop after 8", "PostModelRequest", "`/etc/opencode/opencode.json`",
        "**none**: its database is counted",
    ],
};
