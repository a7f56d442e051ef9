//! `watch` in a terminal: what is on the screen, and what its keys do.

mod act;
mod cheap;
mod plain;
mod ssh;

use crate::support::tmux::Tmux;
use crate::support::{BINARY, NO_TRACKER, Sandbox, Session};
use std::process::Command;

/// The cockpit on a screen of this size. When it ends, the shell says whether the terminal is as before.
pub(crate) fn cockpit<'a>(sandbox: &'a Sandbox, size: (u32, u32), line: &str) -> Tmux<'a> {
    let line = format!(
        "before=$(stty -g); echo first words; {}; code=$?; [ \"$before\" = \"$(stty -g)\" ] && echo \"as before, $code\"; exec cat",
        line.replacen("aops-hook", BINARY, 1)
    );
    Tmux::open(sandbox, Vec::new(), size, &["sh", "-c", &line])
}

pub(crate) const WIDE: (u32, u32) = (160, 40);

/// A session that was started and prompted.
fn prompted<'a>(sandbox: &'a Sandbox, words: &str) -> Session<'a> {
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt(words);
    session
}

#[test]
fn all_sessions_are_listed_and_news_come_without_a_key() {
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    let first = prompted(&sandbox, "add a greeting");
    let second = prompted(&sandbox, "fix the \x1b[31mtypo");
    let _ = second.end();
    let screen = cockpit(&sandbox, WIDE, "aops-hook watch");
    screen.shows(&["2 sessions, 1 live, 0 wait for you", "add a greeting", "[31mtypo", "ended", "hydrate"]);
    screen.shows(&["`prompt-hydrator`", &first.id, "mode strict", "intact"]);
    first.write("hello.txt").refused(&["plan"]);
    screen.shows(&["Write hello.txt  [sandbox]"]);
    let third = prompted(&sandbox, "a third one");
    screen.shows(&["3 sessions, 2 live", "a third one"]);
    // A ledger that is edited is told, too.
    let ledger = second.folder().join("ledger.jsonl");
    let text = std::fs::read_to_string(&ledger).unwrap();
    std::fs::write(&ledger, text.replacen("typo", "tipo", 1)).unwrap();
    screen.shows(&["BAD"]);
    // Found by its words, among the others.
    screen.enter("/third");
    screen.press("Enter");
    screen.wait_for("only the third", |shown| shown.contains(&third.id) && !shown.contains("greeting"));
    screen.leave("only `third`");
    screen.shows(&["add a greeting"]);
    sandbox.person(&["block", &third.id, "--reason", "let me look"]).said(&["blocked"]);
    screen.shows(&["1 waits for you"]);
    std::fs::remove_dir_all(third.folder()).unwrap();
    screen.shows(&["lost"]);
    screen.press("q");
    screen.shows(&["first words", "as before, 0"]);
}

#[test]
fn a_timeline_goes_on_and_is_filtered() {
    let sandbox = Sandbox::new();
    sandbox.configure(NO_TRACKER);
    let session = prompted(&sandbox, "add a greeting");
    session.bash("ls");
    session.write("hello.txt").refused(&["plan"]);
    let screen = cockpit(&sandbox, (80, 24), "aops-hook watch");
    screen.shows(&["1 session, 1 live", "add a greet"]);
    screen.press("Enter");
    screen.shows(&[
        &session.id[..8],
        "prompt    add a greeting",
        "done      Bash ls",
        "refused   Write hello.txt",
    ]);
    screen.shows(&["this task has no plan yet", "waits for `prompt-hydrator`"]);
    screen.press("r");
    screen.wait_for("refusals alone", |shown| shown.contains("lines: refused") && !shown.contains("Bash ls"));
    session.write("other.txt").refused(&["plan"]);
    screen.shows(&["2 of", "Write other.txt"]);
    screen.press("r");
    screen.enter("tbash");
    screen.press("Enter");
    screen.wait_for("bash alone", |shown| shown.contains("lines: tool bash") && !shown.contains("Write"));
    screen.leave("lines: tool bash");
    screen.enter("/GREETING");
    screen.press("Enter");
    screen.wait_for("the prompt alone", |shown| {
        shown.contains("text `GREETING`") && !shown.contains("Bash ls")
    });
    screen.press("Enter");
    screen.shows(&["── entry", "any other key closes this"]);
    screen.leave("any other key closes this");
    screen.leave("text `GREETING`");
    screen.press("Escape");
    screen.shows(&["1 session, 1 live"]);
    screen.press("?");
    screen.shows(&["── keys", "up, down, k, j"]);
}

#[test]
fn every_size_and_no_colour() {
    let sandbox = Sandbox::new().with("NO_COLOR", "1");
    sandbox.configure(NO_TRACKER);
    let _session = prompted(&sandbox, "add a greeting");
    let screen = cockpit(&sandbox, (80, 24), "aops-hook watch");
    screen.shows(&["state project", "ok?", "> live  project", "? keys"]);
    let coloured = screen.coloured();
    let named = (30..38).chain(90..98).any(|colour| coloured.contains(&format!("\x1b[{colour}m")));
    assert!(!named && !coloured.contains("38;5;"), "{coloured:?}");
    assert!(coloured.contains("\x1b[7m"), "the chosen line is told without a colour: {coloured}");
    screen.resize(60, 20);
    screen.shows(&["this screen is 60 x 20", "`aops-hook watch --plain`"]);
    screen.resize(120, 30);
    screen.shows(&["> live", "add a greeting"]);
    drop(screen);
    let sandbox = Sandbox::new();
    let _session = prompted(&sandbox, "add a greeting");
    let screen = cockpit(&sandbox, (80, 24), "aops-hook watch");
    screen.shows(&["> live"]);
    let coloured = screen.coloured();
    assert!(coloured.contains("\x1b[32m") || coloured.contains("38;5;2m"), "{coloured:?}");
}

/// Ends this process by a signal, once it is there.
#[expect(clippy::disallowed_methods, reason = "the signal that the test is about")]
fn terminate(sandbox: &Sandbox, signal: &str) {
    let line = format!("{BINARY} watch");
    let find = || sandbox.alive().into_iter().find(|(_, words)| words.starts_with(&line));
    sandbox.wait_until("it runs", || find().is_some());
    let (pid, _) = find().unwrap();
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn the_terminal_is_given_back_however_it_ends() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let sandbox = Sandbox::new();
        let screen = cockpit(&sandbox, (80, 24), "aops-hook watch");
        screen.shows(&["no session yet"]);
        terminate(&sandbox, signal);
        screen.shows(&["first words", "as before, 0"]);
        assert!(!screen.screen().contains("no session yet"), "{}", screen.screen());
    }
    let sandbox = Sandbox::new();
    let screen = cockpit(&sandbox, (80, 24), "aops-hook watch");
    screen.shows(&["no session yet"]);
    screen.press("C-c");
    screen.shows(&["first words", "as before, 0"]);
    let sandbox = Sandbox::new();
    let screen = cockpit(&sandbox, (80, 24), "AOPS_TEST_PANIC=1 aops-hook watch");
    screen.shows(&["no session yet"]);
    screen.press("j");
    screen.shows(&["first words", "a test asked for it", "as before, 134"]);
}

#[test]
fn only_a_person_at_a_terminal_watches() {
    let sandbox = Sandbox::new();
    sandbox.person(&["watch"]).failed(2, &["`watch` needs a terminal", "`aops-hook sessions`"]);
    sandbox.inside(&["watch", "--json"]).failed(2, &["needs a person at a terminal"]);
}
