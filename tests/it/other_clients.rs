//! Clients that read Claude's settings and are not Claude Code: their events pass, unjudged and unrecorded.
//! Whatever Claude Code itself sends is still refused where it cannot be read.

use crate::support::{Answer, BINARY, Sandbox};
use serde_json::{Value, json};

/// One event of another client: who, how it runs us (`None`: it drops `args`), its variables, its payload.
struct Foreign {
    client: &'static str,
    event: Option<&'static str>,
    variables: &'static [(&'static str, &'static str)],
    payload: Value,
}

const COPILOT: &[(&str, &str)] = &[
    ("COPILOT_CLI", "1"),
    ("COPILOT_CLI_BINARY_VERSION", "1.0.102"),
    ("COPILOT_PROJECT_DIR", "/p"),
    ("CLAUDE_PROJECT_DIR", "/p"),
];
const CURSOR: &[(&str, &str)] =
    &[("CURSOR_PROJECT_DIR", "/p"), ("CURSOR_VERSION", "2.0"), ("CLAUDE_PROJECT_DIR", "/p")];
const GEMINI: &[(&str, &str)] =
    &[("GEMINI_SESSION_ID", "s"), ("GEMINI_PROJECT_DIR", "/p"), ("CLAUDE_PROJECT_DIR", "/p")];
const NONE: &[(&str, &str)] = &[];

/// The common fields of a client, and those of one event.
fn with(common: &Value, more: Value) -> Value {
    let mut payload = common.clone();
    if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
        payload.extend(more);
    }
    payload
}

/// Copilot CLI: the spelling of the event chooses the dialect, camel or snake.
fn copilot() -> Vec<(&'static str, Value)> {
    let camel = json!({"sessionId": "s", "timestamp": 1_768_298_400_000_u64, "cwd": "/p"});
    let snake = json!({"session_id": "s", "timestamp": "2026-01-13T10:00:00.000Z", "cwd": "/p"});
    let named = |name: &str, more: Value| with(&with(&snake, json!({"hook_event_name": name})), more);
    vec![
        ("SessionStart", with(&camel, json!({"source": "startup", "initialPrompt": "do it"}))),
        ("UserPromptSubmit", with(&camel, json!({"prompt": ". go"}))),
        ("PreToolUse", with(&camel, json!({"toolName": "bash", "toolArgs": {"command": "touch x"}}))),
        (
            "PermissionRequest",
            with(&camel, json!({"toolName": "bash", "toolInput": {}, "permissionSuggestions": []})),
        ),
        (
            "PostToolUse",
            with(
                &camel,
                json!({"toolName": "bash", "toolArgs": {}, "toolResult": {"resultType": "success"}}),
            ),
        ),
        (
            "Stop",
            with(
                &camel,
                json!({"transcriptPath": "/t", "stopReason": "end_turn", "stop_hook_active": false}),
            ),
        ),
        ("SubagentStop", with(&camel, json!({"agentName": "critic", "agentId": "a", "response": "BLOCK"}))),
        ("SessionEnd", with(&camel, json!({"reason": "complete"}))),
        ("SessionStart", named("SessionStart", json!({"source": "new"}))),
        ("UserPromptSubmit", named("UserPromptSubmit", json!({"prompt": "do it"}))),
        (
            "PreToolUse",
            named(
                "PreToolUse",
                json!({"tool_name": "Write", "tool_input": {"path": "/p/x", "file_text": "x"}}),
            ),
        ),
        (
            "PostToolUse",
            named("PostToolUse", json!({"tool_name": "Bash", "tool_input": {}, "tool_result": {}})),
        ),
        (
            "Stop",
            named(
                "Stop",
                json!({"transcript_path": "/h/.copilot/session-state/s/events.jsonl", "stop_hook_active": false}),
            ),
        ),
        ("PreCompact", named("PreCompact", json!({"trigger": "auto"}))),
    ]
}

fn vs_code() -> Vec<(&'static str, Value)> {
    let common = |name: &str| {
        json!({"timestamp": "2026-01-13T10:00:00.000Z", "cwd": "/p", "sessionId": "s", "hookEventName": name,
            "transcript_path": "/t.json"})
    };
    let call = json!({"tool_name": "create_file", "tool_input": {"filePath": "/p/x", "content": "x"}, "tool_use_id": "c"});
    vec![
        ("SessionStart", with(&common("SessionStart"), json!({"source": "new"}))),
        ("UserPromptSubmit", with(&common("UserPromptSubmit"), json!({"prompt": "do it"}))),
        ("PreToolUse", with(&common("PreToolUse"), call.clone())),
        ("PostToolUse", with(&common("PostToolUse"), call)),
        ("PreCompact", with(&common("PreCompact"), json!({"trigger": "auto"}))),
        ("SubagentStart", with(&common("SubagentStart"), json!({"agent_id": "a", "agent_type": "critic"}))),
        ("SubagentStop", with(&common("SubagentStop"), json!({"agent_id": "a", "agent_type": "critic"}))),
        ("Stop", with(&common("Stop"), json!({"stop_hook_active": false}))),
    ]
}

