//! The real, unmodified OpenCode, run headless in a `Sandbox` against a scripted `Model`: refusals, the loop,
//! rollback.

mod conform;
mod install;
mod whole_loop;

use crate::client::{Run, install as clients};
use crate::model::{Model, Turn};
use crate::support::{Sandbox, Session};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

/// What would ask the network. A list of models of its own and a compiler that gives up sooner also spare
/// five of eight seconds of a core at each start.
const SWITCHED_OFF: [&str; 4] = ["MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"];

pub(crate) struct Opencode<'a> {
    sandbox: &'a Sandbox,
    model: &'a Model,
}

impl<'a> Opencode<'a> {
    /// OpenCode after `aops-hook install --client opencode`.
    fn guarded(sandbox: &'a Sandbox, model: &'a Model) -> Self {
        sandbox
            .person(&["install", "--client", "opencode"])
            .said(&["registered for OpenCode", "wrote 5 agents"]);
        Self::unguarded(sandbox, model)
    }

    /// OpenCode as it is, with a configuration that knows one address: the model's.
    fn unguarded(sandbox: &'a Sandbox, model: &'a Model) -> Self {
        fs::create_dir_all(home(sandbox)).unwrap();
        let (_, library) = clients::opencode();
        // Else it would fetch the library of plugins at each start.
        symlink(library.join("node_modules"), home(sandbox).join("node_modules")).unwrap();
        for file in ["package.json", "package-lock.json"] {
            fs::copy(library.join(file), home(sandbox).join(file)).unwrap();
        }
        fs::write(home(sandbox).join("opencode.json"), configuration(model).to_string()).unwrap();
        fs::write(home(sandbox).join("models.json"), "{}").unwrap();
        Self { sandbox, model }
    }

    fn run(&self, prompt: &str) -> Run {
        self.start(&[], prompt)
    }

    fn resume(&self, id: &str, prompt: &str) -> Run {
        self.start(&["--session", id], prompt)
    }

    fn start(&self, options: &[&str], prompt: &str) -> Run {
        #[expect(clippy::disallowed_methods, reason = "the one place that starts OpenCode")]
        let mut command = Command::new(clients::opencode().0);
        command
            .args(["run", "--format", "json", "--title", "work"])
            .args(options)
            .arg(prompt)
            .env_clear()
            .envs(self.sandbox.environment())
            .envs(SWITCHED_OFF.map(|name| (format!("OPENCODE_DISABLE_{name}"), "1")))
            .env("OPENCODE_MODELS_PATH", home(self.sandbox).join("models.json"))
            .env("BUN_JSC_useDFGJIT", "0")
            .current_dir(self.sandbox.project());
        let run = Run::of(command);
        assert_eq!(self.model.astray(), [""; 0], "OpenCode asked for something else: {run:?}");
        run
    }
}

fn configuration(model: &Model) -> Value {
    let limit = json!({"context": 100_000, "output": 4_000});
    json!({
        "autoupdate": false, "share": "disabled", "snapshot": false, "lsp": false, "formatter": false, "model": "scripted/m1", "small_model": "scripted/m1",
        "provider": {"scripted": {"npm": "@ai-sdk/anthropic", "name": "scripted",
            "options": {"baseURL": format!("{}/v1", model.url()), "apiKey": "made-up"},
            "models": {"m1": {"name": "m1", "tool_call": true, "limit": limit}}}},
    })
}

fn home(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".config/opencode")
}

fn id(run: &Run) -> String {
    let named = run.records.iter().find_map(|record| record["sessionID"].as_str());
    named.unwrap_or_else(|| panic!("{run:?}")).to_owned()
}

/// The last thing that the main agent said.
fn last_words(run: &Run) -> &str {
    let said = run.records.iter().rfind(|record| record["type"] == "text");
    said.and_then(|record| record["part"]["text"].as_str()).unwrap_or_else(|| panic!("{run:?}"))
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
