//! The real, unmodified Codex, run headless in a `Sandbox` against a scripted `Model`: refusals, the whole
//! loop, rollback.

mod conform;
mod install;
mod runs;
mod whole_loop;

use crate::client::{Run, install as clients};
use crate::model::{Model, Turn};
use crate::support::{Sandbox, Session};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

pub(crate) struct Codex<'a> {
    sandbox: &'a Sandbox,
    model: &'a Model,
}

impl<'a> Codex<'a> {
    /// Codex after `aops-hook install --client codex`.
    fn guarded(sandbox: &'a Sandbox, model: &'a Model) -> Self {
        let codex = Self::unguarded(sandbox, model);
        sandbox.person(&["install", "--client", "codex"]).said(&["registered for Codex", "wrote 5 agents"]);
        codex
    }

    /// Codex as it is, with a configuration that knows one address: the model's.
    fn unguarded(sandbox: &'a Sandbox, model: &'a Model) -> Self {
        fs::create_dir_all(home(sandbox)).unwrap();
        fs::write(home(sandbox).join("config.toml"), configuration(sandbox, model)).unwrap();
        Self { sandbox, model }
    }

    /// With another model, which has other tools.
    fn with_model(self, name: &str) -> Self {
        let path = home(self.sandbox).join("config.toml");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.replacen("gpt-5", name, 1)).unwrap();
        self
    }

    fn run(&self, prompt: &str) -> Run {
        self.start(&["exec"], prompt)
    }

    fn resume(&self, id: &str, prompt: &str) -> Run {
        self.start(&["exec", "resume", id], prompt)
    }

    fn start(&self, verb: &[&str], prompt: &str) -> Run {
        #[expect(clippy::disallowed_methods, reason = "the one place that starts Codex")]
        let mut command = Command::new(clients::codex());
        command
            .args(verb)
            .args(["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"])
            .arg(prompt)
            .env_clear()
            .envs(self.sandbox.environment())
            .envs([("CODEX_HOME", home(self.sandbox).into_os_string()), ("MODEL_KEY", "made-up".into())])
            .current_dir(self.sandbox.project());
        let run = Run::of(command);
        assert_eq!(self.model.astray(), [""; 0], "Codex asked for something else: {run:?}");
        run
    }
}

fn home(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".codex")
}

fn configuration(sandbox: &Sandbox, model: &Model) -> String {
    format!(
        "model = \"gpt-5\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\n\
         env_key = \"MODEL_KEY\"\nrequest_max_retries = 0\nstream_max_retries = 0\nsupports_websockets = false\n\n\
         [analytics]\nenabled = false\n\n[projects.{}]\ntrust_level = \"trusted\"\n",
        model.url(),
        json!(sandbox.project())
    )
}

fn id(run: &Run) -> String {
    let started = run.records.iter().find(|record| record["type"] == "thread.started");
    started.and_then(|record| record["thread_id"].as_str()).unwrap_or_else(|| panic!("{run:?}")).to_owned()
}

/// The last thing that the main agent said.
fn last_words(run: &Run) -> &str {
    let said = run.records.iter().rfind(|record| record["item"]["type"] == "agent_message");
    said.and_then(|record| record["item"]["text"].as_str()).unwrap_or_else(|| panic!("{run:?}"))
}

/// A script of code mode with a patch that adds one file.
fn patch(name: &str, line: &str) -> Turn {
    let patch = format!("*** Begin Patch\n*** Add File: {name}\n+{line}\n*** End Patch");
    Turn::call("exec", json!(format!("text(await tools.apply_patch({}));", json!(patch))))
}

fn bash(line: &str) -> Turn {
    Turn::call("exec_command", json!({"cmd": line}))
}

fn results(model: &Model) -> Vec<String> {
    model.tool_results().into_iter().map(|result| result.text).collect()
}

fn session<'a>(sandbox: &'a Sandbox, run: &Run) -> Session<'a> {
    Session::new(sandbox, &id(run))
}

/// Names of the events in the ledger that are no step of a call.
fn events(session: &Session) -> Vec<String> {
    let entries = session.entries();
    let seen = entries.iter().filter(|entry| entry["type"] == "event");
    seen.map(|entry| entry["with"]["event"].as_str().unwrap_or_default().to_owned()).collect()
}

fn verifies(sandbox: &Sandbox, session: &Session) {
    let told: Value = sandbox.person(&["verify", &session.id, "--json"]).json();
    assert_eq!(told["ok"], true, "{told}");
}
