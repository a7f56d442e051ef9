//! Questions at a terminal: a person presses Yes and it happens, or No and it does not.

use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::{Sandbox, Session};
use serde_json::{Value, json};
use std::fs;

const YES: &str = "1";
const NO: &str = "Escape";

/// What the client asks in every dialog.
const QUESTION: &str = "Do you want to";

/// One call in a session at a terminal, and the key that the person presses; the dialog as it was on the
/// screen.
fn answered(sandbox: &Sandbox, tool: &str, input: &Value, key: &str) -> String {
    sandbox.configure("tracker.command = \"none\"\nmode.level = \"guard\"\ndanger.git-discard = \"ask\"\n");
    let model = Model::new([Turn::call(tool, input.clone()), Turn::text("So be it.")]);
    let client = Client::guarded(sandbox, &model);
    let terminal = client.sit_down(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash,Read"]);
    terminal.type_prompt("go on");
    terminal.shows(&[QUESTION]);
    let dialog = terminal.screen();
    terminal.answer(QUESTION, key);
    let ends = if key == YES { "So be it." } else { "Interrupted" };
    terminal.wait_for(ends, |screen| screen.contains(ends) || screen.contains("rejected"));
    let found = sandbox.person(&["sessions", "--json"]).json();
    let session = Session::new(sandbox, found[0]["session_id"].as_str().unwrap());
    let violations: Vec<Value> =
        session.entries().into_iter().filter(|entry| entry["type"] == "violation").collect();
    assert!(violations.is_empty(), "{violations:#?}");
    dialog
}

/// A file that a Write or a line would make.
#[track_caller]
fn is_written_on_yes_alone(name: &str, in_home: bool, call: impl Fn(&str) -> (&'static str, Value)) {
    for key in [NO, YES] {
        let sandbox = Sandbox::repository("0");
        let folder = if in_home { sandbox.home() } else { sandbox.project() };
        let path = folder.join(name);
        let before = fs::read_to_string(&path).unwrap_or_default();
        let (tool, input) = call(path.to_str().unwrap());
        let dialog = answered(&sandbox, tool, &input, key);
        let after = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(after != before, key == YES, "{key}: {dialog}\n{after}");
    }
}

#[test]
fn yes_writes_a_list_of_servers() {
    is_written_on_yes_alone(".mcp.json", false, |path| {
        ("Write", json!({"file_path": path, "content": "{\"mcpServers\": {}}\n"}))
    });
}

#[test]
fn yes_writes_a_hook_of_git() {
    is_written_on_yes_alone(".husky/pre-commit", false, |path| {
        ("Write", json!({"file_path": path, "content": "npm test\n"}))
    });
}

#[test]
fn yes_sets_a_program_of_git() {
    is_written_on_yes_alone(".git/config", false, |_| {
        ("Bash", json!({"command": "git config core.hooksPath .hooks"}))
    });
}

#[test]
fn yes_adds_to_a_shells_startup() {
    is_written_on_yes_alone(".bashrc", true, |_| {
        ("Bash", json!({"command": "echo 'alias ll=ls' >> ~/.bashrc"}))
    });
}

/// The line of a danger rule runs on Yes.
#[test]
fn yes_runs_a_dangerous_line() {
    for key in [NO, YES] {
        let sandbox = Sandbox::repository("0");
        sandbox.put("README.md", "mine\n");
        sandbox.git(&["add", "."]);
        sandbox.git(&["commit", "-qm", "mine"]);
        sandbox.put("README.md", "changed\n");
        let dialog = answered(&sandbox, "Bash", &json!({"command": "git reset --hard"}), key);
        let text = fs::read_to_string(sandbox.project().join("README.md")).unwrap();
        assert_eq!(text, if key == YES { "mine\n" } else { "changed\n" }, "{dialog}");
    }
}

/// The facts of this kind in the one session there is.
fn facts(sandbox: &Sandbox, kind: &str) -> Vec<Value> {
    let found = sandbox.person(&["sessions", "--json"]).json();
    let session = Session::new(sandbox, found[0]["session_id"].as_str().unwrap());
    let entries = session.entries().into_iter().filter(|entry| entry["type"] == kind);
    entries.map(|entry| entry["with"].clone()).collect()
}

/// The client's own record proves whose answer it was, a yes at the end of the turn and a no with the next
/// prompt.
#[test]
fn the_persons_answer_is_recorded() {
    for (key, allowed) in [(YES, true), (NO, false)] {
        let sandbox = Sandbox::repository("0");
        sandbox
            .configure("tracker.command = \"none\"\nmode.level = \"guard\"\ndanger.git-discard = \"ask\"\n");
        sandbox.put("README.md", "changed\n");
        let line = json!({"command": "git reset --hard"});
        let model = Model::new([Turn::call("Bash", line), Turn::text("So be it."), Turn::text("Again.")]);
        let client = Client::guarded(&sandbox, &model);
        let terminal = client.sit_down(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]);
        terminal.type_prompt("go on");
        terminal.answer(QUESTION, key);
        let ends = if allowed { "So be it." } else { "Interrupted" };
        terminal.wait_for(ends, |screen| screen.contains(ends) || screen.contains("rejected"));
        terminal.type_prompt("and now");
        terminal.wait_for("a person's answer", |_| {
            facts(&sandbox, "answer").iter().any(|said| said["by"] == "person")
        });
        let answers = facts(&sandbox, "answer");
        let last = answers.last().unwrap();
        assert_eq!(
            (&last["allowed"], &last["rule"]),
            (&json!(allowed), &json!("git-discard")),
            "{answers:?}"
        );
        assert!(last["ms"].is_u64() && facts(&sandbox, "violation").is_empty(), "{answers:?}");
    }
}

/// The first answer to a dialog wins: another hook's is seen in the client's record, and the person reads of
/// it.
#[test]
fn another_hooks_yes_is_told_to_the_person() {
    let sandbox = Sandbox::repository("0");
    sandbox.configure("tracker.command = \"none\"\nmode.level = \"guard\"\ndanger.git-discard = \"ask\"\n");
    sandbox.put("README.md", "changed\n");
    let allow = json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}});
    let hook = json!({"type": "command", "command": format!("echo '{allow}'")});
    sandbox.put(
        ".claude/settings.json",
        &json!({"hooks": {"PermissionRequest": [{"hooks": [hook]}]}}).to_string(),
    );
    let model =
        Model::new([Turn::call("Bash", json!({"command": "git reset --hard"})), Turn::text("So be it.")]);
    let client = Client::guarded(&sandbox, &model);
    let terminal = client.sit_down(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]);
    terminal.type_prompt("go on");
    terminal.shows(&["● So be it."]);
    // The client writes its record with a delay: what is not there yet when the turn ends is seen at the next
    // prompt.
    terminal.type_prompt("and now");
    terminal.shows(&["another hook approved"]);
    let violations = facts(&sandbox, "violation");
    assert!(violations[0]["violation"].as_str().unwrap().contains("needed a person"), "{violations:?}");
}

