//! Makes up one harmless event of each kind, in the form the client sends.
//!
//! Reads nothing, writes nothing. Invariant: every event of the table has a payload; one without fields of its own has
//! the common ones.

use serde_json::{Map, Value, json};
use std::path::Path;

/// One event as the client would write it to the hook's stdin.
pub(super) fn of(event: &str, session: &str, config: &Path, project: &Path) -> Vec<u8> {
    let name: String =
        project.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let transcript = config.join("projects").join(name).join(format!("{session}.jsonl"));
    let mut all = json!({
        "session_id": session, "transcript_path": transcript, "cwd": project, "hook_event_name": event,
        "prompt_id": "doctor", "permission_mode": "default",
    });
    if let (Some(all), Value::Object(own)) = (all.as_object_mut(), own(event, project)) {
        all.extend(own);
    }
    format!("{all}\n").into_bytes()
}

/// The fields a kind has beside the common ones.
fn own(event: &str, project: &Path) -> Value {
    let file = project.join("README.md");
    let (input, call) = (json!({"file_path": file}), "toolu_doctor");
    match event {
        "Setup" => json!({"trigger": "init"}),
        "SessionStart" => json!({"source": "startup"}),
        "SessionEnd" => json!({"reason": "other"}),
        "InstructionsLoaded" => {
            json!({"file_path": file, "memory_type": "Project", "load_reason": "session_start"})
        }
        "UserPromptSubmit" => json!({"prompt": "is everything well?"}),
        "UserPromptExpansion" => {
            json!({"expansion_type": "slash_command", "command_name": "help", "command_args": "", "command_source": "builtin", "prompt": "/help"})
        }
        "PreToolUse" => json!({"tool_name": "Read", "tool_input": input, "tool_use_id": call}),
        "PermissionRequest" => {
            json!({"tool_name": "Read", "tool_input": input, "permission_suggestions": []})
        }
        "PermissionDenied" => {
            json!({"tool_name": "Read", "tool_input": input, "tool_use_id": "toolu_denied", "reason": "none"})
        }
        "PostToolUse" => {
            json!({"tool_name": "Read", "tool_input": input, "tool_use_id": call, "tool_response": {"type": "text"}, "duration_ms": 1})
        }
        "PostToolUseFailure" => {
            json!({"tool_name": "Read", "tool_input": input, "tool_use_id": "toolu_failed", "error": "none", "is_interrupt": false, "duration_ms": 1})
        }
        "PostToolBatch" => {
            json!({"tool_calls": [{"tool_name": "Read", "tool_input": input, "tool_use_id": call, "tool_response": "none"}]})
        }
        "SubagentStart" => json!({"agent_id": "doctor", "agent_type": "Explore"}),
        "SubagentStop" => {
            json!({"agent_id": "doctor", "agent_type": "Explore", "stop_hook_active": false, "last_assistant_message": "well"})
        }
        "Stop" => json!({"stop_hook_active": false, "last_assistant_message": "well"}),
        "StopFailure" => json!({"error": "unknown", "error_details": "", "last_assistant_message": ""}),
        "TaskCreated" | "TaskCompleted" => {
            json!({"task_id": "1", "task_subject": "look", "task_description": "look"})
        }
        "TeammateIdle" => json!({"teammate_name": "doctor", "team_name": "doctor"}),
        "Notification" => json!({"message": "well", "title": "doctor", "notification_type": "idle_prompt"}),
        "Elicitation" => json!({"mcp_server_name": "doctor", "message": "well?", "mode": "form"}),
        "ElicitationResult" => json!({"mcp_server_name": "doctor", "mode": "form", "action": "decline"}),
        "ConfigChange" => {
            json!({"source": "skills", "file_path": project.join(".claude/skills/look/SKILL.md")})
        }
        "CwdChanged" => json!({"old_cwd": project, "new_cwd": project}),
        "DirectoryAdded" => json!({"directory": project, "source": "command"}),
        "FileChanged" => json!({"file_path": file, "event": "change"}),
        "PreModelSwitch" | "PostModelSwitch" => {
            json!({"from_model": "a", "to_model": "b", "source": "command"})
        }
        "PreCompact" => json!({"trigger": "manual", "custom_instructions": null}),
        "PostCompact" => json!({"trigger": "manual", "compact_summary": "none"}),
        _ => Value::Object(Map::new()),
    }
}
