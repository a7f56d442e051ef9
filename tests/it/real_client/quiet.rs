//! Fewer prompts at a terminal: lines that read open no dialog, builds run contained, and a rule of the
//! person's still asks.

use super::whole_loop::bash;
use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::{Sandbox, Session};
use serde_json::{Value, json};
use std::fs;

const QUESTION: &str = "Do you want to";
/// The client asks about most of these in its default mode.
const READING: [&str; 4] = [
    "cd . && git log --oneline",
    "for f in README.md; do cat $f; done",
    "echo \"$(git rev-parse --abbrev-ref HEAD)\"",
    "git -C . status --short",
];

/// The calls of one prompt in the client's default mode; every dialog is answered with Yes. Returns how many
/// there were, and the facts of the session.
fn at_a_terminal(sandbox: &Sandbox, allow: &str, lines: &[&str]) -> (usize, Vec<Value>) {
    sandbox.configure(&format!(
        "tracker.command = \"none\"\nmode.level = \"guard\"\n[quiet]\nallow = \"{allow}\"\n"
    ));
    let turns = lines.iter().map(|line| bash(line)).chain([Turn::text("So be it.")]);
    let model = Model::new(turns.collect::<Vec<_>>());
    let client = Client::guarded(sandbox, &model);
    let terminal = client.sit_down(&["--permission-mode", "default"]);
    terminal.type_prompt("look around");
    let mut dialogs = 0;
    loop {
        terminal.wait_for("a dialog or the end", |screen| {
            screen.contains(QUESTION) || screen.contains("● So be it.")
        });
        if !terminal.screen().contains(QUESTION) {
            break;
        }
        dialogs += 1;
        terminal.answer(QUESTION, "1");
    }
    let failed: Vec<_> = model.tool_results().into_iter().filter(|result| result.is_error).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let found = sandbox.person(&["sessions", "--json"]).json();
    (dialogs, Session::new(sandbox, found[0]["session_id"].as_str().unwrap()).entries())
}

fn profiles(entries: &[Value]) -> Vec<String> {
    let of = |entry: &Value| entry["with"]["end"]["under"]["jailed"]["profile"].as_str().map(str::to_owned);
    entries.iter().filter_map(of).collect()
}

#[test]
fn lines_that_read_open_no_dialog() {
    let (asked, _) = at_a_terminal(&Sandbox::repository("0"), "off", &READING);
    let (left, entries) = at_a_terminal(&Sandbox::repository("0"), "reading", &READING);
    // One of them is on the client's own list.
    assert_eq!((asked, left), (READING.len() - 1, 0), "{:?}", profiles(&entries));
    assert_eq!(profiles(&entries), ["quiet-read"; READING.len()]);
    let broken = |entry: &&Value| entry["type"] == "violation";
    assert_eq!(entries.iter().find(broken), None);
}

/// What changes something outside of a build, and what a rule of the person's names, is asked about.
#[test]
fn the_persons_own_rules_keep_the_last_word() {
    let sandbox = Sandbox::repository("0");
    sandbox.put(
        ".claude/settings.local.json",
        &json!({"permissions": {"ask": ["Bash(git log:*)"]}}).to_string(),
    );
    let (asked, entries) = at_a_terminal(&sandbox, "reading", &[READING[0], READING[1], "touch made.txt"]);
    assert_eq!(asked, 2, "{:?}", profiles(&entries));
    assert!(sandbox.project().join("made.txt").exists());
}

#[test]
fn a_build_runs_contained_and_what_it_overwrites_comes_back() {
    let sandbox = Sandbox::repository("0");
    sandbox.put("build.py", "open('out.txt', 'w').write('built')\nopen('notes.txt', 'w').write('spoiled')\n");
    sandbox.put("notes.txt", "mine\n");
    let (asked, entries) = at_a_terminal(&sandbox, "contained", &["python3 build.py"]);
    assert_eq!((asked, profiles(&entries)), (0, vec!["quiet-work".to_owned()]));
    assert_eq!(fs::read_to_string(sandbox.project().join("out.txt")).unwrap(), "built");
    let undone = sandbox.person(&["undo", "--yes"]);
    assert_eq!(
        (undone.code, fs::read_to_string(sandbox.project().join("notes.txt")).unwrap().as_str()),
        (Some(0), "mine\n")
    );
}
