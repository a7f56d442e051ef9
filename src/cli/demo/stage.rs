//! The demo's world, and the hook run in it as the client would.
//!
//! Fills a throwaway world with a project under git and a remote; starts our own program, `git` and `sh`
//! there.

use crate::cli::past;
use crate::cli::world::World;
use anyhow::{Context, bail, ensure};
use aops_core::host::claude::wire::answer::{Heard, hear};
use aops_core::ledger::session_folder::SessionKey;
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::session::fold::Session;
use aops_core::system::env::Env;
use aops_core::system::process::{Ending, Outcome};
use aops_core::text::sha256::sha256;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A step takes longer only if something is badly wrong.
const PATIENCE: Duration = Duration::from_secs(20);

/// An audit that comes soon and for certain, and a rule and a check of the user. No tracker: its background
/// refresh could outlive the stage.
const CONFIG: &str = r#"
[mode]
level = "strict"

[audit]
rate = 0.000001
at_least_every = 8
grace = 2

[tracker]
command = "none"

[[rule]]
id = "no-force-push"
command = "git push --force*"
action = "deny"
reason = "history is shared; push a new commit"

[[check]]
id = "no-scratch"
on = "commit"
run = "test ! -e notes.txt || { echo 'notes.txt is a scratch file'; exit 1; }"
"#;

const SHELL: &str = "/bin/sh";
const REPOSITORY: &str = "git init -q --bare ../remote && git init -q -b main && git remote add origin \
    ../remote \
    && git add README.md && git commit -q -m begin && git push -q -u origin main";

pub(super) struct Stage {
    world: World,
    program: PathBuf,
    pub(super) git: Option<PathBuf>,
    /// A container with only this program has no shell.
    pub(super) has_shell: bool,
    /// The environment of the child processes, needed to read what they wrote.
    env: Env,
    outside: Env,
    prompts: u32,
    calls: u32,
}

impl Stage {
    pub(super) fn set(env: &Env) -> anyhow::Result<Self> {
        let world = World::new("demo", "")?;
        let home = world.root.join("home");
        let user_config = home.join(".config/aops");
        fs::create_dir_all(&user_config)?;
        fs::create_dir(world.root.join("remote"))?;
        fs::write(user_config.join("config.toml"), CONFIG)?;
        fs::write(world.project.join("README.md"), "# greet\n")?;
        let has_shell = Path::new(SHELL).exists();
        let program = env.program()?;
        let git = env.on_path("git").filter(|_| has_shell);
        let outside = env.clone();
        let env = Env { config: home.join(".claude"), user_config, home, ..env.clone() };
        let stage = Self { world, program, git, has_shell, env, outside, prompts: 0, calls: 0 };
        if stage.git.is_some() {
            stage.shell(REPOSITORY)?;
        }
        Ok(stage)
    }

