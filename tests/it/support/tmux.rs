//! A program in a terminal, as a person sees it: tmux holds the screen, keys are sent to it.

use super::Sandbox;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The terminal and what runs in it end with this value.
pub(crate) struct Tmux<'a> {
    sandbox: &'a Sandbox,
    variables: Vec<(String, OsString)>,
    socket: PathBuf,
}

/// An answer takes about a second, on a busy machine many times that.
pub(crate) const PATIENCE: Duration = Duration::from_mins(3);

impl<'a> Tmux<'a> {
    /// A terminal of so many columns and lines with this program in it.
    pub(crate) fn open(
        sandbox: &'a Sandbox,
        variables: Vec<(String, OsString)>,
        (columns, lines): (u32, u32),
        words: &[&str],
    ) -> Self {
        let tmux = Self { sandbox, variables, socket: sandbox.tmp().join("tmux") };
        let settings = sandbox.tmp().join("tmux.conf");
        fs::write(&settings, "set -g status off\n").unwrap();
        let (columns, lines) = (columns.to_string(), lines.to_string());
        let size = ["-f", settings.to_str().unwrap(), "new-session", "-d", "-x", &columns, "-y", &lines];
        tmux.ask(&[&size[..], words].concat());
        tmux
    }

    pub(crate) fn press(&self, key: &str) {
        self.ask(&["send-keys", key]);
    }

    /// Characters, as typed.
    pub(crate) fn enter(&self, text: &str) {
        self.ask(&["send-keys", "-l", text]);
    }

    pub(crate) fn screen(&self) -> String {
        self.ask(&["capture-pane", "-p"])
    }

    /// The screen with the sequences that colour it.
    pub(crate) fn coloured(&self) -> String {
        self.ask(&["capture-pane", "-p", "-e"])
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, what: &str, is_there: impl Fn(&str) -> bool) {
        let began = Instant::now();
        while !is_there(&self.screen()) {
            assert!(began.elapsed() < PATIENCE, "{what} did not come:\n{}", self.screen());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until all of these are on the screen.
    #[track_caller]
    pub(crate) fn shows(&self, words: &[&str]) {
        self.wait_for(&format!("{words:?}"), |screen| words.iter().all(|word| screen.contains(word)));
    }

    /// Goes back, and waits until these words are gone: a key right behind Escape would be another key.
    #[track_caller]
    pub(crate) fn leave(&self, words: &str) {
        self.press("Escape");
        self.wait_for(&format!("the end of `{words}`"), |screen| !screen.contains(words));
    }

    /// From now on everything that is drawn goes to this file too, however short it stands there.
    pub(crate) fn record(&self, file: &Path) {
        self.ask(&["pipe-pane", "-O", &format!("cat >> '{}'", file.display())]);
    }

    pub(crate) fn resize(&self, columns: u32, lines: u32) {
        self.ask(&["resize-window", "-x", &columns.to_string(), "-y", &lines.to_string()]);
    }

    fn ask(&self, arguments: &[&str]) -> String {
        let output = self
            .sandbox
            .command("tmux")
            .envs(self.variables.iter().cloned())
            .arg("-S")
            .arg(&self.socket)
            .args(arguments)
            .output()
            .unwrap_or_else(|error| {
                panic!("`tmux` cannot be run: {error}\nhint: install the package `tmux`")
            });
        assert!(output.status.success(), "tmux {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        let mut command = self.sandbox.command("tmux");
        // Without a server there is nothing to end.
        let _ = command.arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}
