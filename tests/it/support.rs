//! `Sandbox`: a throwaway home, project and data folder, and the real binary run in them.
//!
//! Reads `PATH` of the real environment and nothing else. Invariant: every child starts with a cleared
//! environment, so no test can reach the real `HOME` or Claude's real configuration.

mod answer;
mod session;
pub(crate) mod tmux;
mod work;

pub(crate) use answer::Answer;
pub(crate) use session::{Call, Session};
pub(crate) use work::fenced;

use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};
use tempfile::TempDir;

/// The program under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_aops-hook");

/// A user's configuration with which nothing is done in the background and no audit is drawn.
pub(crate) const NO_TRACKER: &str = "tracker.command = \"none\"\naudit.rate = 0\n";

const PROJECT: &str = "project";

/// Ends what would never end. No test measures by it: it is far above what a busy machine takes.
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) struct Sandbox {
    root: TempDir,
    project: String,
    variables: Vec<(String, OsString)>,
    sessions: AtomicU32,
    /// The process that stands for the client, where it is not the usual one.
    client: Option<u32>,
    /// The usual one, which has this environment.
    stand_in: OnceLock<Child>,
}

impl Sandbox {
    /// Folders named as on a person's machine, empty but for the choice of mode `strict`.
    #[track_caller]
    pub(crate) fn new() -> Self {
        let root = tempfile::Builder::new().prefix("aops-").tempdir().unwrap();
        let project = PROJECT.to_owned();
        let sandbox = Self {
            root,
            project,
            variables: Vec::new(),
            sessions: AtomicU32::new(0),
            client: None,
            stand_in: OnceLock::new(),
        };
        for folder in [sandbox.home(), sandbox.project(), sandbox.data(), sandbox.tmp()] {
            fs::create_dir(folder).unwrap();
        }
        assert_ne!(real_home(), Some(sandbox.home()), "a throwaway home is never the real one");
        sandbox.configure("");
        let data = sandbox.data();
        sandbox.with("ACA_DATA", data)
    }

    /// The same, and nobody has chosen a mode.
    pub(crate) fn unchosen() -> Self {
        let sandbox = Self::new();
        fs::remove_dir_all(sandbox.home().join(".config")).unwrap();
        sandbox
    }

    /// The same with a project of this name.
    pub(crate) fn named(project: &str) -> Self {
        let sandbox = Self { project: project.to_owned(), ..Self::new() };
        fs::rename(sandbox.real_root().join(PROJECT), sandbox.project()).unwrap();
        sandbox
    }

    /// Every child gets this variable too.
    pub(crate) fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// Hooks and tool calls are of the client with this id.
    pub(crate) fn of_client(self, pid: u32) -> Self {
        Self { client: Some(pid), ..self }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.real_root().join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.real_root().join(&self.project)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.real_root().join("data")
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.real_root().join("tmp")
    }

    /// Where Claude Code keeps settings and sessions.
    pub(crate) fn config(&self) -> PathBuf {
        let moved = self.variables.iter().find(|(name, _)| name == "CLAUDE_CONFIG_DIR");
        moved.map_or_else(|| self.home().join(".claude"), |(_, value)| PathBuf::from(value))
    }

    /// The folder of this project's sessions, as the client names it.
    pub(crate) fn sessions(&self) -> PathBuf {
        let dashed = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        self.config()
            .join("projects")
            .join(self.project().to_str().unwrap().chars().map(dashed).collect::<String>())
    }