    /// A file of the project, or of the home if it begins with `~/`.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        file.strip_prefix("~/").map_or_else(|| self.world.project.join(file), |file| self.env.home.join(file))
    }

    pub(super) fn open(&mut self, act: usize) -> anyhow::Result<()> {
        let hex = sha256(&[format!("{}:{act}", self.world.root.display()).as_bytes()]);
        let [first, second, third, fourth] = [&hex[..8], &hex[8..12], &hex[13..16], &hex[17..20]];
        self.world.session_id = format!("{first}-{second}-4{third}-8{fourth}-{}", &hex[20..32]);
        self.hook("SessionStart", json!({"source": "startup"})).map(drop)
    }

    /// Later events carry this prompt's id.
    pub(super) fn prompt(&mut self, words: &str) -> anyhow::Result<Heard> {
        self.prompts += 1;
        self.hook("UserPromptSubmit", json!({"prompt": words}))
    }

    pub(super) fn new_call(&mut self, tool: &str, input: &Value) -> Value {
        self.calls += 1;
        json!({"tool_name": tool, "tool_input": input, "tool_use_id": format!("toolu_demo{:04}", self.calls)})
    }

    /// One tool call: asks the hook, and makes the call if it passes.
    pub(super) fn call(
        &mut self,
        tool: &str,
        input: &Value,
        make: impl FnOnce(&Self) -> anyhow::Result<()>,
    ) -> anyhow::Result<Heard> {
        let fields = self.new_call(tool, input);
        let heard = self.hook("PreToolUse", fields.clone())?;
        if heard.refused {
            return Ok(heard);
        }
        make(self)?;
        self.end_call(fields)
    }

    /// Ends a call; the hook's answer to the end counts for the whole call.
    pub(super) fn end_call(&self, mut fields: Value) -> anyhow::Result<Heard> {
        fields["tool_response"] = json!({"success": true});
        fields["duration_ms"] = json!(1);
        self.hook("PostToolUse", fields)
    }

    /// Sends one event to the hook, and reads its answer as the client would.
    pub(super) fn hook(&self, event: &str, fields: Value) -> anyhow::Result<Heard> {
        let payload = self.world.payload(event, &format!("prompt-{}", self.prompts), "acceptEdits", fields);
        let outcome = self.start(&self.program, &[event], Some(&payload))?;
        match outcome.ending {
            Ending::Exit(code @ (0 | 2)) => {
                let [out, err] =
                    [&outcome.stdout, &outcome.stderr].map(|bytes| String::from_utf8_lossy(bytes));
                Ok(hear(&out, &err, code))
            }
            ending => bail!("`{event}` ended with {ending:?}: {}", String::from_utf8_lossy(&outcome.stderr)),
        }
    }

    /// A person's command for this session, in a terminal of their own.
    pub(super) fn person(&self, verb: &str) -> anyhow::Result<String> {
        self.succeed(&self.program, &[verb, &self.world.session_id, "--yes"])
    }

    pub(super) fn shell(&self, line: &str) -> anyhow::Result<()> {
        self.succeed(Path::new(SHELL), &["-c", line]).map(drop)
    }

    fn succeed(&self, program: &Path, args: &[&str]) -> anyhow::Result<String> {
        let outcome = self.start(program, args, None)?;
        let said = String::from_utf8_lossy(&outcome.stderr);
        ensure!(outcome.ending == Ending::Exit(0), "`{}`: {said}", args.join(" "));
        Ok(String::from_utf8_lossy(&outcome.stdout).trim_end().to_owned())
    }

    fn start(&self, program: &Path, args: &[&str], payload: Option<&Value>) -> anyhow::Result<Outcome> {
        let mut search: OsString = self.git.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).into();
        search.push(":/usr/bin:/bin");
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let ran = self.world.run(&self.outside, program, &args, &search, payload, PATIENCE);
        ran.with_context(|| format!("`{}`", program.display()))
    }

    pub(super) fn session(&self) -> anyhow::Result<Session> {
        let cwd = self.world.project.to_string_lossy();
        let key = SessionKey { session_id: &self.world.session_id, transcript_path: "", cwd: &cwd };
        sessions::find(&self.env, key).context("the session has no state")
    }

    pub(super) fn on_disk(&self) -> anyhow::Result<SessionOnDisk> {
        let mine = |session: &SessionOnDisk| session.session_id == self.world.session_id;
        sessions::in_project(self.world.sessions())
            .into_iter()
            .find(mine)
            .context("the session has no folder")
    }

    pub(super) fn gate(&self) -> anyhow::Result<String> {
        let batches = past::batches(&self.on_disk()?)?;
        let last = batches.iter().rev().find_map(past::find_answer);
        Ok(last.map(|answered| answered.gate.to_string()).unwrap_or_default())
    }

    /// Paths as a person in the project would write them.
    pub(super) fn short(&self, text: &str) -> String {
        let project = format!("{}/", self.world.project.display());
        text.replace(&project, "").replace(&self.env.home.display().to_string(), "~")
    }
}
