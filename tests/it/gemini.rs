//! The real, unmodified Gemini CLI and Qwen Code, run headless in a `Sandbox` against a scripted `Model`:
//! refusal, ledger, rollback.

mod conform;
mod install;

use crate::client::{Run, install as clients};
use crate::model::Model;
use crate::support::{Sandbox, Session};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Which of the two it is.
#[derive(Clone, Copy)]
enum Kind {
    Gemini,
    Qwen,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Gemini => "gemini",
            Kind::Qwen => "qwen",
        }
    }

    fn home(self, sandbox: &Sandbox) -> PathBuf {
        sandbox.home().join(format!(".{}", self.name()))
    }

    /// Its own settings, which know one way in: a key.
    fn settings(self) -> Value {
        let auth = match self {
            Kind::Gemini => "gemini-api-key",
            Kind::Qwen => "anthropic",
        };
        json!({"security": {"auth": {"selectedType": auth}}, "privacy": {"usageStatisticsEnabled": false},
            "general": {"disableAutoUpdate": true, "enableAutoUpdate": false}, "telemetry": {"enabled": false}})
    }

    /// A headless run after `aops-hook install --client …`, which may be again.
    fn run(self, sandbox: &Sandbox, model: &Model, prompt: &str) -> Run {
        if !self.home(sandbox).exists() {
            fs::create_dir_all(self.home(sandbox)).unwrap();
            fs::write(self.home(sandbox).join("settings.json"), self.settings().to_string()).unwrap();
            sandbox.person(&["install", "--client", self.name()]).said(&["registered for"]);
        }
        let program = match self {
            Kind::Gemini => clients::gemini(),
            Kind::Qwen => clients::qwen(),
        };
        #[expect(clippy::disallowed_methods, reason = "the one place that starts these two")]
        let mut command = Command::new(program);
        command.args(["-y", "-o", "stream-json", "-m", self.model()]).args(["-p", prompt]);
        command.env_clear().envs(sandbox.environment()).current_dir(sandbox.project());
        // Else each starts itself a second time, for more memory.
        command.envs(["GEMINI_CLI", "QWEN_CODE"].map(|name| (format!("{name}_NO_RELAUNCH"), "true")));
        match self {
            Kind::Gemini => command
                .envs([("GEMINI_API_KEY", "made-up"), ("GEMINI_CLI_TRUST_WORKSPACE", "true")])
                .env("GOOGLE_GEMINI_BASE_URL", model.url()),
            Kind::Qwen => command.env("ANTHROPIC_API_KEY", "made-up").env("ANTHROPIC_BASE_URL", model.url()),
        };
        let run = Run::of(command);
        assert_eq!(model.astray(), [""; 0], "it asked for something else: {run:?}");
        run
    }

    fn model(self) -> &'static str {
        match self {
            Kind::Gemini => "gemini-2.5-flash",
            Kind::Qwen => "m1",
        }
    }
}

fn session<'a>(sandbox: &'a Sandbox, run: &Run) -> Session<'a> {
    Session::new(sandbox, run.session_id())
}

fn results(model: &Model) -> Vec<String> {
    model.tool_results().into_iter().map(|result| result.text).collect()
}
