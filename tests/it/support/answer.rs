//! What one run of the program said, and what a test may expect of it.
//!
//! Invariant: a stream that a check does not mention must be empty, so a stray byte fails every test.

use serde_json::{Value, json};
use std::process::Output;

#[must_use = "an answer nobody looks at proves nothing"]
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
    event: String,
}

impl Answer {
    pub(crate) fn of(event: &str, output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code(),
            out: text(&output.stdout),
            err: text(&output.stderr),
            event: event.to_owned(),
        }
    }

    /// Passed, and not a byte on either stream.
    #[track_caller]
    pub(crate) fn silent(&self) {
        assert!(self.code == Some(0) && self.out.is_empty() && self.err.is_empty(), "not silent: {self:#?}");
    }

    /// A hook's refusal, exit code 2, given both ways: the event's own form on stdout, the same reason on
    /// stderr. The end of a turn or of an agent is refused on stderr alone, since the client shows the model
    /// both.
    #[track_caller]
    pub(crate) fn refused(&self, words: &[&str]) {
        assert_eq!(self.code, Some(2), "not refused: {self:#?}");
        let reason = self.reason();
        assert!(!reason.is_empty(), "no reason for `{}` in {self:#?}", self.event);
        assert_eq!(self.err.trim_end(), reason.trim_end(), "stderr says something else");
        has(self, &reason, words);
    }

    /// A command's refusal or failure: the words on stderr, nothing else, this exit code.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(self.out.is_empty(), "stdout is not empty: {self:#?}");
        has(self, &self.err, words);
    }

    /// A driver's refusal: the words on stderr, and a last line for programs on stdout.
    #[track_caller]
    pub(crate) fn failed_with_line(&self, code: i32, words: &str) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        let last: Value = serde_json::from_str(self.out.lines().last().unwrap_or_default()).unwrap();
        assert_eq!(last["exit"], code, "{self:#?}");
        has(self, &self.err, &[words, "hint:"]);
    }

    /// Done, with these words on stdout alone.
    #[track_caller]
    pub(crate) fn said(&self, words: &[&str]) {
        assert!(self.code == Some(0) && self.err.is_empty(), "failed or complained: {self:#?}");
        has(self, &self.out, words);
    }

    /// Let go with a warning, given both ways: to the user, and on stderr.
    #[track_caller]
    pub(crate) fn warned(&self, words: &[&str]) {
        assert_eq!(self.code, Some(0), "not a mere warning: {self:#?}");
        assert_eq!(
            self.json_of_any_exit(),
            json!({"systemMessage": self.err.trim_end()}),
            "more than a warning: {self:#?}"
        );
        has(self, &self.err, words);
    }

    /// Done, with one JSON value on stdout alone.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert!(self.code == Some(0) && self.err.is_empty(), "failed or complained: {self:#?}");
        self.json_of_any_exit()
    }

    /// The JSON value on stdout, whatever the exit code and stderr.
    #[track_caller]
    pub(crate) fn json_of_any_exit(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// The reason where this event's form keeps it.
    #[track_caller]
    pub(crate) fn reason(&self) -> String {
        if matches!(self.event.as_str(), "Stop" | "SubagentStop") {
            assert!(self.out.is_empty(), "said twice: {self:#?}");
            return self.err.clone();
        }
        let value = self.json_of_any_exit();
        let specific = &value["hookSpecificOutput"];
        let reason = match self.event.as_str() {
            "PreToolUse" => {
                assert_eq!(specific["permissionDecision"], "deny", "{self:#?}");
                &specific["permissionDecisionReason"]
            }
            "PermissionRequest" => {
                assert_eq!(specific["decision"]["behavior"], "deny", "{self:#?}");
                &specific["decision"]["message"]
            }
            _ => {
                assert_eq!(value["decision"], "block", "{self:#?}");
                &value["reason"]
            }
        };
        reason.as_str().unwrap_or_default().to_owned()
    }
}

#[track_caller]
fn has(answer: &Answer, text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` was not said: {answer:#?}");
    }
}
