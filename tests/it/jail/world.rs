//! A session whose client starts shell commands through us.

use crate::support::{BINARY, Call, Sandbox, Session};
use rustix::process::{Flock, FlockType, Pid, fcntl_getlk};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// With this variable every command of these tests makes its own jail.
pub(super) const UNPREPARED: &str = "JAIL_TESTS_UNPREPARED";

pub(crate) struct Jailed {
    pub(crate) sandbox: Sandbox,
}

/// One command: what it said, and what the model was told about it.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
    pub(crate) told: String,
    /// What the person was told.
    pub(super) noticed: String,
    pub(super) step: Value,
}

impl Ran {
    pub(super) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code(),
            signal: output.status.signal(),
            out: text(&output.stdout),
            err: text(&output.stderr),
            told: String::new(),
            noticed: String::new(),
            step: Value::Null,
        }
    }

    /// How the ledger says that it ran.
    pub(super) fn profile(&self) -> String {
        self.step["end"]["under"]["jailed"]["profile"].as_str().unwrap_or_default().to_owned()
    }
}

pub(crate) struct JailedSession<'a> {
    pub(crate) inner: Session<'a>,
    world: &'a Jailed,
}

impl Jailed {
    pub(super) fn new() -> Self {
        Self::with("")
    }

    pub(super) fn with(configuration: &str) -> Self {
        let sandbox = Sandbox::new().with("CLAUDE_CODE_SHELL_PREFIX", format!("{BINARY} --shell"));
        sandbox.configure(configuration);
        Self { sandbox }
    }

    /// With a person at the client.
    pub(super) fn attended(configuration: &str) -> Self {
        let world = Self::with(configuration);
        Self { sandbox: world.sandbox.with("CLAUDE_CODE_SESSION_ATTENDED", "1") }
    }

    /// With a project of this name.
    pub(super) fn below(name: &str) -> Self {
        let sandbox = Sandbox::named(name).with("CLAUDE_CODE_SHELL_PREFIX", format!("{BINARY} --shell"));
        sandbox.configure("");
        let world = Self { sandbox };
        fs::create_dir_all(world.project().join(".aops")).unwrap();
        fs::write(world.project().join(".aops/config.toml"), "").unwrap();
        world
    }

    pub(super) fn project(&self) -> PathBuf {
        self.sandbox.project()
    }

    /// Every file of the project, with its bytes, times and modes.
    pub(super) fn tree(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.project()];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(&folder).unwrap().map(|item| item.unwrap().path()) {
                let meta = path.symlink_metadata().unwrap();
                // The file of a lock can be read by nobody.
                let is_lock = path.to_string_lossy().ends_with("lock");
                let bytes = if meta.is_file() && !is_lock { fs::read(&path).unwrap() } else { Vec::new() };
                folders.extend(Some(path.clone()).filter(|_| meta.is_dir()));
                found.insert(
                    path,
                    format!("{:?} {:?} {bytes:?}", meta.modified().unwrap(), meta.permissions()),
                );
            }
        }
        found
    }

    /// A session that was started and prompted: its sandbox is shut.
    pub(crate) fn prompted(&self) -> JailedSession<'_> {
        let inner = self.sandbox.session();
        let started = inner.start("startup");
        assert_eq!((started.code, started.err.as_str()), (Some(0), ""), "{started:?}");
        assert!(!started.out.contains("systemMessage"), "the jail does not hold here: {started:?}");
        let _ = inner.prompt("add a greeting");
        JailedSession { inner, world: self }
    }

    /// The folder that holds project, home and temporary folder.
    pub(crate) fn root(&self) -> PathBuf {
        self.project().parent().unwrap().to_owned()
    }

    /// The program around a command, as the client calls it.
    pub(super) fn command(&self, line: &str, variables: &[(&str, &str)]) -> Command {
        let mut command = self.started([BINARY, "--shell", line]);
        command.env("CLAUDE_CODE_MESSAGING_SOCKET", "/nowhere").env("CLAUDE_CODE_MESSAGING_TOKEN", "secret");
        command.envs(variables.iter().copied());
        command
    }

    /// What the client would start without us.
    pub(super) fn bare(&self, line: &str) -> Ran {
        Ran::of(&self.started(["/bin/bash", "-c", line]).output().unwrap())
    }

    #[expect(clippy::disallowed_methods, reason = "assert_cmd keeps no process group and no signal")]
    pub(super) fn started(&self, words: [&str; 3]) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env_clear().envs(self.sandbox.environment()).current_dir(self.project());
        command.env("CLAUDECODE", "1").env("AI_AGENT", "claude-code_2-1-325_agent").stdin(Stdio::null());
        command
    }

    pub(super) fn shell(&self, line: &str, variables: &[(&str, &str)]) -> Ran {
        Ran::of(&self.command(line, variables).output().unwrap())
    }
}

