//! Makes up one harmless event of each kind, in the form the client sends.
//!
//! Reads nothing, writes nothing. Invariant: every event of the table has a payload; one without fields of
//! its own has the common ones.

use crate::cli::merge;
use aops_core::model::event::EventKind;
use serde_json::{Value, json};
use std::path::Path;

/// The fields of a kind, in addition to the common ones.
pub(super) fn of(event: &str, project: &Path) -> Value {
    use EventKind as E;
    let file = project.join("README.md");
    let kind = EventKind::of(event);
    match kind {
        E::Setup => json!({"trigger": "init"}),
        E::SessionStart => json!({"source": "startup"}),
        E::SessionEnd => json!({"reason": "other"}),
        E::InstructionsLoaded => {
            json!({"file_path": file, "memory_type": "Project", "load_reason": "session_start"})
        }
        E::UserPromptSubmit => json!({"prompt": "is everything well?"}),
        E::UserPromptExpansion => json!({
            "expansion_type": "slash_command", "command_name": "help", "command_args": "",
            "command_source": "builtin", "prompt": "/help",
        }),
        E::SubagentStart => json!({"agent_id": "doctor", "agent_type": "Explore"}),
        E::SubagentStop => json!({
            "agent_id": "doctor", "agent_type": "Explore", "stop_hook_active": false,
            "last_assistant_message": "well",
        }),
        E::Stop => json!({"stop_hook_active": false, "last_assistant_message": "well"}),
        E::StopFailure => json!({"error": "unknown", "error_details": "", "last_assistant_message": ""}),
        E::TaskCreated | E::TaskCompleted => {
            json!({"task_id": "1", "task_subject": "look", "task_description": "look"})
        }
        E::TeammateIdle => json!({"teammate_name": "doctor", "team_name": "doctor"}),
        E::Notification => json!({"message": "well", "title": "doctor", "notification_type": "idle_prompt"}),
        E::Elicitation => json!({"mcp_server_name": "doctor", "message": "well?", "mode": "form"}),
        E::ElicitationResult => json!({"mcp_server_name": "doctor", "mode": "form", "action": "decline"}),
        E::ConfigChange => {
            json!({"source": "skills", "file_path": project.join(".claude/skills/look/SKILL.md")})
        }
        E::CwdChanged => json!({"old_cwd": project, "new_cwd": project}),
        E::DirectoryAdded => json!({"directory": project, "source": "command"}),
        E::FileChanged => json!({"file_path": file, "event": "change"}),
        E::PreModelSwitch | E::PostModelSwitch => {
            json!({"from_model": "a", "to_model": "b", "source": "command"})
        }
        E::PreCompact => json!({"trigger": "manual", "custom_instructions": null}),
        E::PostCompact => json!({"trigger": "manual", "compact_summary": "none"}),
        _ => of_call(kind, &file),
    }
}

/// The fields of a kind that reports a tool call.
fn of_call(kind: EventKind, file: &Path) -> Value {
    use EventKind as E;
    let call = |id: &str, more: Value| {
        merge(json!({"tool_name": "Read", "tool_input": {"file_path": file}, "tool_use_id": id}), more)
    };
    let read = |more: Value| call("toolu_doctor", more);
    match kind {
        E::PreToolUse => read(json!({})),
        E::PermissionRequest => {
            json!({"tool_name": "Read", "tool_input": {"file_path": file}, "permission_suggestions": []})
        }
        E::PermissionDenied => call("toolu_denied", json!({"reason": "none"})),
        E::PostToolUse => read(json!({"tool_response": {"type": "text"}, "duration_ms": 1})),
        E::PostToolUseFailure => {
            call("toolu_failed", json!({"error": "none", "is_interrupt": false, "duration_ms": 1}))
        }
        E::PostToolBatch => json!({"tool_calls": [read(json!({"tool_response": "none"}))]}),
        _ => json!({}),
    }
}
