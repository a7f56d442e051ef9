//! The facts about Copilot CLI, and its events.

use crate::host::contract::{AgentFiles, HostEvent, HostRow, IN_MARKDOWN, event, observed};
use crate::model::client::Client;

/// The events of Copilot CLI 1.0.102 that we use, by their names in Claude's format.
static COPILOT: &[HostEvent] = &[
    event("SessionStart", false, true, 15),
    event("UserPromptSubmit", true, true, 600),
    event("PreToolUse", true, true, 600),
    // Only asks again about a call that was allowed.
    observed("PermissionRequest", 0),
    event("PostToolUse", false, true, 10),
    observed("PostToolUseFailure", 10),
    event("SubagentStart", false, true, 10),
    event("SubagentStop", true, false, 15),
    observed("PreCompact", 10),
    event("Stop", true, false, 600),
    observed("SessionEnd", 10),
];

const AGENTS: AgentFiles = AgentFiles {
    place: ("agents/", ".agent.md"),
    in_project: &[".github/agents", ".claude/agents"],
    ..IN_MARKDOWN
};

#[rustfmt::skip]
pub static ROW: HostRow = HostRow {
    client: Client::Copilot, title: "Copilot CLI", measured: ("1.0.102", "2026-11"), events: COPILOT,
    registration: "hooks/aops-hook.json", managed: "/etc/github-copilot/policy.d/aops-hook.json", guards: &["hooks/", "settings.json"],
    in_project: &[".github/copilot/settings.json", ".github/copilot/settings.local.json"], agents: AGENTS,
    variables: &["COPILOT_HOME"], bypass: &[], verbs: &[], drops: &["--config-dir", "--acp", "--server"],
    answers: [
        "`--client copilot` in its registration", "JSON and exit 2", "nothing",
        "blocked", "**passes**", "asks; blocked without a terminal", "no: we add one", "`agent_id`, `parent_agent_id`",
        "SubagentStop", "JSON only", "the client stops after 8", "events.jsonl", "`/etc/github-copilot/policy.d`",
        "`session-state/…/events.jsonl`",
    ],
};
