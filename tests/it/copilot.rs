//! The real, unmodified Copilot CLI, run headless in a `Sandbox` against a scripted `Model`: refusals, the
//! whole loop, rollback.

mod conform;
mod install;
mod whole_loop;

use crate::client::{Run, install as clients};
use crate::model::{Model, Turn};
use crate::support::{Sandbox, Session};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

pub(crate) struct Copilot<'a> {
    sandbox: &'a Sandbox,
    model: &'a Model,
}

impl<'a> Copilot<'a> {
    /// Copilot after `aops-hook install --client copilot`.
    fn guarded(sandbox: &'a Sandbox, model: &'a Model) -> Self {
        sandbox
            .person(&["install", "--client", "copilot"])
            .said(&["registered for Copilot CLI", "wrote 5 agents"]);
        Self { sandbox, model }
    }

    fn run(&self, prompt: &str) -> Run {
        self.start(&[], prompt)
    }

    fn resume(&self, id: &str, prompt: &str) -> Run {
        self.start(&[&format!("--resume={id}")], prompt)
    }

    /// It knows one address, the model's, and unpacks itself into a folder that all tests share.
    fn start(&self, options: &[&str], prompt: &str) -> Run {
        let (program, cache) = clients::copilot();
        #[expect(clippy::disallowed_methods, reason = "the one place that starts Copilot")]
        let mut command = Command::new(program);
        command
            .args(["--allow-all-tools", "--no-color", "--output-format", "json"])
            .args(options)
            .args(["-p", prompt])
            .env_clear()
            .envs(self.sandbox.environment())
            .env("COPILOT_HOME", home(self.sandbox))
            .env("COPILOT_PROVIDER_BASE_URL", self.model.url())
            .env("XDG_CACHE_HOME", cache)
            .envs([
                ("COPILOT_OFFLINE", "true"),
                ("COPILOT_AUTO_UPDATE", "false"),
                ("COPILOT_MODEL", "claude-sonnet-4.5"),
            ])
            .envs([("COPILOT_PROVIDER_TYPE", "anthropic"), ("COPILOT_PROVIDER_API_KEY", "made-up")])
            .current_dir(self.sandbox.project());
        let run = Run::of(command);
        assert_eq!(self.model.astray(), [""; 0], "Copilot asked for something else: {run:?}");
        run
    }
}

fn home(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".copilot")
}

fn id(run: &Run) -> String {
    run.result()["sessionId"].as_str().unwrap_or_else(|| panic!("{run:?}")).to_owned()
}

/// The last thing that the main agent said.
fn last_words(run: &Run) -> &str {
    let ours = |record: &&Value| record["type"] == "assistant.message" && record["agentId"].is_null();
    let said = run.records.iter().rfind(ours);
    said.and_then(|record| record["data"]["content"].as_str()).unwrap_or_else(|| panic!("{run:?}"))
}

fn bash(line: &str) -> Turn {
    Turn::call("bash", json!({"command": line, "description": "a command"}))
}

fn results(model: &Model) -> Vec<String> {
    model.tool_results().into_iter().map(|result| result.text).collect()
}

fn session<'a>(sandbox: &'a Sandbox, run: &Run) -> Session<'a> {
    Session::new(sandbox, &id(run))
}

fn verifies(sandbox: &Sandbox, session: &Session) {
    let told: Value = sandbox.person(&["verify", &session.id, "--json"]).json();
    assert_eq!(told["ok"], true, "{told}");
}