/// The dialog speaks to the person who reads it. Those of `Read` and `Write` have no place for a reason
/// (client 2.1.325).
#[test]
fn the_dialog_of_a_command_shows_the_reason() {
    let sandbox = Sandbox::repository("0");
    sandbox.put("README.md", "changed\n");
    let dialog = answered(&sandbox, "Bash", &json!({"command": "git reset --hard"}), NO);
    assert!(dialog.contains("throws away changes") && dialog.contains("Approve only if"), "{dialog}");
    assert!(!dialog.contains("hint:"), "it speaks to the model: {dialog}");
}

/// To edit a file the client reads it first: one question for both.
#[test]
fn a_file_of_secrets_is_asked_about_once() {
    let sandbox = Sandbox::repository("0");
    sandbox.configure("tracker.command = \"none\"\nmode.level = \"guard\"\ndanger.git-discard = \"ask\"\n");
    sandbox.put(".env", "KEY=old\n");
    let path = sandbox.project().join(".env");
    let edit = json!({"file_path": path, "old_string": "old", "new_string": "new"});
    let read = Turn::call("Read", json!({"file_path": path}));
    let model = Model::new([read, Turn::call("Edit", edit), Turn::text("So be it.")]);
    let client = Client::guarded(&sandbox, &model);
    let terminal = client.sit_down(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash,Read"]);
    terminal.type_prompt("set the key");
    terminal.answer(QUESTION, YES);
    terminal.wait_for("So be it.", |screen| screen.contains("So be it."));
    assert_eq!(fs::read_to_string(path).unwrap(), "KEY=new\n");
    assert_eq!(facts(&sandbox, "question").len(), 1);
}
