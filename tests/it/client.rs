//! The real, unmodified Claude Code, run headless in a `Sandbox` against a scripted `Model`.
//!
//! Invariant: it knows one address, the model's. That is its API and its proxy, so a request to anywhere else
//! is seen, refused, and fails the test.

pub(crate) mod fake;
pub(crate) mod install;
pub(crate) mod terminal;
mod run;

pub(crate) use run::{OVER_ETC, Run};

use crate::model::{Model, Turn};
use crate::support::Sandbox;
use aops_core::model::event::{EVENTS, EventRow};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

pub(crate) struct Client<'a> {
    program: PathBuf,
    sandbox: &'a Sandbox,
    model: &'a Model,
}

impl<'a> Client<'a> {
    /// The client after `aops-hook install`.
    pub(crate) fn guarded(sandbox: &'a Sandbox, model: &'a Model) -> Self {
        sandbox.person(&["install"]).said(&["registered"]);
        Self::unguarded(sandbox, model)
    }

    /// The client as it is, with whatever settings are there.
    pub(crate) fn unguarded(sandbox: &'a Sandbox, model: &'a Model) -> Self {
        Self { program: install::program(), sandbox, model }
    }

    pub(crate) fn sandbox(&self) -> &Sandbox {
        self.sandbox
    }

    /// A new session.
    pub(crate) fn run(&self, prompt: &str) -> Run {
        self.start(prompt, &[])
    }

    /// The same session again, in a new process.
    pub(crate) fn resume(&self, session_id: &str, prompt: &str) -> Run {
        self.start(prompt, &["--resume", session_id])
    }

    pub(crate) fn start(&self, prompt: &str, arguments: &[&str]) -> Run {
        self.launch(Some(prompt), arguments)
    }

    /// Without a prompt, a session goes on with its deferred call.
    fn launch(&self, prompt: Option<&str>, arguments: &[&str]) -> Run {
        let usual = ["--max-turns", "30", "--permission-mode", "acceptEdits", "--allowedTools", "Bash,Agent"];
        self.bare(prompt, &[&usual, arguments].concat())
    }

    /// A session that nothing is allowed in beforehand.
    pub(crate) fn asking(&self, prompt: &str) -> Run {
        self.bare(Some(prompt), &["--permission-mode", "default"])
    }

    fn bare(&self, prompt: Option<&str>, arguments: &[&str]) -> Run {
        #[expect(clippy::disallowed_methods, reason = "the one place that starts the client")]
        let mut command = Command::new(&self.program);
        command
            .arg("-p")
            .args(prompt)
            .args(["--output-format", "stream-json", "--verbose"])
            .args(arguments)
            .env_clear()
            .envs(self.sandbox.environment())
            .envs(client_variables(self.model))
            .current_dir(self.sandbox.project());
        let run = Run::of(command);
        assert_eq!(self.model.astray(), [""; 0], "the client asked for something else: {run:?}");
        run
    }
}

/// What the client needs to talk to this model and to nothing else.
pub(crate) fn client_variables(model: &Model) -> Vec<(&'static str, String)> {
    let quiet = [
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_AUTOUPDATER",
    ];
    let mut all: Vec<_> = quiet.map(|name| (name, "1".to_owned())).into();
    all.extend(["ANTHROPIC_BASE_URL", "HTTP_PROXY", "HTTPS_PROXY"].map(|name| (name, model.url())));
    all.extend([("ANTHROPIC_API_KEY", "sk-ant-made-up".to_owned()), ("NO_PROXY", "127.0.0.1".to_owned())]);
    all
}

/// A shell script in our place, at every event we register for; `$1` is the event.
fn script(sandbox: &Sandbox, text: &str) {
    let entry = |kind: &EventRow| {
        let args = ["-c", text, "script", kind.name];
        json!([{"hooks": [{"type": "command", "command": "/bin/sh", "args": args, "timeout": kind.timeout}]}])
    };
    let hooks: Map<_, _> =
        EVENTS.iter().filter(|k| k.timeout > 0).map(|k| (k.name.to_owned(), entry(k))).collect();
    fs::create_dir_all(sandbox.config()).unwrap();
    fs::write(sandbox.config().join("settings.json"), json!({"hooks": hooks}).to_string()).unwrap();
}

/// The harness itself: a shell script in our place writes down what the client calls, and when.
#[test]
fn the_client_calls_a_hook_at_every_step() {
    let sandbox = Sandbox::new();
    let log = sandbox.tmp().join("events");
    script(&sandbox, &format!(r#"cat >> "{}""#, log.display()));
    let model =
        Model::new([Turn::call("Bash", json!({"command": "echo $((6 * 7))"})), Turn::text("Good bye.")]);
    Client::unguarded(&sandbox, &model).run("how much is it?").ended("Good bye.");

    let lines = fs::read_to_string(&log).unwrap();
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<_> = events.iter().map(|event| event["hook_event_name"].as_str().unwrap()).collect();
    let expected = [
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "Stop",
        "SessionEnd",
    ];
    assert_eq!(names, expected);
    assert_eq!(events[3]["tool_response"]["stdout"], "42");
    assert_eq!(model.tool_results()[0].text, "42");
    assert_eq!(model.requests().len(), 2);
}

/// What a hook says where the model can hear it: context by the role `system`, a refusal as the call's
/// result.
#[test]
fn what_a_hook_says_reaches_the_model() {
    let sandbox = Sandbox::new();
    script(&sandbox, "case $1 in SessionStart) echo be kind;; PreToolUse) echo not today >&2; exit 2;; esac");
    let model = Model::new([Turn::call("Bash", json!({"command": "touch it"})), Turn::text("Then not.")]);
    Client::unguarded(&sandbox, &model).run("touch it").ended("Then not.");

    let heard = model.requests()[0].said_by("system");
    assert!(
        heard.iter().any(|text| text.contains("SessionStart:startup hook success: be kind")),
        "{heard:?}"
    );
    let results = model.tool_results();
    assert!(
        results.len() == 1 && results[0].is_error && results[0].text.contains("not today"),
        "{results:?}"
    );
    assert!(!sandbox.project().join("it").exists());
}
