//! The cockpit without a screen: lines, for a voice, a dumb terminal and programs.

use super::{cockpit, prompted};
use crate::support::{BINARY, NO_TRACKER, Sandbox};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

#[test]
fn a_list_then_a_line_for_each_change() {
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    let session = prompted(&sandbox, "add a greeting");
    let screen = cockpit(&sandbox, (120, 40), "aops-hook watch --plain");
    let first = format!(
        "1. {} project, live, phase hydrate, waits for `prompt-hydrator`, ledger ok",
        &session.id[..8]
    );
    screen.shows(&["first words", "1 session, 1 live, 0 wait for you", &first, "prompt: add a greeting"]);
    session.write("hello.txt").refused(&["plan"]);
    screen.shows(&["project: refused: Write hello.txt  [sandbox]"]);
    let type_line = |line: &str| {
        screen.enter(line);
        screen.press("Enter");
    };
    type_line("open 1");
    screen.shows(&["refused: Write hello.txt  [sandbox]: Blocked: this task has no plan yet"]);
    type_line("tool bash");
    screen.shows(&["0 of", "tool bash"]);
    type_line("all");
    type_line("block 1 wait a moment");
    screen.shows(&["--reason 'wait a moment'", "type `yes` to do it"]);
    type_line("yes");
    screen.shows(&["blocked session", "project: waits for you: blocked"]);
    type_line("clear 1");
    screen.shows(&["it is blocked: wait a moment"]);
    type_line("yes");
    screen.shows(&["is no longer blocked"]);
    type_line("help");
    screen.shows(&["checkpoints N; diff N ID; rollback N ID"]);
    type_line("quit");
    screen.shows(&["as before, 0"]);
    let all = screen.coloured();
    assert!(!all.contains('\x1b') && !all.contains('─'), "no sequence and no box: {all:?}");
}

#[test]
fn a_dumb_terminal_gets_lines() {
    let sandbox = Sandbox::new();
    let _session = prompted(&sandbox, "add a greeting");
    let screen = cockpit(&sandbox, (80, 24), "TERM=dumb aops-hook watch");
    screen.shows(&["first words", "1 session, 1 live"]);
    screen.enter("quit");
    screen.press("Enter");
    screen.shows(&["as before, 0"]);
}

/// `watch --json`, and what it prints next.
#[expect(clippy::disallowed_methods, reason = "a program that goes on until its reader is gone")]
fn watched(sandbox: &Sandbox) -> (Child, impl FnMut() -> Value) {
    let mut command = Command::new(BINARY);
    command.args(["watch", "--json"]).env_clear().envs(sandbox.environment()).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).current_dir(sandbox.project()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, move || serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap())
}

/// A question that waits in the client is shown until it is answered.
#[test]
fn a_question_to_the_person_is_shown() {
    let sandbox = Sandbox::repository("0").with("CLAUDE_CODE_SESSION_ATTENDED", "1");
    sandbox.configure(&format!("{NO_TRACKER}mode.level = \"guard\"\n"));
    let session = prompted(&sandbox, "tidy up");
    let (mut child, mut next) = watched(&sandbox);
    let row = next();
    assert_eq!(row["wants_person"], false, "{row}");
    let call = session.call("Bash", json!({"command": "git push --force"}));
    let _ = session.pre(&call);
    let row = next();
    let waits = row["waits_for"].as_str().unwrap();
    assert!(waits.starts_with("you, in the client: ") && row["wants_person"] == true, "{row}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn programs_get_a_line_for_each_change() {
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    let session = prompted(&sandbox, "add a greeting");
    let (mut child, mut next) = watched(&sandbox);
    let row = next();
    assert_eq!(
        (row["session_id"].as_str(), row["state"].as_str()),
        (Some(session.id.as_str()), Some("live")),
        "{row}"
    );
    session.write("hello.txt").refused(&["plan"]);
    let row = next();
    assert_eq!(row["last_refusal"].as_str(), Some("Write hello.txt  [sandbox]"), "{row}");
    fs::write(sandbox.tmp().join("done"), "").unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
}
