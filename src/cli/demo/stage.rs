//! A throwaway world for the demo, and the hook run in it as the client would.
//!
//! Makes one temporary folder with a home, a project under git and a remote; starts our own program, `git` and `sh`
//! there, each with a cleared environment. Invariant: the folder goes with the stage.

use crate::claude::wire::answer::{Heard, hear};
use crate::cli::{past, standing};
use crate::ledger::session_folder::{SessionKey, dashed};
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::system::files::Scratch;
use crate::system::process::{self, Ending, Outcome};
use crate::text::sha256::sha256;
use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No single step takes longer, or something is badly wrong.
const PATIENCE: Duration = Duration::from_secs(20);

/// An audit that is certain to come and comes soon, a rule and a check of the user's. No tracker: its refresh in the
/// background could outlive the stage.
const CONFIG: &str = r#"
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

/// A project with one commit, pushed.
const REPOSITORY: &str = "git init -q --bare ../remote && git init -q -b main && git remote add origin ../remote \
    && git add README.md && git commit -q -m begin && git push -q -u origin main";

pub(super) struct Stage {
    /// Removed with the stage.
    _scratch: Scratch,
    root: PathBuf,
    program: PathBuf,
    git: Option<PathBuf>,
    /// The environment of the child processes, to read what they wrote.
    env: Env,
    session_id: String,
    prompts: u32,
    calls: u32,
}

impl Stage {
    pub(super) fn set(env: &Env) -> anyhow::Result<Self> {
        let scratch = Scratch::new("demo")?;
        let root = scratch.0.canonicalize()?;
        let world = Env {
            config: root.join("home/.claude"),
            user_config: root.join("home/.config/aops"),
            home: root.join("home"),
            ..env.clone()
        };
        let stage = Self {
            _scratch: scratch,
            program: env.program()?,
            git: env.on_path("git"),
            env: world,
            session_id: String::new(),
            prompts: 0,
            calls: 0,
            root,
        };
        for folder in ["home/.config/aops", "project", "remote", "tmp", "data"] {
            fs::create_dir_all(stage.root.join(folder))?;
        }
        fs::write(stage.env.user_config.join("config.toml"), CONFIG)?;
        fs::write(stage.path("README.md"), "# greet\n")?;
        if stage.has_git() {
            stage.shell(REPOSITORY)?;
        }
        Ok(stage)
    }

    pub(super) fn has_git(&self) -> bool {
        self.git.is_some()
    }

    fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// A file of the project, or of the home where it begins with `~/`.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        file.strip_prefix("~/").map_or_else(|| self.project().join(file), |file| self.env.home.join(file))
    }

    /// A new session of this project.
    pub(super) fn open(&mut self, act: usize) -> anyhow::Result<()> {
        let hex = sha256(&[format!("{}:{act}", self.root.display()).as_bytes()]);
        self.session_id = format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32]);
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

    /// One call: asked for, and made where it passes.
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

    /// The call is over; the answer to that stands for the whole call.
    pub(super) fn end_call(&self, mut fields: Value) -> anyhow::Result<Heard> {
        fields["tool_response"] = json!({"success": true});
        fields["duration_ms"] = json!(1);
        self.hook("PostToolUse", fields)
    }

    /// One event to the hook, and what the client would understand of its answer.
    pub(super) fn hook(&self, event: &str, fields: Value) -> anyhow::Result<Heard> {
        let transcript = self.projects().join(format!("{}.jsonl", self.session_id));
        let mut payload = json!({
            "session_id": self.session_id, "transcript_path": transcript, "cwd": self.project(),
            "hook_event_name": event, "prompt_id": format!("prompt-{}", self.prompts),
            "permission_mode": "acceptEdits",
        });
        if let (Some(payload), Value::Object(fields)) = (payload.as_object_mut(), fields) {
            payload.extend(fields);
        }
        let outcome = self.start(&self.program, &[event], Some(&payload))?;
        match outcome.ending {
            Ending::Exit(code @ (0 | 2)) => Ok(hear(&String::from_utf8_lossy(&outcome.stdout), code)),
            ending => bail!("`{event}` ended with {ending:?}: {}", String::from_utf8_lossy(&outcome.stderr)),
        }
    }

    /// A command of a person for this session, in a terminal of their own.
    pub(super) fn person(&self, verb: &str) -> anyhow::Result<String> {
        self.well(&self.program, &[verb, &self.session_id, "--yes"])
    }

    pub(super) fn shell(&self, line: &str) -> anyhow::Result<()> {
        self.well(Path::new("/bin/sh"), &["-c", line]).map(drop)
    }

    /// Runs a program that must succeed: what it printed.
    fn well(&self, program: &Path, args: &[&str]) -> anyhow::Result<String> {
        let outcome = self.start(program, args, None)?;
        let said = String::from_utf8_lossy(&outcome.stderr);
        ensure!(outcome.ending == Ending::Exit(0), "`{}`: {said}", args.join(" "));
        Ok(String::from_utf8_lossy(&outcome.stdout).trim_end().to_owned())
    }

    /// Runs a program in the project. A payload makes it a hook: inside the client, with the event on its stdin.
    fn start(&self, program: &Path, args: &[&str], payload: Option<&Value>) -> anyhow::Result<Outcome> {
        let text = |text: &str| OsString::from(text);
        let mut path = self.git.as_deref().and_then(Path::parent).map(|folder| folder.as_os_str().to_owned());
        path.get_or_insert_default().push(":/usr/bin:/bin");
        let mut variables: Vec<(&str, OsString)> = vec![
            ("HOME", self.env.home.clone().into()),
            ("XDG_CONFIG_HOME", self.env.home.join(".config").into()),
            ("ACA_DATA", self.root.join("data").into()),
            ("TMPDIR", self.root.join("tmp").into()),
            ("PATH", path.unwrap_or_default()),
            ("LC_ALL", text("C")),
            ("GIT_CONFIG_NOSYSTEM", text("1")),
        ];
        variables.extend(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, text("demo"))));
        variables.extend(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, text("demo@localhost"))));
        if payload.is_some() {
            variables.push(("CLAUDECODE", text("1")));
            variables.push(("CLAUDE_PROJECT_DIR", self.project().into()));
            variables.push(("CLAUDE_CODE_SESSION_ATTENDED", text("0")));
        }
        let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let input = payload.map(ToString::to_string).unwrap_or_default();
        let task = process::Task {
            program,
            args: &args,
            folder: &self.project(),
            variables: &variables,
            input: input.as_bytes(),
            timeout: PATIENCE,
            keep: 1 << 20,
        };
        process::run(&task).with_context(|| format!("`{}`", program.display()))
    }

    /// The folder of the project's sessions.
    fn projects(&self) -> PathBuf {
        self.env.projects().join(dashed(&self.project().to_string_lossy()))
    }

    pub(super) fn session(&self) -> anyhow::Result<Session> {
        let project = self.project().display().to_string();
        let key = SessionKey { session_id: &self.session_id, transcript_path: "", cwd: &project };
        sessions::find(&self.env, key).context("the session has no state")
    }

    /// Phase and sandbox.
    pub(super) fn standing(&self) -> anyhow::Result<(&'static str, &'static str)> {
        let state = self.session()?.state;
        Ok((standing::phase(state.phase), standing::sandbox(state.sandbox)))
    }

    fn on_disk(&self) -> anyhow::Result<SessionOnDisk> {
        let mine = |session: &SessionOnDisk| session.session_id == self.session_id;
        sessions::in_project(self.projects()).into_iter().find(mine).context("the session has no folder")
    }

    /// The folder of the session.
    pub(super) fn folder(&self) -> anyhow::Result<PathBuf> {
        Ok(self.on_disk()?.path)
    }

    /// The gate that refused just now.
    pub(super) fn gate(&self) -> anyhow::Result<String> {
        let batches = past::batches(&self.on_disk()?)?;
        let last = batches.iter().rev().find_map(past::answered);
        Ok(last.map(|answered| answered.gate.to_owned()).unwrap_or_default())
    }

    /// Paths as a person in the project would write them.
    pub(super) fn short(&self, text: &str) -> String {
        let project = format!("{}/", self.project().display());
        text.replace(&project, "").replace(&self.env.home.display().to_string(), "~")
    }
}
