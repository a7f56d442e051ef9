//! A throwaway world for the demo, and the hook run in it as the client would.
//!
//! Makes one temporary folder with a home, a project under git and a remote; starts our own program and `git` there, each
//! with a cleared environment. Invariant: the folder goes with the stage.

use super::beat::{Beat, Word};
use crate::claude::wire::heard::{Heard, hear};
use crate::cli::{past, standing};
use crate::ledger::session_folder::SessionKey;
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::system::process::{self, Ending, Outcome};
use crate::text::sha256::sha256;
use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No single step takes longer, or something is badly wrong.
const PATIENCE: Duration = Duration::from_secs(20);

/// A draw that is certain to come and comes soon, a rule and a check of the user's, and nobody who looks for a tracker in the
/// background after the stage is gone.
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

pub(super) struct Stage {
    root: PathBuf,
    program: PathBuf,
    git: Option<PathBuf>,
    /// The world of the child processes, as we have to read what they wrote.
    env: Env,
    session_id: String,
    prompts: u32,
    calls: u32,
    act: usize,
    beats: Vec<Beat>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

impl Stage {
    pub(super) fn set(env: &Env) -> anyhow::Result<Self> {
        let unique = sha256(&[format!("{}:{}", std::process::id(), env.now_ms).as_bytes()]);
        let root = env.temporary().join(format!("aops-demo-{}", &unique[..12]));
        fs::DirBuilder::new().mode(0o700).create(&root).with_context(|| format!("`{}`", root.display()))?;
        let root = root.canonicalize()?;
        let world = Env {
            config: root.join("home/.claude"),
            user_config: root.join("home/.config/aops"),
            home: root.join("home"),
            ..env.clone()
        };
        let mut stage = Self {
            program: env.program()?,
            git: env.on_path("git"),
            env: world,
            session_id: String::new(),
            prompts: 0,
            calls: 0,
            act: 0,
            beats: Vec::new(),
            root,
        };
        for folder in ["home/.config/aops", "project", "remote", "tmp", "data"] {
            fs::create_dir_all(stage.root.join(folder))?;
        }
        fs::write(stage.env.user_config.join("config.toml"), CONFIG)?;
        fs::write(stage.project().join("README.md"), "# greet\n")?;
        if stage.git.is_some() {
            stage.repository()?;
        }
        Ok(stage)
    }

    /// A project with one commit, pushed.
    fn repository(&mut self) -> anyhow::Result<()> {
        let remote = self.root.join("remote").display().to_string();
        let lines: [&[&str]; 6] = [
            &["init", "-q", "--bare", &remote],
            &["init", "-q", "-b", "main"],
            &["remote", "add", "origin", &remote],
            &["add", "README.md"],
            &["commit", "-q", "-m", "begin"],
            &["push", "-q", "-u", "origin", "main"],
        ];
        lines.iter().try_for_each(|line| self.git(line))
    }

    pub(super) fn has_git(&self) -> bool {
        self.git.is_some()
    }

    pub(super) fn git(&self, line: &[&str]) -> anyhow::Result<()> {
        let program = self.git.as_deref().context("`git` is not on PATH")?;
        let args: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        let outcome = self.start(program, &args, &Value::Null)?;
        let words = String::from_utf8_lossy(&outcome.stderr).into_owned();
        ensure!(outcome.ending == Ending::Exit(0), "`git {}`: {words}", line.join(" "));
        Ok(())
    }

    pub(super) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    pub(super) fn home(&self) -> &Path {
        &self.env.home
    }

    pub(super) fn beats(&self) -> &[Beat] {
        &self.beats
    }

    pub(super) fn last(&self) -> Option<&Beat> {
        self.beats.last()
    }