/// Cursor: its own names of the steps, a transcript that may be null.
fn cursor() -> Vec<(&'static str, Value)> {
    let common = |name: &str| {
        json!({"conversation_id": "c", "generation_id": "g", "model": "m", "session_id": "s", "hook_event_name": name,
            "cursor_version": "2.0", "workspace_roots": ["/p"], "user_email": null, "transcript_path": null})
    };
    let whole =
        |name: &str, more: Value| with(&with(&common(name), json!({"transcript_path": "/t.jsonl"})), more);
    let shell =
        json!({"tool_name": "Shell", "tool_input": {"command": "ls"}, "tool_use_id": "c", "cwd": "/p"});
    vec![
        ("SessionStart", with(&common("sessionStart"), json!({"is_background_agent": false}))),
        (
            "UserPromptSubmit",
            with(&common("beforeSubmitPrompt"), json!({"prompt": "do it", "attachments": []})),
        ),
        ("PreToolUse", with(&common("preToolUse"), shell.clone())),
        ("PostToolUse", with(&common("postToolUse"), shell.clone())),
        ("Stop", with(&common("stop"), json!({"status": "completed", "loop_count": 0}))),
        ("SubagentStop", with(&common("subagentStop"), json!({"subagent_type": "critic", "task": "t"}))),
        ("PreToolUse", whole("PreToolUse", shell)),
        ("Stop", whole("Stop", json!({"stop_hook_active": false}))),
    ]
}

/// Gemini and its fork keep Claude's snake case, with a time stamp, or lie in a folder of their own.
fn gemini_and_qwen() -> Vec<(&'static str, Value)> {
    let common = |name: &str, transcript: &str| json!({"session_id": "s", "transcript_path": transcript, "cwd": "/p", "hook_event_name": name});
    let stamp = json!({"timestamp": "2026-01-13T10:00:00.000Z"});
    let of_gemini = |name: &str, more: Value| {
        with(&with(&common(name, "/h/.gemini/tmp/x/chats/s.json"), stamp.clone()), more)
    };
    let of_qwen = |name: &str, more: Value| with(&common(name, "/h/.qwen/projects/-p/chats/s.jsonl"), more);
    let write = json!({"tool_name": "write_file", "tool_input": {"file_path": "/p/x", "content": "x"}});
    vec![
        ("SessionStart", of_gemini("SessionStart", json!({"source": "startup"}))),
        ("UserPromptSubmit", of_gemini("BeforeAgent", json!({"prompt": "do it"}))),
        ("PreToolUse", of_gemini("BeforeTool", write.clone())),
        (
            "PostToolUse",
            of_gemini("AfterTool", json!({"tool_name": "write_file", "tool_response": {"llmContent": "x"}})),
        ),
        (
            "Stop",
            of_gemini(
                "AfterAgent",
                json!({"prompt": "x", "prompt_response": "y", "stop_hook_active": false}),
            ),
        ),
        (
            "PreToolUse",
            of_qwen("PreToolUse", with(&write, json!({"tool_use_id": "c", "permission_mode": "yolo"}))),
        ),
        ("UserPromptSubmit", of_qwen("UserPromptSubmit", json!({"prompt": ""}))),
    ]
}

/// Codex: one turn has an id; the events outside of a turn are known by where the transcript lies, or lack
/// one.
fn codex() -> Vec<(&'static str, Value)> {
    let common = |name: &str, transcript: Value| {
        json!({"session_id": "s", "transcript_path": transcript, "cwd": "/p", "hook_event_name": name, "model": "gpt-6",
            "permission_mode": "default"})
    };
    let rollout = || json!("/h/.codex/sessions/2026/01/13/rollout-s.jsonl");
    let turn = |name: &str, more: Value| with(&with(&common(name, rollout()), json!({"turn_id": "t"})), more);
    let patch =
        json!({"tool_name": "apply_patch", "tool_input": {"command": "*** Begin Patch"}, "tool_use_id": "c"});
    vec![
        ("SessionStart", with(&common("SessionStart", rollout()), json!({"source": "startup"}))),
        ("SessionStart", with(&common("SessionStart", Value::Null), json!({"source": "fork"}))),
        ("SessionEnd", with(&common("SessionEnd", rollout()), json!({"reason": "other"}))),
        ("UserPromptSubmit", turn("UserPromptSubmit", json!({"prompt": "do it"}))),
        ("PreToolUse", turn("PreToolUse", patch.clone())),
        (
            "PermissionRequest",
            turn("PermissionRequest", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}})),
        ),
        ("PostToolUse", turn("PostToolUse", with(&patch, json!({"tool_response": "ok"})))),
        (
            "SubagentStop",
            turn(
                "SubagentStop",
                json!({"agent_id": "a", "agent_type": "critic", "last_assistant_message": "BLOCK"}),
            ),
        ),
        ("Stop", turn("Stop", json!({"stop_hook_active": false, "last_assistant_message": "done"}))),
    ]
}

