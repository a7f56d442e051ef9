//! The client in a terminal, as a person sees it: tmux holds the screen, keys are sent to it.

use super::{Client, client_variables};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// A client that a person sits at. It ends with this value.
pub(crate) struct Terminal<'a> {
    client: &'a Client<'a>,
    socket: PathBuf,
}

/// An answer takes about a second, on a busy machine many times that.
const PATIENCE: Duration = Duration::from_mins(3);

impl<'a> Client<'a> {
    /// A session in a terminal, its first questions answered beforehand.
    pub(crate) fn sit_down(&'a self, arguments: &[&str]) -> Terminal<'a> {
        let known = json!({
            "hasCompletedOnboarding": true, "theme": "dark",
            "projects": {self.sandbox.project().to_str().unwrap(): {"hasTrustDialogAccepted": true}},
            "customApiKeyResponses": {"approved": ["sk-ant-made-up"], "rejected": []},
        });
        fs::write(self.sandbox.home().join(".claude.json"), known.to_string()).unwrap();
        let terminal = Terminal { client: self, socket: self.sandbox.tmp().join("tmux") };
        let program = self.program.to_str().unwrap();
        let size = ["-x", "100", "-y", "60"];
        terminal.tmux(&[&["-f", "/dev/null", "new-session", "-d"], &size[..], &[program], arguments].concat());
        terminal.wait_for("the prompt", |screen| screen.contains("❯"));
        terminal
    }
}

impl Terminal<'_> {
    /// A prompt, as typed.
    pub(crate) fn type_prompt(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
        self.wait_for(text, |screen| screen.contains(text));
        self.press("Enter");
    }

    /// Presses the key of an answer until the question is gone: a dialog that just appeared ignores keys, so that nobody
    /// answers it unseen.
    pub(crate) fn answer(&self, question: &str, key: &str) {
        self.wait_for(question, |screen| screen.contains(question));
        let began = Instant::now();
        while self.screen().contains(question) {
            assert!(began.elapsed() < PATIENCE, "`{key}` is not taken:\n{}", self.screen());
            self.press(key);
            thread::sleep(Duration::from_secs(1));
        }
    }

    pub(crate) fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// The screen with the sequences that colour it.
    pub(crate) fn coloured(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    pub(crate) fn wait_for(&self, what: &str, is_there: impl Fn(&str) -> bool) {
        let began = Instant::now();
        while !is_there(&self.screen()) {
            assert!(began.elapsed() < PATIENCE, "{what} did not come:\n{}", self.screen());
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let sandbox = self.client.sandbox;
        let output = sandbox
            .command("tmux")
            .envs(client_variables(self.client.model))
            .arg("-S")
            .arg(&self.socket)
            .args(arguments)
            .current_dir(sandbox.project())
            .output()
            .unwrap_or_else(|error| panic!("`tmux` cannot be run: {error}\nhint: install the package `tmux`"));
        assert!(output.status.success(), "tmux {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let mut command = self.client.sandbox.command("tmux");
        // Without a server there is nothing to end.
        let _ = command.arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}
