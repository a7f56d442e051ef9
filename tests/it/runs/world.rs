//! A clean repository with workflows of its own, in which runs are driven.

use crate::client::{client_variables, fake, install};
use crate::model::{Model, Turn};
use crate::support::{Answer, BINARY, Sandbox, Session};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Several clients one after another, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);

pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
}

/// No tracker, no audit by chance, and one rule that asks.
pub(crate) const CONFIG: &str = r#"
[tracker]
command = "none"

[audit]
rate = 0

[[rule]]
id = "ask-first"
command = "touch danger"
action = "ask"
reason = "danger is not to be touched lightly"
"#;

impl World {
    /// With these workflows, each an id and its steps.
    pub(crate) fn new(workflows: &[(&str, &str)]) -> Self {
        Self::of(Sandbox::new(), workflows)
    }

    /// The same with the fake client and this model.
    pub(crate) fn with(model: &Model, workflows: &[(&str, &str)]) -> Self {
        Self::driving(&fake::program(), model, workflows)
    }

    /// The same with the real client.
    pub(crate) fn real(model: &Model, workflows: &[(&str, &str)]) -> Self {
        Self::driving(&install::program(), model, workflows)
    }

    pub(crate) fn driving(client: &Path, model: &Model, workflows: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::new().with("AOPS_CLAUDE", client);
        let variables = client_variables(model).into_iter();
        Self::of(variables.fold(sandbox, |sandbox, (name, value)| sandbox.with(name, value)), workflows)
    }

    pub(crate) fn of(sandbox: Sandbox, workflows: &[(&str, &str)]) -> Self {
        let world = Self { sandbox };
        world.configure(CONFIG);
        for (id, steps) in workflows {
            let text = format!(
                "---\nid: {id}\ntitle: T\ntype: workflow\ncategory: test\ndependencies: []\nsteps:\n{steps}---\n\n# T\n"
            );
            world.sandbox.put(&format!(".aops/workflows/{id}.md"), &text);
        }
        world.sandbox.put("README.md", "# a project\n");
        world.git(&["init", "-q", "-b", "main"]);
        world.git(&["config", "user.email", "t@example.invalid"]);
        world.git(&["config", "user.name", "t"]);
        world.commit();
        world
    }

    pub(crate) fn configure(&self, text: &str) {
        self.sandbox.configure(text);
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self.sandbox.command("git").args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "work"]);
    }

    /// A command for people.
    pub(crate) fn person(&self, arguments: &[&str]) -> Answer {
        Answer::of("", &self.sandbox.command(BINARY).args(arguments).timeout(PATIENCE).output().unwrap())
    }

    pub(crate) fn run(&self, workflow: &str) -> DriverOutput {
        DriverOutput::of(self.person(&["run", "make it so", "--workflow", workflow, "--json"]))
    }

    pub(crate) fn resume(&self, name: &str) -> DriverOutput {
        DriverOutput::of(self.person(&["resume", name, "--json"]))
    }

    /// A driver that the test does not wait for.
    #[expect(clippy::disallowed_methods, reason = "a driver that is killed on the way")]
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        Command::new(BINARY)
            .args(arguments)
            .env_clear()
            .envs(self.sandbox.environment())
            .current_dir(self.sandbox.project())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// The words that steps wrote into the file `effects`.
    pub(crate) fn effects(&self) -> Vec<String> {
        let text = fs::read_to_string(self.sandbox.project().join("effects")).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    }

    pub(crate) fn there(&self, name: &str) -> bool {
        self.sandbox.project().join(name).exists()
    }

    pub(crate) fn artifacts(&self, kind: &str) -> Vec<PathBuf> {
        let listing = fs::read_dir(self.sandbox.project().join("artifacts").join(kind));
        let mut found: Vec<_> = listing.into_iter().flatten().map(|item| item.unwrap().path()).collect();
        found.sort();
        found
    }

    /// The id of the one packet there is.
    #[track_caller]
    pub(crate) fn checkpoint(&self) -> String {
        let found = self.artifacts("checkpoints");
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].file_stem().unwrap().to_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn packet(&self) -> String {
        fs::read_to_string(
            self.sandbox.project().join(format!("artifacts/checkpoints/{}.yaml", self.checkpoint())),
        )
        .unwrap()
    }

    pub(crate) fn runs(&self) -> Value {
        self.person(&["runs", "--json"]).json()
    }

    pub(crate) fn session(&self) -> Session<'_> {
        let runs = self.runs();
        let last = runs.as_array().unwrap().last().unwrap();
        Session::new(&self.sandbox, last["session_id"].as_str().unwrap())
    }

    /// Every line of the attempt ledger.
    pub(crate) fn deeds(&self) -> Vec<Value> {
        let path = self.sandbox.project().join("artifacts/loop_state/attempt_ledger.jsonl");
        fs::read_to_string(path)
            .unwrap_or_default()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The process id of the newest program, as its watcher wrote it down.
    pub(crate) fn program(&self) -> Option<u32> {
        let number = |path: &PathBuf| fs::read_to_string(path).ok()?.parse().ok();
        // The watcher writes it after the start, so effects of the program may be visible before.
        let known = || self.jobs("pid").iter().filter_map(number).count();
        until("the process id of every program", || known() >= self.jobs("job").len());
        let newest = |path: &PathBuf| fs::metadata(path).and_then(|m| m.modified()).unwrap();
        number(&self.jobs("pid").into_iter().max_by_key(newest)?)
    }

    /// The end of every program that was started is written down.
    pub(crate) fn has_ended(&self) -> bool {
        self.jobs("exit").len() == self.jobs("job").len()
    }

    fn jobs(&self, kind: &str) -> Vec<PathBuf> {
        let runs = fs::read_dir(self.sandbox.config().join("aops/runs")).into_iter().flatten().flatten();
        let files = runs.flat_map(|run| fs::read_dir(run.path()).into_iter().flatten().flatten());
        files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|e| e == kind)).collect()
    }
}