/// What is no event at all, from a caller that does not say who it is.
fn noise() -> Vec<(&'static str, Value)> {
    let grok = json!({"event": "PreToolUse", "sessionId": "s", "tool": "bash"});
    vec![("PreToolUse", json!({})), ("PreToolUse", json!([])), ("Stop", json!("words")), ("PreToolUse", grok)]
}

fn all() -> Vec<Foreign> {
    let tables = [
        ("copilot", COPILOT, copilot()),
        ("vs code", NONE, vs_code()),
        ("cursor", CURSOR, cursor()),
        ("gemini", GEMINI, gemini_and_qwen()),
        ("codex", &[("CLAUDE_PLUGIN_ROOT", "/x"), ("PLUGIN_ROOT", "/x")], codex()),
        ("something", NONE, noise()),
    ];
    let both = |(client, variables, rows): (&'static str, &'static [_], Vec<(&'static str, Value)>)| {
        rows.into_iter().flat_map(move |(event, payload)| {
            [Some(event), None].map(|event| Foreign { client, event, variables, payload: payload.clone() })
        })
    };
    tables.into_iter().flat_map(both).collect()
}

fn run(
    sandbox: &Sandbox,
    event: Option<&str>,
    variables: &[(&str, &str)],
    given: impl Into<Vec<u8>>,
) -> Answer {
    let mut command = sandbox.command(BINARY);
    command.args(event).envs(variables.iter().copied()).write_stdin(given);
    Answer::of(event.unwrap_or_default(), &command.output().unwrap())
}

#[test]
fn an_event_of_another_client_passes_and_leaves_no_trace() {
    let sandbox = Sandbox::new();
    let before = sandbox.files();
    let played = all();
    assert_eq!(played.len(), 100, "each payload, with the event's name and bare");
    for Foreign { client, event, variables, payload } in played {
        let answer = run(&sandbox, event, variables, payload.to_string());
        let case = format!("{client} {event:?} {payload}: {answer:?}");
        assert_eq!((answer.code, answer.out.as_str()), (Some(0), ""), "{case}");
        assert_eq!(answer.err.lines().count(), 1, "{case}");
        assert!(answer.err.contains("not an event of Claude Code"), "{case}");
    }
    for words in ["", " ", "words", "{\"session_id\":", "\u{1b}[31m"] {
        for event in [Some("PreToolUse"), Some("Stop"), None] {
            let answer = run(&sandbox, event, NONE, words);
            assert!(answer.code == Some(0) && answer.out.is_empty(), "{words:?} {event:?}: {answer:?}");
            assert_eq!(answer.err.lines().count(), 1, "{words:?} {event:?}: {answer:?}");
        }
    }
    assert_eq!(sandbox.files(), before, "never recorded");
}

/// Each of the three variables says that Claude Code calls; then nothing unreadable passes a guarding event.
#[test]
fn claude_codes_own_events_still_fail_closed() {
    let sandbox = Sandbox::new();
    let before = sandbox.files();
    for variable in
        [("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "s"), ("AI_AGENT", "claude-code_2-1-325_harness")]
    {
        for payload in
            all().into_iter().filter(|foreign| foreign.client == "vs code").map(|foreign| foreign.payload)
        {
            run(&sandbox, Some("PreToolUse"), &[variable], payload.to_string()).refused(&["INPUT_INVALID"]);
        }
        for words in ["", "words", "{}", "[]", "{\"hook_event_name\":\"preToolUse\",\"session_id\":\"s\"}"] {
            run(&sandbox, Some("PreToolUse"), &[variable], words).refused(&["INPUT_INVALID"]);
            let bare = run(&sandbox, None, &[variable], words);
            bare.failed(2, &["aops-hook is broken and blocks", "INPUT_INVALID", "hint:", "--help"]);
        }
    }
    // Another tool's name in that variable says nothing.
    let other = run(&sandbox, Some("PreToolUse"), &[("AI_AGENT", "copilot")], "{}");
    assert_eq!((other.code, other.out.as_str()), (Some(0), ""), "{other:?}");
    assert_eq!(sandbox.files(), before);
}

/// Without any variable the payload says it; what else is wrong with it is then refused.
#[test]
fn a_payload_can_say_that_it_is_claudes() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    let whole = session.payload(
        "PreToolUse",
        json!({"tool_name": "Read", "tool_input": {"file_path": "/x"}, "tool_use_id": "t"}),
    );
    run(&sandbox, Some("PreToolUse"), NONE, whole.to_string()).silent();
    assert_eq!(session.calls()["t"], ["PENDING", "AUTHORIZED", "EXECUTING"], "and is recorded");
    let nameless = session.payload("PreToolUse", json!({"tool_use_id": "u"}));
    run(&sandbox, Some("PreToolUse"), NONE, nameless.to_string()).refused(&["INPUT_INVALID", "`tool_name`"]);
    run(&sandbox, Some("UserPromptSubmit"), NONE, whole.to_string())
        .refused(&["INPUT_INVALID", "the event says"]);
}

/// Run bare, the event is what the payload says.
#[test]
fn bare_the_payload_names_the_event() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    for variables in [NONE, &[("CLAUDECODE", "1")]] {
        let write = json!({"file_path": sandbox.project().join("x"), "content": "x"});
        let call = session.call("Write", write);
        let payload = session.payload(
            "PreToolUse",
            json!({"tool_name": call.tool, "tool_input": call.input, "tool_use_id": call.id}),
        );
        let answer = run(&sandbox, None, variables, payload.to_string());
        assert_eq!(answer.code, Some(2), "the sandbox is shut: {answer:?}");
        assert_eq!(
            answer.json_of_any_exit()["hookSpecificOutput"]["permissionDecision"],
            "deny",
            "{answer:?}"
        );
        let stop = session.payload("Stop", json!({"stop_hook_active": false, "last_assistant_message": "x"}));
        assert_eq!(run(&sandbox, None, variables, stop.to_string()).code, Some(0));
        assert_eq!(session.calls()[&call.id], ["PENDING", "DENIED"]);
    }
}

/// A person who types the bare name reads the help.
#[test]
fn bare_on_a_terminal_shows_the_help() {
    let sandbox = Sandbox::new();
    let mut script = sandbox.command("script");
    script.args(["-qec", BINARY, "/dev/null"]).write_stdin("");
    let output = script.output().expect("`script` is needed: install util-linux");
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("Usage: aops-hook") && said.contains("doctor"), "{said}");
}

