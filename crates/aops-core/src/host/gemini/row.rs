//! The facts about Gemini CLI and Qwen Code, and their events.

use crate::host::contract::{HostEvent, HostRow, NO_AGENTS, event, named, observed};
use crate::model::client::Client;

/// The events of Gemini CLI 0.61.0 that we use. The events around a model request contain the whole
/// conversation each time.
static GEMINI_EVENTS: &[HostEvent] = &[
    // Gemini would put our text in front of the prompt, which would then begin with it.
    observed("SessionStart", 15),
    named("BeforeAgent", "UserPromptSubmit", true, true, 600),
    observed("BeforeModel", 0),
    observed("AfterModel", 0),
    observed("BeforeToolSelection", 0),
    named("BeforeTool", "PreToolUse", true, false, 600),
    named("AfterTool", "PostToolUse", false, true, 10),
    // Sent before every request, whether or not something is compressed.
    observed("PreCompress", 0),
    named("AfterAgent", "Stop", true, false, 600),
    observed("SessionEnd", 10),
];

/// The events of Qwen Code 0.24.4 that we use.
static QWEN_EVENTS: &[HostEvent] = &[
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
pub static GEMINI: HostRow = HostRow {
    client: Client::Gemini, title: "Gemini CLI", measured: ("0.61.0", "2026-11"), events: GEMINI_EVENTS,
    registration: "settings.json", managed: "/etc/gemini-cli/settings.json", guards: &["settings.json", "trustedFolders.json"],
    in_project: &[".gemini/settings.json"], agents: NO_AGENTS,
    variables: &["GEMINI_CLI_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH"],
    bypass: &["GEMINI_CLI_SYSTEM_SETTINGS_PATH"], verbs: &[], drops: &["-e", "--extensions", "--acp"],
    answers: [
        "`--client gemini` in its registration", "JSON, exit 2 and text", "nothing",
        "**passes**", "**passes**", "**would hang**: we block", "no: we add one", "**unknown**",
        "**not read**: no loop", "yes", "we stop after 8", "its chat file", "`/etc/gemini-cli/settings.json`",
        "**none**: its chats are counted",
    ],
};

#[rustfmt::skip]
pub static QWEN: HostRow = HostRow {
    client: Client::Qwen, title: "Qwen Code", measured: ("0.24.4", "2026-11"), events: QWEN_EVENTS,
    registration: "settings.json", managed: "", guards: &["settings.json", "trustedFolders.json"],
    in_project: &[".qwen/settings.json"], agents: NO_AGENTS, variables: &["QWEN_HOME"], bypass: &[], verbs: &[],
    drops: &["--bare", "--acp", "-e", "--extensions"],
    answers: [
        "`--client qwen` in its registration", "JSON and exit 2", "nothing",
        "not measured", "not measured", "not measured", "yes", "`agent_id`",
        "**not read**: no loop", "yes", "we stop after 8", "its chat file", "not measured",
        "**none**: its chats are counted",
    ],
};