/// The line that the client makes of a command.
pub(super) fn around(command: &str, folder_file: &Path) -> String {
    let quoted = command.replace('\'', "'\"'\"'");
    format!(
        "shopt -u extglob 2>/dev/null || true && eval '{quoted}' < /dev/null && pwd -P >| {}",
        folder_file.display()
    )
}

impl JailedSession<'_> {
    /// A command that passes, is run as the client runs it, and is reported.
    #[track_caller]
    pub(crate) fn ran(&self, command: &str) -> Ran {
        self.ran_by(command, None)
    }

    #[track_caller]
    pub(super) fn ran_by(&self, command: &str, agent: Option<(&str, &str)>) -> Ran {
        self.ran_with("", command, agent)
    }

    /// The same where the client's snapshot of the shell's start file is this.
    #[track_caller]
    pub(super) fn ran_after(&self, snapshot: &Path, command: &str) -> Ran {
        self.ran_with(&format!("source {} && ", snapshot.display()), command, None)
    }

    #[track_caller]
    fn ran_with(&self, before: &str, command: &str, agent: Option<(&str, &str)>) -> Ran {
        let mut call = self.inner.call("Bash", json!({"command": command}));
        if let Some((id, kind)) = agent {
            call = call.by(id, kind);
        }
        self.inner.pre(&call).silent();
        self.run_and_end_with(before, &call, command)
    }

    /// Runs a call that was asked about, as the client runs it, and reports its end.
    #[track_caller]
    pub(super) fn run_and_end(&self, call: &Call, command: &str) -> Ran {
        self.run_and_end_with("", call, command)
    }

    #[track_caller]
    pub(super) fn run_and_end_with(&self, before: &str, call: &Call, command: &str) -> Ran {
        self.settle();
        let mut ran = Ran::of(&self.line_with(before, command).output().unwrap());
        let ended = match ran.code {
            Some(0) => self.inner.post(call),
            code => self.inner.fail(call, &format!("Exit code {}", code.unwrap_or(143))),
        };
        if !ended.out.is_empty() {
            let json = ended.json_of_any_exit();
            let said = json["reason"].as_str().or(json["hookSpecificOutput"]["additionalContext"].as_str());
            said.unwrap_or_default().clone_into(&mut ran.told);
            json["systemMessage"].as_str().unwrap_or_default().clone_into(&mut ran.noticed);
            let is_known = ["Not saved:", "kept as "].iter().any(|begin| ran.noticed.starts_with(begin));
            assert!(ran.noticed.is_empty() || is_known, "{command}: {ended:?}");
        }
        ran.step = self.inner.entries().pop().unwrap()["with"].clone();
        ran
    }

    pub(super) fn line(&self, command: &str) -> Command {
        self.line_with("", command)
    }

    fn line_with(&self, before: &str, command: &str) -> Command {
        let file = self.world.sandbox.tmp().join("claude-1234-cwd");
        let line = format!("{before}{}", around(command, &file));
        self.world.command(&line, &[("CLAUDE_CODE_SESSION_ID", &self.inner.id)])
    }

    /// The file of the jail that waits for the next command.
    pub(super) fn prepared(&self) -> PathBuf {
        self.inner.folder().join("jail/prepared")
    }

    /// The next command enters the jail that waits for it, or makes its own where that is to be tested.
    #[expect(clippy::disallowed_methods, reason = "the variable is the tests' own")]
    fn settle(&self) {
        if std::env::var_os(UNPREPARED).is_some() {
            let _ = fs::remove_file(self.prepared());
        } else {
            self.keeper();
        }
    }

    /// The process that keeps that jail, which is ready by now.
    pub(super) fn keeper(&self) -> Option<Pid> {
        let file = fs::File::open(self.prepared()).ok()?;
        let locked = || fcntl_getlk(&file, &Flock::from(FlockType::ReadLock)).unwrap();
        self.world.sandbox.wait_until("the jail is ready", || locked().is_some());
        locked().and_then(|lock| lock.pid)
    }

    /// A command that passes and is begun.
    pub(super) fn begin(&self, command: &str) -> Child {
        let call = self.inner.call("Bash", json!({"command": command}));
        self.inner.pre(&call).silent();
        self.settle();
        self.line(command).stdout(Stdio::null()).spawn().unwrap()
    }
}