    /// A new session of this project.
    pub(super) fn open(&mut self, act: usize) -> anyhow::Result<()> {
        let hex = sha256(&[format!("{}:{act}", self.root.display()).as_bytes()]);
        self.act = act;
        self.session_id =
            format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32]);
        self.hook("SessionStart", json!({"source": "startup"})).map(drop)
    }

    pub(super) fn session_id(&self) -> &str {
        &self.session_id
    }

    /// A person's turn: later events carry its id.
    pub(super) fn next_prompt(&mut self) {
        self.prompts += 1;
    }

    pub(super) fn next_call(&mut self) -> String {
        self.calls += 1;
        format!("toolu_demo{:04}", self.calls)
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
        let outcome = self.start(&self.program, &[event.to_owned()], &payload)?;
        match outcome.ending {
            Ending::Exit(code @ (0 | 2)) => Ok(hear(&String::from_utf8_lossy(&outcome.stdout), code)),
            ending => bail!("`{event}` ended with {ending:?}: {}", String::from_utf8_lossy(&outcome.stderr)),
        }
    }

    /// A command of a person, in a terminal of their own.
    pub(super) fn person(&self, words: &[&str]) -> anyhow::Result<String> {
        let args: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let outcome = self.start(&self.program, &args, &Value::Null)?;
        let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
        ensure!(outcome.ending == Ending::Exit(0), "`aops-hook {}`: {said}", words.join(" "));
        Ok(String::from_utf8_lossy(&outcome.stdout).trim_end().to_owned())
    }

    /// Runs a program in the project. A payload makes it a hook: inside the client, with the event on its stdin.
    fn start(&self, program: &Path, args: &[String], payload: &Value) -> anyhow::Result<Outcome> {
        let text = |text: &str| OsString::from(text);
        // Only where git is: a tracker or another tool of the user's has no part in this.
        let path = self.git.as_deref().and_then(Path::parent).unwrap_or(Path::new("/usr/bin"));
        let mut variables: Vec<(&str, OsString)> = vec![
            ("HOME", self.home().into()),
            ("XDG_CONFIG_HOME", self.home().join(".config").into()),
            ("ACA_DATA", self.root.join("data").into()),
            ("TMPDIR", self.root.join("tmp").into()),
            ("PATH", path.into()),
            ("LC_ALL", text("C")),
            ("GIT_CONFIG_NOSYSTEM", text("1")),
        ];
        variables.extend(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, text("demo"))));
        variables
            .extend(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, text("demo@localhost"))));
        if !payload.is_null() {
            variables.push(("CLAUDECODE", text("1")));
            variables.push(("CLAUDE_PROJECT_DIR", self.project().into()));
            variables.push(("CLAUDE_CODE_SESSION_ATTENDED", text("0")));
        }
        let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
        let input = if payload.is_null() { String::new() } else { payload.to_string() };
        let task = process::Task {
            program,
            args,
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
        self.env.projects().join(crate::ledger::session_folder::dashed(&self.project().to_string_lossy()))
    }

    pub(super) fn session(&self) -> anyhow::Result<Session> {
        let project = self.project().display().to_string();
        let whose = SessionKey { session_id: &self.session_id, transcript_path: "", cwd: &project };
        sessions::find(&self.env, whose).context("the session has no state")
    }

    fn shelved(&self) -> anyhow::Result<SessionOnDisk> {
        let mine = |shelved: &SessionOnDisk| shelved.session_id == self.session_id;
        sessions::in_project(self.projects()).into_iter().find(mine).context("the session has no folder")
    }

    /// The folder of the session.
    pub(super) fn folder(&self) -> anyhow::Result<PathBuf> {
        Ok(self.shelved()?.path)
    }

    /// Which gate refused just now.
    fn gate(&self) -> anyhow::Result<String> {
        let batches = past::batches(&self.shelved()?)?;
        let last = batches.iter().rev().find_map(past::answered);
        Ok(last.map(|answered| answered.gate.to_owned()).unwrap_or_default())
    }

    /// Paths as a person in the project would write them.
    fn short(&self, text: &str) -> String {
        let project = format!("{}/", self.project().display());
        text.replace(&project, "").replace(&self.home().display().to_string(), "~")
    }

    /// Writes down one step.
    pub(super) fn beat(
        &mut self,
        who: &str,
        does: &str,
        event: &'static str,
        heard: &Heard,
        said: &str,
    ) -> anyhow::Result<()> {
        let gate = if heard.refused { self.gate()? } else { String::new() };
        let (word, said) = match heard {
            Heard { refused: true, reason, .. } => (Word::Refused, reason.clone()),
            Heard { notice, .. } if !notice.is_empty() => (Word::Told, notice.clone()),
            _ if said.is_empty() => (Word::Passed, "passes".to_owned()),
            _ => (Word::Told, said.to_owned()),
        };
        let said = self.short(&said);
        let state = self.session()?.state;
        self.beats.push(Beat {
            act: self.act,
            who: who.to_owned(),
            does: does.to_owned(),
            event,
            word,
            gate,
            said,
            phase: standing::phase(state.phase),
            sandbox: standing::sandbox(state.sandbox),
        });
        Ok(())
    }
}
