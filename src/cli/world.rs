//! A throwaway home with a project and a session; programs run there as the client would run them.
//!
//! Creates one temporary folder and starts processes in it, each with a cleared environment. Invariants: such
//! a program sees none of the user's folders; the folder is removed with the world; if an agent called us,
//! each program is jailed like the agent's commands, by the real folders.

use super::merge;
use aops_core::ledger::session_folder::dashed;
use aops_core::system::env::Env;
use aops_core::system::files::Scratch;
use aops_core::system::process::program::{Identity, Program};
use aops_core::system::process::{self, Outcome, Task, variable};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Variables that name a folder of the world.
const FOLDERS: [(&str, &str); 4] =
    [("HOME", "home"), ("XDG_CONFIG_HOME", "home/.config"), ("ACA_DATA", "data"), ("TMPDIR", "tmp")];

const WORDS: [(&str, &str); 6] = [
    ("LC_ALL", "C"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_AUTHOR_NAME", "demo"),
    ("GIT_COMMITTER_NAME", "demo"),
    ("GIT_AUTHOR_EMAIL", "demo@localhost"),
    ("GIT_COMMITTER_EMAIL", "demo@localhost"),
];

pub(super) struct World {
    /// Removed with the world.
    _scratch: Scratch,
    pub(super) root: PathBuf,
    pub(super) project: PathBuf,
    pub(super) session_id: String,
}

impl World {
    pub(super) fn new(name: &str, session_id: &str) -> io::Result<Self> {
        let scratch = Scratch::new(name)?;
        let root = scratch.0.canonicalize()?;
        for folder in FOLDERS.map(|(_, folder)| folder).into_iter().chain(["home/.claude", "project"]) {
            std::fs::create_dir_all(root.join(folder))?;
        }
        std::fs::write(root.join("exports.sh"), "")?;
        Ok(Self { _scratch: scratch, project: root.join("project"), root, session_id: session_id.to_owned() })
    }

    /// The folder of the project's sessions.
    pub(super) fn sessions(&self) -> PathBuf {
        self.root.join("home/.claude/projects").join(dashed(&self.project.to_string_lossy()))
    }

    /// One event as the client writes it to the hook's stdin: the common fields, and those of its kind.
    pub(super) fn payload(&self, event: &str, prompt_id: &str, mode: &str, own: Value) -> Value {
        let transcript = self.sessions().join(format!("{}.jsonl", self.session_id));
        let common = json!({
            "session_id": self.session_id, "transcript_path": transcript, "cwd": self.project,
            "hook_event_name": event, "prompt_id": prompt_id, "permission_mode": mode,
        });
        merge(common, own)
    }

    /// Runs a program in the project. `env`: the environment of the person or agent who called us. With a
    /// payload the program runs as a hook: inside the client, with the event on its stdin.
    pub(super) fn run(
        &self,
        env: &Env,
        program: &Path,
        args: &[String],
        search: &OsStr,
        payload: Option<&Value>,
        timeout: Duration,
    ) -> io::Result<Outcome> {
        let mut variables = vec![variable("PATH", search)];
        variables.extend(FOLDERS.map(|(name, folder)| variable(name, self.root.join(folder))));
        variables.extend(WORDS.map(|(name, word)| variable(name, word)));
        if payload.is_some() {
            variables.extend([
                variable("CLAUDECODE", "1"),
                variable("CLAUDE_CONFIG_DIR", self.root.join("home/.claude")),
                variable("CLAUDE_CODE_SESSION_ID", &self.session_id),
                variable("CLAUDE_CODE_SESSION_ATTENDED", "0"),
                variable("CLAUDE_PROJECT_DIR", &self.project),
                variable("CLAUDE_ENV_FILE", self.root.join("exports.sh")),
            ]);
        }
        let input = payload.map(|payload| format!("{payload}\n")).unwrap_or_default();
        let project = Some(&env.client.project).filter(|project| !project.as_os_str().is_empty());
        let project = project.or(env.client.called_in.as_ref()).unwrap_or(&env.cwd);
        let guarding = env.for_project(project);
        let program = Program::find(&guarding, Identity::At(program))?;
        let task = Task::new(&program, args, &self.project, &variables, timeout);
        process::run(&Task { input: input.as_bytes(), keep: 1 << 20, ..task })
    }
}