/// What a driver printed, and how it ended.
#[derive(Debug)]
pub(crate) struct DriverOutput {
    pub(crate) code: Option<i32>,
    pub(crate) lines: Vec<Value>,
    pub(crate) last: Value,
    pub(crate) err: String,
}

impl DriverOutput {
    pub(crate) fn of(answer: Answer) -> Self {
        let lines: Vec<Value> = answer
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {answer:?}")))
            .collect();
        let last = lines.last().unwrap_or_else(|| panic!("nothing was said: {answer:?}")).clone();
        Self { code: answer.code, lines, last, err: answer.err }
    }

    #[track_caller]
    pub(crate) fn passed(&self) {
        assert_eq!(
            (self.code, &self.last["outcome"], &self.last["exit"]),
            (Some(0), &json!("PASS"), &json!(0)),
            "{self:#?}"
        );
    }

    #[track_caller]
    pub(crate) fn blocked(&self, words: &str) {
        assert_eq!((self.code, &self.last["outcome"]), (Some(1), &json!("BLOCKED")), "{self:#?}");
        assert!(self.last["reason"].as_str().unwrap().contains(words), "{self:#?}");
    }

    #[track_caller]
    pub(crate) fn paused(&self, outcome: &str) {
        assert_eq!((self.code, &self.last["outcome"]), (Some(3), &json!(outcome)), "{self:#?}");
        assert!(self.err.contains("aops-hook resume CP_"), "it says how to go on: {self:#?}");
    }

    #[track_caller]
    pub(crate) fn refused(&self, code: i32, words: &str) {
        assert_eq!((self.code, &self.last["exit"]), (Some(code), &json!(code)), "{self:#?}");
        assert!(self.err.contains(words) && self.err.contains("hint:"), "{self:#?}");
    }

    /// Refused because a file is damaged; there is no hint for that.
    #[track_caller]
    pub(crate) fn refused_without_hint(&self, code: i32, words: &str) {
        assert_eq!((self.code, &self.last["exit"]), (Some(code), &json!(code)), "{self:#?}");
        assert!(self.err.contains(words), "{self:#?}");
    }
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_mins(1), "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The process is gone; a zombie counts as gone.
pub(crate) fn is_gone(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().unwrap().split_whitespace().next().is_none_or(|state| state == "Z")
}

pub(crate) fn bash(line: &str) -> Turn {
    Turn::call("Bash", json!({"command": line}))
}

/// The step's agent is started.
pub(crate) fn agent(name: &str) -> Turn {
    Turn::call(
        "Agent",
        json!({"description": "its part", "prompt": "do it", "subagent_type": format!("aops:{name}")}),
    )
}

pub(crate) fn verdict(block: &Value) -> Turn {
    Turn::text(&format!("My report.\n\n```aops\n{block}\n```"))
}

pub(crate) fn proceed() -> Turn {
    verdict(&json!({"verdict": "PROCEED", "acceptance_criteria": ["it is so"], "problems": []}))
}