/// `doctor` says which version of a client is there, and with which one our hooks were tried.
#[test]
fn the_version_of_a_client_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let plain = Sandbox::new();
    let bin = plain.tmp().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let path = plain.environment().into_iter().find(|(name, _)| name == "PATH").unwrap().1;
    let sandbox = plain.with("PATH", format!("{}:{}", bin.display(), path.to_str().unwrap()));
    for (client, says, want) in [
        ("codex", "codex-cli 0.100.2", "Codex CLI 0.100.2, `"),
        ("copilot", "GitHub Copilot CLI 99.0.1.", "Copilot CLI 99.0.1, `"),
        ("opencode", "1.18.33", "OpenCode 1.18.33, `"),
        ("gemini", "v0.61.0", "Gemini CLI 0.61.0, `"),
        ("qwen", "0.24.4 (release)", "Qwen Code 0.24.4, `"),
    ] {
        let program = bin.join(client);
        std::fs::write(&program, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        sandbox.person(&["install", "--client", client]).said(&["registered for"]);
        let rows = sandbox.person(&["doctor", "--json"]).json_of_any_exit();
        let row = rows.as_array().unwrap().iter().find(|row| row["check"] == client).unwrap();
        assert!(row["finding"].as_str().unwrap().contains(want), "{row}");
        let old =
            row["finding"].as_str().unwrap().contains("older than 0.166.0, with which our hooks were tried");
        assert_eq!(old, client == "codex", "{row}");
        std::fs::write(&program, "#!/bin/sh\nexit 3\n").unwrap();
        let rows = sandbox.person(&["doctor", "--json"]).json_of_any_exit();
        let row = rows.as_array().unwrap().iter().find(|row| row["check"] == client && row["ok"] == false);
        assert!(row.unwrap()["finding"].as_str().unwrap().contains("it exits with 3"), "{rows}");
        sandbox.person(&["uninstall", "--client", client, "--yes"]).said(&["removed"]);
    }
}
