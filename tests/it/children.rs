//! Another client started from a session: refused unless our hooks see it, and its registration is not the
//! session's to edit.

use crate::support::{Answer, BINARY, Sandbox, Session};
use serde_json::{Value, json};
use std::fs;

/// A session of Claude Code whose sandbox is open.
fn open(sandbox: &Sandbox) -> Session<'_> {
    let session = sandbox.session();
    let _ = session.start("startup");
    session.prompt(". go").silent();
    session
}

fn ask(session: &Session, tool: &str, input: Value) -> Answer {
    let answer = session.pre(&session.call(tool, input));
    let _ = session.event("PostToolBatch", json!({"tool_calls": []}));
    answer
}

fn bash(session: &Session, line: &str) -> Answer {
    ask(session, "Bash", json!({"command": line}))
}

/// The refusal names the way out, and who goes it can start the client; what breaks the registration shuts it
/// again.
#[test]
fn a_client_is_started_once_our_hooks_see_it() {
    let sandbox = Sandbox::new();
    let session = open(&sandbox);
    let line = "codex exec 'fix the tests'";
    for other in ["codex", "gemini", "copilot", "opencode", "qwen", "grok", "cursor-agent"] {
        bash(&session, &format!("{other} exec 'fix it'"))
            .refused(&["starts another agent", "hint: ask the user to"]);
    }
    for options in ["--bare", "--restricted", "--safe-mode", "--settings x", "--setting-sources project"] {
        bash(&session, &format!("claude {options} -p x")).refused(&["is for a person", "hint: "]);
    }
    let refused = bash(&session, line);
    let reason = refused.json_of_any_exit()["hookSpecificOutput"]["permissionDecisionReason"].to_string();
    let advice = reason
        .split('`')
        .find(|words| words.starts_with("aops-hook install"))
        .unwrap_or_else(|| panic!("{reason}"));
    let words: Vec<&str> = advice.split(' ').skip(1).collect();
    sandbox.person(&words).said(&["registered for Codex"]);
    bash(&session, line).silent();
    bash(&session, "codex exec -c features.hooks=false x")
        .refused(&["may leave our hooks out", "hint: start Codex CLI plainly"]);
    let config = sandbox.home().join(".codex/config.toml");
    let trusted = fs::read_to_string(&config).unwrap();
    for broken in
        [trusted.replacen("sha256:", "sha256:0", 1), format!("{trusted}\n[features]\nhooks = false\n")]
    {
        fs::write(&config, broken).unwrap();
        bash(&session, line).refused(&["which our hooks do not see"]);
    }
    fs::write(&config, &trusted).unwrap();
    bash(&session, line).silent();
    sandbox.person(&["uninstall", "--client", "codex", "--yes"]).said(&["removed"]);
    bash(&session, line).refused(&["which our hooks do not see", "aops-hook install --client codex"]);
}

/// A session of Codex starts Claude Code only where that is ours too.
#[test]
fn claude_code_is_another_client_to_codex() {
    let sandbox = Sandbox::new();
    sandbox.person(&["install", "--client", "codex"]).said(&["registered"]);
    let run = |event: &str, own: Value| {
        let mut payload = json!({"session_id": "s", "transcript_path": null, "cwd": sandbox.project(), "turn_id": "t",
            "hook_event_name": event, "model": "gpt-5", "permission_mode": "default"});
        payload.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        let mut command = sandbox.command(BINARY);
        command.args([event, "--client", "codex"]).write_stdin(payload.to_string()).output().unwrap()
    };
    let call =
        |id: &str| json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": "claude -p x"}});
    let _ = run("UserPromptSubmit", json!({"prompt": ". go"}));
    let refused = run("PreToolUse", call("a"));
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        refused.status.code() == Some(2) && words.contains("`aops-hook install` in a terminal"),
        "{words}"
    );
    sandbox.person(&["install"]).said(&["registered"]);
    let passed = run("PreToolUse", call("b"));
    assert!(passed.status.success(), "{passed:?}");
}

/// What registers us in another client is edited by no session of this one; without a registration it is
/// free.
#[test]
fn the_registration_in_another_client_is_guarded() {
    let sandbox = Sandbox::new();
    let session = open(&sandbox);
    let config = sandbox.home().join(".codex/config.toml");
    let write = || json!({"file_path": config, "content": "model = \"x\"\n"});
    ask(&session, "Write", write()).silent();
    sandbox.person(&["install", "--client", "codex"]).said(&["registered"]);
    ask(&session, "Write", write()).refused(&["no tool call may write it", "hint: "]);
    bash(&session, "rm ~/.codex/hooks.json").refused(&["no tool call may"]);
    bash(&session, "cat ~/.codex/hooks.json").silent();
}

/// An administrator's registration counts as a person's own.
#[cfg(target_os = "linux")]
#[test]
fn a_client_that_an_administrator_hooked_can_be_started() {
    let sandbox = crate::bundle::administered();
    let root = sandbox.home().parent().unwrap().join("machine");
    let sandbox = sandbox.with("AOPS_TEST_ROOT", &root);
    let session = open(&sandbox);
    for line in ["codex exec 'fix it'", "gemini -p 'fix it'", "opencode run 'fix it'"] {
        bash(&session, line).silent();
    }
    bash(&session, "qwen -p 'fix it'").refused(&["which our hooks do not see"]);
    fs::create_dir_all(sandbox.home().join(".codex")).unwrap();
    fs::write(sandbox.home().join(".codex/config.toml"), "[features]\nhooks = false\n").unwrap();
    bash(&session, "codex exec 'fix it'").refused(&["which our hooks do not see"]);
    fs::write(root.join("etc/opencode/opencode.json"), "{}").unwrap();
    bash(&session, "opencode run 'fix it'").refused(&["which our hooks do not see"]);
}
