//! The facts about Codex CLI, and its events.

use crate::host::contract::{AgentFiles, HostEvent, HostRow, event, observed};
use crate::model::client::Client;
use crate::text::json::quoted;

/// Every event of Codex 0.166.0, in the order of a session.
static CODEX: &[HostEvent] = &[
    event("SessionStart", false, true, 15),
    event("UserPromptSubmit", true, true, 600),
    // Contains nothing that the next event does not.
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
    // The client waits at most three seconds for these two.
    observed("Interrupt", 3),
    observed("SessionEnd", 3),
];

const AGENTS: AgentFiles =
    AgentFiles { place: ("agents/", ".toml"), in_project: &[".codex/agents"], ending: "toml", text: agent };

fn agent(name: &str, description: &str, body: &str) -> String {
    format!("name = {name}\ndescription = {description}\ndeveloper_instructions = {}\n", quoted(body))
}

#[rustfmt::skip]
pub static ROW: HostRow = HostRow {
    client: Client::Codex, title: "Codex CLI", measured: ("0.166.0", "2026-11"), events: CODEX,
    registration: "hooks.json", managed: "/etc/codex/hooks.json", guards: &["hooks.json", "config.toml"],
    in_project: &[".codex/hooks.json", ".codex/config.toml"], agents: AGENTS,
    variables: &["CODEX_HOME"], bypass: &[], verbs: &["exec", "e", "review"],
    drops: &["--ignore-user-config", "-c", "--config", "--enable", "--disable", "-p", "--profile", "--remote"],
    answers: [
        "`--client codex` in its registration", "exit 2 and text on stderr", "nothing",
        "**passes**", "**passes**", "**would run it**: we block", "yes", "`agent_id`",
        "SubagentStop", "yes", "we stop after 8", "PostModelRequest, rollout files", "`/etc/codex/hooks.json`, `requirements.toml`",
        "`sessions/…/rollout-*.jsonl`",
    ],
};
