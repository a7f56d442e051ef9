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

/// Lines that the client asks about, some of which are only contained.
fn many(count: usize) -> Vec<String> {
    let of = |n: usize| match n % 4 {
        0 => format!("for f in README.md; do head -{} $f; done", n + 1),
        1 => format!("python3 build.py {n}"),
        2 => format!("echo \"$(git rev-parse --abbrev-ref HEAD)\" {n}"),
        _ => format!("cd . && git log -{n} --oneline"),
    };
    (0..count).map(of).collect()
}

/// So many calls in one session, a few to a turn. All that was ever drawn has no dialog in it.
fn no_dialog_is_drawn(count: usize) {
    let sandbox = Sandbox::repository("0");
    sandbox.configure("tracker.command = \"none\"\nmode.level = \"guard\"\n[quiet]\nallow = \"contained\"\n");
    sandbox.put("build.py", "print('built')\n");
    let lines = many(count);
    let turn = |some: &[String]| {
        some.iter().fold(Turn::default(), |turn, line| turn.and("Bash", json!({"command": line})))
    };
    let last = [Turn::text("So be it."), bash("git tag v1"), Turn::text("It has a name.")];
    let model = Model::new(lines.chunks(10).map(turn).chain(last).collect::<Vec<_>>());
    let client = Client::guarded(&sandbox, &model);
    let terminal = client.sit_down(&["--permission-mode", "default"]);
    let file = sandbox.tmp().join("drawn");
    terminal.record(&file);
    let was_drawn = |words: &str| letters(&fs::read(&file).unwrap()).contains(&letters(words.as_bytes()));
    terminal.type_prompt("look around");
    terminal.wait_for("a dialog or the end", |screen| {
        screen.contains(QUESTION) || screen.contains("● So be it.")
    });
    assert!(was_drawn("So be it.") && !was_drawn(QUESTION), "{}", terminal.screen());
    let results = model.tool_results();
    assert!(results.len() == count && results.iter().all(|result| !result.is_error), "{results:#?}");
    let found = sandbox.person(&["sessions", "--json"]).json();
    let entries = Session::new(&sandbox, found[0]["session_id"].as_str().unwrap()).entries();
    let under = profiles(&entries);
    assert_eq!(under.len(), count, "{under:?}");
    assert!(under.iter().all(|profile| profile.starts_with("quiet-")), "{under:?}");
    // One that is drawn is found there.
    terminal.type_prompt("give it a name");
    terminal.answer(QUESTION, "1");
    terminal.shows(&["● It has a name."]);
    assert!(was_drawn(QUESTION));
}

/// What was drawn, without what moves the cursor and colours it: words may stand apart by either.
fn letters(drawn: &[u8]) -> String {
    let text = String::from_utf8_lossy(drawn).into_owned();
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts
        .map(|part| part.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).chars().skip(1).collect());
    std::iter::once(first).chain(rest).collect::<String>().split_whitespace().collect()
}

#[test]
fn no_dialog_is_drawn_in_a_session_of_answered_calls() {
    no_dialog_is_drawn(20);
}

#[test]
#[ignore = "minutes: run `tests/long-run`"]
fn no_dialog_is_drawn_in_two_hundred_answered_calls() {
    no_dialog_is_drawn(200);
}

/// What acts outside, what reads outside and what changes the repository, at the highest level.
#[test]
fn what_is_left_to_the_person_opens_a_dialog() {
    const LEFT: [&str; 4] =
        ["git commit -q --allow-empty -m more", "git tag v1", "cat /etc/passwd | wc -l", "kill -0 $$"];
    let sandbox = Sandbox::repository("0");
    let lines = [LEFT.as_slice(), &READING[..1]].concat();
    let (asked, entries) = at_a_terminal(&sandbox, "contained", &lines);
    let under = profiles(&entries);
    assert_eq!((asked, under.len()), (LEFT.len(), lines.len()), "{under:?}");
    assert_eq!(under.iter().filter(|profile| profile.starts_with("quiet-")).count(), 1, "{under:?}");
}