    /// A text without what is different in every sandbox.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let root = self.real_root();
        text.replace(root.to_str().unwrap(), "[sandbox]").replace(&dashed(&root), "[sandbox]")
    }

    /// A file below the project.
    pub(crate) fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The user's configuration. Most tests are about mode `strict`, so that is chosen unless the text names
    /// a mode.
    pub(crate) fn configure(&self, text: &str) {
        let names_mode =
            text.contains("mode.level") || text.contains("mode.observe") || text.contains("[mode]");
        let gap = if text.is_empty() { "" } else { "\n" };
        let strict = format!("{text}{gap}[mode]\nlevel = \"strict\"\n");
        self.configure_only(if names_mode { text } else { &strict });
    }

    /// The same without choosing a mode.
    pub(crate) fn configure_only(&self, text: &str) {
        let folder = self.home().join(".config/aops");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
    }

    /// Every file and folder below home, project, data and tmp, with its bytes.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.home(), self.project(), self.data(), self.tmp()];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(&folder).unwrap().map(|item| item.unwrap().path()) {
                let bytes = if path.is_dir() { Vec::new() } else { fs::read(&path).unwrap() };
                folders.extend(Some(path.clone()).filter(|path| path.is_dir()));
                found.insert(path, bytes);
            }
        }
        found
    }

    /// A session with an id of its own.
    pub(crate) fn session(&self) -> Session<'_> {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        Session::new(self, &session::uuid(&format!("{}:{number}", self.root.path().display())))
    }

    /// The hook as the client runs it: one event on stdin.
    pub(crate) fn hook(&self, event: &str, given: &Value) -> Answer {
        self.raw(event, format!("{given}\n"))
    }

    /// Any bytes to the hook.
    pub(crate) fn raw(&self, event: &str, given: impl Into<Vec<u8>>) -> Answer {
        let mut command = self.command(BINARY);
        command.arg(event).envs(self.inside_client()).envs(self.variables.iter().cloned()).write_stdin(given);
        Answer::of(event, &command.output().unwrap())
    }

    /// A command for people: outside any tool call, without a terminal.
    pub(crate) fn person(&self, arguments: &[&str]) -> Answer {
        Answer::of("", &self.command(BINARY).args(arguments).output().unwrap())
    }

    /// A command for people on a terminal of 80 columns that `script` makes: what is shown there, and the
    /// exit code.
    #[track_caller]
    pub(crate) fn on_terminal(&self, line: &str, keys: &str) -> Answer {
        let line = format!("stty cols 80 rows 24; exec {BINARY} {line}");
        let mut command = self.command("script");
        command.args(["-q", "-e", "-c", &line, "/dev/null"]).env("TERM", "xterm").write_stdin(keys);
        let output = command.output();
        let output = output
            .unwrap_or_else(|error| panic!("`script` cannot be run: {error}\nhint: install util-linux"));
        let mut answer = Answer::of("", &output);
        answer.out = answer.out.replace("\r\n", "\n");
        answer
    }

    /// The same from inside a tool call.
    pub(crate) fn inside(&self, arguments: &[&str]) -> Answer {
        Answer::of("", &self.command(BINARY).args(arguments).envs(self.inside_client()).output().unwrap())
    }

    /// Every process with this sandbox's home in its environment: id and command line.
    pub(crate) fn alive(&self) -> Vec<(i32, String)> {
        let home = format!("HOME={}\0", self.home().display());
        let client = self.stand_in.get().and_then(|client| i32::try_from(client.id()).ok());
        let running = |pid: &i32| {
            if Some(*pid) == client {
                return false;
            }
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            // A program has no environment at the moment it is started: then it may belong to this sandbox.
            let new = || fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == Path::new(BINARY));
            String::from_utf8_lossy(&environ).contains(&home) || (environ.is_empty() && new())
        };
        let line = |pid: i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            (pid, String::from_utf8_lossy(&line).replace('\0', " "))
        };
        let names = fs::read_dir("/proc").unwrap().flatten().map(|item| item.file_name());
        names.filter_map(|name| name.to_str()?.parse().ok()).filter(running).map(line).collect()
    }

    /// Looks again and again until it is so.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, mut done: impl FnMut() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !done() {
            assert!(Instant::now() < end, "not so after {PATIENCE:?}: {what}; alive: {:?}", self.alive());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Any program, in this sandbox's environment and nothing else.
    pub(crate) fn command(&self, program: &str) -> assert_cmd::Command {
        let mut command = assert_cmd::Command::new(program);
        command.env_clear().envs(self.environment()).current_dir(self.project()).timeout(PATIENCE);
        command
    }

    /// All that a child knows of the world.
    pub(crate) fn environment(&self) -> Vec<(String, OsString)> {
        let mut variables: Vec<(String, OsString)> = vec![
            ("PATH".into(), path()),
            ("HOME".into(), self.home().into()),
            ("TMPDIR".into(), self.tmp().into()),
            ("TERM".into(), "dumb".into()),
            ("LANG".into(), "C.UTF-8".into()),
            ("SHELL".into(), "/bin/sh".into()),
            ("TZ".into(), "UTC0".into()),
            // The lot falls on no change, unless it must: at rate 1, or after too many.
            ("AOPS_TEST_LOT".into(), u32::MAX.to_string().into()),
            ("AOPS_TEST_PATIENCE".into(), "20".into()),
        ];
        // A superuser's session makes this folder, so as to guard it.
        if !self.variables.iter().any(|(name, _)| name == "AOPS_TEST_ROOT") {
            variables.push(("AOPS_TEST_MANAGED".into(), self.real_root().join("managed").into()));
        }
        variables.extend(self.variables.iter().cloned());
        variables
    }

    /// The stand-in for this world's client.
    pub(crate) fn client_pid(&self) -> u32 {
        self.client.unwrap_or_else(|| self.stand_in.get_or_init(|| stand_in(self.environment())).id())
    }

    /// What the client adds for a hook or a tool call in a headless run.
    pub(crate) fn inside_client(&self) -> Vec<(String, OsString)> {
        vec![
            ("CLAUDECODE".into(), "1".into()),
            ("CLAUDE_PROJECT_DIR".into(), self.project().into()),
            ("CLAUDE_CODE_CHILD_SESSION".into(), "1".into()),
            ("CLAUDE_CODE_SESSION_ATTENDED".into(), "0".into()),
            ("CLAUDE_CODE_ENTRYPOINT".into(), "sdk-cli".into()),
            ("CLAUDE_PID".into(), self.client_pid().to_string().into()),
        ]
    }

    /// Some systems reach their temporary folder through a link; the client resolves it, and so do we.
    fn real_root(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap()
    }
}

/// A stand-in for a client that belongs to no world.
pub(crate) fn client_pid() -> u32 {
    static CLIENT: OnceLock<Child> = OnceLock::new();
    CLIENT.get_or_init(|| stand_in(Vec::new())).id()
}

/// A process that stands for the client. What a test runs as a person is not started by it, so this process
/// is not the one. It ends when this one does: nothing is written to it.
#[expect(clippy::disallowed_methods, reason = "the one process that only has to be there")]
fn stand_in(variables: Vec<(String, OsString)>) -> Child {
    let mut command = Command::new("/bin/cat");
    command.env_clear().envs(variables);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// A path as the client makes one name of it.
fn dashed(path: &Path) -> String {
    let dash = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    path.to_str().unwrap().chars().map(dash).collect()
}

/// The real home of the user who runs the tests: to be left alone.
#[expect(clippy::disallowed_methods, reason = "the one look at the real home, to stay out of it")]
pub(crate) fn real_home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

#[expect(clippy::disallowed_methods, reason = "where git and a shell are is not ours to know")]
pub(crate) fn path() -> OsString {
    env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}
