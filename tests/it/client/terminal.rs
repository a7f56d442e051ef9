//! The client in a terminal, as a person sees it.

use super::{Client, client_variables};
use crate::support::tmux::{PATIENCE, Tmux};
use serde_json::json;
use std::fs;
use std::ops::Deref;
use std::thread;
use std::time::{Duration, Instant};

/// A client that a person sits at. It ends with this value.
pub(crate) struct Terminal<'a>(Tmux<'a>);

impl<'a> Client<'a> {
    /// A session in a terminal, its first questions answered beforehand.
    pub(crate) fn sit_down(&'a self, arguments: &[&str]) -> Terminal<'a> {
        let known = json!({
            "hasCompletedOnboarding": true, "theme": "dark", "hasSeenAutoModeEntryWarning": true,
            "hasSeenAutoDefaultNotice": true,
            "projects": {self.sandbox.project().to_str().unwrap(): {"hasTrustDialogAccepted": true}},
            "customApiKeyResponses": {"approved": ["sk-ant-made-up"], "rejected": []},
        });
        fs::write(self.sandbox.home().join(".claude.json"), known.to_string()).unwrap();
        let variables =
            client_variables(self.model).into_iter().map(|(name, value)| (name.to_owned(), value.into()));
        let words = [&[self.program.to_str().unwrap()], arguments].concat();
        let terminal = Terminal(Tmux::open(self.sandbox, variables.collect(), (100, 60), &words));
        terminal.shows(&["❯"]);
        terminal
    }
}

impl<'a> Deref for Terminal<'a> {
    type Target = Tmux<'a>;

    fn deref(&self) -> &Tmux<'a> {
        &self.0
    }
}

impl Terminal<'_> {
    /// A prompt, as typed, on an empty line: the key of an answer that was pressed twice may stand there.
    pub(crate) fn type_prompt(&self, text: &str) {
        self.press("C-u");
        self.type_on(text);
    }

    /// Types behind what stands there already, and sends it. The key that empties the line would end the
    /// shell's mode.
    pub(crate) fn type_on(&self, text: &str) {
        self.enter(text);
        self.shows(&[text]);
        self.press_until("Enter", text, |screen| !in_box(screen).contains(text));
    }

    /// Presses the key of an answer until the question is gone: a dialog that just appeared ignores keys, so
    /// that nobody answers it unseen. A client that is only slow gets time to take the first key.
    pub(crate) fn answer(&self, question: &str, key: &str) {
        self.shows(&[question]);
        self.press_until(key, question, |screen| !screen.contains(question));
    }

    fn press_until(&self, key: &str, what: &str, is_taken: impl Fn(&str) -> bool) {
        let began = Instant::now();
        let mut pressed: Option<Instant> = None;
        while pressed.is_none() || !is_taken(&self.screen()) {
            assert!(began.elapsed() < PATIENCE, "`{key}` is not taken for `{what}`:\n{}", self.screen());
            if pressed.is_none_or(|pressed| pressed.elapsed() > Duration::from_secs(3)) {
                self.press(key);
                pressed = Some(Instant::now());
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// What stands in the box for prompts: between the last two lines that are drawn across the screen.
fn in_box(screen: &str) -> String {
    let lines: Vec<&str> = screen.lines().collect();
    let mut drawn = (0..lines.len()).rev().filter(|n| lines[*n].starts_with("────"));
    match (drawn.next(), drawn.next()) {
        (Some(below), Some(above)) => lines[above..below].join("\n"),
        _ => String::new(),
    }
}
